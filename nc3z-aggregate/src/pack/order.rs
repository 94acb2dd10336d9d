//! Chooses the members of each group: files of the same kind, in the given order.

use nc3z_format::classic::Header;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// The length of the files of one group in bytes. Measured on 624 Argo profiles of 22 KB (13.7 MB): groups of
/// 1 MB take 237,791 bytes without headers, of 4 MiB 254,164, all in one 290,664. The writer compares all
/// arrays of a file with each other up to 4 MiB. Each group costs a head, so that many small groups are
/// expensive in a large bundle.
const GROUP_LEN: u64 = 2 << 20;
/// The maximal number of files of one group: opening it reads the list of all.
const GROUP_MEMBERS: usize = 512;

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

/// Divides files of these lengths into groups of about equal length.
pub(super) fn groups(lens: &[u64]) -> Vec<Range<usize>> {
    let total: u64 = lens.iter().sum();
    let count = total.div_ceil(GROUP_LEN).max(1);
    let most = total.div_ceil(count);
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (n, &len) in lens.iter().enumerate() {
        match out.last_mut() {
            // A group may exceed the length by at most half of a file.
            Some(last) if bytes + len / 2 <= most && last.len() < GROUP_MEMBERS => last.end += 1,
            _ => {
                out.push(n..n + 1);
                bytes = 0;
            }
        }
        bytes += len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_about_equal_and_have_all_members() {
        assert_eq!(groups(&[]), []);
        assert_eq!(groups(&[10, 20, 30]).as_slice(), std::slice::from_ref(&(0..3)));
        let lens = vec![GROUP_LEN / 3; 10];
        assert_eq!(groups(&lens), [0..3, 3..6, 6..9, 9..10]);
        assert_eq!(groups(&vec![1; 1025]), [0..512, 512..1024, 1024..1025]);
    }

    #[test]
    fn kinds_keep_the_order_in_which_they_came() {
        let (a, b) = ([1; 32], [0; 32]);
        assert_eq!(alike(&[a, b, a, b, a]), [0, 2, 4, 1, 3]);
    }
}
