//! A cursor over bytes that we did not write: every read has a name, every short read is an error with a place.

use crate::error::{Error, Result};

/// Reads forward through a slice. Offsets in errors are absolute: `base` is where the slice begins.
#[derive(Debug, Clone)]
pub struct ByteCursor<'a> {
    section: &'a str,
    base: u64,
    at: usize,
    bytes: &'a [u8],
}

impl<'a> ByteCursor<'a> {
    /// A cursor over `bytes`, which begin at offset `base`.
    pub fn new(section: &'a str, base: u64, bytes: &'a [u8]) -> Self {
        ByteCursor { section, base, at: 0, bytes }
    }

    /// Absolute offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    /// The number of remaining bytes.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `n` bytes, called `what`.
    ///
    /// # Errors
    /// Fewer bytes remain.
    pub fn split(&mut self, what: &'static str, n: usize) -> Result<&'a [u8]> {
        if n > self.left() {
            let (need, left) = (n as u64, self.left() as u64);
            return Err(Error::truncated(self.section, self.offset(), what, need - left, left));
        }
        let out = &self.bytes[self.at..self.at + n];
        self.at += n;
        Ok(out)
    }

    /// The next `N` bytes, called `what`.
    ///
    /// # Errors
    /// Fewer bytes remain.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.split(what, N)?);
        Ok(out)
    }

    /// One byte.
    ///
    /// # Errors
    /// No byte remains.
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(self.array::<1>(what)?[0])
    }

    /// A little-endian u16.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn u16(&mut self, what: &'static str) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// A little-endian u32.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// A little-endian u64.
    ///
    /// # Errors
    /// Too few bytes remain.
    pub fn u64(&mut self, what: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A LEB128 integer in its shortest form.
    ///
    /// # Errors
    /// Too few bytes, more than 64 bits, or a longer form than needed.
    pub fn varint(&mut self, what: &'static str) -> Result<u64> {
        let start = self.offset();
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(what)?;
            let low = u64::from(byte & 0x7F);
            if shift == 63 && low > 1 {
                break;
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(Error::corrupt(
                        self.section,
                        start,
                        what,
                        "the shortest form of a varint",
                        "a longer one",
                    ));
                }
                return Ok(value);
            }
        }
        Err(Error::corrupt(self.section, start, what, "a varint of at most 64 bits", "a longer one"))
    }

    /// A varint that must not exceed `most`, as a usize.
    ///
    /// # Errors
    /// As [`ByteCursor::varint`]; a larger value.
    pub fn varint_up_to(&mut self, what: &'static str, most: usize) -> Result<usize> {
        let start = self.offset();
        let value = self.varint(what)?;
        match usize::try_from(value) {
            Ok(n) if n <= most => Ok(n),
            _ => Err(Error::corrupt(self.section, start, what, format!("at most {most}"), value)),
        }
    }

    /// Zero bytes that are reserved.
    ///
    /// # Errors
    /// Any is not zero.
    pub fn reserved(&mut self, n: usize) -> Result<()> {
        let start = self.offset();
        match self.split("reserved bytes", n)?.iter().position(|&b| b != 0) {
            None => Ok(()),
            Some(i) => Err(Error::corrupt(self.section, start + i as u64, "reserved byte", 0, "not zero")),
        }
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let out = &self.bytes[self.at..];
        self.at = self.bytes.len();
        out
    }

    /// Checks that no byte remains.
    ///
    /// # Errors
    /// Some bytes remain.
    pub fn finish(self) -> Result<()> {
        if self.left() == 0 {
            return Ok(());
        }
        Err(Error::corrupt(self.section, self.offset(), "bytes after the end", 0, self.left()))
    }
}

/// Reserves room for `n` more elements, or returns a limit error: an allocation for input must never abort
/// the process.
pub(crate) fn reserve<T>(
    out: &mut Vec<T>,
    section: &'static str,
    what: &'static str,
    n: usize,
) -> Result<()> {
    out.try_reserve_exact(n).map_err(|_| {
        Error::limit(section, None, what, out.capacity() as u64, (out.len() as u64).saturating_add(n as u64))
    })
}

/// Bytes as lower-case hexadecimal digits, a space between two bytes: how messages show a few bytes of a file.
///
/// ```
/// assert_eq!(nc3z_format::bytes::spaced_hex(&[0, 0xAB]), "00 ab");
/// ```
pub fn spaced_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| hex(&[*b])).collect::<Vec<_>>().join(" ")
}

/// Bytes as lower-case hexadecimal digits, without separators: how digests and salts are printed.
///
/// ```
/// assert_eq!(nc3z_format::bytes::hex(&[0, 0xAB]), "00ab");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

/// Appends a LEB128 integer.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7F;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_in_their_shortest_form_only() {
        for v in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            let mut c = ByteCursor::new("t", 0, &out);
            assert_eq!(c.varint("v").unwrap(), v);
            c.finish().unwrap();
            for cut in 0..out.len() {
                assert!(ByteCursor::new("t", 0, &out[..cut]).varint("v").is_err());
            }
        }
        assert!(ByteCursor::new("t", 0, &[0x80, 0x00]).varint("v").is_err());
        assert!(ByteCursor::new("t", 0, &[0xFF; 11]).varint("v").is_err());
        assert!(
            ByteCursor::new("t", 0, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02])
                .varint("v")
                .is_err()
        );
    }
}
