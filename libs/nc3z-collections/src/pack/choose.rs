//! Chooses the members of a group: those that take fewer bytes in it than as separate archives.

use super::encode::{group, of_writer};
use crate::bundle::stamp::Stamp;
use crate::error::Result;
use bytes::Bytes;
use nc3z_format::Limits;
use nc3z_reader::ClassicFile;
use nc3z_reader::source::MemorySource;
use nc3z_writer::{WriterOptions, archive_to_vec};
use std::cell::OnceCell;
use std::sync::Arc;

/// The number of members of a group that are archived separately to estimate the savings. If these are clear,
/// the others are not archived. With four, the savings of eight unlike files were estimated as more than 15 %,
/// and were a loss of 5 %.
const SAMPLE: usize = 16;
/// The savings are clear if the group takes at most this percentage of the separate archives.
const CLEARLY: u64 = 85;
/// The bytes of a file of its own in the table of the bundle, besides its name: place, length and checksum.
const MEMBER_COST: u64 = 16;
/// If not all members save bytes, those are tried whose length is at most 1 / SHORTER of the longest: they
/// consist mainly of headers and names.
const SHORTER: usize = 4;

pub(super) struct Member {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// Time and permissions of its file.
    pub(super) stamp: Stamp,
    /// Name and bytes of its archive, if an archive was given.
    pub(super) archive: Option<(String, Vec<u8>)>,
}

impl Member {
    /// The file, parsed.
    pub(super) fn classic(&self) -> Result<ClassicFile> {
        let source = Arc::new(MemorySource::new(self.bytes.clone()));
        Ok(ClassicFile::from_source(source, &Limits::default())?)
    }
}

/// The result of packing files.
#[derive(Default)]
pub(super) struct Made {
    /// A group, and the names of its members in their order, with time and permissions of their files.
    pub(super) group: Option<(Vec<u8>, Vec<(String, Stamp)>)>,
    pub(super) alone: Vec<(String, Vec<u8>, Stamp)>,
}

/// Makes a group of these files, of some of them, or of none, whichever takes the fewest bytes.
pub(super) fn make(members: &[Member], options: &WriterOptions) -> Result<Made> {
    // Each member is compared with its file when the group is made. A digest of the group itself is not
    // needed.
    let own = options.clone().with_content_digests(false).with_verify(false);
    let own_archives: Vec<OnceCell<(String, Vec<u8>)>> = vec![OnceCell::new(); members.len()];
    let alone = |n: usize| -> Result<&(String, Vec<u8>)> {
        if let Some(known) = own_archives[n].get() {
            return Ok(known);
        }
        let made = alone(&members[n], options)?;
        Ok(own_archives[n].get_or_init(|| made))
    };
    let mut chosen: Vec<usize> = (0..members.len()).collect();
    let mut best: Option<(u64, Vec<u8>, Vec<usize>)> = None;
    while chosen.len() > 1 {
        let packed = group(&chosen.iter().map(|&n| &members[n]).collect::<Vec<_>>(), &own)?;
        let Some(packed) = packed else { break };
        let taken = packed.len() as u64 + MEMBER_COST;
        if chosen.len() == members.len() && is_clear(members, taken, &alone)? {
            return Ok(made(members, packed, &chosen));
        }
        let mut others = 0;
        for n in (0..members.len()).filter(|n| !chosen.contains(n)) {
            others += cost(alone(n)?);
        }
        let total = taken + others;
        if best.as_ref().is_none_or(|(least, ..)| total < *least) {
            best = Some((total, packed, chosen.clone()));
        }
        let longest = chosen.iter().map(|&n| members[n].bytes.len()).max().unwrap_or(0);
        let before = chosen.len();
        chosen.retain(|&n| members[n].bytes.len() <= longest / SHORTER);
        if chosen.len() == before {
            break;
        }
    }
    let mut all = 0;
    for n in 0..members.len() {
        all += cost(alone(n)?);
    }
    let best = best.filter(|(least, ..)| *least < all);
    let mut out = best.map_or_else(Made::default, |(_, packed, chosen)| made(members, packed, &chosen));
    let packed = out.group.as_ref().map_or(&[][..], |(_, names)| names);
    let packed: std::collections::HashSet<&String> = packed.iter().map(|(name, _)| name).collect();
    let rest = members.iter().zip(own_archives).filter(|(m, _)| !packed.contains(&m.name));
    let rest = rest.filter_map(|(m, archive)| {
        let (name, archive) = archive.into_inner()?;
        Some((name, archive, m.stamp))
    });
    let rest: Vec<_> = rest.collect();
    out.alone = rest;
    Ok(out)
}

fn made(members: &[Member], packed: Vec<u8>, chosen: &[usize]) -> Made {
    let names = chosen.iter().map(|&n| (members[n].name.clone(), members[n].stamp)).collect();
    Made { group: Some((packed, names)), alone: Vec::new() }
}

/// Returns the separate archive of a file, and its name.
fn alone(member: &Member, options: &WriterOptions) -> Result<(String, Vec<u8>)> {
    if let Some(archive) = &member.archive {
        return Ok(archive.clone());
    }
    let source = Arc::new(MemorySource::new(member.bytes.clone()));
    let (archive, _) = archive_to_vec(source, options, &()).map_err(of_writer)?;
    Ok((format!("{}.nc3z", member.name), archive))
}

/// Returns the number of bytes that an archive adds to the bundle.
fn cost((_, archive): &(String, Vec<u8>)) -> u64 {
    archive.len() as u64 + MEMBER_COST
}

/// Returns whether a group of `taken` bytes is clearly smaller than the separate archives of its members, by
/// a sample of them.
fn is_clear<'a>(
    members: &[Member],
    taken: u64,
    alone: &dyn Fn(usize) -> Result<&'a (String, Vec<u8>)>,
) -> Result<bool> {
    if members.len() <= SAMPLE {
        return Ok(false);
    }
    let (mut stored, mut bytes) = (0, 0_u64);
    for n in (0..SAMPLE).map(|n| n * (members.len() / SAMPLE)) {
        stored += cost(alone(n)?);
        bytes += members[n].bytes.len() as u64;
    }
    let total: u64 = members.iter().map(|m| m.bytes.len() as u64).sum();
    let expected = u128::from(stored) * u128::from(total) / u128::from(bytes.max(1));
    Ok(u128::from(taken) * 100 <= expected * u128::from(CLEARLY))
}
