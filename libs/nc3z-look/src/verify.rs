//! The report of a check as JSON.

use crate::{text, tile_location};
use nc3z_format::archive::constants::REQUIRED_LOSSY;
use nc3z_format::bytes::hex;
use nc3z_format::parity::ParityLayout;
use nc3z_reader::Archive;
use nc3z_reader::parity::{Located, ParityReport};
use nc3z_reader::verify::{Finding, OlderVersion, Report};
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

/// Returns the state of an archive's parity.
pub fn parity_json(report: &ParityReport) -> Value {
    let state = match report {
        p if p.is_intact() => "intact",
        p if p.is_mendable() => "repairable",
        _ => "beyond repair",
    };
    json!({
        "state": state, "shards": report.layout.shard_count(), "lost_shards": report.lost_shards.len(),
        "packets": report.layout.packet_count(), "lost_packets": report.lost_packets.len(),
        "most_lost_in_a_group": report.worst, "may_be_lost_in_a_group": report.layout.shards.parity(),
        "lost_slots": report.lost_slots, "stale_bytes": report.uncovered,
    })
}

/// Returns the place and the shape of the parity in a file of `len` bytes.
pub fn parity_place_json(located: &Located, len: u64) -> Value {
    let layout = &located.layout;
    let ParityLayout { params, shards, packets, .. } = layout;
    let region = params.end - params.begin;
    json!({
        "parity": true,
        "commit": params.generation,
        "covers": params.archive_len,
        "stale_bytes": (len + located.missing).saturating_sub(params.archive_len),
        "missing_bytes": params.archive_len.saturating_sub(len),
        "region_offset": params.begin,
        "region_bytes": region,
        "shard_bytes": params.shard_len,
        "data_shards": shards.items(),
        "parity_shards": shards.parity_items(),
        "groups": shards.groups(),
        "parity_shards_per_group": shards.parity(),
        "packet_bytes": params.packet_len,
        "packets": layout.packet_count(),
        "packets_needed": packets.items(),
    })
}
