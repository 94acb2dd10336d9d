//! Writes packed bundles, and adds files to them.

use super::choose::{Made, Member, make};
use super::encode::{MAX_HEADER, of_writer};
use super::order::{self, Content, Repeated, SHARED_FROM};
use super::original::Input;
use super::zipped::{self, Filed, Zip};
use super::{DIRECTORY, README, arrays, columns};
use crate::bundle::heads::{Head, head_of};
use crate::bundle::index::{self, Entry, HINT_LEN};
use crate::bundle::packed::Packed as Names;
use crate::bundle::write::write_hint;
use crate::bundle::{Bundle, Bundled, inside};
use crate::error::{Error, Result};
use nc3z_format::Limits;
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::ClassicFile;
use nc3z_reader::source::{FileSource, MemorySource, SharedSource};
use nc3z_writer::{AtomicFile, WriterOptions, archive_source, archive_to_vec};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files with more bytes that no other file has get separate archives: what they share is a small part of them.
const SMALL_LEN: u64 = 1 << 20;
/// Longer files get separate archives, even if most of their bytes are those of others.
const LONGEST: u64 = 4 << 20;
/// The maximal length of archives that are made in memory.
const IN_MEMORY: u64 = 64 << 20;
/// The number of bytes copied at once.
const COPY_LEN: usize = 1 << 20;
/// The index stores the heads of members if these take at most 1 / HEAD_SHARE of the members' bytes.
const HEAD_SHARE: u64 = 400;
/// The text of the member for people.
const README_TEXT: &str = include_str!("readme.txt");

/// The options for making a packed bundle.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// The options for the archives of groups, and for separate archives.
    pub writer: WriterOptions,
    /// A directory for archives that are too long for memory.
    pub scratch: PathBuf,
}

/// The result of writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// The number of files that were added.
    pub members: u64,
    /// The number of them that are in groups.
    pub packed: u64,
    /// The number of groups that were added.
    pub groups: u64,
    /// The length of the bundle in bytes.
    pub len: u64,
}

/// Writes a packed bundle to an empty file. `tell` is called with the number of bytes of finished files. If
/// it returns false, writing stops.
///
/// # Errors
/// Names that are absolute, lead outside or occur twice; files that cannot be archived; errors of the system.
pub fn write_packed(
    files: &[Bundled],
    out: &mut File,
    path: &Path,
    options: &PackOptions,
    tell: &dyn Fn(u64) -> bool,
) -> Result<Packed> {
    let mut zip = Zip::new(out, path, 0, Vec::new())?;
    let readme = README_TEXT.as_bytes();
    // The room before the first member is for the hint.
    zip.add(README, readme.len() as u64, HINT_LEN, &mut |put| put(readme))?;
    let (entries, names) = (vec![entry_of(&zip.filed[0], Head::default())], Names::default());
    let mut pack = Pack { zip, entries, names, options, tell, done: Packed::default() };
    pack.add(files)?;
    pack.finish(path)
}

/// Adds files to a packed bundle. Existing bytes are not moved, and the old bundle is valid until the new end
/// is on disk. An interrupted run leaves bytes after the old end, which the next run removes.
///
/// # Errors
/// As [`write_packed`]; it is not a packed bundle, or another program changed it or writes to it now.
pub fn append_packed(
    files: &[Bundled],
    file: &mut File,
    path: &Path,
    options: &PackOptions,
    tell: &dyn Fn(u64) -> bool,
) -> Result<Packed> {
    nc3z_writer::lock_file(file, path).map_err(of_writer)?;
    let bundle = Bundle::open(Arc::new(FileSource::open(path)?))?;
    if !bundle.is_indexed() || !bundle.is_packed() {
        return Err(Error::refused(
            "it is no packed bundle with an index; files are added to what `nc3z bundle --pack` wrote",
        ));
    }
    let len = bundle.source().len();
    let filed = zipped::members(bundle.source(), index::NAME)?;
    let comment = index::comment_to_hint(bundle.source())?;
    let (known, names) = bundle.into_parts();
    // In the order of the file, with the heads from the old index.
    let entries = filed.iter().map(|f| {
        let head = known.get(&f.name).map(|e| e.head.clone()).unwrap_or_default();
        entry_of(f, head)
    });
    let entries: Vec<(String, Entry)> = entries.collect();
    file.set_len(len).map_err(|e| Error::io(path, e))?;
    // While new bytes are behind the end, readers find the end by the hint alone. The run that wrote this end may
    // have been interrupted before it wrote the hint.
    if let Some(comment) = comment
        && let Some(first) = filed.first()
    {
        write_hint(file, first.offset, &comment).map_err(|e| Error::io(path, e))?;
        zipped::sync(file, path)?;
    }
    let zip = Zip::new(file, path, len, filed)?;
    let mut pack = Pack { zip, entries, names, options, tell, done: Packed::default() };
    pack.add(files)?;
    pack.finish(path)
}

