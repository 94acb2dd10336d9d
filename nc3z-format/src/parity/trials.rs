//! Random damage to layouts: checks that a group can lose as much as the share guarantees.

use super::*;
use crate::archive::Salt;
use std::collections::HashMap;
use std::ops::Range;

const SECTOR: u64 = 4096;

struct Lots(u64);

impl Lots {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u64::try_from((u128::from(self.0 >> 11) * u128::from(n)) >> 53).unwrap()
    }
}

/// The redundancy that remains after these bytes are lost: over all groups, the smallest number of spare
/// shards, and of spare packets.
fn spare(layout: &ParityLayout, lost: &[Range<u64>]) -> (i64, i64) {
    let hit = |place: Range<u64>| {
        let at = lost.partition_point(|r| r.end <= place.start);
        lost.get(at).is_some_and(|r| r.start < place.end)
    };
    let most = |counts: HashMap<u64, u64>, parity: u64| {
        i64::try_from(parity).unwrap() - i64::try_from(counts.values().max().copied().unwrap_or(0)).unwrap()
    };
    let mut shards: HashMap<u64, u64> = HashMap::new();
    for i in 0..layout.shard_count() {
        if hit(layout.shard_place(i)) {
            let group = match i.checked_sub(layout.shards.items()) {
                Some(parity) => layout.shards.parity_place(parity).0,
                None => layout.shards.group_of(i),
            };
            *shards.entry(group).or_default() += 1;
        }
    }
    let mut packets: HashMap<u64, u64> = HashMap::new();
    for j in 0..layout.packet_count() {
        let at = layout.packet_offset(j);
        if hit(at..at + layout.params.packet_len) {
            let group = match j.checked_sub(layout.packets.items()) {
                Some(parity) => layout.packets.parity_place(parity).0,
                None => layout.packets.group_of(j),
            };
            *packets.entry(group).or_default() += 1;
        }
    }
    (most(shards, layout.shards.parity()), most(packets, layout.packets.parity()))
}

/// Half the share of sectors at random, and half in one burst that begins anywhere.
fn damage(layout: &ParityLayout, share: Share, lots: &mut Lots) -> Vec<Range<u64>> {
    let len = layout.params.archive_len;
    let sectors = len.div_ceil(SECTOR);
    let hit = (sectors * u64::from(share.ppm())).div_ceil(2_000_000);
    let mut all: Vec<u64> = (0..sectors).collect();
    let mut lost: Vec<Range<u64>> = (0..hit)
        .map(|i| {
            let pick = i + lots.below(sectors - i);
            all.swap(usize::try_from(i).unwrap(), usize::try_from(pick).unwrap());
            let begin = all[usize::try_from(i).unwrap()] * SECTOR;
            begin..begin + SECTOR
        })
        .collect();
    let begin = lots.below(len.saturating_sub(hit * SECTOR).max(1));
    lost.push(begin..begin + hit * SECTOR);
    lost.sort_by_key(|r| r.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in lost {
        match merged.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => merged.push(range),
        }
    }
    merged
}

#[test]
fn damage_within_the_share_is_within_the_groups() {
    // NC3Z_PARITY_TRIALS=2000 for a long run.
    let trials: u64 = std::env::var("NC3Z_PARITY_TRIALS").map_or(3, |n| n.parse().unwrap());
    let mut lots = Lots(1);
    for ppm in [1_000, 5_000, 10_000, 50_000, 100_000, 200_000, 300_000] {
        for len in
            [65_536, 100_000, 200_000, 500_000, 1_000_000, 3_000_000, 10_000_000, 50_000_000, 300_000_000]
        {
            let share = Share::from_ppm(ppm).unwrap();
            let layout =
                ParityLayout::new(Params::choose(Salt([3; 8]), 2, len, 376, share).unwrap()).unwrap();
            // As many trials of small archives as of large ones would be too few.
            let count = (trials * (20_000_000 / len)).clamp(trials.min(3), trials * 30);
            let mut worst = (i64::MAX, i64::MAX);
            for _ in 0..count {
                let left = spare(&layout, &damage(&layout, share, &mut lots));
                worst = (worst.0.min(left.0), worst.1.min(left.1));
            }
            assert!(worst.0 >= 0 && worst.1 >= 0, "{share} of {len}: {worst:?} spare, {layout:?}");
            if trials > 3 {
                let p = &layout.params;
                let cost = p.archive_len - len;
                println!(
                    "{share} of {len}: +{} ppm, {} groups of {}+{}, packets {}+{} of {}; least to spare {worst:?} in {count}",
                    cost * 1_000_000 / len,
                    p.groups,
                    layout.shards.slots(0),
                    p.parity,
                    layout.packets.items(),
                    layout.packets.parity_items(),
                    p.packet_len,
                );
            }
        }
    }
}

#[test]
fn any_two_sectors_of_an_archive_of_four_may_be_lost() {
    for len in (16_384u64..=400_000).step_by(5_003) {
        let share = Share::from_ppm(10_000).unwrap();
        let layout = ParityLayout::new(Params::choose(Salt([3; 8]), 2, len, 376, share).unwrap()).unwrap();
        let sectors = layout.params.archive_len.div_ceil(SECTOR);
        for a in 0..sectors {
            for b in a + 1..sectors {
                let lost = [a * SECTOR..(a + 1) * SECTOR, b * SECTOR..(b + 1) * SECTOR];
                let left = spare(&layout, &lost);
                assert!(left.0 >= 0 && left.1 >= 0, "{len} bytes, sectors {a} and {b}: {left:?}, {layout:?}");
            }
        }
    }
}
