//! The text before the data: dimensions, variables, attributes.

use std::collections::{BTreeMap, HashMap};

use super::dates::{self, Calendar};
use super::element::special;
use super::name::{escape_name, escape_text, until_nul};
use super::number::{General, general, signed, trim_zeros, unsigned};
use super::special::Special;
use super::style::Style;
use super::values::Values;
use crate::classic::{Attribute, DimId, Header, VarId, Variable, Version};
use crate::types::NcType;

/// Names that are words of CDL: as a variable's name they are followed by a blank.
const KEYWORDS: [&[u8]; 5] = [b"variables", b"dimensions", b"data", b"group", b"types"];
/// The attribute that is only shown among the special ones.
const PROPERTIES: &[u8] = b"_NCProperties";

/// A header as CDL.
#[derive(Debug, Clone)]
pub struct Cdl<'h> {
    header: &'h Header,
    numrecs: u64,
    style: &'h Style,
    /// Dimensions by name. Of several dimensions of one name, the last.
    by_name: HashMap<&'h [u8], DimId>,
    specials: BTreeMap<VarId, Vec<Special>>,
}

/// The name of a version of the classic format in `ncdump -k`.
pub const fn kind(version: Version) -> &'static str {
    match version {
        Version::Cdf1 => "classic",
        Version::Cdf2 => "64-bit offset",
        Version::Cdf5 => "cdf5",
    }
}

impl<'h> Cdl<'h> {
    /// CDL of a header; `numrecs` is the record count in force ([`crate::classic::Layout::numrecs`]).
    pub fn new(header: &'h Header, numrecs: u64, style: &'h Style) -> Self {
        let dimensions = (0_u32..).map(DimId).zip(&header.dimensions);
        let by_name = dimensions.map(|(id, d)| (until_nul(&d.name), id)).collect();
        Cdl { header, numrecs, style, by_name, specials: BTreeMap::new() }
    }

    /// Adds special attributes of variables, which are written after the variables' own.
    #[must_use]
    pub fn with_specials(mut self, specials: BTreeMap<VarId, Vec<Special>>) -> Self {
        self.specials = specials;
        self
    }

    /// Length of a dimension: the record count where it is a record dimension.
    fn len(&self, id: DimId) -> u64 {
        match self.header.dim_len(id) {
            0 => self.numrecs,
            len => len,
        }
    }

    /// The dimension that is called unlimited: the first of length 0.
    fn unlimited(&self) -> Option<DimId> {
        (0_u32..).zip(&self.header.dimensions).find(|(_, d)| d.is_record()).map(|(id, _)| DimId(id))
    }

