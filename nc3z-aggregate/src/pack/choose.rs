//! Which members share a group: those that take less so than as archives of their own.

use super::encode::{group, of_writer};
use crate::error::Result;
use bytes::Bytes;
use nc3z_reader::source::MemorySource;
use nc3z_writer::{WriterOptions, archive_to_vec};
use std::cell::OnceCell;
use std::sync::Arc;

/// Members of a group that are archived alone to see what it saves; if that is clear, the others are not.
const SAMPLE: usize = 4;
/// It is clear where the group takes at most so many hundredths.
const CLEARLY: u64 = 85;
/// What a member of the ZIP costs beside its bytes and twice its name: two headers, its line in the index.
const MEMBER_COST: u64 = 76 + 24;
/// Where not all gain, those are tried that are no longer than one part in so many of the longest: headers and names are most of them.
const SHORTER: usize = 4;

/// A file that is to be packed.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// Name and bytes of its archive, where that is what was given.
    pub(super) archive: Option<(String, Vec<u8>)>,
}

/// What became of some files.
#[derive(Default)]
pub(super) struct Made {
    /// A group, and the names of its members.
    pub(super) group: Option<(Vec<u8>, Vec<String>)>,
    /// Archives by name.
    pub(super) alone: Vec<(String, Vec<u8>)>,
}

/// Makes a group of these files, of some of them, or of none, whichever takes least.
pub(super) fn make(members: &[Member], options: &WriterOptions) -> Result<Made> {
    // Each member is compared with its file when the group is made; a digest of the group says nothing of it.
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
        let names: usize = chosen.iter().map(|&n| members[n].name.len()).sum();
        let taken = packed.len() as u64 + MEMBER_COST + names as u64;
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
    let packed: std::collections::HashSet<&String> = packed.iter().collect();
    let rest = members.iter().zip(own_archives).filter(|(m, _)| !packed.contains(&m.name));
    let rest: Vec<_> = rest.filter_map(|(_, archive)| archive.into_inner()).collect();
    out.alone = rest;
    Ok(out)
}

fn made(members: &[Member], packed: Vec<u8>, chosen: &[usize]) -> Made {
    let names = chosen.iter().map(|&n| members[n].name.clone()).collect();
    Made { group: Some((packed, names)), alone: Vec::new() }
}

/// The archive of a file by itself, and its name.
fn alone(member: &Member, options: &WriterOptions) -> Result<(String, Vec<u8>)> {
    if let Some(archive) = &member.archive {
        return Ok(archive.clone());
    }
    let source = Arc::new(MemorySource::new(member.bytes.clone()));
    let (archive, _) = archive_to_vec(source, options, &()).map_err(of_writer)?;
    Ok((format!("{}.nc3z", member.name), archive))
}

/// Bytes of the bundle for an archive.
fn cost((name, archive): &(String, Vec<u8>)) -> u64 {
    archive.len() as u64 + 2 * name.len() as u64 + MEMBER_COST
}

/// Whether a group of `taken` bytes is far below what its members take alone, by a sample of them.
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
