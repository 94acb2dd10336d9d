//! Writes `npy`: NumPy's file format, little-endian, in C order; and `raw`, the unchanged bytes.

use super::{Error, Result, Sink};
use nc3z_format::NcType;
use nc3z_format::decode_value::{Decoding, Shown, Value};
use std::io::Write;

/// Writes elements as they arrive, converted to little-endian if required.
pub struct Binary<'o> {
    out: &'o mut dyn Write,
    /// The length of an element whose bytes are reversed; 1 if they are not.
    turned: usize,
    decoding: Option<&'o Decoding>,
}

/// NumPy's value for a missing time.
const NAT: i64 = i64::MIN;

impl<'o> Binary<'o> {
    /// Writes the unchanged elements.
    pub fn raw(out: &'o mut dyn Write) -> Self {
        Binary { out, turned: 1, decoding: None }
    }

    /// Writes the header that NumPy expects, followed by the elements.
    ///
    /// # Errors
    /// Writing to the output fails.
    pub fn npy(
        out: &'o mut dyn Write,
        ty: NcType,
        decoding: Option<&'o Decoding>,
        counts: &[u64],
    ) -> Result<Self> {
        let decoding = decoding.filter(|_| ty != NcType::Char);
        let name = match decoding.map(|d| (d.time(), d.shown_with_nan())) {
            None => descr(ty),
            Some((Some(_), _)) => "<M8[us]",
            Some((None, Shown::Single)) => descr(NcType::Float),
            Some((None, Shown::Double)) => descr(NcType::Double),
            Some((None, Shown::AsStored(ty))) => descr(ty),
        };
        out.write_all(&header(name, counts))?;
        Ok(Binary { out, turned: ty.size(), decoding })
    }

    /// Returns decoded elements, little-endian.
    fn decoded(decoding: &Decoding, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(bytes.len() * 2);
        let items = bytes.chunks_exact(decoding.ty().size());
        if decoding.time().is_some() {
            for item in items {
                let at = match decoding.value(item) {
                    Value::Missing => NAT,
                    Value::Time(moment) => match moment.unix_microseconds() {
                        Some(at) => at,
                        None => return Err(Error::Calendar(moment.to_string())),
                    },
                    value => return Err(Error::NoTime(value.to_string())),
                };
                out.extend(at.to_le_bytes());
            }
            return Ok(out);
        }
        match decoding.shown_with_nan() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "computed or stored as a float, or an integer of 16 bits"
            )]
            Shown::Single => items.for_each(|item| out.extend((decoding.number(item) as f32).to_le_bytes())),
            Shown::Double => items.for_each(|item| out.extend(decoding.number(item).to_le_bytes())),
            Shown::AsStored(_) => items.for_each(|item| out.extend(item.iter().rev())),
        }
        Ok(out)
    }
}

impl Sink for Binary<'_> {
    fn block(&mut self, mut bytes: Vec<u8>) -> Result<()> {
        fn turn<const N: usize>(bytes: &mut [u8]) {
            bytes.as_chunks_mut::<N>().0.iter_mut().for_each(|b| b.reverse());
        }
        if let Some(decoding) = self.decoding {
            self.out.write_all(&Binary::decoded(decoding, &bytes)?)?;
            return Ok(());
        }
        match self.turned {
            2 => turn::<2>(&mut bytes),
            4 => turn::<4>(&mut bytes),
            8 => turn::<8>(&mut bytes),
            _ => {}
        }
        self.out.write_all(&bytes)?;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Returns NumPy's name of a type.
fn descr(ty: NcType) -> &'static str {
    match ty {
        NcType::Byte => "|i1",
        NcType::UByte => "|u1",
        NcType::Char => "|S1",
        NcType::Short => "<i2",
        NcType::UShort => "<u2",
        NcType::Int => "<i4",
        NcType::UInt => "<u4",
        NcType::Int64 => "<i8",
        NcType::UInt64 => "<u8",
        NcType::Float => "<f4",
        NcType::Double => "<f8",
    }
}

/// Returns magic, version, length, and a Python dictionary; in total a multiple of 64 bytes. (NEP 1)
fn header(descr: &str, counts: &[u64]) -> Vec<u8> {
    let shape = counts.iter().fold(String::new(), |all, n| format!("{all}{n}, "));
    // A single dimension needs the comma, `(3,)`; several may have it.
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    let fixed = |len_size: usize| 8 + len_size;
    let padded = |len_size: usize| (fixed(len_size) + dict.len() + 1).next_multiple_of(64) - fixed(len_size);
    let mut out = b"\x93NUMPY".to_vec();
    let len = if let Ok(len) = u16::try_from(padded(2)) {
        out.extend([1, 0]);
        out.extend(len.to_le_bytes());
        usize::from(len)
    } else {
        // With thousands of dimensions version 2 is needed, which has a longer length field.
        out.extend([2, 0]);
        out.extend(u32::try_from(padded(4)).unwrap_or(u32::MAX).to_le_bytes());
        padded(4)
    };
    let begin = out.len();
    out.extend(dict.as_bytes());
    out.resize(begin + len - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_numpys_own() {
        let h = header(descr(NcType::Float), &[3, 4]);
        assert_eq!(h.len() % 64, 0);
        assert!(h.starts_with(
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4,), }"
        ));
        assert!(h.ends_with(b" \n"));
        let find = |h: &[u8], text: &str| h.windows(text.len()).any(|w| w == text.as_bytes());
        assert!(find(&header(descr(NcType::Char), &[]), "'|S1', 'fortran_order': False, 'shape': (), }"));
        assert!(find(&header(descr(NcType::Int), &[7]), "(7,)"));
        let long = header(descr(NcType::Int), &vec![1; 40_000]);
        assert_eq!((long[6], long.len() % 64), (2, 0));
    }
}
