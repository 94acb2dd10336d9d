//! Writes packed bundles, and adds files to them.

use super::choose::{Made, Member, make};
use super::encode::{MAX_HEADER, of_writer};
use super::order::{self, Content, Repeated, SHARED_FROM};
use super::original::Input;
use super::zipped::{self, Coming, Filed, Zip};
use super::{DIRECTORY, README, arrays, columns};
use crate::bundle::check::crc32_of;
use crate::bundle::heads::{Head, head_of};
use crate::bundle::index::{self, Entry, HINT_LEN};
use crate::bundle::input::{self, Recent};
use crate::bundle::packed::Packed as Names;
use crate::bundle::stamp::Stamp;
use crate::bundle::write::{check_written, entry_of, write_hint};
use crate::bundle::{Bundle, Bundled, inside};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Limits;
use nc3z_format::archive::constants::MAGIC;
use nc3z_reader::ClassicFile;
use nc3z_reader::source::{FileSource, MemorySource, SharedSource};
use nc3z_writer::Advice;
use nc3z_writer::{AtomicFile, WriterOptions, archive_source, archive_to_vec};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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
    let coming = Coming { name: README, len: readme.len() as u64, stamp: Stamp::default(), room: HINT_LEN };
    zip.add(coming, &mut |put| put(readme))?;
    let entries = zip.filed.iter().map(|f| (f.name.clone(), entry_of(f, Head::default()))).collect();
    let names = Names::default();
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
        return Err(Error::refused("it is not a packed bundle with an index").advised(Advice::Pack));
    }
    let source = bundle.source().clone();
    let (len, comment) = (source.len(), index::comment_to_hint(&source)?);
    let (known, names) = bundle.into_parts();
    // In the order of the file, as the old index has them: its checksum is verified, and the directory of the ZIP has none.
    let mut entries: Vec<(String, Entry)> = known.into_iter().collect();
    entries.sort_by_key(|(_, entry)| entry.offset);
    let filed = entries.iter().map(|(name, entry)| zipped::filed(&source, name, entry));
    let filed = filed.collect::<Result<Vec<Filed>>>()?;
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
        let recent = Mutex::new(Recent::default());
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
        // Each thread encodes one group of a batch; the groups are written in order.
        for batch in groups.chunks(rayon::current_num_threads().max(1)) {
            let read = |range: &std::ops::Range<usize>| {
                let members =
                    order[range.clone()].iter().map(|&n| read(&small[n], &files[small[n].file], &recent));
                make(&members.collect::<Result<Vec<Member>>>()?, &self.options.writer)
            };
            let made: Vec<Result<Made>> = batch.par_iter().map(read).collect();
            for (range, made) in batch.iter().zip(made) {
                self.put(made?)?;
                self.tell(contents[range.clone()].iter().map(|content| content.len).sum())?;
            }
        }
        let mut recent = recent.into_inner().unwrap_or_else(PoisonError::into_inner);
        for n in alone {
            self.put_alone(&files[n], &mut recent)?;
        }
        recent.check_again()?;
        self.done.members += files.len() as u64;
        Ok(())
    }

    /// Checks all names, of files and of existing members; each may occur once.
    fn check(&self, files: &[Bundled]) -> Result<HashSet<String>> {
        let mut names: HashSet<String> = self.names.all().map(str::to_owned).collect();
        names.extend(self.entries.iter().map(|(name, _)| name.clone()));
        // A file and its archive are one member: what is not packed is stored as the archive, with its name.
        let both = |names: &HashSet<String>, name: &str| match name.strip_suffix(".nc3z") {
            Some(original) if names.contains(original) => Some(name.to_owned()),
            _ => Some(format!("{name}.nc3z")).filter(|archive| names.contains(archive)),
        };
        for file in files {
            let name = &file.name;
            let wrong = inside("", name).as_deref() != Some(name) || name.contains('\0');
            if wrong || name.starts_with(".nc3z/") || name == README || name.len() > usize::from(u16::MAX) - 8
            {
                return Err(Error::refused(format!("`{name}` is not a valid name for a member of a bundle")));
            }
            if let Some(archive) = both(&names, name) {
                let original = archive.trim_end_matches(".nc3z");
                return Err(Error::refused(format!(
                    "two members would be called `{archive}`: the archive of `{original}`, and the file of that name; name one of them"
                )));
            }
            if !names.insert(name.clone()) {
                return Err(Error::refused(format!("two members would be called `{name}`")));
            }
        }
        Ok(names)
    }

    fn put(&mut self, made: Made) -> Result<()> {
        if let Some((archive, names)) = made.group {
            let group = format!("{DIRECTORY}{:06}.nc3z", self.names.lines.len());
            self.put_bytes(&group, &archive, Stamp::default())?;
            self.done.groups += 1;
            self.done.packed += names.len() as u64;
            self.names.push(group, names.iter().map(|(name, stamp)| (name.as_str(), *stamp)));
        }
        for (name, archive, stamp) in made.alone {
            self.put_bytes(&name, &archive, stamp)?;
        }
        Ok(())
    }

    fn put_bytes(&mut self, name: &str, bytes: &[u8], stamp: Stamp) -> Result<()> {
        let coming = Coming { name, len: bytes.len() as u64, stamp, room: 0 };
        self.zip.add(coming, &mut |put| put(bytes))?;
        self.filed(Head::default());
        Ok(())
    }

    /// Adds the member that was written last to the index.
    fn filed(&mut self, head: Head) {
        self.entries.extend(self.zip.filed.last().map(|f| (f.name.clone(), entry_of(f, head))));
    }

    /// Writes a file as a separate archive, or unchanged if it is not a classic file.
    fn put_alone(&mut self, file: &Bundled, recent: &mut Recent) -> Result<()> {
        let input = input::Input::open(&file.path)?;
        let crc32 = self.put_input(file, &input).map_err(|e| input.reason(e))?;
        recent.check(input, crc32)
    }

    /// Returns the CRC-32 of the file's bytes.
    fn put_input(&mut self, file: &Bundled, input: &input::Input) -> Result<u32> {
        let plain = &input.source;
        let mut magic = [0; MAGIC.len()];
        let is_archive = plain.len() >= magic.len() as u64 && {
            plain.read_into(0, &mut magic)?;
            magic == MAGIC
        };
        let is_classic =
            !is_archive && ClassicFile::from_source(Arc::clone(plain), &Limits::default()).is_ok();
        if !is_classic {
            self.put_source(&file.name, plain, input.stamp(), plain.len())?;
            return Ok(self.zip.filed.last().map_or(0, |f| f.crc32));
        }
        let name = format!("{}.nc3z", file.name);
        let options = &self.options.writer;
        if plain.len() <= IN_MEMORY {
            self.tell(plain.len())?;
            let bytes = plain.read_at(0, usize::try_from(plain.len()).unwrap_or(usize::MAX))?;
            let crc32 = crc32fast::hash(&bytes);
            let source = Arc::new(MemorySource::new(bytes));
            let (archive, _) = archive_to_vec(source, options, &()).map_err(of_writer)?;
            self.put_source(
                &name,
                &(Arc::new(MemorySource::new(archive)) as SharedSource),
                input.stamp(),
                0,
            )?;
            return Ok(crc32);
        }
        // The name is that of a temporary file, which a later run removes if this one is killed. It is removed when `place` is dropped.
        let place = AtomicFile::create(&self.options.scratch.join("member.nc3z"), true).map_err(of_writer)?;
        let temporary = place.temporary_path();
        let options = options.clone().with_force(true);
        self.tell(0)?;
        let crc32 = crc32_of(plain, &|_| (self.tell)(0))?.ok_or_else(nc3z_reader::Error::interrupted)?;
        archive_source(Arc::clone(plain), temporary, &options, &()).map_err(of_writer)?;
        let held = File::open(temporary).map_err(|e| Error::io(temporary, e))?;
        nc3z_writer::lock_file(&held, temporary).map_err(of_writer)?;
        let archive: SharedSource = Arc::new(FileSource::open(temporary)?);
        self.put_source(&name, &archive, input.stamp(), plain.len())?;
        Ok(crc32)
    }

    /// Copies a source, and reports `told` bytes of progress.
    fn put_source(&mut self, name: &str, source: &SharedSource, stamp: Stamp, told: u64) -> Result<()> {
        let len = source.len();
        self.zip.add(Coming { name, len, stamp, room: 0 }, &mut |put| {
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
        let coming = Coming { name: index::NAME, len: bytes.len() as u64, stamp: Stamp::default(), room: 0 };
        self.zip.add(coming, &mut |put| put(&bytes))?;
        let at = self.zip.filed.last().map_or(0, |f| f.offset);
        let comment = index::comment(at, &bytes);
        let first = self.zip.filed.first().map_or(0, |f| f.offset);
        self.zip.sync()?;
        let (file, len) = self.zip.finish(&comment)?;
        write_hint(file, first, &comment).map_err(|e| Error::io(path, e))?;
        zipped::sync(file, path)?;
        check_written(file, self.entries.len() + self.names.all().count())?;
        Ok(Packed { len, ..self.done })
    }
}

/// Examines a file. None if it gets a separate archive. The name of an archive's original is also reserved.
fn candidate<'f>(n: usize, file: &'f Bundled, names: &mut HashSet<String>) -> Result<Option<Candidate<'f>>> {
    let input = Input::open(&file.path)?;
    let source = &input.original;
    let len = source.len();
    if len > LONGEST {
        return Ok(None);
    }
    let name = match file.name.strip_suffix(".nc3z") {
        _ if !input.is_archive => file.name.as_str(),
        Some(name) if !name.is_empty() && names.insert(name.to_owned()) => name,
        _ => return Ok(None),
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

/// Returns the bytes of a file, which has the length that it had when it was examined.
fn read(candidate: &Candidate<'_>, file: &Bundled, recent: &Mutex<Recent>) -> Result<Member> {
    let input = Input::open(&file.path)?;
    let read = || -> Result<(Member, u32)> {
        if input.original.len() != candidate.content.len {
            return Err(Error::fragment(&file.path.to_string_lossy(), "it changed while it was read"));
        }
        let whole = |source: &SharedSource| -> Result<Bytes> {
            Ok(source.read_at(0, usize::try_from(source.len()).unwrap_or(usize::MAX))?)
        };
        let stored = whole(&input.file.source)?;
        let bytes = if input.is_archive { whole(&input.original)? } else { stored.clone() };
        let archive = input.is_archive.then(|| (file.name.clone(), stored.to_vec()));
        let member = Member { name: candidate.name.to_owned(), bytes, stamp: input.file.stamp(), archive };
        Ok((member, crc32fast::hash(&stored)))
    };
    let (member, crc32) = read().map_err(|e| input.file.reason(e))?;
    recent.lock().unwrap_or_else(PoisonError::into_inner).check(input.file, crc32)?;
    Ok(member)
}