fn entry_of(f: &Filed, head: Head) -> (String, Entry) {
    (f.name.clone(), Entry { offset: f.offset, length: f.len, crc32: f.crc32, head })
}

/// A file that may be packed, with the facts about it.
struct Candidate<'f> {
    /// Its position in the list of files.
    file: usize,
    /// The name of the original.
    name: &'f str,
    kind: [u8; 32],
    content: Content,
}

/// A bundle that is being written.
struct Pack<'p> {
    zip: Zip<'p>,
    entries: Vec<(String, Entry)>,
    names: Names,
    options: &'p PackOptions,
    tell: &'p dyn Fn(u64) -> bool,
    done: Packed,
}

impl Pack<'_> {
    fn tell(&self, bytes: u64) -> Result<()> {
        if (self.tell)(bytes) { Ok(()) } else { Err(nc3z_reader::Error::interrupted().into()) }
    }

    fn add(&mut self, files: &[Bundled]) -> Result<()> {
        let mut names = self.check(files)?;
        let (mut small, mut alone) = (Vec::new(), Vec::new());
        for (n, file) in files.iter().enumerate() {
            match candidate(n, file, &mut names)? {
                Some(candidate) => small.push(candidate),
                None => alone.push(n),
            }
            self.tell(0)?;
        }
        // A bundle may have millions of files: what is not needed any more is dropped.
        drop(names);
        let mut repeated = Repeated::default();
        small.iter().for_each(|c: &Candidate<'_>| repeated.add(&c.content));
        let is_small = |c: &Candidate<'_>| repeated.own_len(&c.content) <= SMALL_LEN;
        let (small, long): (Vec<_>, Vec<_>) = small.into_iter().partition(is_small);
        alone.extend(long.into_iter().map(|c| c.file));
        alone.sort_unstable();
        let kinds: Vec<[u8; 32]> = small.iter().map(|c| c.kind).collect();
        let order = order::alike(&kinds);
        let contents: Vec<&Content> = order.iter().map(|&n| &small[n].content).collect();
        let groups = order::groups(&contents, &repeated);
        // As many groups at a time as there are threads; they are written in order.
        for batch in groups.chunks(rayon::current_num_threads().max(1)) {
            let read = |range: &std::ops::Range<usize>| {
                let members = order[range.clone()].iter().map(|&n| read(&small[n], &files[small[n].file]));
                make(&members.collect::<Result<Vec<Member>>>()?, &self.options.writer)
            };
            let made: Vec<Result<Made>> = batch.par_iter().map(read).collect();
            for (range, made) in batch.iter().zip(made) {
                self.put(made?)?;
                self.tell(contents[range.clone()].iter().map(|content| content.len).sum())?;
            }
        }
        for n in alone {
            self.put_alone(&files[n])?;
        }
        self.done.members += files.len() as u64;
        Ok(())
    }

    /// Checks all names, of files and of existing members; each may occur once.
    fn check(&self, files: &[Bundled]) -> Result<HashSet<String>> {
        let mut names: HashSet<String> = self.names.all().map(str::to_owned).collect();
        names.extend(self.entries.iter().map(|(name, _)| name.clone()));
        for file in files {
            let name = &file.name;
            let wrong = inside("", name).as_deref() != Some(name) || name.contains('\0');
            if wrong || name.starts_with(".nc3z/") || name == README || name.len() > usize::from(u16::MAX) - 8
            {
                return Err(Error::refused(format!("`{name}` is no name for a member of a bundle")));
            }
            // A file and its archive are one member.
            let archive = format!("{name}.nc3z");
            if names.contains(&archive) || !names.insert(name.clone()) {
                return Err(Error::refused(format!("two members would be called `{name}`")));
            }
        }
        Ok(names)
    }

    fn put(&mut self, made: Made) -> Result<()> {
        if let Some((archive, names)) = made.group {
            let group = format!("{DIRECTORY}{:06}.nc3z", self.names.lines.len());
            self.put_bytes(&group, &archive)?;
            self.done.groups += 1;
            self.done.packed += names.len() as u64;
            self.names.push(group, names.iter().map(String::as_str));
        }
        for (name, archive) in made.alone {
            self.put_bytes(&name, &archive)?;
        }
        Ok(())
    }

    fn put_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.zip.add(name, bytes.len() as u64, 0, &mut |put| put(bytes))?;
        self.filed(Head::default());
        Ok(())
    }

    /// Adds the member that was written last to the index.
    fn filed(&mut self, head: Head) {
        self.entries.extend(self.zip.filed.last().map(|f| entry_of(f, head)));
    }

    /// Writes a file as a separate archive, or unchanged if it is not a classic file.
    fn put_alone(&mut self, file: &Bundled) -> Result<()> {
        let input = Input::open(&file.path)?;
        let plain = match &input {
            Input::Archive { archive, .. } => archive,
            Input::Plain(source) => source,
        };
        let mut magic = [0; MAGIC.len()];
        let is_archive = plain.len() >= magic.len() as u64 && {
            plain.read_into(0, &mut magic)?;
            magic == MAGIC
        };
        let is_classic =
            !is_archive && ClassicFile::from_source(Arc::clone(plain), &Limits::default()).is_ok();
        if !is_classic {
            return self.put_source(&file.name, plain, plain.len());
        }
        let name = format!("{}.nc3z", file.name);
        let options = &self.options.writer;
        if plain.len() <= IN_MEMORY {
            self.tell(plain.len())?;
            let (archive, _) = archive_to_vec(Arc::clone(plain), options, &()).map_err(of_writer)?;
            return self.put_source(&name, &(Arc::new(MemorySource::new(archive)) as SharedSource), 0);
        }
        // The name is that of a temporary file, which a later run removes if this one is killed. It is removed when `place` is dropped.
        let place = AtomicFile::create(&self.options.scratch.join("member.nc3z"), true).map_err(of_writer)?;
        let temporary = place.temporary_path();
        let options = options.clone().with_force(true);
        self.tell(0)?;
        archive_source(Arc::clone(plain), temporary, &options, &()).map_err(of_writer)?;
        let held = File::open(temporary).map_err(|e| Error::io(temporary, e))?;
        nc3z_writer::lock_file(&held, temporary).map_err(of_writer)?;
        let archive: SharedSource = Arc::new(FileSource::open(temporary)?);
        self.put_source(&name, &archive, plain.len())
    }

    /// Copies a source, and reports `told` bytes of progress.
    fn put_source(&mut self, name: &str, source: &SharedSource, told: u64) -> Result<()> {
        let len = source.len();
        self.zip.add(name, len, 0, &mut |put| {
            let mut buffer = vec![0; COPY_LEN];
            let mut at = 0;
            while at < len {
                let n = usize::try_from(len - at).unwrap_or(COPY_LEN).min(COPY_LEN);
                source.read_into(at, &mut buffer[..n])?;
                put(&buffer[..n])?;
                at += n as u64;
            }
            Ok(())
        })?;
        let head = head_of(source);
        let held: u64 = head.parts().iter().map(|(_, bytes)| bytes.len() as u64).sum();
        self.filed(if held.saturating_mul(HEAD_SHARE) <= len { head } else { Head::default() });
        self.tell(told)
    }

    /// Writes index, directory and end, and then the pointers to them.
    fn finish(mut self, path: &Path) -> Result<Packed> {
        let bytes = index::encode(&self.entries, &self.names)?;
        self.zip.add(index::NAME, bytes.len() as u64, 0, &mut |put| put(&bytes))?;
        let at = self.zip.filed.last().map_or(0, |f| f.offset);
        let comment = index::comment(at, &bytes);
        let first = self.zip.filed.first().map_or(0, |f| f.offset);
        self.zip.sync()?;
        let (file, len) = self.zip.finish(&comment)?;
        write_hint(file, first, &comment).map_err(|e| Error::io(path, e))?;
        zipped::sync(file, path)?;
        Ok(Packed { len, ..self.done })
    }
}

