//! Which files, or which bundles, are the part of one of several runs. The parts have about equal bytes.

use nc3z_tree::walk::Shard;
use std::ops::Range;

/// The run of files that is one part: those whose middle byte is in it.
pub(super) fn run(lens: &[u64], shard: Shard) -> Range<usize> {
    let total: u128 = lens.iter().map(|len| u128::from(*len)).sum();
    let mut begin = 0_u128;
    let mut part = |len: u64| {
        let middle = 2 * begin + u128::from(len);
        begin += u128::from(len);
        // Files without bytes at the end are in the last part.
        (middle * u128::from(shard.count) / (2 * total).max(1)).min(u128::from(shard.count) - 1)
    };
    let parts: Vec<u128> = lens.iter().map(|len| part(*len)).collect();
    let index = u128::from(shard.index);
    parts.partition_point(|part| *part < index)..parts.partition_point(|part| *part <= index)
}

/// The numbers of the bundles that are one part: each, the largest first, goes to the part that has the fewest bytes.
pub(super) fn share(lens: &[u64], shard: Shard) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lens.len()).collect();
    order.sort_by_key(|n| (std::cmp::Reverse(lens[*n]), *n));
    // More parts than bundles: the rest of them has nothing.
    let parts = usize::try_from(shard.count).unwrap_or(usize::MAX).min(lens.len().max(1));
    let mut loads: Vec<(u64, Vec<usize>)> = vec![(0, Vec::new()); parts];
    for n in order {
        if let Some((load, own)) = loads.iter_mut().min_by_key(|(load, _)| *load) {
            *load = load.saturating_add(lens[n]);
            own.push(n);
        }
    }
    let own = usize::try_from(shard.index).ok().and_then(|index| loads.into_iter().nth(index));
    own.map(|(_, own)| own).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_one_another_and_have_about_equal_bytes() {
        for (lens, count) in [
            (vec![10; 100], 7),
            (vec![1000, 1, 1, 1, 1], 3),
            (vec![0; 5], 2),
            (vec![], 4),
            (vec![5, 9, 0], 9),
        ] {
            let mut end = 0;
            for index in 0..count {
                let part = run(&lens, Shard { index, count });
                assert_eq!(part.start, end, "{lens:?} {index}");
                end = part.end;
            }
            assert_eq!(end, lens.len());
        }
        let bytes = |index| run(&vec![10; 100], Shard { index, count: 7 }).len();
        assert!((0..7).all(|index| (14..=15).contains(&bytes(index))));
    }

    #[test]
    fn each_bundle_is_in_one_share() {
        let lens = [50, 10, 40, 30, 20, 60];
        let shares: Vec<_> = (0..3).map(|index| share(&lens, Shard { index, count: 3 })).collect();
        let mut all = shares.concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        let load = |share: &Vec<usize>| share.iter().map(|n| lens[*n]).sum::<u64>();
        assert!(shares.iter().all(|share| load(share) == 70), "{shares:?}");
        assert!(share(&lens[..1], Shard { index: 1, count: 2 }).is_empty());
    }
}
