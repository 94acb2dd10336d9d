//! CSV that can be checked: it contains only what is proven (`spec/proof.md`, section 1).
//!
//! ```text
//! tas:float,time:4,lat:2
//! 271.25,0,0
//! ```

use crate::error::{Error, Result};
use crate::slice::{SliceDimension, SliceVariable};
use nc3z_format::{NcType, with_type};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Writes a variable: a header line, and a line for each value with its index in the slice.
///
/// # Errors
/// Names with commas, colons, control characters or invalid UTF-8; a NaN other than the usual ones, whose
/// bits text cannot express.
pub fn render(name: &[u8], ty: NcType, dimensions: &[(&[u8], u64)], values: &[u8]) -> Result<String> {
    let mut out = format!("{}:{}", plain(name)?, ty.name());
    for (dimension, len) in dimensions {
        let _ = write!(out, ",{}:{len}", plain(dimension)?);
    }
    out.push('\n');
    let mut place = Place::new(dimensions);
    for value in values.chunks_exact(ty.size()) {
        let text = show(ty, value);
        if read(ty, &text).as_deref() != Some(value) {
            return Err(Error::Request(format!("text cannot hold all bits of {text}; write nc or npy")));
        }
        out.push_str(&text);
        out.push_str(&place.text);
        out.push('\n');
        place.next(dimensions);
    }
    Ok(out)
}

/// Reads the output of [`render`]. A value may have other digits that are parsed to the same value;
/// everything else must be identical.
pub(crate) fn parse(bytes: &[u8]) -> Result<SliceVariable<'static>> {
    let none =
        || Error::malformed("the slice is not a classic netCDF file, an npy file or a CSV of `nc3z cite`");
    let text = std::str::from_utf8(bytes).map_err(|_| none())?;
    let (head, mut rows) = text.split_once('\n').ok_or_else(none)?;
    let mut heads = head.split(',').map(|head| head.split_once(':'));
    let (name, ty) = heads.next().flatten().ok_or_else(none)?;
    let ty = NcType::ALL.into_iter().find(|known| known.name() == ty).ok_or_else(none)?;
    let mut dimensions = Vec::new();
    for head in heads {
        let (name, len) = head.ok_or_else(none)?;
        let len = Some(len).filter(|len| is_digits(len)).and_then(|len| len.parse::<u64>().ok());
        dimensions.push((name.as_bytes(), len.ok_or_else(none)?));
    }
    let mut values = Vec::new();
    let mut place = Place::new(&dimensions);
    while let Some((row, rest)) = rows.split_once('\n') {
        let (value, index) = row.split_at(row.find(',').unwrap_or(row.len()));
        if index != place.text || !is_number(value) {
            return Err(none());
        }
        values.extend(read(ty, value).ok_or_else(none)?);
        place.next(&dimensions);
        rows = rest;
    }
    let elements = dimensions.iter().try_fold(ty.size() as u64, |n, (_, len)| n.checked_mul(*len));
    if !rows.is_empty() || elements != Some(values.len() as u64) {
        return Err(none());
    }
    // CSV does not say which dimension is the record dimension.
    let names = dimensions.iter().map(|(name, _)| SliceDimension { name: name.to_vec(), is_record: None });
    Ok(SliceVariable {
        name: Some(name.as_bytes().to_vec()),
        ty,
        shape: dimensions.iter().map(|(_, len)| *len).collect(),
        dimensions: Some(names.collect()),
        attributes: None,
        values: Cow::Owned(values),
    })
}

/// The index of a row, and its text: a comma and a number for each dimension.
struct Place {
    index: Vec<u64>,
    text: String,
}

impl Place {
    fn new(dimensions: &[(&[u8], u64)]) -> Self {
        let mut place = Place { index: vec![0; dimensions.len()], text: String::new() };
        place.show();
        place
    }

    fn show(&mut self) {
        self.text.clear();
        self.index.iter().for_each(|n| {
            let _ = write!(self.text, ",{n}");
        });
    }

    /// Moves to the next row.
    fn next(&mut self, dimensions: &[(&[u8], u64)]) {
        for (n, (_, len)) in self.index.iter_mut().zip(dimensions).rev() {
            *n += 1;
            if *n < *len {
                break;
            }
            *n = 0;
        }
        self.show();
    }
}

/// Returns whether a value is a number as the specification has it: `-1.5e-7`, `-inf`, `NaN`.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if unsigned == "inf" || text == "NaN" {
        return true;
    }
    let (rest, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, part) = rest.split_once('.').unwrap_or((rest, "0"));
    [whole, part, exponent.strip_prefix('-').unwrap_or(exponent)].into_iter().all(is_digits)
}

/// Returns whether a text is some decimal digits and nothing else.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn plain(name: &[u8]) -> Result<&str> {
    let is_plain = |name: &&str| !name.contains([',', ':', '"']) && !name.chars().any(char::is_control);
    std::str::from_utf8(name).ok().filter(is_plain).ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        Error::Request(format!("CSV cannot hold the name `{}`; write nc or npy", name.escape_debug()))
    })
}

/// Formats a value as text that can be parsed again. A char is the number of its byte.
fn show(ty: NcType, value: &[u8]) -> String {
    with_type!(ty, T => format!("{:?}", T::from_be_bytes(value.try_into().expect("chunks of the type's size"))))
}

fn read(ty: NcType, text: &str) -> Option<Vec<u8>> {
    with_type!(ty, T => text.parse::<T>().ok().map(|value| value.to_be_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back_and_no_other_text_is() {
        let values: Vec<u8> = [1.5_f32, -0.0, f32::NAN, f32::INFINITY, 1e-40, 16_777_216.0]
            .iter()
            .flat_map(|x| x.to_be_bytes())
            .collect();
        let dimensions: [(&[u8], u64); 2] = [(b"y", 2), (b"x", 3)];
        let text = render(b"t", NcType::Float, &dimensions, &values).unwrap();
        assert!(text.starts_with("t:float,y:2,x:3\n1.5,0,0\n-0.0,0,1\nNaN,0,2\ninf,1,0\n"), "{text}");
        let slice = parse(text.as_bytes()).unwrap();
        assert_eq!((&*slice.values, &slice.shape[..]), (&values[..], &[2, 3][..]));
        assert_eq!(parse(text.replace("1.5,", "1.50,").as_bytes()).unwrap(), slice);
        for other in [
            text.replace("1.5,", "+1.5,"),
            text.replace("1.5,", " 1.5,"),
            text.replace("1.5,", "1.,"),
            text.replace("1.5,", ".5,"),
            text.replace("1.5,", "1.5e+0,"),
            text.replace("NaN", "-NaN"),
            text.replace("x:3", "x:+3"),
            text.replace("x:3", "x:3\r"),
            text.replace(",0,1", ",0,2"),
            format!("{text}\n"),
            text.replace("x:3", "x:4"),
        ] {
            assert!(parse(other.as_bytes()).is_err(), "{other}");
        }
    }

    #[test]
    fn bits_that_text_does_not_keep_are_refused() {
        let odd = f64::from_bits(0x7FF8_0000_0000_0001).to_be_bytes();
        assert!(render(b"t", NcType::Double, &[], &odd).is_err());
        assert!(render(b"a,b", NcType::Double, &[], &1.0_f64.to_be_bytes()).is_err());
    }

    #[test]
    fn a_scalar_and_every_type_come_back() {
        for ty in NcType::ALL {
            let value = vec![0x41; ty.size()];
            let text = render(b"s", ty, &[], &value).unwrap();
            assert_eq!(*parse(text.as_bytes()).unwrap().values, value);
        }
    }
}
