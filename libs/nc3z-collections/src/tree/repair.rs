//! The result of a repair as JSON.

use nc3z_format::bytes::hex;
use nc3z_look::{text, tile_location};
use nc3z_reader::parity::{ParityReport, RepairedShards};
use nc3z_writer::{LostTiles, ParityChoice, RepairOutcome, RepairedBlocks, RepairedDigest, RepairedVersions};
use serde_json::{Value, json};

/// Returns the result of a repair of `archive` to `output`, for which `choice` was the parity.
pub fn to_json(archive: &str, output: &str, choice: ParityChoice, outcome: &RepairOutcome) -> Value {
    let mut found = match outcome {
        RepairOutcome::Parity { report, done } => by_parity(report, done),
        RepairOutcome::Versions(saved) => by_versions(saved, choice),
        RepairOutcome::Blocks(repaired) => by_blocks(repaired),
        _ => json!({}),
    };
    found["archive"] = archive.into();
    found["output"] = output.into();
    found["complete"] = outcome.is_complete().into();
    found
}

fn by_parity(report: &ParityReport, done: &RepairedShards) -> Value {
    json!({
        "by": "parity", "repaired_shards": done.shards, "repaired_packets": done.packets, "repaired_bytes": done.bytes,
        "stale_bytes": report.uncovered,
    })
}

fn by_versions(saved: &RepairedVersions, choice: ParityChoice) -> Value {
    let RepairedVersions::Written { done, lost, unproven, note } = saved else { return json!({}) };
    let lost: Vec<_> = lost.iter().map(|(n, e)| json!({"version": n, "message": text::safe(e)})).collect();
    json!({
        "versions": done.kept, "lost_versions": lost, "unverified_versions": unproven,
        "notes": note.iter().map(|n| text::safe(n)).collect::<Vec<_>>(), "stored_bytes": done.stored_len.1,
        "parity": choice.share(done.parity_before).map(|s| s.to_string()),
    })
}

fn by_blocks(repaired: &RepairedBlocks) -> Value {
    let digest = match repaired.digest {
        RepairedDigest::Confirmed => "confirmed",
        RepairedDigest::Recomputed => "recomputed",
        RepairedDigest::Unconfirmed => "unconfirmed",
        RepairedDigest::Differs => "differs",
        RepairedDigest::CarriedOver => "carried over",
        RepairedDigest::Lost => "lost",
    };
    let lost = |run: &LostTiles| {
        let mut value = tile_location::to_json(&run.place, None);
        value["message"] = text::safe(&run.message).into();
        value
    };
    json!({
        "tiles": repaired.tiles, "lost_tiles": repaired.lost_tiles, "lost": repaired.lost.iter().map(lost).collect::<Vec<_>>(),
        "notes": repaired.notes.iter().map(|n| text::safe(n)).collect::<Vec<_>>(), "uncommitted_blocks": repaired.uncommitted,
        "earlier_versions_left_out": repaired.earlier,
        "digest": digest, "rebuilt_sha256": hex(&repaired.sha256), "original_bytes": repaired.original_len,
        "stored_bytes": repaired.stored_len, "parity_before": repaired.parity_before.map(|s| s.to_string()),
        "parity": repaired.parity.map(|s| s.to_string()),
    })
}
