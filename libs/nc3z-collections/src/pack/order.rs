//! Chooses the members of each group: files of the same kind, in the given order.

use nc3z_format::classic::Header;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Bytes of a group's arrays that its files do not share with others: the lengths that are tried on a sample. Profiles of one kind take fewer
/// bytes in short groups, files of several kinds in long ones, whose arrays are then compared with each other. The writer compares all arrays of a file
/// of up to 4 MiB. Bytes of bundles at `default` with groups of 4, 2 and 1 MiB: 435 profiles 239,488, 232,392, 222,048; 119 Argo files of several kinds
/// 306,168, 372,616, 433,704; 326 small files of all kinds 854,272, 849,056, 853,968.
pub(super) const GROUP_LENS: [u64; 3] = [4 << 20, 2 << 20, 1 << 20];
/// The number of groups of the greatest length whose files are tried with each length.
const SAMPLE: usize = 4;
/// The maximal length of a group's content, including arrays that its files share.
const CONTENT_LEN: u64 = 8 << 20;
/// The maximal length of the files of one group: all are in memory while it is made.
const FILES_LEN: u64 = 64 << 20;
/// The maximal number of files of one group: opening it reads the list of all.
const GROUP_MEMBERS: usize = 512;
/// Shorter arrays are not looked for in other files, so that little is remembered of each file.
pub(super) const SHARED_FROM: u64 = 4 << 10;

/// The lengths of a file and of its long arrays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Bytes of the file.
    pub(super) len: u64,
    /// Bytes of its header, which a group does not have.
    pub(super) header_len: u64,
    /// Digest and bytes of each array of at least [`SHARED_FROM`] bytes.
    pub(super) arrays: Vec<(u64, u64)>,
}

/// The digests of the arrays that several files have.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    /// All digests; true for those that occurred more than once.
    seen: HashMap<u64, bool>,
}

impl Repeated {
    /// Counts the arrays of one file.
    pub(super) fn add(&mut self, content: &Content) {
        for (digest, _) in &content.arrays {
            self.seen.entry(*digest).and_modify(|again| *again = true).or_insert(false);
        }
    }

    /// Returns the arrays of a file that others have, too.
    fn of<'c>(&self, content: &'c Content) -> impl Iterator<Item = (u64, u64)> + use<'_, 'c> {
        content.arrays.iter().copied().filter(|(digest, _)| self.seen.get(digest) == Some(&true))
    }

    /// Returns the bytes of a file's arrays that no other file has.
    pub(super) fn own_len(&self, content: &Content) -> u64 {
        let shared: u64 = self.of(content).map(|(_, len)| len).sum();
        content.len.saturating_sub(content.header_len.saturating_add(shared))
    }
}

/// Returns a digest of the properties that files of one kind share: names, types and dimensions of their
/// variables.
pub(super) fn kind(header: &Header) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut word = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for v in &header.variables {
        word(&v.name);
        word(&[v.ty as u8]);
        for d in &v.dimensions {
            word(header.dimensions.get(d.index()).map_or(&[][..], |d| &d.name));
        }
    }
    hash.finalize().into()
}

/// Returns the members sorted by kind. Kinds are in the order of their first members.
pub(super) fn alike(kinds: &[[u8; 32]]) -> Vec<usize> {
    let mut ranks = HashMap::new();
    for kind in kinds {
        let next = ranks.len();
        ranks.entry(kind).or_insert(next);
    }
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by_key(|&n| ranks[&kinds[n]]);
    order
}

/// Divides a sample of files into groups of each length. Lengths that divide them like a greater one are left out.
pub(super) fn trials(files: &[&Content], repeated: &Repeated) -> Vec<(u64, Vec<Range<usize>>)> {
    let long = groups(files, repeated, GROUP_LENS[0]);
    let count = long.len().min(SAMPLE);
    let sample: Vec<&Range<usize>> = (0..count).map(|n| &long[n * long.len() / count]).collect();
    let mut out: Vec<(u64, Vec<Range<usize>>)> = Vec::new();
    for len in GROUP_LENS {
        let within = |whole: &&Range<usize>| {
            let begin = whole.start;
            let parts = groups(&files[(*whole).clone()], repeated, len);
            parts.into_iter().map(move |part| begin + part.start..begin + part.end)
        };
        let ranges: Vec<_> = sample.iter().flat_map(within).collect();
        if out.last().is_none_or(|(_, last)| *last != ranges) {
            out.push((len, ranges));
        }
    }
    out
}