    /// Appends everything before the data, from `netcdf NAME {` on.
    pub fn begin(&self, name: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"netcdf ");
        escape_name(name, out);
        out.extend_from_slice(b" {\n");
        self.dimensions(out);
        if !self.header.variables.is_empty() {
            out.extend_from_slice(b"variables:\n");
        }
        for (id, variable) in self.header.variables() {
            self.variable(id, variable, out);
        }
        self.global_attributes(out);
    }

    /// Appends the line before the first variable's values, if there are variables.
    pub fn begin_data(&self, out: &mut Vec<u8>) {
        if !self.header.variables.is_empty() {
            out.extend_from_slice(b"data:\n");
        }
    }

    /// Begins the values of a variable; `None`, and no text, where it has no elements.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn values(&self, id: VarId, out: &mut Vec<u8>) -> Option<Values<'h>> {
        let variable = &self.header.variables[id.index()];
        let shape: Vec<u64> = variable.dimensions.iter().map(|&d| self.len(d)).collect();
        let unlimited = self.unlimited();
        let braces = variable.dimensions.iter().map(|&d| Some(d) == unlimited).collect();
        let calendar = Calendar::new(self.header, variable, self.style);
        (!shape.contains(&0)).then(|| Values::begin(variable, (shape, braces), self.style, calendar, out))
    }

    /// True for a variable of one dimension that has the name of a dimension.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn is_coordinate(&self, id: VarId) -> bool {
        let variable = &self.header.variables[id.index()];
        variable.dimensions.len() == 1 && self.by_name.contains_key(until_nul(&variable.name))
    }

    /// Appends the closing brace.
    pub fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"}\n");
    }

    fn dimensions(&self, out: &mut Vec<u8>) {
        if !self.header.dimensions.is_empty() {
            out.extend_from_slice(b"dimensions:\n");
        }
        let unlimited = self.unlimited();
        for (id, dimension) in (0_u32..).map(DimId).zip(&self.header.dimensions) {
            out.push(b'\t');
            escape_name(&dimension.name, out);
            out.extend_from_slice(b" = ");
            if Some(id) == unlimited {
                out.extend_from_slice(b"UNLIMITED ; // (");
                unsigned(self.numrecs, out);
                out.extend_from_slice(b" currently)\n");
            } else {
                unsigned(self.len(id), out);
                out.extend_from_slice(b" ;\n");
            }
        }
    }

    fn variable(&self, id: VarId, variable: &Variable, out: &mut Vec<u8>) {
        out.push(b'\t');
        out.extend_from_slice(variable.ty.name().as_bytes());
        out.push(b' ');
        escape_name(&variable.name, out);
        for (n, id) in variable.dimensions.iter().enumerate() {
            out.extend_from_slice(if n == 0 { b"(" } else { b", " });
            let name = until_nul(&self.header.dimensions[id.index()].name);
            // A path leads to the dimension where its name does not.
            if name.is_empty() || self.by_name.get(name) != Some(id) {
                out.push(b'/');
            }
            escape_name(name, out);
        }
        out.extend_from_slice(if variable.dimensions.is_empty() { b" ;\n" } else { b") ;\n" });
        for attribute in by_name(&variable.attributes) {
            write_attribute(Some(variable), attribute, self.style, out);
        }
        if let Some(specials) = self.specials.get(&id) {
            for special in specials {
                attribute_name(&variable.name, special.name.as_bytes(), out);
                out.extend_from_slice(b" = ");
                out.extend_from_slice(&special.value);
                out.extend_from_slice(b" ;\n");
            }
        } else if self.style.special && self.header.version == Version::Cdf5 {
            attribute_name(&variable.name, b"_Storage", out);
            out.extend_from_slice(b" = \"contiguous\" ;\n");
        }
    }

    fn global_attributes(&self, out: &mut Vec<u8>) {
        let attributes = &self.header.attributes;
        if !attributes.is_empty() || self.style.special {
            out.extend_from_slice(b"\n// global attributes:\n");
        }
        for attribute in by_name(attributes).filter(|a| until_nul(&a.name) != PROPERTIES) {
            write_attribute(None, attribute, self.style, out);
        }
        if self.style.special {
            self.hidden(out);
            attribute_name(b"", b"_Format", out);
            out.extend_from_slice(b" = \"");
            out.extend_from_slice(kind(self.header.version).as_bytes());
            out.extend_from_slice(b"\" ;\n");
        }
    }

    /// Attributes that netCDF-4 files have in hiding and classic files made from them may have in the open.
    fn hidden(&self, out: &mut Vec<u8>) {
        let find = |name: &[u8]| self.header.attributes.iter().find(|a| until_nul(&a.name) == name);
        if let Some(properties) = find(PROPERTIES).filter(|a| a.ty == NcType::Char) {
            attribute_name(b"", PROPERTIES, out);
            out.extend_from_slice(b" = \"");
            out.extend_from_slice(until_nul(&properties.values));
            out.extend_from_slice(b"\" ;\n");
        }
        for (name, is_flag) in [(&b"_SuperblockVersion"[..], false), (b"_IsNetcdf4", true)] {
            if let Some(value) = find(name).filter(|a| a.count() == 1).and_then(as_int) {
                attribute_name(b"", name, out);
                out.extend_from_slice(b" = ");
                signed(if is_flag { i64::from(value != 0) } else { value.into() }, out);
                out.extend_from_slice(b" ;\n");
            }
        }
    }
}

/// The attributes, each looked up by its name, as in ncdump: if several have one name, all are shown as the
/// first.
fn by_name(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    let mut first: HashMap<&[u8], &Attribute> = HashMap::new();
    attributes.iter().map(move |a| *first.entry(until_nul(&a.name)).or_insert(a))
}

fn attribute_name(owner: &[u8], name: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\t\t");
    escape_name(owner, out);
    out.push(b':');
    escape_name(name, out);
}

