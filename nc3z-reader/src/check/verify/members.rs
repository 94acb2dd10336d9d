//! Compares the index with the containers' lists of members. If the index is lost, only these lists can find
//! the tiles.

use super::report::{Finding, Report, Structure};
use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::archive::{ArrayId, IndexEntry, Member};
use std::collections::HashMap;

/// A tile that the index calls a member, and the member it should be.
struct Claim {
    container: u64,
    member: Member,
}

/// Adds a finding for each tile whose container disagrees with the index. Unreadable containers are reported
/// when their tiles are decoded.
pub(super) fn check(archive: &Archive, report: &mut Report, monitor: &dyn Monitor) -> Result<()> {
    let mut claims = claims(archive);
    claims.sort_unstable_by_key(|claim| claim.container);
    for of_one in claims.chunk_by(|a, b| a.container == b.container) {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let offset = of_one[0].container;
        let Ok(members) = archive.container_members(offset) else { continue };
        let by_start: HashMap<u32, Member> = members.into_iter().map(|m| (m.start, m)).collect();
        // An empty member begins where the next one does.
        for Claim { member, .. } in of_one.iter().filter(|claim| claim.member.len > 0) {
            let found = by_start.get(&member.start);
            if found == Some(member) {
                continue;
            }
            let found = found.map_or_else(|| "no member".to_owned(), describe);
            let message = format!(
                "expected {} in the container at {offset}, which has {found} there; the tile can be read, but not be found without the index",
                describe(member)
            );
            let places = vec![archive.place(member.array, member.tile..member.tile + 1)];
            report.findings.push(Finding {
                structure: Structure::Index,
                bytes: offset..offset,
                message,
                places,
            });
        }
    }
    Ok(())
}

/// The index entries of all packed tiles. Unreadable parts of the index have been reported before.
fn claims(archive: &Archive) -> Vec<Claim> {
    let mut claims = Vec::new();
    for info in archive.arrays().iter() {
        for tile in 0..info.tiling.tile_count() {
            if let Ok(IndexEntry::Shared { offset, start, len, chain, .. }) = archive.entry(info.id, tile) {
                let member = Member { array: info.id, tile, chain, start, len };
                claims.push(Claim { container: offset, member });
            }
        }
    }
    claims
}

fn describe(member: &Member) -> String {
    let &Member { array, tile, chain, start, len } = member;
    let ArrayId(number) = array;
    format!("tile {tile} of array {number:#x} by chain {chain} as {len} bytes at {start}")
}
