//! Checksums next to the data: HDF5's fletcher32 (filter 3) after it; NumCodecs' `crc32`, `crc32c`, `adler32`
//! before or after it. Four bytes, little-endian.

use super::spec::StageSpec;
use super::stage::{Contexts, OTHER_KEYS, Stage, StageKind};
use crate::error::{Error, Result};
use crate::types::NcType;
use serde_json::Value;

/// Bytes of a checksum.
const LEN: usize = 4;
const LOCATION: &str = "location";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Fletcher32,
    Crc32,
    Crc32c,
    Adler32,
}

impl Sum {
    const fn id(self) -> &'static str {
        match self {
            Sum::Fletcher32 => "fletcher32",
            Sum::Crc32 => "crc32",
            Sum::Crc32c => "crc32c",
            Sum::Adler32 => "adler32",
        }
    }

    fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Sum::Fletcher32 => fletcher32(bytes),
            Sum::Crc32 => crc32fast::hash(bytes),
            Sum::Crc32c => crc32c(bytes),
            Sum::Adler32 => adler32(bytes),
        }
    }
}

pub(super) struct ChecksumKind(pub(super) Sum);

impl StageKind for ChecksumKind {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn example(&self) -> &'static str {
        match self.0 {
            Sum::Fletcher32 => r#"{"id":"fletcher32"}"#,
            Sum::Crc32 => r#"{"id":"crc32","location":"start"}"#,
            Sum::Crc32c => r#"{"id":"crc32c","location":"end"}"#,
            Sum::Adler32 => r#"{"id":"adler32","location":"start"}"#,
        }
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let at_end = match (self.0, spec.parameters().count(), spec.get(LOCATION).and_then(Value::as_str)) {
            (Sum::Fletcher32, 0, None) => true,
            (Sum::Fletcher32, ..) => return Err(OTHER_KEYS.to_owned()),
            (_, 1, Some("start")) => false,
            (_, 1, Some("end")) => true,
            _ => return Err(OTHER_KEYS.to_owned()),
        };
        Ok(Box::new(Checksum { sum: self.0, at_end }))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        // NumCodecs before 0.13 had no `location`: its checksums were at the start.
        Ok(match self.0 {
            Sum::Fletcher32 => spec,
            Sum::Crc32 | Sum::Adler32 => spec.or_default(LOCATION, "start"),
            Sum::Crc32c => spec.or_default(LOCATION, "end"),
        })
    }
}

struct Checksum {
    sum: Sum,
    at_end: bool,
}

impl Stage for Checksum {
    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        let sum = self.sum.of(input).to_le_bytes();
        let (front, back): (&[u8], &[u8]) = if self.at_end { (&[], &sum) } else { (&sum, &[]) };
        [front, input, back].into_iter().for_each(|part| out.extend_from_slice(part));
        Ok(())
    }

    fn decode_into(&self, input: &[u8], _: &mut Contexts, out: &mut [u8]) -> Result<()> {
        let parts = if self.at_end {
            input.split_last_chunk::<LEN>().map(|(bytes, sum)| (sum, bytes))
        } else {
            input.split_first_chunk::<LEN>()
        };
        let Some((sum, bytes)) = parts.filter(|(_, bytes)| bytes.len() == out.len()) else {
            return Err(Error::corrupt(
                "checksummed bytes",
                None,
                "length",
                out.len().saturating_add(LEN),
                input.len(),
            ));
        };
        let (told, found) = (u32::from_le_bytes(*sum), self.sum.of(bytes));
        // HDF5 1.6.2 and earlier swapped the bytes of each half; readers of HDF5 accept both.
        let swapped = found >> 8 & 0x00FF_00FF | (found & 0x00FF_00FF) << 8;
        if told != found && !(self.sum == Sum::Fletcher32 && told == swapped) {
            return Err(Error::corrupt(
                "checksummed bytes",
                None,
                self.sum.id(),
                format!("{told:08x}"),
                format!("{found:08x}"),
            ));
        }
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn encoded_len(&self, decoded_len: usize) -> Option<usize> {
        decoded_len.checked_add(LEN)
    }

    fn decoded_len(&self, encoded_len: usize) -> Option<usize> {
        encoded_len.checked_sub(LEN)
    }
}

