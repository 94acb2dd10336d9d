//! Writes a bundle, and adds files to one. The bytes of a file are read twice: to describe the file, and to copy it. The same files give
//! the same bytes.

use super::input::{Input, Recent, changed};
use super::{Bundle, SUFFIX, inside};
use crate::catalog::{
    Appender, BundleWriter, Container, Head, HeadKind, Location, MAX_NAME, Member, UNKNOWN_TIME, scan,
};
use crate::error::{Error, Result};
use crate::pack::{DIRECTORY, PackOptions};
use crate::tree::ordered::in_order;
use nc3z_format::Error as FormatError;
use nc3z_reader::source::{ByteSource, FileSource, MemorySource, SharedSource};
use nc3z_reader::{Archive, Dataset, Monitor, OpenOptions, Result as ReadResult};
use nc3z_writer::{CommitNote, Share};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files up to this length are read at once.
const AT_ONCE: u64 = 4 << 20;
/// Bytes that are copied or compared at a time.
const STEP: usize = 1 << 20;

/// A file to put into a bundle.
#[derive(Debug, Clone)]
pub struct Bundled {
    /// Its name in the bundle.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// The options for making a bundle.
#[derive(Debug, Clone, Default)]
pub struct BundleOptions {
    /// Packs files that share what repeats across them, and archives classic files. None stores files as they are.
    pub pack: Option<PackOptions>,
    /// Computes the statistics of the tiles of all variables, for which all values are read.
    pub statistics: bool,
    /// The share of parity of a new bundle.
    pub parity: Option<Share>,
    /// The number of threads; 0 for one for each core.
    pub threads: usize,
}

/// The bundle that was written, or to which files were added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The number of files that were added.
    pub members: u64,
    /// The number of them that are in groups.
    pub packed: u64,
    /// The number of groups that were added.
    pub groups: u64,
    /// The number of classic files that were added as they are, uncompressed.
    pub classic: u64,
    /// The length of the bundle in bytes.
    pub len: u64,
    /// The version of the bundle.
    pub version: u64,
}

/// Writes a bundle of files, in their order, to an empty file. The monitor hears of the bytes of the files twice.
///
/// # Errors
/// Names that are absolute, lead outside or occur twice; files that change meanwhile; errors of the system.
pub fn write_bundle(
    files: &[Bundled],
    out: &File,
    path: &Path,
    options: &BundleOptions,
    monitor: &dyn Monitor,
) -> Result<Written> {
    let mut names = Names::default();
    files.iter().try_for_each(|file| names.add(file, None, options.pack.is_some()))?;
    let mut writer = BundleWriter::new();
    let mut adding = Adding::new(options, monitor, 0);
    adding.add(files, &mut |member| writer.push(member))?;
    let Adding { content, recent, mut done, .. } = adding;
    recent.check_again()?;
    let content = Arc::new(content);
    writer
        .finish(Arc::clone(&content) as SharedSource, out, path, options.parity, monitor)
        .map_err(of_change)?;
    let source: SharedSource = Arc::new(FileSource::from_file(copy_of(out, path)?, path)?);
    done.len = source.len();
    done.version = 1;
    let bundle = Bundle::open(source)?;
    content.check(&bundle.source, monitor)?;
    Ok(done)
}

fn copy_of(file: &File, path: &Path) -> Result<File> {
    file.try_clone().map_err(|e| Error::io(path, e))
}

/// Adds files to a bundle on disk.
pub struct Append {
    appender: Appender,
    path: PathBuf,
    /// Files are packed because others are.
    is_packed: bool,
}

impl Append {
    /// Opens the bundle at `path`. Other processes can read it, and cannot change it.
    ///
    /// # Errors
    /// It is not a bundle of nc3z, it is damaged, or another process changes it.
    pub fn open(path: &Path) -> Result<Self> {
        let source: SharedSource = Arc::new(FileSource::open(path)?);
        if !Archive::is_one(&*source)? {
            return Err(Error::refused(
                "files cannot be added to it: it is not a bundle of nc3z; make a new one of all files",
            ));
        }
        drop(source);
        let appender = Appender::of_bundle(path)?;
        let is_packed = Bundle::from_archive(appender.archive())?.is_packed()?;
        Ok(Append { appender, path: path.to_owned(), is_packed })
    }

