//! Packed containers: small tiles that share a block.

use super::ids::ArrayId;
use crate::bytes::{ByteCursor, put_varint};
use crate::error::{Error, Result};

const SECTION: &str = "packed container";

/// Collects members.
#[derive(Debug, Default)]
pub struct ContainerBuilder {
    count: u64,
    directory: Vec<u8>,
    bytes: Vec<u8>,
    lens: Vec<usize>,
}

impl ContainerBuilder {
    /// Adds a tile's stored bytes.
    pub fn push(&mut self, array: ArrayId, tile: u64, chain: u16, stored: &[u8]) {
        put_varint(&mut self.directory, array.0.into());
        put_varint(&mut self.directory, tile);
        put_varint(&mut self.directory, chain.into());
        put_varint(&mut self.directory, stored.len() as u64);
        self.bytes.extend(stored);
        self.lens.push(stored.len());
        self.count += 1;
    }

    /// Bytes of the members so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True without a member.
    pub fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// The decoded container, and where each member's bytes start in it.
    ///
    /// # Panics
    /// If the container has 4 GiB or more: builders close at some KiB.
    pub fn finish(self) -> (Vec<u8>, Vec<u32>) {
        let mut directory = Vec::new();
        put_varint(&mut directory, self.count);
        directory.extend(&self.directory);
        let mut out = Vec::with_capacity(4 + directory.len() + self.bytes.len());
        out.extend(u32::try_from(directory.len()).expect("containers are small").to_le_bytes());
        out.extend(&directory);
        let mut start = u32::try_from(out.len()).expect("containers are small");
        out.extend(&self.bytes);
        let starts = self.lens.iter().map(|&len| {
            let here = start;
            start += u32::try_from(len).expect("containers are small");
            here
        });
        (out, starts.collect())
    }
}

/// One member of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The id of the array that has the tile.
    pub array: ArrayId,
    /// Which tile.
    pub tile: u64,
    /// The chain of the member.
    pub chain: u16,
    /// Where its stored bytes start in the decoded container.
    pub start: u32,
    /// Their number.
    pub len: u32,
}

/// The members of a decoded container.
///
/// # Errors
/// Damage: members that leave the container or do not fill it.
pub fn parse_directory(decoded: &[u8]) -> Result<Vec<Member>> {
    let mut c = ByteCursor::new(SECTION, 0, decoded);
    let len = c.u32("directory length")? as usize;
    let mut directory = ByteCursor::new(SECTION, 4, c.split("directory", len)?);
    let count = directory.varint_up_to("number of members", len / 4)?;
    let mut members = Vec::with_capacity(count);
    let total = c.left();
    let mut at = 0usize;
    for _ in 0..count {
        let array = ArrayId(narrow(directory.varint("variable")?, "variable")?);
        let tile = directory.varint("tile")?;
        let chain = u16::try_from(directory.varint("chain")?)
            .map_err(|_| Error::corrupt(SECTION, None, "chain", "16 bits", "more"))?;
        let len = directory.varint_up_to("stored length", total - at)?;
        let start = narrow((4 + decoded.len() - 4 - total + at) as u64, "start")?;
        members.push(Member { array, tile, chain, start, len: narrow(len as u64, "stored length")? });
        at += len;
    }
    directory.finish()?;
    if at != total {
        return Err(Error::corrupt(SECTION, None, "members' bytes", total, at));
    }
    Ok(members)
}

fn narrow(n: u64, what: &'static str) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::corrupt(SECTION, None, what, "32 bits", n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_and_every_prefix_is_an_error() {
        let mut b = ContainerBuilder::default();
        b.push(ArrayId::variable(1), 0, 2, b"abc");
        b.push(ArrayId::GAP, 300, 0, b"");
        b.push(ArrayId::padding(9), 1, 1, b"xy");
        let (bytes, starts) = b.finish();
        let members = parse_directory(&bytes).unwrap();
        assert_eq!(members.iter().map(|m| m.start).collect::<Vec<_>>(), starts);
        assert_eq!(&bytes[members[2].start as usize..][..2], b"xy");
        assert_eq!((members[1].tile, members[0].chain), (300, 2));
        for n in 0..bytes.len() {
            assert!(parse_directory(&bytes[..n]).is_err(), "{n}");
        }
    }
}
