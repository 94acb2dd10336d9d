//! Entries: what the root of a file is over (`spec/digest.md`, section 4).

use super::Hash;
use super::domain::Domain;
use crate::classic::{Attribute, Header, Layout};
use crate::error::{Error, Result};
use crate::types::NcType;

/// The first bytes of the entry of a file; the number is the version of the rule.
const FILE: &[u8] = b"nc3z file entry 1\n";
/// The first bytes of the entry of a variable.
const VARIABLE: &[u8] = b"nc3z variable entry 1\n";
/// Largest number of dimensions of an entry. The dimensions of a header are limited by its parser.
const MAX_RANK: u64 = 1024;

/// A dimension of a variable in its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryDimension {
    /// Its place in the header.
    pub number: u64,
    /// The name of the dimension.
    pub name: Vec<u8>,
    /// True for the record dimension.
    pub is_record: bool,
    /// Its length; the record count of the record dimension.
    pub len: u64,
}

/// The facts about a variable in a root, besides its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The variable's name.
    pub name: Vec<u8>,
    /// Type of the values.
    pub ty: NcType,
    /// Dimensions, slowest first.
    pub dimensions: Vec<EntryDimension>,
    /// Elements that the file holds.
    pub present: u64,
    /// Attributes in stored order.
    pub attributes: Vec<Attribute>,
    /// The digest of the variable.
    pub digest: Hash,
}

impl Entry {
    /// The entry of a file: its dimensions and attributes.
    pub fn of_file(header: &Header, layout: &Layout) -> Vec<u8> {
        let mut d = Domain::new(FILE);
        d.count(header.dimensions.len());
        for dimension in &header.dimensions {
            d.string(&dimension.name);
            d.number(dimension.is_record().into());
            d.number(if dimension.is_record() { layout.numrecs } else { dimension.len });
        }
        d.attributes(&header.attributes);
        d.0
    }

    /// The entry of a variable, by its place in the header.
    ///
    /// # Panics
    /// The header has no such variable, or its layout is another's.
    pub fn of_variable(header: &Header, layout: &Layout, number: usize, digest: &Hash) -> Self {
        let (variable, place) = (&header.variables[number], &layout.variables[number]);
        let dimension = |(id, &len): (&crate::classic::DimId, &u64)| {
            let dimension = &header.dimensions[id.index()];
            let is_record = dimension.is_record();
            EntryDimension { number: id.0.into(), name: dimension.name.clone(), is_record, len }
        };
        Entry {
            name: variable.name.clone(),
            ty: variable.ty,
            dimensions: variable.dimensions.iter().zip(&place.shape).map(dimension).collect(),
            present: place.present,
            attributes: variable.attributes.clone(),
            digest: *digest,
        }
    }

    /// The lengths of its dimensions.
    pub fn shape(&self) -> Vec<u64> {
        self.dimensions.iter().map(|dimension| dimension.len).collect()
    }

    /// The bytes that are hashed.
    pub fn encode(&self) -> Vec<u8> {
        let mut d = Domain::new(VARIABLE);
        d.string(&self.name);
        d.number(self.ty.code().into());
        d.count(self.dimensions.len());
        for dimension in &self.dimensions {
            d.number(dimension.number);
            d.string(&dimension.name);
            d.number(dimension.is_record.into());
            d.number(dimension.len);
        }
        d.number(self.present);
        d.attributes(&self.attributes);
        d.0.extend(self.digest);
        d.0
    }

