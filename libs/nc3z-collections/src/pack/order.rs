//! Chooses the members of each group: files of the same kind, in the given order.

use nc3z_format::classic::Header;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Bytes of a group that its files do not share with others. Measured on 624 Argo profiles of 22 KB (13.7 MB):
/// groups of 1 MB take 237,791 bytes without headers, of 4 MiB 254,164, all in one 290,664. The writer compares all
/// arrays of a file with each other up to 4 MiB. Each group costs a head, so that many small groups are
/// expensive in a large bundle.
const GROUP_LEN: u64 = 2 << 20;
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

    /// Returns the bytes of a file that no other file has.
    pub(super) fn own_len(&self, content: &Content) -> u64 {
        content.len.saturating_sub(self.of(content).map(|(_, len)| len).sum())
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

/// Divides files into groups of about equal length, without the bytes that they share: a group has them once.
pub(super) fn groups(files: &[&Content], repeated: &Repeated) -> Vec<Range<usize>> {
    let total: u64 = files.iter().map(|file| repeated.own_len(file)).sum();
    let count = total.div_ceil(GROUP_LEN).max(1);
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

    fn cut(files: &[Content]) -> Vec<Range<usize>> {
        let mut repeated = Repeated::default();
        files.iter().for_each(|file| repeated.add(file));
        groups(&files.iter().collect::<Vec<_>>(), &repeated)
    }

    fn of_lens(lens: &[u64]) -> Vec<Range<usize>> {
        cut(&lens.iter().map(|&len| Content { len, arrays: Vec::new() }).collect::<Vec<_>>())
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
        let file = |n: u64| Content { len: 1_000_000, arrays: vec![(7, 900_000), (100 + n, 90_000)] };
        let found = cut(&(0..40).map(file).collect::<Vec<_>>());
        assert_eq!(found, [0..20, 20..40]);
        // Equal files: the memory limits the group.
        let same = vec![Content { len: 1 << 20, arrays: vec![(1, 1 << 20)] }; 100];
        assert_eq!(cut(&same), [0..64, 64..100]);
        // The shared content is limited, too: each file shares a mebibyte with the next one.
        let chain = |n: u64| Content { len: 2 << 20, arrays: vec![(n, 1 << 20), (n + 1, 1 << 20)] };
        let found = cut(&(0..40).map(chain).collect::<Vec<_>>());
        assert!(found.iter().all(|group| group.len() <= 7), "{found:?}");
    }

    #[test]
    fn kinds_keep_the_order_in_which_they_came() {
        let (a, b) = ([1; 32], [0; 32]);
        assert_eq!(alike(&[a, b, a, b, a]), [0, 2, 4, 1, 3]);
    }
}