/// Examines a file. None if it gets a separate archive. The name of an archive's original is also reserved.
fn candidate<'f>(n: usize, file: &'f Bundled, names: &mut HashSet<String>) -> Result<Option<Candidate<'f>>> {
    let input = Input::open(&file.path)?;
    let source = input.original();
    let len = source.len();
    if len > LONGEST {
        return Ok(None);
    }
    let name = match &input {
        Input::Plain(_) => file.name.as_str(),
        Input::Archive { .. } => match file.name.strip_suffix(".nc3z") {
            Some(name) if !name.is_empty() && names.insert(name.to_owned()) => name,
            _ => return Ok(None),
        },
    };
    Ok(match ClassicFile::from_source(Arc::clone(source), &Limits::default()) {
        Ok(parsed) if parsed.layout().header_len <= MAX_HEADER => {
            let content = Content { len, arrays: long_arrays(&parsed)? };
            Some(Candidate { file: n, name, kind: order::kind(parsed.header()), content })
        }
        _ => None,
    })
}

/// Returns digests and lengths of the long arrays of a file. Equal arrays have one digest if their names and types are
/// equal, too: only those are stored once.
fn long_arrays(file: &ClassicFile) -> Result<Vec<(u64, u64)>> {
    let mut out = Vec::new();
    for own in arrays::of(file.layout()).into_iter().filter(|own| own.len >= SHARED_FROM) {
        let mut bytes = vec![0; usize::try_from(own.len).unwrap_or(usize::MAX)];
        file.read_array_bytes(own.id, 0, &mut bytes)?;
        let (name, _) = columns::described(file, own.id);
        let mut hash = Sha256::new().chain_update((name.len() as u64).to_le_bytes()).chain_update(name);
        hash.update([own.ty as u8]);
        hash.update(&bytes);
        let digest: [u8; 32] = hash.finalize().into();
        out.push((digest.first_chunk().copied().map_or(0, u64::from_le_bytes), own.len));
    }
    Ok(out)
}

/// Returns the bytes of a file, which must be the same as when it was examined.
fn read(candidate: &Candidate<'_>, file: &Bundled) -> Result<Member> {
    let input = Input::open(&file.path)?;
    let source = input.original();
    if source.len() != candidate.content.len {
        return Err(Error::fragment(&file.path.to_string_lossy(), "it changed while it was read"));
    }
    let mut bytes = vec![0; usize::try_from(candidate.content.len).unwrap_or(0)];
    source.read_into(0, &mut bytes)?;
    let archive = match &input {
        Input::Archive { archive, .. } => {
            let len = usize::try_from(archive.len()).unwrap_or(usize::MAX);
            Some((file.name.clone(), archive.read_at(0, len)?.to_vec()))
        }
        Input::Plain(_) => None,
    };
    Ok(Member { name: candidate.name.to_owned(), bytes: bytes.into(), archive })
}
