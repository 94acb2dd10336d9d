//! The inverse of [`parse()`](super::parse()), in canonical form: zero padding, empty lists as `ABSENT`.

use super::header::{Attribute, Header, NumRecs, Version};
use crate::error::{Error, Result};

/// The header's bytes in canonical form. `vsize`, `begin` and the record count are written unchanged.
///
/// # Errors
/// *InvalidArgument* if a number does not fit the header's version, an attribute has an incomplete element,
/// or a type needs CDF-5.
pub fn encode(header: &Header) -> Result<Vec<u8>> {
    let mut out = Encoder { version: header.version, out: b"CDF".to_vec() };
    out.out.push(header.version.byte());
    match header.numrecs {
        NumRecs::Streaming => out.all_ones(),
        NumRecs::Count(n) if n == out.streaming() => {
            return Err(Error::invalid(format!("record count {n} means streaming")));
        }
        NumRecs::Count(n) => out.count(n, "record count")?,
    }
    out.tag(10, header.dimensions.len())?;
    for dim in &header.dimensions {
        out.bytes(&dim.name)?;
        out.count(dim.len, "dimension length")?;
    }
    out.attributes(&header.attributes)?;
    out.tag(11, header.variables.len())?;
    for variable in &header.variables {
        out.bytes(&variable.name)?;
        out.count(variable.dimensions.len() as u64, "rank")?;
        for dim in &variable.dimensions {
            out.count(dim.0.into(), "dimension id")?;
        }
        out.attributes(&variable.attributes)?;
        out.type_code(variable.ty)?;
        out.count(variable.vsize, "vsize")?;
        out.offset(variable.begin)?;
    }
    Ok(out.out)
}

struct Encoder {
    version: Version,
    out: Vec<u8>,
}

impl Encoder {
    fn word(&mut self, word: u32) {
        self.out.extend_from_slice(&word.to_be_bytes());
    }

    fn streaming(&self) -> u64 {
        if self.version == Version::Cdf5 { u64::MAX } else { u32::MAX.into() }
    }

    fn all_ones(&mut self) {
        let len = if self.version == Version::Cdf5 { 8 } else { 4 };
        self.out.extend_from_slice(&[0xFF; 8][..len]);
    }

    fn count(&mut self, n: u64, what: &str) -> Result<()> {
        if self.version == Version::Cdf5 {
            self.out.extend_from_slice(&n.to_be_bytes());
            return Ok(());
        }
        let n = u32::try_from(n)
            .map_err(|_| Error::invalid(format!("{what} {n} does not fit {}", self.version)))?;
        self.word(n);
        Ok(())
    }

    fn offset(&mut self, n: u64) -> Result<()> {
        if self.version == Version::Cdf1 {
            return self.count(n, "begin");
        }
        self.out.extend_from_slice(&n.to_be_bytes());
        Ok(())
    }

    /// A list's tag and count; both zero for an empty list.
    fn tag(&mut self, tag: u32, count: usize) -> Result<()> {
        self.word(if count == 0 { 0 } else { tag });
        self.count(count as u64, "element count")
    }

    fn type_code(&mut self, ty: crate::NcType) -> Result<()> {
        if ty.needs_cdf5() && self.version != Version::Cdf5 {
            return Err(Error::invalid(format!("type {ty} does not exist in {}", self.version)));
        }
        self.word(ty.code());
        Ok(())
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        self.out.extend_from_slice(&[0; 3][..padding]);
    }

    fn bytes(&mut self, name: &[u8]) -> Result<()> {
        self.count(name.len() as u64, "name length")?;
        self.padded(name);
        Ok(())
    }

    fn attributes(&mut self, attributes: &[Attribute]) -> Result<()> {
        self.tag(12, attributes.len())?;
        for attribute in attributes {
            self.bytes(&attribute.name)?;
            self.type_code(attribute.ty)?;
            if attribute.values.len() % attribute.ty.size() != 0 {
                let name = attribute.name_lossy();
                return Err(Error::invalid(format!("attribute `{name}` holds part of an element")));
            }
            self.count(attribute.count() as u64, "value count")?;
            self.padded(&attribute.values);
        }
        Ok(())
    }
}
