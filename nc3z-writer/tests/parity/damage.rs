//! Damage within the share, and beyond it.

use crate::made::{Lots, SLOTS, archive, archive_with, checked, repaired, source};
use nc3z_reader::parity::{check, repair};
use nc3z_writer::WriterOptions;

const SECTOR: usize = 4096;

/// Overwrites half the share of sectors at random and half in one burst, with noise or zeros.
fn spoil(bytes: &mut [u8], ppm: usize, lots: &mut Lots) {
    let sectors = bytes.len().div_ceil(SECTOR);
    let hit = (sectors * ppm).div_ceil(2_000_000);
    let fill = if lots.below(2) == 0 { 0 } else { 0xA5 };
    let ruin = |range: &mut [u8]| range.fill(fill);
    let mut order: Vec<usize> = (0..sectors).collect();
    let mut pick = Lots(lots.next());
    for i in 0..hit {
        let j = i + pick.below(sectors - i);
        order.swap(i, j);
        let begin = order[i] * SECTOR;
        let end = (begin + SECTOR).min(bytes.len());
        ruin(&mut bytes[begin..end]);
    }
    let begin = pick.below(bytes.len() - hit * SECTOR);
    ruin(&mut bytes[begin..begin + hit * SECTOR]);
}

/// 100 of 100 trials: the guarantee in the specification. `NC3Z_PARITY_MB` and `NC3Z_PARITY_SHARE` set other sizes
/// and shares.
#[test]
fn hundred_of_a_hundred_trials_are_repaired() {
    let env = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let len: usize = env("NC3Z_PARITY_MB", "2").parse().unwrap();
    let share = env("NC3Z_PARITY_SHARE", "5%");
    let made = archive(len * 1_000_000, Some(&share));
    let ppm = usize::try_from(nc3z_writer::Share::parse(&share).unwrap().ppm()).unwrap();
    let mut lots = Lots(5);
    for trial in 0..100 {
        let mut bad = made.bytes.clone();
        spoil(&mut bad, ppm, &mut lots);
        assert!(bad != made.bytes);
        let good = repaired(&bad).unwrap_or_else(|e| panic!("trial {trial}: {e}"));
        assert!(good == made.bytes, "trial {trial}: the bytes differ");
    }
}

#[test]
fn other_shares_and_sizes_are_repaired() {
    let mut lots = Lots(77);
    for (len, share, ppm) in [
        (300_000, "1%", 10_000),
        (300_000, "20%", 200_000),
        (1_500_000, "0.1%", 1_000),
        (2_000_000, "30%", 300_000),
    ] {
        let made = archive(len, Some(share));
        for trial in 0..10 {
            let mut bad = made.bytes.clone();
            spoil(&mut bad, ppm, &mut lots);
            let good = repaired(&bad).unwrap_or_else(|e| panic!("{len} at {share}, trial {trial}: {e}"));
            assert!(good == made.bytes, "{len} at {share}, trial {trial}");
        }
    }
}

#[test]
fn first_or_last_64_kib_are_repaired() {
    let made = archive(6_000_000, Some("5%"));
    let edge = 64 << 10;
    for zeros in [false, true] {
        let mut first = made.bytes.clone();
        first[..edge].iter_mut().for_each(|b| *b = if zeros { 0 } else { !*b });
        assert!(repaired(&first).unwrap() == made.bytes);
        let mut last = made.bytes.clone();
        let from = last.len() - edge;
        last[from..].iter_mut().for_each(|b| *b = if zeros { 0 } else { !*b });
        assert!(repaired(&last).unwrap() == made.bytes);
        // Both kinds of damage, and the file cut short.
        first.truncate(from);
        assert!(repaired(&first).unwrap() == made.bytes);
    }
}

#[test]
fn file_cut_short_is_repaired() {
    let made = archive(1_000_000, Some("5%"));
    for cut in [1, 127, 128, 129, 500, 4095, 4096, 5000, 20_000] {
        let good = repaired(&made.bytes[..made.bytes.len() - cut]).unwrap_or_else(|e| panic!("{cut}: {e}"));
        assert!(good == made.bytes, "{cut} bytes cut");
    }
}

/// A repair in place that is interrupted, even within a shard, can be started again.
#[test]
fn repair_cut_short_anywhere_is_repaired() {
    let made = archive(1_000_000, Some("5%"));
    let mut bad = made.bytes.clone();
    spoil(&mut bad, 50_000, &mut Lots(12));
    let report = checked(&bad);
    let mut patches: Vec<(usize, Vec<u8>)> = Vec::new();
    repair(&*report.view(&source(&bad)), &report, &(), &mut |at, good| {
        patches.push((usize::try_from(at).unwrap(), good.to_vec()));
        Ok(())
    })
    .unwrap();
    assert!(patches.len() > 10);
    for (i, (at, good)) in patches.iter().enumerate() {
        // This shard is torn; the next run finds those before it repaired.
        let half = good.len() / 2 - 5;
        bad[*at..*at + half].copy_from_slice(&good[..half]);
        if i % 3 == 0 {
            assert!(repaired(&bad).unwrap() == made.bytes, "cut short in patch {i}");
        }
        bad[*at..*at + good.len()].copy_from_slice(good);
    }
    // Parity treats the commit slots as zeros.
    bad[SLOTS..SLOTS + 48].copy_from_slice(&made.bytes[SLOTS..SLOTS + 48]);
    assert!(bad == made.bytes);
}

