//! The header as a value. Names are bytes: files hold names that are not UTF-8.

use std::borrow::Cow;
use std::fmt;

use crate::types::NcType;

/// The three classic formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// The original: 32-bit offsets and counts.
    Cdf1,
    /// 64-bit offsets.
    Cdf2,
    /// 64-bit offsets and counts, five more types.
    Cdf5,
}

impl Version {
    /// The byte after `CDF` in the magic.
    pub const fn byte(self) -> u8 {
        match self {
            Version::Cdf1 => 1,
            Version::Cdf2 => 2,
            Version::Cdf5 => 5,
        }
    }

    /// The version of a magic's fourth byte.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Version::Cdf1),
            2 => Some(Version::Cdf2),
            5 => Some(Version::Cdf5),
            _ => None,
        }
    }

    /// Bytes of a count, length or id in the header.
    pub const fn count_size(self) -> u64 {
        match self {
            Version::Cdf5 => 8,
            Version::Cdf1 | Version::Cdf2 => 4,
        }
    }

    /// Bytes of a variable's `begin` in the header.
    pub const fn offset_size(self) -> u64 {
        match self {
            Version::Cdf1 => 4,
            Version::Cdf2 | Version::Cdf5 => 8,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CDF-{}", self.byte())
    }
}

/// Position of a variable in the header's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// Position of a dimension in the header's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DimId(pub u32);

impl VarId {
    /// As an index into [`Header::variables`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl DimId {
    /// As an index into [`Header::dimensions`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The record count field, verbatim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumRecs {
    /// A number, right or wrong.
    Count(u64),
    /// All ones: the count follows from the length of the file.
    Streaming,
}

/// A named length. Length 0 marks the record dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Name bytes, without padding.
    pub name: Vec<u8>,
    /// Length as stored; 0 for a record dimension.
    pub len: u64,
}

/// A named list of values of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Name bytes, without padding.
    pub name: Vec<u8>,
    /// Type of the values.
    pub ty: NcType,
    /// The values as in the file, big-endian, without padding; a whole number of elements.
    pub values: Vec<u8>,
}

/// A variable's header entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name bytes, without padding.
    pub name: Vec<u8>,
    /// Dimensions, slowest first; each is checked to exist when parsed.
    pub dimensions: Vec<DimId>,
    /// Attributes in stored order.
    pub attributes: Vec<Attribute>,
    /// External type.
    pub ty: NcType,
    /// The `vsize` field verbatim. It saturates and may be wrong: [`crate::classic::Layout`] computes sizes
    /// instead.
    pub vsize: u64,
    /// File offset of the first element.
    pub begin: u64,
}

/// A classic header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Format version.
    pub version: Version,
    /// Record count field.
    pub numrecs: NumRecs,
    /// Dimensions, by [`DimId`].
    pub dimensions: Vec<Dimension>,
    /// Global attributes.
    pub attributes: Vec<Attribute>,
    /// Variables, by [`VarId`].
    pub variables: Vec<Variable>,
}

impl Dimension {
    /// True for a record (unlimited) dimension.
    pub const fn is_record(&self) -> bool {
        self.len == 0
    }

    /// The name for people; bytes that are not UTF-8 are replaced.
    pub fn name_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }
}

impl Attribute {
    /// Number of values.
    pub fn count(&self) -> usize {
        self.values.len() / self.ty.size()
    }

    /// The name for people; bytes that are not UTF-8 are replaced.
    pub fn name_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }
}

impl Variable {
    /// Its own fill value, big-endian: the attribute `_FillValue`, if it is one value of the variable's type,
    /// as the netCDF library requires.
    pub fn own_fill_value(&self) -> Option<&[u8]> {
        let attribute = self.attribute(b"_FillValue").filter(|a| a.ty == self.ty && a.count() == 1);
        attribute.map(|a| a.values.as_slice())
    }

    /// The value that stands for "nothing here", big-endian: its own fill value, else the default of its type.
    ///
    /// ```
    /// use nc3z_format::NcType;
    /// use nc3z_format::classic::{Attribute, Variable};
    /// let attribute = |ty, values: &[u8]| Attribute { name: b"_FillValue".into(), ty, values: values.into() };
    /// let of = |attributes| Variable {
    ///     name: b"x".into(),
    ///     dimensions: vec![],
    ///     attributes,
    ///     ty: NcType::Short,
    ///     vsize: 4,
    ///     begin: 0,
    /// };
    /// assert_eq!(of(vec![attribute(NcType::Short, &[0, 7])]).fill_value(), [0, 7]);
    /// let default = NcType::Short.default_fill();
    /// assert_eq!(of(vec![]).fill_value(), default);
    /// // Another type, or two values: it means nothing.
    /// assert_eq!(of(vec![attribute(NcType::Byte, &[7])]).fill_value(), default);
    /// assert_eq!(of(vec![attribute(NcType::Short, &[0, 7, 0, 8])]).fill_value(), default);
    /// ```
    pub fn fill_value(&self) -> &[u8] {
        self.own_fill_value().unwrap_or(self.ty.default_fill())
    }

