//! Which files, or which bundles, are the part of one of several runs, and which files go into one bundle. The parts have about equal
//! bytes.

use crate::tree::walk::Shard;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The run of files that is one part: those whose middle byte is in it.
pub fn run_of(lens: &[u64], shard: Shard) -> Range<usize> {
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
pub fn share_of(lens: &[u64], shard: Shard) -> Vec<usize> {
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

/// Cuts the row of files into parts of about `target` bytes: where the directory changes, if that is in the second half of a part.
pub fn parts(files: &[(String, u64)], target: u64) -> Vec<Range<usize>> {
    let directory = |n: usize| files[n].0.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut out = Vec::new();
    let (mut begin, mut bytes) = (0, 0_u64);
    // The last change of the directory in the second half, and the bytes in front of it.
    let mut change: Option<(usize, u64)> = None;
    for (n, &(_, len)) in files.iter().enumerate() {
        if n > begin && directory(n) != directory(n - 1) && bytes >= target / 2 {
            change = Some((n, bytes));
        }
        while n > begin && bytes.saturating_add(len) > target {
            let (cut, before) = change.take().unwrap_or((n, bytes));
            out.push(begin..cut);
            (begin, bytes) = (cut, bytes - before);
        }
        bytes = bytes.saturating_add(len);
    }
    if begin < files.len() {
        out.push(begin..files.len());
    }
    out
}

/// `set.bundle.nc3z` as `set-000.bundle.nc3z`, `set.zip` as `set-000.zip`.
pub fn numbered(output: &Path, n: usize) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let ending = [".bundle.nc3z", ".nc3z"].into_iter().find(|ending| name.ends_with(ending));
    let at = ending
        .map_or_else(|| name.rfind('.').filter(|at| *at > 0), |ending| name.len().checked_sub(ending.len()));
    let (stem, ending) = name.split_at(at.unwrap_or(name.len()));
    output.with_file_name(format!("{stem}-{n:03}{ending}"))
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
                let part = run_of(&lens, Shard { index, count });
                assert_eq!(part.start, end, "{lens:?} {index}");
                end = part.end;
            }
            assert_eq!(end, lens.len());
        }
        let bytes = |index| run_of(&vec![10; 100], Shard { index, count: 7 }).len();
        assert!((0..7).all(|index| (14..=15).contains(&bytes(index))));
    }

    #[test]
    fn each_bundle_is_in_one_share() {
        let lens = [50, 10, 40, 30, 20, 60];
        let shares: Vec<_> = (0..3).map(|index| share_of(&lens, Shard { index, count: 3 })).collect();
        let mut all = shares.concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        let load = |share: &Vec<usize>| share.iter().map(|n| lens[*n]).sum::<u64>();
        assert!(shares.iter().all(|share| load(share) == 70), "{shares:?}");
        assert!(share_of(&lens[..1], Shard { index: 1, count: 2 }).is_empty());
    }

    #[test]
    fn parts_end_where_directories_do() {
        let file = |name: &str, len| (name.to_owned(), len);
        let files = [
            file("a/1", 30),
            file("a/2", 30),
            file("b/1", 30),
            file("b/2", 30),
            file("c/1", 200),
            file("c/2", 1),
        ];
        assert_eq!(parts(&files, 100), [0..2, 2..4, 4..5, 5..6]);
        assert_eq!(parts(&files, 1000).as_slice(), std::slice::from_ref(&(0..6)));
        assert_eq!(parts(&files[..2], 30), [0..1, 1..2]);
        // A change in the first half does not count.
        let files = [file("a/1", 10), file("b/1", 40), file("b/2", 40), file("b/3", 40)];
        assert_eq!(parts(&files, 100), [0..3, 3..4]);
        assert_eq!(parts(&[], 5), []);
        assert_eq!(numbered(Path::new("d/set.zip"), 7), Path::new("d/set-007.zip"));
    }
}