#[test]
fn file_that_lost_its_beginning_is_repaired() {
    let made = archive(3_000_000, Some("5%"));
    for cut in [1, 64, 127, 4095, 4096, 65_536, 70_001] {
        let good = repaired(&made.bytes[cut..]).unwrap_or_else(|e| panic!("{cut}: {e}"));
        assert!(good == made.bytes, "{cut} bytes cut");
    }
}

#[test]
fn tiny_archives_are_repaired() {
    let mut lots = Lots(3);
    for len in [0, 1, 100, 900, 3_000, 10_000, 40_000, 70_000] {
        let made = archive(len, Some("5%"));
        assert!(checked(&made.bytes).is_intact());
        // A burst of a sixteenth of the file, anywhere, and every single byte.
        for _ in 0..40 {
            let mut bad = made.bytes.clone();
            let burst = bad.len() / 16;
            let begin = lots.below(bad.len() - burst);
            bad[begin..begin + burst].iter_mut().for_each(|b| *b = !*b);
            assert!(repaired(&bad).unwrap() == made.bytes, "{len}: {burst} bytes at {begin}");
        }
    }
}

#[test]
fn every_byte_of_a_small_archive_is_covered() {
    let made = archive(300, Some("5%"));
    for at in 0..made.bytes.len() {
        let mut bad = made.bytes.clone();
        bad[at] ^= 1 << (at % 8);
        let report = checked(&bad);
        let damage = report.damage();
        assert!(!report.is_intact() && report.is_repairable(), "byte {at}");
        assert!(damage.iter().any(|r| r.contains(&(at as u64))), "byte {at}: {damage:?}");
        assert!(repaired(&bad).unwrap() == made.bytes, "byte {at}");
    }
}

#[test]
fn up_to_the_parity_is_repaired_and_one_more_is_an_error() {
    let made = archive(2_000_000, Some("1%"));
    let layout = checked(&made.bytes).layout;
    assert_eq!(layout.shards.groups(), 1);
    let most = usize::try_from(layout.shards.parity()).unwrap();
    let mut lots = Lots(9);
    for trial in 0..20 {
        let mut bad = made.bytes.clone();
        let count = usize::try_from(layout.shard_count()).unwrap();
        let mut order: Vec<usize> = (0..count).collect();
        for i in 0..=most {
            let j = i + lots.below(count - i);
            order.swap(i, j);
        }
        let mut ruin = |shard: usize| {
            let place = layout.shard_place(shard as u64);
            bad[usize::try_from(place.start).unwrap()] ^= 0x40;
        };
        order[..most].iter().for_each(|&shard| ruin(shard));
        assert!(repaired(&bad).unwrap() == made.bytes, "trial {trial}");
        let place = layout.shard_place(order[most] as u64);
        bad[usize::try_from(place.start).unwrap()] ^= 0x40;
        let report = checked(&bad);
        assert!(!report.is_repairable() && report.worst == most as u64 + 1);
        let error = repaired(&bad).unwrap_err();
        assert!(error.is_corrupt() && error.to_string().contains("beyond its parity"), "{error}");
    }
}

#[test]
fn damaged_parity_alone_is_repaired_too() {
    let made = archive(2_000_000, Some("5%"));
    let layout = checked(&made.bytes).layout;
    let mut bad = made.bytes.clone();
    // Every parity shard, and the largest number of packets that may be lost.
    for shard in layout.shards.items()..layout.shard_count() {
        bad[usize::try_from(layout.shard_place(shard).start).unwrap()] ^= 1;
    }
    for packet in 0..layout.packets.parity() {
        bad[usize::try_from(layout.packet_offset(packet)).unwrap() + 70] ^= 1;
    }
    let report = checked(&bad);
    assert_eq!(report.lost_data(), 0);
    assert_eq!(report.lost_packets.len() as u64, layout.packets.parity());
    assert!(repaired(&bad).unwrap() == made.bytes);
}

#[test]
fn too_many_lost_packets_are_said() {
    let made = archive(500_000, Some("5%"));
    let layout = checked(&made.bytes).layout;
    let mut bad = made.bytes.clone();
    for packet in 0..=layout.packets.parity() {
        bad[usize::try_from(layout.packet_offset(packet)).unwrap() + 70] ^= 1;
    }
    let error = check(&source(&bad), &()).unwrap_err();
    assert!(error.is_corrupt() && error.to_string().contains("lost packets"), "{error}");
}

#[test]
fn parity_depends_on_neither_threads_nor_memory() {
    let made = archive(3_000_000, Some("2%"));
    for (threads, memory) in [(1, 0), (2, 1 << 20), (5, 1 << 30)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let other = pool
            .install(|| archive_with(3_000_000, Some("2%"), WriterOptions::default().with_memory(memory)));
        assert!(other.bytes == made.bytes, "{threads} threads, {memory} bytes");
    }
}