    /// The values of the attribute `missing_value`, big-endian, if the attribute has the variable's type. By the CF conventions
    /// (section 2.5.1), they mark missing data besides the fill value.
    pub fn missing_values(&self) -> impl Iterator<Item = &[u8]> {
        let attribute = self.attribute(b"missing_value").filter(|a| a.ty == self.ty);
        attribute.into_iter().flat_map(|a| a.values.chunks_exact(a.ty.size()))
    }

    /// The name for people; bytes that are not UTF-8 are replaced.
    pub fn name_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }

    /// The first attribute of that name.
    pub fn attribute(&self, name: &[u8]) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

impl Header {
    /// The first variable of that name.
    pub fn variable(&self, name: &[u8]) -> Option<(VarId, &Variable)> {
        self.variables().find(|(_, v)| v.name == name)
    }

    /// All variables with their ids.
    pub fn variables(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        (0_u32..).map(VarId).zip(&self.variables)
    }

    /// The first dimension of that name.
    pub fn dimension(&self, name: &[u8]) -> Option<(DimId, &Dimension)> {
        (0_u32..).map(DimId).zip(&self.dimensions).find(|(_, d)| d.name == name)
    }

    /// The first global attribute of that name.
    pub fn attribute(&self, name: &[u8]) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// Length of a dimension as stored; an unknown id counts as length 0.
    pub fn dim_len(&self, id: DimId) -> u64 {
        self.dimensions.get(id.index()).map_or(0, |d| d.len)
    }

    /// True where the variable's first dimension is a record dimension.
    pub fn is_record(&self, variable: &Variable) -> bool {
        variable.dimensions.first().is_some_and(|&d| self.dim_len(d) == 0)
    }

    /// Returns the bytes of the variable, or those of one record of a record variable, in a file with `numrecs` records. A
    /// dimension of length 0 that is not the first counts as `numrecs`. If even 128 bits overflow, returns `u128::MAX`.
    pub fn slot_len(&self, variable: &Variable, numrecs: u64) -> u128 {
        let skip = usize::from(self.is_record(variable));
        let lengths = variable.dimensions.iter().skip(skip).map(|&d| match self.dim_len(d) {
            0 => u128::from(numrecs),
            len => u128::from(len),
        });
        saturating_product(lengths, variable.ty.size() as u128)
    }

    /// The `vsize` that the specification requires: the length rounded up to 4, saturated.
    pub fn canonical_vsize(&self, variable: &Variable) -> u64 {
        let padded = round_up_4(self.slot_len(variable, 0));
        match self.version {
            Version::Cdf1 | Version::Cdf2 => {
                u32::try_from(padded).ok().filter(|&v| v <= u32::MAX - 3).unwrap_or(u32::MAX).into()
            }
            Version::Cdf5 => u64::try_from(padded).unwrap_or(u64::MAX),
        }
    }
}

/// Product that a zero anywhere makes zero, however large the other factors.
fn saturating_product(lengths: impl Iterator<Item = u128> + Clone, unit: u128) -> u128 {
    if lengths.clone().any(|n| n == 0) { 0 } else { lengths.fold(unit, u128::saturating_mul) }
}

/// Rounded up to a multiple of 4; saturates.
pub(crate) const fn round_up_4(n: u128) -> u128 {
    n.saturating_add(3) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: Version, lens: &[u64]) -> Header {
        Header {
            version,
            numrecs: NumRecs::Count(0),
            dimensions: lens.iter().map(|&len| Dimension { name: b"d".to_vec(), len }).collect(),
            attributes: vec![],
            variables: vec![],
        }
    }

    fn variable(ty: NcType, dims: &[u32]) -> Variable {
        let dimensions = dims.iter().copied().map(DimId).collect();
        Variable { name: vec![], dimensions, attributes: vec![], ty, vsize: 0, begin: 0 }
    }

    #[test]
    fn vsize_saturates_in_cdf1_and_not_in_cdf5() {
        let v = variable(NcType::Byte, &[0]);
        assert_eq!(header(Version::Cdf1, &[0xFFFF_FFFC]).canonical_vsize(&v), 0xFFFF_FFFC);
        assert_eq!(header(Version::Cdf1, &[0xFFFF_FFFD]).canonical_vsize(&v), 0xFFFF_FFFF);
        assert_eq!(header(Version::Cdf5, &[0x1_0000_0001]).canonical_vsize(&v), 0x1_0000_0004);
    }

    #[test]
    fn shape_with_a_zero_is_empty_even_where_the_other_lengths_overflow() {
        let h = header(Version::Cdf5, &[u64::MAX, u64::MAX, 0]);
        assert_eq!(h.slot_len(&variable(NcType::Double, &[0, 1, 2]), 0), 0);
        assert_eq!(h.slot_len(&variable(NcType::Double, &[0, 2]), 1), u128::from(u64::MAX) * 8);
        assert_eq!(h.slot_len(&variable(NcType::Double, &[0, 1, 0]), 0), u128::MAX);
        assert!(h.is_record(&variable(NcType::Double, &[2, 0])));
        assert!(!h.is_record(&variable(NcType::Double, &[])));
    }
}
