//! Columns of numbers and of names, as frames of a shadow hold them. A column takes at least one byte for each value, so that no count
//! makes a reader allocate more than the frame justifies.

use crate::error::{Error, Result};
use nc3z_format::bytes::{ByteCursor, put_varint};

/// Bytes of a name at most. Names share beginnings, so that short frames could stand for long names.
pub(super) const MAX_NAME: usize = 16 << 10;

pub(super) fn wrong(what: impl std::fmt::Display) -> Error {
    Error::refused(format!("the shadow cannot be read: {what}"))
}

/// Appends a column of numbers.
pub(super) fn put_numbers(out: &mut Vec<u8>, values: impl IntoIterator<Item = u64>) {
    values.into_iter().for_each(|value| put_varint(out, value));
}

/// Appends a column of signed numbers: `2n`, or `-2n - 1` for negative ones.
pub(super) fn put_signed(out: &mut Vec<u8>, values: impl IntoIterator<Item = i64>) {
    put_numbers(out, values.into_iter().map(|n| (n << 1 ^ n >> 63).cast_unsigned()));
}

/// Appends a column of doubles: all first bytes, all second bytes, and so on; the byte with the sign is the first.
pub(super) fn put_doubles(out: &mut Vec<u8>, values: &[f64]) {
    for byte in 0..8 {
        out.extend(values.iter().map(|x| x.to_be_bytes()[byte]));
    }
}

/// Appends names: of each the number of bytes that it shares with the one before it, that of the others, and the others.
pub(super) fn put_names(out: &mut Vec<u8>, names: &[&str]) {
    let shared = |n: usize| {
        let before = n.checked_sub(1).map_or("", |before| names[before]);
        names[n].bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count()
    };
    let shared: Vec<usize> = (0..names.len()).map(shared).collect();
    put_numbers(out, shared.iter().map(|n| *n as u64));
    put_numbers(out, names.iter().zip(&shared).map(|(name, n)| (name.len() - n) as u64));
    names.iter().zip(&shared).for_each(|(name, n)| out.extend(&name.as_bytes()[*n..]));
}

/// Appends byte strings: their number, their lengths, and their bytes.
pub(super) fn put_strings(out: &mut Vec<u8>, strings: &[bytes::Bytes]) {
    put_varint(out, strings.len() as u64);
    put_numbers(out, strings.iter().map(|s| s.len() as u64));
    strings.iter().for_each(|s| out.extend(s));
}

/// The maximal number of values of a column: those of the tiles of one variable in one block. A value of one byte takes 8 in memory.
pub(super) const MAX_VALUES: usize = 4 << 20;

/// Checks that `n` values of at least `size` bytes can follow.
fn check(from: &ByteCursor<'_>, what: &'static str, n: usize, size: usize) -> Result<()> {
    if n > MAX_VALUES {
        return Err(wrong(format!("`{what}` has {n} values, and at most {MAX_VALUES} are allowed")));
    }
    if n > from.left() / size {
        return Err(wrong(format!("`{what}` has {n} values, and {} bytes follow", from.left())));
    }
    Ok(())
}

/// Reads a column of numbers.
pub(super) fn numbers(from: &mut ByteCursor<'_>, what: &'static str, n: usize) -> Result<Vec<u64>> {
    check(from, what, n, 1)?;
    (0..n).map(|_| Ok(from.varint(what)?)).collect()
}

/// Reads a column of numbers that are at most `most`.
pub(super) fn sizes(
    from: &mut ByteCursor<'_>,
    what: &'static str,
    n: usize,
    most: usize,
) -> Result<Vec<usize>> {
    check(from, what, n, 1)?;
    (0..n).map(|_| Ok(from.varint_up_to(what, most)?)).collect()
}

/// Reads a column of signed numbers.
pub(super) fn signed(from: &mut ByteCursor<'_>, what: &'static str, n: usize) -> Result<Vec<i64>> {
    let found = numbers(from, what, n)?;
    Ok(found.into_iter().map(|z| (z >> 1).cast_signed() ^ -(z & 1).cast_signed()).collect())
}

/// Reads a column of doubles.
pub(super) fn doubles(from: &mut ByteCursor<'_>, what: &'static str, n: usize) -> Result<Vec<f64>> {
    check(from, what, n, 8)?;
    let planes = from.split(what, 8 * n)?;
    let double = |i: usize| f64::from_be_bytes(std::array::from_fn(|byte| planes[byte * n + i]));
    Ok((0..n).map(double).collect())
}

pub(super) fn names(from: &mut ByteCursor<'_>, n: usize) -> Result<Vec<String>> {
    let shared = sizes(from, "shared bytes of names", n, MAX_NAME)?;
    let own = sizes(from, "other bytes of names", n, MAX_NAME)?;
    let mut names: Vec<String> = Vec::with_capacity(n);
    for (shared, own) in shared.into_iter().zip(own) {
        let before = names.last().map_or(&b""[..], |name| name.as_bytes());
        let begin = before.get(..shared).filter(|_| shared + own <= MAX_NAME);
        let begin = begin.ok_or_else(|| wrong(format!("a name shares {shared} bytes with a shorter one")))?;
        let name = [begin, from.split("name", own)?].concat();
        names.push(String::from_utf8(name).map_err(|e| wrong(format!("a name: {e}")))?);
    }
    Ok(names)
}

/// Reads byte strings, at most `most` of them. They are parts of the frame.
pub(super) fn strings<'b>(
    from: &mut ByteCursor<'b>,
    what: &'static str,
    most: usize,
) -> Result<Vec<&'b [u8]>> {
    let n = from.varint_up_to(what, most)?;
    let lengths = sizes(from, what, n, usize::MAX)?;
    lengths.into_iter().map(|len| Ok(from.split(what, len)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_are_read_as_they_were_written(
            whole in prop::collection::vec(any::<u64>(), 0..40),
            signs in prop::collection::vec(any::<i64>(), 0..40),
            reals in prop::collection::vec(any::<f64>(), 0..40),
            texts in prop::collection::vec("(dir/)?[a-cé]{0,6}", 0..40),
        ) {
            let mut out = Vec::new();
            put_numbers(&mut out, whole.iter().copied());
            put_signed(&mut out, signs.iter().copied());
            put_doubles(&mut out, &reals);
            let names_of: Vec<&str> = texts.iter().map(String::as_str).collect();
            put_names(&mut out, &names_of);
            let mut from = ByteCursor::new("test", 0, &out);
            prop_assert_eq!(numbers(&mut from, "whole", whole.len()).unwrap(), whole);
            prop_assert_eq!(signed(&mut from, "signs", signs.len()).unwrap(), signs);
            let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&doubles(&mut from, "reals", reals.len()).unwrap()), bits(&reals));
            // A name may share a part of a letter.
            prop_assert_eq!(names(&mut from, texts.len()).unwrap(), texts);
            prop_assert!(from.finish().is_ok());
        }
    }

    #[test]
    fn forged_counts_allocate_nothing() {
        let mut from = ByteCursor::new("test", 0, &[1, 2, 3]);
        assert!(numbers(&mut from, "n", usize::MAX).is_err());
        assert!(doubles(&mut from, "x", usize::MAX / 8).is_err());
        // A name of which the one before it has fewer bytes.
        let mut out = Vec::new();
        put_numbers(&mut out, [9, 1]);
        out.push(b'a');
        assert!(names(&mut ByteCursor::new("test", 0, &out), 1).is_err());
    }
}
