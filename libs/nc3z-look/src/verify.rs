//! The report of a check as JSON.

use crate::{text, tile_location};
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::bytes::hex;
use nc3z_format::parity::ParityLayout;
use nc3z_reader::Archive;
use nc3z_reader::parity::{Located, ParityReport};
use nc3z_reader::verify::{Finding, OlderVersion, Report};
use serde::Serialize;
use serde_json::{Value, json};

/// The number of findings of one archive for which coordinates are read from the archive.
pub const WITH_COORDINATES: usize = 100;
/// The advice for archives without parity.
pub const PARITY_SUGGESTION: &str = "`nc3z parity add` lets an archive outlive lost sectors";

/// Returns whether values were rounded when the archive was made.
pub fn is_lossy(archive: Option<&Archive>) -> bool {
    archive.is_some_and(|a| a.trailer().required & REQUIRED_LOSSY != 0)
}

/// Returns the report of a check. Coordinates are read from `archive`.
pub fn report_json(name: &str, report: &Report, archive: Option<&Archive>) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .enumerate()
        .map(|(i, f)| finding_json(f, archive.filter(|_| i < WITH_COORDINATES)))
        .collect();
    let digest = report.restored.as_ref().map(|r| hex(&r.sha256));
    let lost: Vec<Value> = report.lost.iter().map(|p| tile_location::to_json(p, None)).collect();
    let not_decoded: Vec<Value> = report
        .not_decoded
        .iter()
        .map(
            |u| json!({"place": tile_location::to_json(&u.place, None), "tiles": u.tiles, "why": text::safe(&u.why)}),
        )
        .collect();
    json!({
        "archive": name, "sound": report.is_sound() && report.is_complete(), "complete": report.is_complete(), "lossy": is_lossy(archive), "tiles": report.tiles, "blocks": report.blocks,
        "commits": report.generations, "stored_bytes": report.stored_len, "unchecked_bytes": report.unchecked,
        "sha256": digest, "sha256_matches": report.restored.as_ref().map(|r| r.matches_record), "findings": findings,
        "more_findings": report.more, "lost": lost, "undecoded_tiles": report.undecoded,
        "not_decoded": not_decoded, "not_rebuilt": report.not_rebuilt.as_ref().map(|why| text::safe(why)),
        "parity": report.parity.as_ref().map(parity_json),
        "suggestion": report.parity.is_none().then_some(PARITY_SUGGESTION),
    })
}

fn finding_json(finding: &Finding, archive: Option<&Archive>) -> Value {
    let places: Vec<Value> = finding.places.iter().map(|p| tile_location::to_json(p, archive)).collect();
    json!({
        "structure": finding.structure.name(), "begin": finding.bytes.start, "end": finding.bytes.end,
        "message": text::safe(&finding.message), "variable": places.first().map(|p| p["variable"].clone()), "places": places,
    })
}

/// Returns the result of rebuilding an older version.
pub fn older_json((number, done): &OlderVersion) -> Value {
    match done {
        Ok(r) => {
            json!({"version": number, "sound": true, "sha256": hex(&r.sha256), "sha256_matches": r.matches_record})
        }
        Err(e) => json!({"version": number, "sound": false, "error": text::safe(&e.with_causes())}),
    }
}

/// The state of an archive's parity.
#[derive(Debug, Serialize)]
struct ParityState<'r> {
    lost_packets: usize,
    lost_shards: usize,
    lost_slots: bool,
    may_be_lost_in_a_group: u64,
    most_lost_in_a_group: u64,
    packets: u64,
    shards: u64,
    stale_bytes: u64,
    state: &'r str,
}

/// Returns the state of an archive's parity.
pub fn parity_json(report: &ParityReport) -> Value {
    let state = match report {
        p if p.is_intact() => "intact",
        p if p.is_repairable() => "repairable",
        _ => "beyond repair",
    };
    let state = ParityState {
        lost_packets: report.lost_packets.len(),
        lost_shards: report.lost_shards.len(),
        lost_slots: report.lost_slots,
        may_be_lost_in_a_group: report.layout.shards.parity(),
        most_lost_in_a_group: report.worst,
        packets: report.layout.packet_count(),
        shards: report.layout.shard_count(),
        stale_bytes: report.uncovered,
        state,
    };
    json!(state)
}

/// The place and the shape of the parity in a file.
#[derive(Debug, Clone, Serialize)]
pub struct ParityPlace {
    /// The number of bytes that adding the parity took, zeros before it included. None if the archive was changed afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_bytes: Option<u64>,
    /// The number of the commit that added it.
    pub commit: u32,
    /// The length of the archive that it covers in bytes, itself included.
    pub covers: u64,
    /// The number of shards with data.
    pub data_shards: u64,
    /// The number of groups of shards.
    pub groups: u64,
    /// The number of covered bytes that the file has lost at its end.
    pub missing_bytes: u64,
    /// The length of a packet.
    pub packet_bytes: u64,
    /// The number of packets.
    pub packets: u64,
    /// The number of packets that are needed to rebuild all.
    pub packets_needed: u64,
    /// The number of shards with parity.
    pub parity_shards: u64,
    /// The number of shards with parity in a group, which is how many shards a group can lose.
    pub parity_shards_per_group: u64,
    /// The length of the parity.
    pub region_bytes: u64,
    /// The offset of the parity.
    pub region_offset: u64,
    /// The length of a shard.
    pub shard_bytes: u64,
    /// The number of bytes after those that it covers.
    pub stale_bytes: u64,
}

impl ParityPlace {
    /// Describes the parity in a file of `len` bytes.
    pub fn new(located: &Located, len: u64) -> Self {
        let layout = &located.layout;
        let ParityLayout { params, shards, packets, .. } = layout;
        ParityPlace {
            added_bytes: None,
            commit: params.generation,
            covers: params.archive_len,
            data_shards: shards.items(),
            groups: shards.groups(),
            missing_bytes: params.archive_len.saturating_sub(len),
            packet_bytes: params.packet_len,
            packets: layout.packet_count(),
            packets_needed: packets.items(),
            parity_shards: shards.parity_items(),
            parity_shards_per_group: shards.parity(),
            region_bytes: params.end - params.begin,
            region_offset: params.begin,
            shard_bytes: params.shard_len,
            stale_bytes: (len + located.missing).saturating_sub(params.archive_len),
        }
    }
}
