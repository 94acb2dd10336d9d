//! Packs files for a bundle: groups of files that share data, and archives of the others.

use super::choose::{Made, Member, make};
use super::encode::{MAX_HEADER, encoded, of_writer};
use super::order::{self, Content, Repeated, SHARED_FROM};
use super::original::Input;
use super::{arrays, columns};
use crate::bundle::check::crc32_of;
use crate::bundle::input::{self, Recent};
use crate::bundle::stamp::Stamp;
use crate::bundle::write::{Adding, Push, describe};
use crate::bundle::{Bundled, is_archive};
use crate::catalog::{HeadKind, Member as Described, UNKNOWN_TIME};
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::Limits;
use nc3z_reader::ClassicFile;
use nc3z_reader::source::{FileSource, MemorySource, SharedSource};
use nc3z_writer::{AtomicFile, Preset, WriterOptions, archive_source, archive_to_vec};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Files with more bytes that no other file has get separate archives: what they share is a small part of them.
const SMALL_LEN: u64 = 1 << 20;
/// Longer files get separate archives, even if most of their bytes are those of others.
const LONGEST: u64 = 4 << 20;
/// The maximal length of archives that are made in memory.
const IN_MEMORY: u64 = 64 << 20;

/// The options for packing files.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// The options for the archives of groups, and for separate archives.
    pub writer: WriterOptions,
    /// A directory for what is made before it is copied to the bundle.
    pub scratch: PathBuf,
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