/// Divides files into groups of about equal length, without the bytes that they share: a group has them once.
pub(super) fn groups(files: &[&Content], repeated: &Repeated, group_len: u64) -> Vec<Range<usize>> {
    let total: u64 = files.iter().map(|file| repeated.own_len(file)).sum();
    let count = total.div_ceil(group_len).max(1);
    let most = total.div_ceil(count);
    let mut out: Vec<Range<usize>> = Vec::new();
    // What the open group has: bytes of its files, bytes that no other file has, and shared arrays with their bytes.
    let (mut bytes, mut own, mut shared, mut shared_len) = (0, 0, HashSet::new(), 0);
    for (n, file) in files.iter().enumerate() {
        let own_len = repeated.own_len(file);
        let new = repeated.of(file).filter(|(digest, _)| !shared.contains(digest));
        let content = own + own_len + shared_len + new.map(|(_, len)| len).sum::<u64>();
        // A group may exceed the length by at most half of a file.
        let fits = own + own_len / 2 <= most && content <= CONTENT_LEN && bytes + file.len <= FILES_LEN;
        match out.last_mut() {
            Some(last) if fits && last.len() < GROUP_MEMBERS => last.end += 1,
            _ => {
                out.push(n..n + 1);
                (bytes, own, shared_len) = (0, 0, 0);
                shared.clear();
            }
        }
        own += own_len;
        bytes += file.len;
        let new = repeated.of(file).filter(|(digest, _)| shared.insert(*digest));
        shared_len += new.map(|(_, len)| len).sum::<u64>();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP_LEN: u64 = GROUP_LENS[1];

    fn cut(files: &[Content]) -> Vec<Range<usize>> {
        let mut repeated = Repeated::default();
        files.iter().for_each(|file| repeated.add(file));
        groups(&files.iter().collect::<Vec<_>>(), &repeated, GROUP_LEN)
    }

    fn of_lens(lens: &[u64]) -> Vec<Range<usize>> {
        cut(&lens.iter().map(|&len| Content { len, ..Content::default() }).collect::<Vec<_>>())
    }

    #[test]
    fn groups_are_about_equal_and_have_all_members() {
        assert_eq!(of_lens(&[]), []);
        assert_eq!(of_lens(&[10, 20, 30]).as_slice(), std::slice::from_ref(&(0..3)));
        let lens = vec![GROUP_LEN / 3; 10];
        assert_eq!(of_lens(&lens), [0..3, 3..6, 6..9, 9..10]);
        assert_eq!(of_lens(&vec![1; 1025]), [0..512, 512..1024, 1024..1025]);
    }

    #[test]
    fn what_files_share_counts_once() {
        // A grid of 900 KB in each file, and 100 KB of its own.
        let file =
            |n: u64| Content { len: 1_000_000, header_len: 0, arrays: vec![(7, 900_000), (100 + n, 90_000)] };
        let found = cut(&(0..40).map(file).collect::<Vec<_>>());
        assert_eq!(found, [0..20, 20..40]);
        // Equal files: the memory limits the group.
        let same = vec![Content { len: 1 << 20, header_len: 0, arrays: vec![(1, 1 << 20)] }; 100];
        assert_eq!(cut(&same), [0..64, 64..100]);
        // The shared content is limited, too: each file shares a mebibyte with the next one.
        let chain =
            |n: u64| Content { len: 2 << 20, header_len: 0, arrays: vec![(n, 1 << 20), (n + 1, 1 << 20)] };
        let found = cut(&(0..40).map(chain).collect::<Vec<_>>());
        assert!(found.iter().all(|group| group.len() <= 7), "{found:?}");
    }

    #[test]
    fn each_length_is_tried_on_the_same_files() {
        let of =
            |count, len: u64| vec![Content { len: len + 999, header_len: 999, arrays: Vec::new() }; count];
        let trials = |files: &[Content]| trials(&files.iter().collect::<Vec<_>>(), &Repeated::default());
        // Files that fit in the shortest group are not tried.
        let few = trials(&of(3, 1000));
        assert_eq!((few.len(), few[0].0, few[0].1.len()), (1, GROUP_LENS[0], 1));
        assert!(trials(&[]).iter().all(|(_, ranges)| ranges.is_empty()));
        let many = trials(&of(1000, 1 << 18));
        assert_eq!(many.iter().map(|(len, _)| *len).collect::<Vec<_>>(), GROUP_LENS);
        let files = |ranges: &[Range<usize>]| ranges.iter().cloned().flatten().collect::<Vec<_>>();
        assert!(many.iter().all(|(_, ranges)| files(ranges) == files(&many[0].1)));
        assert_eq!(many[0].1.iter().map(|range| range.start).collect::<Vec<_>>(), [0, 240, 496, 752]);
    }

    #[test]
    fn kinds_keep_the_order_in_which_they_came() {
        let (a, b) = ([1; 32], [0; 32]);
        assert_eq!(alike(&[a, b, a, b, a]), [0, 2, 4, 1, 3]);
    }
}