    /// Returns whether it has packed members.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Adds files, in their order, as a new version. An interrupted run leaves the bundle as it was.
    ///
    /// # Errors
    /// As [`write_bundle`]; a name that the bundle has.
    pub fn add(self, files: &[Bundled], options: &BundleOptions, monitor: &dyn Monitor) -> Result<Written> {
        let Append { mut appender, path, .. } = self;
        let container = Container::open(appender.archive())?;
        let mut names = Names::default();
        files.iter().try_for_each(|file| names.add(file, Some(&container), options.pack.is_some()))?;
        let end = container.content().len();
        let mut adding = Adding::new(options, monitor, end);
        adding.add(files, &mut |member| appender.push(member))?;
        let Adding { content, recent, mut done, .. } = adding;
        recent.check_again()?;
        let content: SharedSource = Arc::new(content);
        let committed = appender.commit_with(Some(content), &CommitNote::default(), monitor);
        let committed = committed.map_err(of_change)?;
        done.version = committed.version;
        done.len = path.metadata().map_err(|e| Error::io(&path, e))?.len();
        Ok(done)
    }
}

/// An error of a file that changed while it was copied, from the error of the writer.
fn of_change(e: Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&e);
    while let Some(error) = cause {
        if let Some(Changed(path)) = error.downcast_ref::<Changed>() {
            return changed(path);
        }
        cause = error.source();
    }
    e
}

/// A file that changed while it was copied.
#[derive(Debug, thiserror::Error)]
#[error("`{}` changed while it was read", .0.display())]
struct Changed(PathBuf);

/// The names of new members.
#[derive(Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// Checks the name of a file, which is packed or archived if `is_packed`. Each name may occur once.
    pub(super) fn add(&mut self, file: &Bundled, known: Option<&Container>, is_packed: bool) -> Result<()> {
        let name = &file.name;
        let wrong = inside("", name).as_deref() != Some(name) || name.contains('\0') || name.is_empty();
        if wrong || name.starts_with(DIRECTORY) || name.len() > MAX_NAME {
            return Err(Error::refused(format!("`{name}` is not a valid name for a member of a bundle")));
        }
        let is_known = |name: &str| -> Result<bool> {
            let before = known.map(|container| container.find(name)).transpose()?.flatten();
            Ok(self.0.contains(name) || before.is_some())
        };
        if is_known(name)? {
            let what =
                if self.0.contains(name) { "two members would be called" } else { "the bundle already has" };
            return Err(Error::refused(format!("{what} `{name}`")));
        }
        // A file and its archive are one member: what is not packed is stored as the archive, with its name.
        if is_packed {
            let other = match name.strip_suffix(SUFFIX) {
                Some(original) if is_known(original)? => Some(original),
                _ => is_known(&format!("{name}{SUFFIX}"))?.then_some(name.as_str()),
            };
            if let Some(original) = other {
                if !self.0.contains(original) && !self.0.contains(&format!("{original}{SUFFIX}")) {
                    return Err(Error::refused(format!(
                        "the bundle already has `{original}` or its archive"
                    )));
                }
                return Err(Error::refused(format!(
                    "two members would be called `{original}{SUFFIX}`: the archive of `{original}`, and the file of that name; name one of them"
                )));
            }
        }
        self.0.insert(name.clone());
        Ok(())
    }
}

/// Files on their way into a bundle.
pub(crate) struct Adding<'a> {
    pub(crate) options: &'a BundleOptions,
    pub(crate) monitor: &'a dyn Monitor,
    /// The offset in the content of the next file.
    end: u64,
    content: NewContent,
    pub(crate) recent: Recent,
    pub(crate) done: Written,
}

/// Takes the description of a file.
pub(crate) type Push<'p> = &'p mut (dyn FnMut(Member) -> Result<()> + Send);

impl<'a> Adding<'a> {
    fn new(options: &'a BundleOptions, monitor: &'a dyn Monitor, end: u64) -> Self {
        let scratch = options.pack.as_ref().map(|pack| pack.scratch.clone());
        let content = NewContent { scratch, ..NewContent::default() };
        Adding { options, monitor, end, content, recent: Recent::default(), done: Written::default() }
    }

    fn add(&mut self, files: &[Bundled], push: Push<'_>) -> Result<()> {
        self.done.members = files.len() as u64;
        match &self.options.pack {
            Some(pack) => crate::pack::add(self, files, pack, push),
            None => self.add_plain(files, push),
        }
    }

    /// Adds files as they are.
    pub(crate) fn add_plain(&mut self, files: &[Bundled], push: Push<'_>) -> Result<()> {
        let (statistics, monitor) = (self.options.statistics, self.monitor);
        let look = |file: &Bundled| look(file, statistics, monitor);
        in_order(files, self.options.threads, look, |file, looked| {
            let Looked { member, input, crc32 } = looked?;
            self.done.classic += u64::from(member.head.kind == HeadKind::Classic);
            let len = input.source.len();
            self.recent.check(input, crc32)?;
            self.content.push_file(&file.path, len, crc32);
            push(self.placed(member, len, crc32))?;
            Ok::<(), InOrder>(())
        })
        .map_err(|e| e.0)
    }

