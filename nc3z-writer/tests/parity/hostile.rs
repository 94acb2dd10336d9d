//! Forged packets: time and memory are bounded, and no wrong data are returned.

use crate::made::{archive, checked, repaired, source};
use nc3z_format::parity::{Packet, Params, ParityLayout};
use nc3z_reader::parity::{check, locate};

/// Writes a packet with these numbers at its place in the layout.
fn put(bytes: &mut Vec<u8>, params: Params, number: u64, fill: u8) -> Option<ParityLayout> {
    let layout = ParityLayout::new(params).ok()?;
    let at = usize::try_from(layout.packet_offset(number)).ok()?;
    let packet = Packet::encode(&layout, number, &vec![fill; usize::try_from(layout.payload_len()).ok()?]);
    if at + packet.len() > 1 << 26 {
        return None;
    }
    bytes.resize(bytes.len().max(at + packet.len()), 0);
    bytes[at..at + packet.len()].copy_from_slice(&packet);
    Some(layout)
}

#[test]
fn claims_beyond_the_file_are_not_believed() {
    let made = archive(100_000, Some("5%"));
    let known = checked(&made.bytes).layout.params;
    // Consistent numbers for a region 500 times as long as the file: 2 GiB of checksums to read.
    let (shards, packets) = (2000 + 2, 32_510u64);
    let huge = Params {
        begin: 2000 * 64,
        end: 2000 * 64 + 32_768 * 1000 * 64 + packets * 4096,
        archive_len: 2000 * 64 + 32_768 * 1000 * 64 + packets * 4096 + 128,
        shard_len: 64,
        packet_len: 4096,
        groups: 1,
        run: 16,
        parity: 32_768,
        packet_groups: 1,
        packet_parity: 1,
        ..known
    };
    let one = 32_768 * 64;
    let catalogue = (32 + 4 * (shards + 32_768u64)).div_ceil(4032);
    let fits = Params {
        end: huge.begin + one + (catalogue + 1) * 4096,
        archive_len: huge.begin + one + (catalogue + 1) * 4096 + 128,
        ..huge.clone()
    };
    let mut bytes = vec![0; 140_000];
    let layout = put(&mut bytes, fits, 0, 1).expect("the numbers agree");
    assert!(layout.params.archive_len > 8 * bytes.len() as u64 + (1 << 20));
    assert!(locate(&source(&bytes)).unwrap().is_none());
    // In a file that is long enough, the same packets are accepted, and reported as lost.
    bytes.resize(1_000_000, 0);
    assert_eq!(locate(&source(&bytes)).unwrap().unwrap().layout, layout);
    assert!(check(&source(&bytes), &()).unwrap_err().is_corrupt());
    // Many groups of a few shards would each take much work, so they are not allowed.
    assert!(ParityLayout::new(Params { groups: 1000, ..huge }).is_err());
}

#[test]
fn packets_of_other_numbers_do_not_mislead() {
    let made = archive(300_000, Some("5%"));
    let layout = checked(&made.bytes).layout;
    // The trailer is lost, and packets that claim another parity of the same generation replace some data.
    let mut bad = made.bytes.clone();
    let end = bad.len();
    bad[end - 128..].fill(0);
    let other = Params {
        begin: 8192,
        groups: 1,
        parity: 5,
        packet_groups: 1,
        packet_parity: 10,
        packet_len: 128,
        ..layout.params.clone()
    };
    let mut other = other;
    let items = 2 + 1;
    let data = (32 + 4 * (items + 5u64)).div_ceil(64);
    other.end = other.begin + 4096 * 5 + 128 * (data + 10);
    other.archive_len = other.end + 376;
    assert!(other != layout.params);
    put(&mut bad, other, 0, 3).expect("the numbers agree");
    assert_eq!(locate(&source(&bad)).unwrap().unwrap().layout, layout);
    assert!(repaired(&bad).unwrap() == made.bytes);
}

#[test]
fn packets_with_false_checksums_inside_are_refused_by_the_digest_or_the_shards() {
    let made = archive(50_000, Some("5%"));
    let layout = checked(&made.bytes).layout;
    // All packets rewritten with valid CRCs and a random catalogue.
    let mut bad = made.bytes.clone();
    for number in 0..layout.packet_count() {
        put(&mut bad, layout.params.clone(), number, 0x55).unwrap();
    }
    let report = checked(&bad);
    assert!(!report.is_repairable());
    assert!(repaired(&bad).unwrap_err().is_corrupt());
}

#[test]
fn a_file_full_of_markers_is_searched_in_linear_time() {
    let mut bytes = vec![0; 1 << 20];
    for chunk in bytes.chunks_mut(64) {
        chunk[..4].copy_from_slice(&nc3z_format::parity::PACKET_MARKER);
        chunk[62..].fill(64);
    }
    assert!(locate(&source(&bytes)).unwrap().is_none());
}

#[test]
fn every_cut_and_many_flips_of_a_small_archive_end_well() {
    let made = archive(200, Some("5%"));
    for len in (0..made.bytes.len()).step_by(7) {
        // Either the parity is found and reports the loss, or there is none, or it has too few packets.
        if let Ok(Some(report)) = check(&source(&made.bytes[..len]), &()) {
            assert!(!report.is_intact());
            if report.is_repairable() {
                assert!(repaired(&made.bytes[..len]).unwrap() == made.bytes, "{len}");
            }
        }
    }
}