    /// Reads the bytes back.
    ///
    /// # Errors
    /// Anything but the entry of a variable.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut rest = Bytes { rest: bytes };
        if rest.take(VARIABLE.len() as u64)? != VARIABLE {
            return Err(Error::invalid("an entry that is not of a variable"));
        }
        let name = rest.string()?;
        let ty = rest.ty()?;
        let rank = rest.number()?;
        if rank > MAX_RANK {
            return Err(Error::limit("entry", None, "dimensions", MAX_RANK, rank));
        }
        let dimension = |rest: &mut Bytes<'_>| {
            let (number, name) = (rest.number()?, rest.string()?);
            Ok(EntryDimension { number, name, is_record: rest.flag()?, len: rest.number()? })
        };
        let dimensions = (0..rank).map(|_| dimension(&mut rest)).collect::<Result<_>>()?;
        let present = rest.number()?;
        let attributes = rest.attributes()?;
        let digest = rest.take(32)?.try_into().expect("32 bytes were taken");
        rest.end()?;
        Ok(Entry { name, ty, dimensions, present, attributes, digest })
    }

    /// The attributes in the entry of a file.
    ///
    /// # Errors
    /// Anything but the entry of a file.
    pub fn decode_file(bytes: &[u8]) -> Result<Vec<Attribute>> {
        let mut rest = Bytes { rest: bytes };
        if rest.take(FILE.len() as u64)? != FILE {
            return Err(Error::invalid("an entry that is not of a file"));
        }
        for _ in 0..rest.number()? {
            rest.string()?;
            rest.flag()?;
            rest.number()?;
        }
        let attributes = rest.attributes()?;
        rest.end()?;
        Ok(attributes)
    }
}

/// Bytes that are taken from the front. Loops end because each step takes some.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let left = self.rest.len() as u64;
        let (taken, rest) =
            split.ok_or_else(|| Error::truncated("entry", None, "bytes", len.saturating_sub(left), left))?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes were taken")))
    }

    fn string(&mut self) -> Result<Vec<u8>> {
        let len = self.number()?;
        Ok(self.take(len)?.to_vec())
    }

    fn flag(&mut self) -> Result<bool> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::invalid(format!("an entry with {other} where 0 or 1 was expected"))),
        }
    }

    fn ty(&mut self) -> Result<NcType> {
        let code = self.number()?;
        NcType::from_code(u32::try_from(code).unwrap_or(u32::MAX))
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let count = self.number()?;
        let attribute = |rest: &mut Self| {
            let (name, ty, count) = (rest.string()?, rest.ty()?, rest.number()?);
            let values = rest.take(count.saturating_mul(ty.size() as u64))?.to_vec();
            Ok(Attribute { name, ty, values })
        };
        (0..count).map(|_| attribute(self)).collect()
    }

    fn end(&self) -> Result<()> {
        let left = self.rest.len();
        if left == 0 { Ok(()) } else { Err(Error::invalid(format!("an entry with {left} bytes too many"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let dimension = |number, name: &[u8], is_record, len| EntryDimension {
            number,
            name: name.to_vec(),
            is_record,
            len,
        };
        Entry {
            name: b"tas".to_vec(),
            ty: NcType::Float,
            dimensions: vec![dimension(2, b"time", true, 7), dimension(0, b"x", false, 5)],
            present: 35,
            attributes: vec![
                Attribute { name: b"units".to_vec(), ty: NcType::Char, values: b"K".to_vec() },
                Attribute { name: b"range".to_vec(), ty: NcType::Short, values: vec![0, 1, 0, 2] },
            ],
            digest: [9; 32],
        }
    }

    #[test]
    fn an_entry_comes_back() {
        assert_eq!(Entry::decode(&entry().encode()).unwrap(), entry());
        assert_eq!(entry().shape(), [7, 5]);
    }

    #[test]
    fn every_prefix_and_every_longer_entry_is_refused() {
        let bytes = entry().encode();
        for end in 0..bytes.len() {
            assert!(Entry::decode(&bytes[..end]).is_err(), "{end}");
            assert!(Entry::decode_file(&bytes[..end]).is_err(), "{end}");
        }
        assert!(Entry::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn lengths_beyond_the_bytes_are_refused() {
        let bytes = entry().encode();
        for at in 0..bytes.len() - 7 {
            let mut forged = bytes.clone();
            forged[at..at + 8].fill(0xFF);
            // It is another entry, or none.
            assert!(Entry::decode(&forged).map_or(true, |other| other != entry()));
        }
    }
}