    /// Gives a member its place at the end of the content.
    fn placed(&mut self, mut member: Member, len: u64, crc32: u32) -> Member {
        (member.head.offset, member.head.stored, member.head.crc32) = (self.end, len, Some(crc32));
        self.end += len;
        member
    }

    /// Adds the bytes of a file that was made, or of a group of members.
    pub(crate) fn put(&mut self, bytes: &SharedSource, members: Vec<Member>, push: Push<'_>) -> Result<()> {
        let crc32 = self.content.push_source(bytes)?;
        let (begin, len) = (self.end, bytes.len());
        for member in members {
            self.end = begin;
            push(self.placed(member, len, crc32))?;
        }
        self.end = begin + len;
        Ok(())
    }
}

/// The error of adding a file, for [`in_order`].
struct InOrder(Error);

impl From<Error> for InOrder {
    fn from(e: Error) -> Self {
        InOrder(e)
    }
}

impl From<crate::tree::Error> for InOrder {
    fn from(e: crate::tree::Error) -> Self {
        InOrder(Error::refused(e.to_string()))
    }
}

/// A file that was read once.
struct Looked {
    member: Member,
    input: Input,
    crc32: u32,
}

fn look(file: &Bundled, statistics: bool, monitor: &dyn Monitor) -> Result<Looked> {
    let input = Input::open(&file.path)?;
    let looked = || -> Result<(Member, u32)> {
        let mut source = Arc::clone(&input.source);
        if source.len() <= AT_ONCE {
            let len = usize::try_from(source.len()).unwrap_or(usize::MAX);
            source = Arc::new(MemorySource::new(source.read_at(0, len)?));
        }
        let tell = |bytes: u64| {
            monitor.advance(bytes);
            !monitor.is_cancelled()
        };
        let crc32 = super::check::crc32_of(&source, &tell)?.ok_or_else(nc3z_reader::Error::interrupted)?;
        let mut member = describe(&file.name, &source, statistics);
        let stamp = input.stamp();
        member.head.modified = stamp.nanos().unwrap_or(UNKNOWN_TIME);
        member.head.mode = stamp.mode().and_then(|mode| u16::try_from(mode).ok());
        Ok((member, crc32))
    };
    let (member, crc32) = looked().map_err(|e| input.reason(e))?;
    Ok(Looked { member, input, crc32 })
}

/// Describes a file. Of one that is not netCDF, or is damaged, only the name is known.
pub(crate) fn describe(name: &str, source: &SharedSource, statistics: bool) -> Member {
    let opened = Dataset::from_source(Arc::clone(source), &OpenOptions::default());
    let scanned = opened.map_err(Error::from).and_then(|dataset| {
        let stored = source.len();
        let brief = Location { stored, is_brief: true, ..Location::default() };
        if !statistics {
            return scan(name, &dataset, brief);
        }
        scan(name, &dataset, Location { is_brief: false, ..brief }).or_else(|_| scan(name, &dataset, brief))
    });
    scanned.unwrap_or_else(|_| Member {
        name: name.to_owned(),
        head: Head { kind: HeadKind::File, len: source.len(), ..Head::default() },
        ..Member::default()
    })
}

/// The bytes of new files, one after another.
#[derive(Default)]
struct NewContent {
    parts: Vec<Part>,
    len: u64,
    /// Bytes that were made for the bundle, in a temporary file.
    made: Option<File>,
    /// The directory of the temporary file.
    scratch: Option<PathBuf>,
    made_len: u64,
    last: Mutex<Option<Last>>,
}

/// The bytes of a file, or of a group.
struct Part {
    begin: u64,
    len: u64,
    crc32: u32,
    from: Origin,
}

enum Origin {
    File(PathBuf),
    /// From this byte of the temporary file on.
    Made(u64),
}

/// The part that was read last: its file, and the checksum of its bytes up to a place.
struct Last {
    part: usize,
    source: SharedSource,
    at: u64,
    crc: crc32fast::Hasher,
}

impl NewContent {
    fn push(&mut self, len: u64, crc32: u32, from: Origin) {
        if len > 0 {
            self.parts.push(Part { begin: self.len, len, crc32, from });
            self.len += len;
        }
    }