/// HDF5's variant of the Fletcher checksum: 16-bit big-endian words, a last odd byte as the high half of one.
fn fletcher32(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let fold = |sum: u32| (sum & 0xFFFF) + (sum >> 16);
    let (mut low, mut high) = (0_u32, 0_u32);
    // 360 words do not overflow the sums.
    for part in words.chunks(360) {
        for word in part {
            low += u32::from(u16::from_be_bytes(*word));
            high += low;
        }
        (low, high) = (fold(low), fold(high));
    }
    if let [last] = rest {
        low += u32::from(*last) << 8;
        high += low;
        (low, high) = (fold(low), fold(high));
    }
    // Once more: the sums may still have carries.
    (low, high) = (fold(low), fold(high));
    high << 16 | low
}

/// CRC-32C (Castagnoli), reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    static TABLES: [[u32; 256]; 8] = crc_tables(0x82F6_3B78);
    let at = |table: usize, byte: u32| TABLES[table][usize::try_from(byte & 0xFF).expect("a byte")];
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut crc = !0_u32;
    for eight in eights {
        let (low, high) = eight.split_first_chunk::<4>().expect("eight bytes");
        let low = u32::from_le_bytes(*low) ^ crc;
        let high = u32::from_le_bytes(high.try_into().expect("the other four"));
        crc = [low, low >> 8, low >> 16, low >> 24, high, high >> 8, high >> 16, high >> 24]
            .into_iter()
            .zip((0..8).rev())
            .fold(0, |sum, (byte, table)| sum ^ at(table, byte));
    }
    !rest.iter().fold(crc, |crc, byte| crc >> 8 ^ at(0, crc ^ u32::from(*byte)))
}

const fn crc_tables(polynomial: u32) -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let (mut n, mut start) = (0, 0_u32);
    while n < 256 {
        let (mut crc, mut bit) = (start, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
            bit += 1;
        }
        tables[0][n] = crc;
        (n, start) = (n + 1, start + 1);
    }
    let mut k = 1;
    while k < 8 {
        let mut n = 0;
        while n < 256 {
            let before = tables[k - 1][n];
            tables[k][n] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            n += 1;
        }
        k += 1;
    }
    tables
}

/// Adler-32 (RFC 1950).
fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65521;
    let (mut a, mut b) = (1_u32, 0_u32);
    // The longest run that cannot overflow.
    for part in bytes.chunks(5552) {
        for byte in part {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % BASE, b % BASE);
    }
    b << 16 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_are_the_published_ones() {
        let digits = b"123456789";
        assert_eq!(crc32c(digits), 0xE306_9283);
        assert_eq!(crc32fast::hash(digits), 0xCBF4_3926);
        assert_eq!(adler32(digits), 0x091E_01DE);
        assert_eq!(fletcher32(b""), 0);
        for len in 0..40 {
            // The tables define the checksum byte by byte.
            let bytes: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(37)).collect();
            let mut crc = !0_u32;
            for byte in &bytes {
                crc ^= u32::from(*byte);
                for _ in 0..8 {
                    crc = if crc & 1 == 1 { crc >> 1 ^ 0x82F6_3B78 } else { crc >> 1 };
                }
            }
            assert_eq!(crc32c(&bytes), !crc, "{len}");
        }
    }

    #[test]
    fn sums_of_long_runs_do_not_overflow() {
        // 2^20 words of ones: the sums modulo 65535 are zero, and are stored as 65535 if anything was added.
        assert_eq!(fletcher32(&vec![0xFF; 2 << 20]), 0xFFFF_FFFF);
    }
}