fn write_attribute(variable: Option<&Variable>, attribute: &Attribute, style: &Style, out: &mut Vec<u8>) {
    let owner = variable.map_or(&[][..], |variable| &variable.name);
    out.extend_from_slice(b"\t\t");
    escape_name(owner, out);
    if KEYWORDS.contains(&until_nul(owner)) {
        out.push(b' ');
    }
    out.push(b':');
    escape_name(&attribute.name, out);
    out.extend_from_slice(b" = ");
    if attribute.ty == NcType::Char || attribute.values.is_empty() {
        text(&attribute.values, out);
    } else {
        for (n, value) in attribute.values.chunks_exact(attribute.ty.size()).enumerate() {
            if n > 0 {
                out.extend_from_slice(b", ");
            }
            number(attribute.ty, value, style, out);
        }
    }
    out.extend_from_slice(b" ;");
    dates::comment(variable, attribute, style, out);
}

/// Text in quotes, without NULs at its end, with a new line after each line feed.
pub(super) fn text(bytes: &[u8], out: &mut Vec<u8>) {
    let len = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    out.push(b'"');
    for &byte in &bytes[..len] {
        if byte == b'\n' {
            out.extend_from_slice(b"\\n\",\n\t\t\t\"");
        } else {
            escape_text(byte, |b| b >= 0x20 && b != 0x7F, out);
        }
    }
    out.push(b'"');
}

/// A number with the suffix for its type.
fn number(ty: NcType, value: &[u8], style: &Style, out: &mut Vec<u8>) {
    match Number::for_type(ty, value) {
        Number::Signed(n) => signed(n, out),
        Number::Unsigned(n) => unsigned(n, out),
        Number::Float(x) if !x.is_finite() => {
            out.extend_from_slice(special(x.is_nan(), x < 0.0, b"NaN", b"-Infinity"));
        }
        Number::Float(x) => {
            let begin = out.len();
            let digits = if ty == NcType::Float { style.float() } else { style.double() };
            general(x, General { digits, keep_zeros: true }, out);
            trim_zeros(out, begin);
        }
    }
    out.extend_from_slice(match ty {
        NcType::Byte => b"b",
        NcType::Short => b"s",
        NcType::Float => b"f",
        NcType::UByte => b"UB",
        NcType::UShort => b"US",
        NcType::UInt => b"U",
        NcType::Int64 => b"LL",
        NcType::UInt64 => b"ULL",
        NcType::Char | NcType::Int | NcType::Double => b"",
    });
}

/// A value of any type.
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    fn for_type(ty: NcType, value: &[u8]) -> Self {
        match ty {
            NcType::Byte => Number::Signed(i8::from_be_bytes(fixed(value)).into()),
            NcType::Short => Number::Signed(i16::from_be_bytes(fixed(value)).into()),
            NcType::Int => Number::Signed(i32::from_be_bytes(fixed(value)).into()),
            NcType::Int64 => Number::Signed(i64::from_be_bytes(fixed(value))),
            NcType::Char | NcType::UByte => Number::Unsigned(value[0].into()),
            NcType::UShort => Number::Unsigned(u16::from_be_bytes(fixed(value)).into()),
            NcType::UInt => Number::Unsigned(u32::from_be_bytes(fixed(value)).into()),
            NcType::UInt64 => Number::Unsigned(u64::from_be_bytes(fixed(value))),
            NcType::Float => Number::Float(f32::from_be_bytes(fixed(value)).into()),
            NcType::Double => Number::Float(f64::from_be_bytes(fixed(value))),
        }
    }
}

fn fixed<const N: usize>(value: &[u8]) -> [u8; N] {
    value.try_into().expect("chunks of the type's size")
}

/// The value as C's `int`, where it fits: text does not.
fn as_int(attribute: &Attribute) -> Option<i32> {
    match Number::for_type(attribute.ty, &attribute.values) {
        _ if attribute.ty == NcType::Char => None,
        Number::Signed(n) => n.try_into().ok(),
        Number::Unsigned(n) => n.try_into().ok(),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the range is checked; the fraction is cut as C does"
        )]
        Number::Float(x) => (x.abs() < 2_147_483_648.0).then_some(x as i32),
    }
}