    fn push_file(&mut self, path: &Path, len: u64, crc32: u32) {
        self.push(len, crc32, Origin::File(path.to_owned()));
    }

    /// Copies bytes to the temporary file. Returns their CRC-32.
    fn push_source(&mut self, source: &SharedSource) -> Result<u32> {
        let mut file = match self.made.take() {
            Some(file) => file,
            None => match &self.scratch {
                Some(scratch) => tempfile::tempfile_in(scratch).map_err(|e| Error::io(scratch, e))?,
                None => tempfile::tempfile().map_err(Error::Output)?,
            },
        };
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        while at < source.len() {
            let len = usize::try_from(source.len() - at).map_or(STEP, |left| left.min(STEP));
            let bytes = source.read_at(at, len)?;
            crc.update(&bytes);
            file.write_all(&bytes).map_err(Error::Output)?;
            at += len as u64;
        }
        self.made = Some(file);
        let crc32 = crc.finalize();
        self.push(source.len(), crc32, Origin::Made(self.made_len));
        self.made_len += source.len();
        Ok(crc32)
    }

    fn open(&self, part: &Part) -> ReadResult<SharedSource> {
        match &part.from {
            Origin::File(path) => {
                let source = FileSource::open(path)?;
                if source.len() != part.len {
                    return Err(nc3z_reader::Error::other(Changed(path.clone())));
                }
                Ok(Arc::new(source))
            }
            Origin::Made(_) => {
                let name = Path::new("a temporary file");
                let made = self.made.as_ref().map(File::try_clone).transpose();
                let made = made.map_err(|e| nc3z_reader::Error::io("read", Some(name), e))?;
                Ok(Arc::new(FileSource::from_file(made.expect("it was made"), name)?))
            }
        }
    }

    /// Reads bytes of one part. Whoever reads a part from its begin to its end gets the bytes that were described, or an error.
    fn read_part(&self, number: usize, offset: u64, out: &mut [u8]) -> ReadResult<()> {
        let part = &self.parts[number];
        let known = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut last = match known.filter(|last| last.part == number) {
            Some(last) => last,
            None => Last { part: number, source: self.open(part)?, at: 0, crc: crc32fast::Hasher::new() },
        };
        let from = if let Origin::Made(begin) = part.from { begin } else { 0 };
        last.source.read_into(from + offset, out)?;
        if offset == 0 {
            (last.at, last.crc) = (0, crc32fast::Hasher::new());
        }
        if offset == last.at {
            last.crc.update(out);
            last.at += out.len() as u64;
        }
        if last.at == part.len
            && offset + out.len() as u64 == part.len
            && last.crc.clone().finalize() != part.crc32
            && let Origin::File(path) = &part.from
        {
            return Err(nc3z_reader::Error::other(Changed(path.clone())));
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok(())
    }

    /// Compares the content that was written with the checksums of the files.
    fn check(&self, written: &SharedSource, monitor: &dyn Monitor) -> Result<()> {
        let mut buffer = vec![0; STEP];
        for part in &self.parts {
            let mut crc = crc32fast::Hasher::new();
            let mut at = 0;
            while at < part.len {
                if monitor.is_cancelled() {
                    return Err(nc3z_reader::Error::interrupted().into());
                }
                let len = usize::try_from(part.len - at).map_or(STEP, |left| left.min(STEP));
                written.read_into(part.begin + at, &mut buffer[..len])?;
                crc.update(&buffer[..len]);
                at += len as u64;
            }
            if crc.finalize() != part.crc32 {
                return match &part.from {
                    Origin::File(path) => Err(changed(path)),
                    Origin::Made(_) => {
                        Err(Error::refused("a part of the bundle is read back with other bytes"))
                    }
                };
            }
        }
        Ok(())
    }
}

impl ByteSource for NewContent {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, mut offset: u64, mut out: &mut [u8]) -> ReadResult<()> {
        let left = self.len.saturating_sub(offset);
        if out.len() as u64 > left {
            let missing = out.len() as u64 - left;
            return Err(
                FormatError::truncated("the files of the bundle", offset, "read", missing, left).into()
            );
        }
        let mut number = self.parts.partition_point(|part| part.begin + part.len <= offset);
        while !out.is_empty() {
            let part = &self.parts[number];
            let from = offset - part.begin;
            let len = usize::try_from(part.len - from).map_or(out.len(), |len| len.min(out.len()));
            let (here, rest) = out.split_at_mut(len);
            self.read_part(number, from, here)?;
            (offset, out, number) = (offset + len as u64, rest, number + 1);
        }
        Ok(())
    }
}
