//! Parses slices for checking: the values of a file, and their description.

use crate::csv;
use crate::error::{Error, Result};
use nc3z_format::Limits;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Header, Layout, Parse, VarLayout, parse_prefix};
use std::borrow::Cow;

const NPY: &[u8] = b"\x93NUMPY";

/// A slice in memory. Properties that its format does not have are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice<'s> {
    /// Attributes of the file.
    pub attributes: Option<Vec<Attribute>>,
    /// Its variables, in the order of the file.
    pub variables: Vec<SliceVariable<'s>>,
}

/// A variable of a slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceVariable<'s> {
    /// The name of the variable.
    pub name: Option<Vec<u8>>,
    /// Type of the values.
    pub ty: NcType,
    /// The lengths of the variable.
    pub shape: Vec<u64>,
    /// Its dimensions, slowest first.
    pub dimensions: Option<Vec<SliceDimension>>,
    /// The attributes of the variable.
    pub attributes: Option<Vec<Attribute>>,
    /// The values, big-endian, row-major.
    pub values: Cow<'s, [u8]>,
}

/// A dimension of a variable of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceDimension {
    /// The name of the dimension.
    pub name: Vec<u8>,
    /// True for the record dimension, if the format marks it.
    pub is_record: Option<bool>,
}

impl<'s> Slice<'s> {
    /// Reads a classic netCDF file, an npy file, or CSV as `nc3z cite` writes it.
    ///
    /// # Errors
    /// The file has another format, or is truncated.
    pub fn parse(bytes: &'s [u8]) -> Result<Self> {
        match bytes {
            [b'C', b'D', b'F', ..] => classic(bytes),
            _ if bytes.starts_with(NPY) => npy(bytes),
            _ => csv::parse(bytes).map(alone),
        }
    }
}

/// Makes a slice of one variable, for a format without global attributes.
fn alone(variable: SliceVariable<'_>) -> Slice<'_> {
    Slice { attributes: None, variables: vec![variable] }
}

fn classic(bytes: &[u8]) -> Result<Slice<'_>> {
    let len = bytes.len() as u64;
    let Parse::Done(header, header_len) = parse_prefix(bytes, len, &Limits::default())? else {
        return Err(Error::malformed("the slice ends inside its header"));
    };
    let layout = Layout::new(&header, header_len, len)?;
    check_dimensions(&header)?;
    let variables = header.variables.iter().zip(&layout.variables).map(|(variable, place)| {
        let dimension = |id: &nc3z_format::classic::DimId| {
            let dimension = &header.dimensions[id.index()];
            SliceDimension { name: dimension.name.clone(), is_record: Some(dimension.is_record()) }
        };
        Ok(SliceVariable {
            name: Some(variable.name.clone()),
            ty: variable.ty,
            shape: place.shape.clone(),
            dimensions: Some(variable.dimensions.iter().map(dimension).collect()),
            attributes: Some(variable.attributes.clone()),
            values: values_of(bytes, place)?,
        })
    });
    let variables = variables.collect::<Result<_>>()?;
    Ok(Slice { attributes: Some(header.attributes.clone()), variables })
}

/// Refuses a dimension that no variable has, since nothing proves it.
fn check_dimensions(header: &Header) -> Result<()> {
    for (n, dimension) in header.dimensions.iter().enumerate() {
        let used = header.variables.iter().any(|v| v.dimensions.iter().any(|id| id.index() == n));
        if !used {
            let name = dimension.name_lossy();
            let what = format!(
                "the slice has the dimension `{}`, which none of its variables has",
                name.escape_debug()
            );
            return Err(Error::refused(what));
        }
    }
    Ok(())
}

/// Returns the values of a variable. They are not copied where they are contiguous.
fn values_of<'s>(bytes: &'s [u8], place: &VarLayout) -> Result<Cow<'s, [u8]>> {
    if place.elements != Some(place.present) {
        return Err(Error::malformed("the slice ends before its values do"));
    }
    let in_memory =
        |n: u64| usize::try_from(n).map_err(|_| Error::malformed("a slice that does not fit in memory"));
    let size = in_memory(place.element_size())?;
    let (mut first, mut runs) = (0, Vec::new());
    while first < place.present {
        let run = place
            .element_run(first)
            .ok_or_else(|| Error::malformed("the slice ends before its values do"))?;
        let count = run.count.min(place.present - first);
        let begin = in_memory(run.offset)?;
        let part = bytes.get(begin..begin + in_memory(count)? * size);
        runs.push(part.ok_or_else(|| Error::malformed("the slice ends before its values do"))?);
        first += count;
    }
    Ok(match runs[..] {
        [] => Cow::Borrowed(&[]),
        [one] => Cow::Borrowed(one),
        _ => Cow::Owned(runs.concat()),
    })
}

