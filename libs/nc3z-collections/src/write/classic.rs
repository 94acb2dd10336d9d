//! A small classic file, its values in memory.

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::classic::{
    Arrangement, Attribute, DimId, Dimension, Header, NumRecs, VarId, Variable, Version, arrange,
};
use nc3z_writer::{ClassicValues, Sink, write_classic};
use std::collections::BTreeSet;
use std::ops::Range;

/// A classic file before it is written; all dimensions are of fixed length.
#[derive(Debug, Clone, Default)]
pub struct NewFile {
    /// Names and lengths.
    pub dimensions: Vec<(String, u64)>,
    /// Global attributes.
    pub attributes: Vec<Attribute>,
    /// Variables.
    pub variables: Vec<NewVariable>,
    /// Names that later variables will have.
    pub reserved: BTreeSet<String>,
}

/// A variable with its values.
#[derive(Debug, Clone)]
pub struct NewVariable {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: NcType,
    /// Its dimensions, as indices into those of the file.
    pub dimensions: Vec<usize>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Elements, big-endian.
    pub values: Vec<u8>,
}

/// An attribute of text.
pub fn text_attribute(name: &str, text: &str) -> Attribute {
    Attribute { name: name.into(), ty: NcType::Char, values: text.into() }
}

/// An attribute of big-endian values.
pub fn attribute(name: &str, ty: NcType, values: impl Into<Vec<u8>>) -> Attribute {
    Attribute { name: name.into(), ty, values: values.into() }
}

impl NewFile {
    /// Adds a dimension, or finds one of the same name and length. If the name is taken, a number is
    /// appended.
    pub fn dimension(&mut self, name: &str, len: u64) -> usize {
        let taken: BTreeSet<&str> = self.dimensions.iter().map(|(n, _)| n.as_str()).collect();
        if let Some(found) = self.dimensions.iter().position(|d| d.0 == name && d.1 == len) {
            return found;
        }
        let name = free(name, |n| taken.contains(n));
        self.dimensions.push((name, len));
        self.dimensions.len() - 1
    }

    /// Returns true where a variable has the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|v| v.name == name)
    }

    /// Returns the name, with a number appended if a variable has it already.
    pub fn free_name(&self, name: &str) -> String {
        free(name, |n| self.has(n) || self.reserved.contains(n))
    }

    /// Returns the file's bytes, in the first of the classic formats that can express it.
    ///
    /// # Errors
    /// No classic format can express it, or the number of values of a variable does not match its dimensions.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut names = BTreeSet::new();
        if let Some(v) = self.variables.iter().find(|v| !names.insert(&v.name)) {
            return Err(Error::refused(format!("two variables would be called `{}`", v.name)));
        }
        let fit = |version| arrange(self.header(version), 0);
        let needs_cdf5 = self
            .variables
            .iter()
            .any(|v| v.ty.needs_cdf5() || v.attributes.iter().any(|a| a.ty.needs_cdf5()));
        let versions: &[Version] =
            if needs_cdf5 { &[Version::Cdf5] } else { &[Version::Cdf1, Version::Cdf2, Version::Cdf5] };
        let mut last = None;
        for version in versions {
            match fit(*version) {
                Ok(arrangement) => return self.write(&arrangement),
                Err(e) => last = Some(e),
            }
        }
        Err(last.map_or_else(|| Error::refused("it is not a classic file"), Into::into))
    }

    fn header(&self, version: Version) -> Header {
        let id = |n: &usize| DimId(u32::try_from(*n).unwrap_or(u32::MAX));
        let variables = self.variables.iter().map(|v| Variable {
            name: v.name.clone().into_bytes(),
            dimensions: v.dimensions.iter().map(id).collect(),
            attributes: v.attributes.clone(),
            ty: v.ty,
            vsize: 0,
            begin: 0,
        });
        let dimensions = self.dimensions.iter();
        Header {
            version,
            numrecs: NumRecs::Count(0),
            dimensions: dimensions
                .map(|(name, len)| Dimension { name: name.clone().into_bytes(), len: *len })
                .collect(),
            attributes: self.attributes.clone(),
            variables: variables.collect(),
        }
    }

    fn write(&self, arrangement: &Arrangement) -> Result<Vec<u8>> {
        let len: usize = self.variables.iter().map(|v| v.values.len().next_multiple_of(4)).sum();
        let mut out = Vec::with_capacity(arrangement.header_bytes.len() + len);
        let mut values = Values(self);
        write_classic(arrangement, &mut values, &mut out)
            .map_err(|e| Error::refused(format!("the file cannot be put together: {e}")))?;
        Ok(out)
    }
}

struct Values<'a>(&'a NewFile);

impl ClassicValues for Values<'_> {
    type Error = std::io::Error;

    fn read(
        &mut self,
        var: VarId,
        _: Range<u64>,
        sink: &mut Sink<'_, std::io::Error>,
    ) -> std::io::Result<()> {
        sink(&self.0.variables[var.index()].values)
    }
}

/// Returns the name, or the first of `NAME_2`, `NAME_3`, … that is not taken.
pub(crate) fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|n| !taken(n)).unwrap_or_default()
}