/// Packs files into a bundle.
pub(crate) fn add(
    adding: &mut Adding<'_>,
    files: &[Bundled],
    options: &PackOptions,
    push: Push<'_>,
) -> Result<()> {
    let mut names: HashSet<String> = files.iter().map(|file| file.name.clone()).collect();
    let (mut small, mut alone) = (Vec::new(), Vec::new());
    for (n, file) in files.iter().enumerate() {
        match candidate(n, file, &mut names)? {
            Some(candidate) => small.push(candidate),
            None => alone.push(n),
        }
        told(adding, 0)?;
    }
    // A bundle may have millions of files: what is not needed any more is dropped.
    drop(names);
    let recent = Mutex::new(std::mem::take(&mut adding.recent));
    let mut repeated = Repeated::default();
    small.iter().for_each(|c: &Candidate<'_>| repeated.add(&c.content));
    let is_small = |c: &Candidate<'_>| repeated.own_len(&c.content) <= SMALL_LEN;
    let (small, long): (Vec<_>, Vec<_>) = small.into_iter().partition(is_small);
    alone.extend(long.into_iter().map(|c| c.file));
    alone.sort_unstable();
    let kinds: Vec<[u8; 32]> = small.iter().map(|c| c.kind).collect();
    let order = order::alike(&kinds);
    let contents: Vec<&Content> = order.iter().map(|&n| &small[n].content).collect();
    let statistics = adding.options.statistics;
    let members = |range: &Range<usize>, recent: &Mutex<Recent>| -> Result<Vec<Member>> {
        order[range.clone()].iter().map(|&n| read(&small[n], &files[small[n].file], recent)).collect()
    };
    let group_len = group_len(adding, &order::trials(&contents, &repeated), options, &members)?;
    let groups = order::groups(&contents, &repeated, group_len);
    // Each thread encodes one group of a batch; the groups are written in order.
    for batch in groups.chunks(rayon::current_num_threads().max(1)) {
        let one = |range: &Range<usize>| {
            let members = members(range, &recent)?;
            let made = make(&members, &options.writer)?;
            Ok((described(&made, &members, statistics)?, made))
        };
        let made: Vec<Result<(Vec<Described>, Made)>> = batch.par_iter().map(one).collect();
        for (range, made) in batch.iter().zip(made) {
            let (packed, made) = made?;
            put(adding, packed, made, push)?;
            told(adding, contents[range.clone()].iter().map(|content| content.len).sum())?;
        }
    }
    adding.recent = recent.into_inner().unwrap_or_else(PoisonError::into_inner);
    alone.into_iter().try_for_each(|n| put_alone(adding, &files[n], options, push))
}

/// Returns the length of groups by which the sample takes the fewest bytes.
fn group_len(
    adding: &Adding<'_>,
    trials: &[(u64, Vec<Range<usize>>)],
    options: &PackOptions,
    members: &(dyn Fn(&Range<usize>, &Mutex<Recent>) -> Result<Vec<Member>> + Sync),
) -> Result<u64> {
    // Which length is best hardly depends on the preset, nor on the files of a group that are stored separately after all.
    let writer = options.writer.clone().with_preset(Preset::Default);
    let writer = writer.with_content_digests(false).with_verify(false);
    let mut best = (u64::MAX, order::GROUP_LENS[0]);
    for (len, ranges) in trials.iter().filter(|_| trials.len() > 1) {
        told(adding, 0)?;
        // The files are read once more for the bundle.
        let recent = Mutex::default();
        let one = |range: &Range<usize>| -> Result<u64> {
            let members = members(range, &recent)?;
            let archive = encoded(&members.iter().collect::<Vec<_>>(), &writer)?;
            Ok(archive.map_or(0, |archive| archive.len() as u64))
        };
        let total = ranges.par_iter().map(one).sum::<Result<u64>>()?;
        best = best.min((total, *len));
    }
    Ok(best.1)
}

fn told(adding: &Adding<'_>, bytes: u64) -> Result<()> {
    adding.monitor.advance(bytes);
    if adding.monitor.is_cancelled() { Err(nc3z_reader::Error::interrupted().into()) } else { Ok(()) }
}

/// The descriptions of the members of the group that was made.
fn described(made: &Made, members: &[Member], statistics: bool) -> Result<Vec<Described>> {
    let names = made.group.iter().flat_map(|(_, names)| names);
    let one = |((name, stamp), number): (&(String, Stamp), u32)| {
        let member = members.iter().find(|member| member.name == *name).expect("it is one of them");
        let source: SharedSource = Arc::new(MemorySource::new(member.bytes.clone()));
        let mut described = stamped(describe(name, &source, statistics), *stamp);
        // The group has no headers: one that cannot be described has its header, too.
        described.header = Bytes::copy_from_slice(member.classic()?.header_bytes());
        described.head.kind = HeadKind::Packed;
        described.head.len = member.bytes.len() as u64;
        described.head.sha256 = Some(Sha256::digest(&member.bytes).into());
        described.head.group_member = number;
        Ok(described)
    };
    names.zip(0..).map(one).collect()
}

/// A description with time and permissions.
fn stamped(mut described: Described, stamp: Stamp) -> Described {
    described.head.modified = stamp.nanos().unwrap_or(UNKNOWN_TIME);
    described.head.mode = stamp.mode().and_then(|mode| u16::try_from(mode).ok());
    described
}

fn put(adding: &mut Adding<'_>, packed: Vec<Described>, made: Made, push: Push<'_>) -> Result<()> {
    if let Some((archive, _)) = made.group {
        adding.done.groups += 1;
        adding.done.packed += packed.len() as u64;
        adding.put(&(Arc::new(MemorySource::new(archive)) as SharedSource), packed, push)?;
    }
    for (name, archive, stamp) in made.alone {
        put_archive(adding, &name, &(Arc::new(MemorySource::new(archive)) as SharedSource), stamp, push)?;
    }
    Ok(())
}

fn put_archive(
    adding: &mut Adding<'_>,
    name: &str,
    archive: &SharedSource,
    stamp: Stamp,
    push: Push<'_>,
) -> Result<()> {
    let described = stamped(describe(name, archive, adding.options.statistics), stamp);
    adding.put(archive, vec![described], push)
}

/// Adds a file as a separate archive, or unchanged if it is not a classic file.
fn put_alone(adding: &mut Adding<'_>, file: &Bundled, options: &PackOptions, push: Push<'_>) -> Result<()> {
    let input = input::Input::open(&file.path)?;
    let plain = Arc::clone(&input.source);
    let is_classic =
        !is_archive(&*plain)? && ClassicFile::from_source(Arc::clone(&plain), &Limits::default()).is_ok();
    if !is_classic {
        drop(input);
        return adding.add_plain(std::slice::from_ref(file), push);
    }
    let crc32 = put_classic(adding, file, &input, options, push).map_err(|e| input.reason(e))?;
    adding.recent.check(input, crc32)
}

/// Returns the CRC-32 of the file's bytes.
fn put_classic(
    adding: &mut Adding<'_>,
    file: &Bundled,
    input: &input::Input,
    options: &PackOptions,
    push: Push<'_>,
) -> Result<u32> {
    let plain = &input.source;
    let name = format!("{}.nc3z", file.name);
    if plain.len() <= IN_MEMORY {
        told(adding, plain.len())?;
        let bytes = plain.read_at(0, usize::try_from(plain.len()).unwrap_or(usize::MAX))?;
        let crc32 = crc32fast::hash(&bytes);
        let source = Arc::new(MemorySource::new(bytes));
        let (archive, _) = archive_to_vec(source, &options.writer, &()).map_err(of_writer)?;
        let archive: SharedSource = Arc::new(MemorySource::new(archive));
        put_archive(adding, &name, &archive, input.stamp(), push)?;
        return Ok(crc32);
    }
    // The name is that of a temporary file, which a later run removes if this one is killed. It is removed when `place` is dropped.
    let place = AtomicFile::create(&options.scratch.join("member.nc3z"), true).map_err(of_writer)?;
    let temporary = place.temporary_path();
    let writer = options.writer.clone().with_force(true);
    told(adding, 0)?;
    let monitor = adding.monitor;
    let crc32 = crc32_of(plain, &|_| !monitor.is_cancelled())?.ok_or_else(nc3z_reader::Error::interrupted)?;
    archive_source(Arc::clone(plain), temporary, &writer, &()).map_err(of_writer)?;
    let held = File::open(temporary).map_err(|e| Error::io(temporary, e))?;
    nc3z_writer::lock_file(&held, temporary).map_err(of_writer)?;
    let archive: SharedSource = Arc::new(FileSource::open(temporary)?);
    put_archive(adding, &name, &archive, input.stamp(), push)?;
    told(adding, plain.len())?;
    Ok(crc32)
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
            let header_len = parsed.layout().header_len;
            let content = Content { len, header_len, arrays: long_arrays(&parsed)? };
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