/// Parses NumPy's format, as `nc3z cite` writes it: little-endian, in C order.
fn npy(bytes: &[u8]) -> Result<Slice<'_>> {
    let none = || {
        Error::malformed(
            "an npy file that nc3z did not write: little-endian numbers in C order were expected",
        )
    };
    let (header_len, begin) = match bytes.get(6..12) {
        Some(&[1, 0, a, b, ..]) => (usize::from(u16::from_le_bytes([a, b])), 10),
        Some(&[2, 0, a, b, c, d]) => {
            (usize::try_from(u32::from_le_bytes([a, b, c, d])).map_err(|_| none())?, 12)
        }
        _ => return Err(none()),
    };
    let header =
        bytes.get(begin..begin + header_len).and_then(|h| std::str::from_utf8(h).ok()).ok_or_else(none)?;
    let rest = header.strip_prefix("{'descr': '").ok_or_else(none)?;
    let (descr, rest) = rest.split_once("', 'fortran_order': False, 'shape': (").ok_or_else(none)?;
    let (shape, rest) = rest.split_once(')').ok_or_else(none)?;
    // Blanks and a line feed: NumPy aligns the values with them.
    if rest
        .strip_prefix(", }")
        .and_then(|rest| rest.strip_suffix('\n'))
        .is_none_or(|rest| rest.bytes().any(|b| b != b' '))
    {
        return Err(none());
    }
    let mut lengths: Vec<&str> = shape.split(", ").collect();
    if let Some(last) = lengths.last_mut() {
        *last = last.strip_suffix(',').unwrap_or(last);
    }
    if shape.is_empty() {
        lengths.clear();
    }
    let length = |n: &str| n.parse().ok().filter(|_| n.bytes().all(|b| b.is_ascii_digit())).ok_or_else(none);
    let shape = lengths.into_iter().map(length).collect::<Result<Vec<u64>>>()?;
    let ty = match descr {
        "|i1" => NcType::Byte,
        "|u1" => NcType::UByte,
        "|S1" => NcType::Char,
        "<i2" => NcType::Short,
        "<u2" => NcType::UShort,
        "<i4" => NcType::Int,
        "<u4" => NcType::UInt,
        "<i8" => NcType::Int64,
        "<u8" => NcType::UInt64,
        "<f4" => NcType::Float,
        "<f8" => NcType::Double,
        _ => return Err(none()),
    };
    let mut values = bytes[begin + header_len..].to_vec();
    let elements = shape.iter().try_fold(ty.size() as u64, |n, len| n.checked_mul(*len));
    if elements != Some(values.len() as u64) {
        return Err(none());
    }
    values.chunks_exact_mut(ty.size()).for_each(<[u8]>::reverse);
    let values = Cow::Owned(values);
    Ok(alone(SliceVariable { name: None, ty, shape, dimensions: None, attributes: None, values }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npy_headers_of_other_forms_are_refused() {
        let npy = |version: [u8; 2], shape: &str, end: &str| {
            let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}{end}");
            let len = u8::try_from(header.len()).unwrap();
            [NPY, &version, &[len, 0], header.as_bytes(), &[7; 6]].concat()
        };
        let shape = |bytes: &[u8]| Slice::parse(bytes).ok().map(|slice| slice.variables[0].shape.clone());
        for (text, expected) in [
            ("(2, 3)", Some(vec![2, 3])),
            ("(2, 3,)", Some(vec![2, 3])),
            ("(6,)", Some(vec![6])),
            ("()", None),
        ] {
            assert_eq!(shape(&npy([1, 0], text, "  \n")), expected, "{text}");
        }
        for text in
            ["(2 3)", "(2,3)", "(+2, 3)", "(2,  3)", "(2, 3, )", "(2, \t3)", "(, 2, 3)", "(,)", "(2, 3,,)"]
        {
            assert_eq!(shape(&npy([1, 0], text, " \n")), None, "{text}");
        }
        for (version, end) in [
            ([1, 1], "\n"),
            ([3, 0], "\n"),
            ([1, 0], ""),
            ([1, 0], "\t\n"),
            ([1, 0], "\n\n"),
            ([1, 0], "\u{2003}\n"),
        ] {
            assert_eq!(shape(&npy(version, "(6,)", end)), None, "{version:?} {end:?}");
        }
    }
}
