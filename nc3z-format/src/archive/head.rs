//! The head copy: the data needed to interpret the blocks if everything else is lost.

use super::section_codec::{PackEffort, pack_head};
use crate::bytes::{ByteCursor, put_varint};
use crate::codec::{ChainSpec, chains_from_json, chains_to_json};
use crate::error::{Error, Result};
use crate::limits::Limits;

const SECTION: &str = "head copy";

/// The tiling of a variable, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TileLayoutSpec {
    /// Runs of this many elements.
    Linear(u64),
    /// Boxes.
    Chunked {
        /// Lengths along each dimension.
        shape: Vec<u64>,
        /// True if boxes at the edges are filled up.
        padded: bool,
    },
}

/// The tile layouts of all arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layouts {
    /// One for each variable.
    pub variables: Vec<TileLayoutSpec>,
    /// Bytes of a tile, for each padding pseudo-variable.
    pub paddings: Vec<u64>,
    /// Bytes of a tile of the gap.
    pub gap: u64,
}

/// Appends the tile layouts of a head.
pub(super) fn put_layouts(out: &mut Vec<u8>, variables: &[TileLayoutSpec], paddings: &[u64], gap: u64) {
    for layout in variables {
        match layout {
            TileLayoutSpec::Linear(len) => {
                put_varint(out, 0);
                put_varint(out, *len);
            }
            TileLayoutSpec::Chunked { shape, padded } => {
                put_varint(out, if *padded { 2 } else { 1 });
                shape.iter().for_each(|&len| put_varint(out, len));
            }
        }
    }
    paddings.iter().for_each(|&len| put_varint(out, len));
    put_varint(out, gap);
}

/// Reads the tile layouts of a head. `ranks` has one number for each variable, `paddings` is the number of
/// padding pseudo-variables.
pub(super) fn read_layouts(
    c: &mut ByteCursor<'_>,
    section: &str,
    ranks: &[usize],
    paddings: usize,
) -> Result<Layouts> {
    let positive = |c: &mut ByteCursor<'_>, what| {
        let at = c.offset();
        match c.varint(what)? {
            0 => Err(Error::corrupt(section, at, what, "at least 1", 0)),
            n => Ok(n),
        }
    };
    // Each layout, tile length and chunk length takes at least one byte. The count is compared before memory
    // is allocated.
    let least = ranks.len().saturating_add(paddings).saturating_add(1);
    if least > c.left() {
        let (needed, left) = (least as u64, c.left() as u64);
        return Err(Error::truncated(section, c.offset(), "tile layouts", needed - left, left));
    }
    let mut variables = Vec::with_capacity(ranks.len());
    for &rank in ranks {
        let at = c.offset();
        variables.push(match c.varint("kind of tile layout")? {
            0 => TileLayoutSpec::Linear(positive(c, "tile length")?),
            kind @ (1 | 2) => {
                let shape = (0..rank).map(|_| positive(c, "chunk length")).collect::<Result<_>>()?;
                TileLayoutSpec::Chunked { shape, padded: kind == 2 }
            }
            kind => return Err(Error::corrupt(section, at, "kind of tile layout", "0, 1 or 2", kind)),
        });
    }
    let paddings = (0..paddings).map(|_| positive(c, "padding tile length")).collect::<Result<_>>()?;
    Ok(Layouts { variables, paddings, gap: positive(c, "gap tile length")? })
}

/// The head copy: the definitions that a reader needs to open an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The classic header's bytes.
    pub header: Vec<u8>,
    /// Chains 0, 1, …
    pub chains: Vec<ChainSpec>,
    /// One for each variable.
    pub layouts: Vec<TileLayoutSpec>,
    /// Bytes of a tile, for each padding pseudo-variable.
    pub padding_tile_lens: Vec<u64>,
    /// Bytes of a tile of the gap.
    pub gap_tile_len: u64,
}

/// The bytes before the tile layouts.
fn start(header: &[u8], chains: &[ChainSpec]) -> Vec<u8> {
    let mut out = Vec::with_capacity(header.len() + 256);
    put_varint(&mut out, header.len() as u64);
    out.extend(header);
    let chains = chains_to_json(chains);
    put_varint(&mut out, chains.len() as u64);
    out.extend(chains.as_bytes());
    out
}

impl Head {
    /// Returns the decoded form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = start(&self.header, &self.chains);
        put_layouts(&mut out, &self.layouts, &self.padding_tile_lens, self.gap_tile_len);
        out
    }

    /// The stored form and the decoded length; equal lengths mean raw.
    ///
    /// # Errors
    /// A head of 4 GiB or more.
    pub fn store(&self, effort: PackEffort) -> Result<(Vec<u8>, u32)> {
        let decoded = self.encode();
        let len = u32::try_from(decoded.len())
            .map_err(|_| Error::limit(SECTION, None, "length", u32::MAX.into(), decoded.len() as u64))?;
        let stored = pack_head(&decoded, effort)?;
        Ok((stored.unwrap_or(decoded), len))
    }
}

/// A head copy whose layouts can be read after the header is parsed.
#[derive(Debug, Clone)]
pub struct HeadParts {
    /// The classic header's bytes.
    pub header: Vec<u8>,
    chains: Vec<ChainSpec>,
    rest: Vec<u8>,
    rest_at: u64,
}

impl HeadParts {
    /// Splits the decoded form.
    ///
    /// # Errors
    /// Damage, limits, a chain 0 other than `[]`.
    pub fn split(decoded: &[u8], limits: &Limits) -> Result<Self> {
        let mut c = ByteCursor::new(SECTION, 0, decoded);
        let len = c.varint_up_to("header length", decoded.len())?;
        if len as u64 > limits.header_len {
            return Err(Error::limit(SECTION, 0, "header length", limits.header_len, len as u64));
        }
        let header = c.split("header", len)?.to_vec();
        let len = c.varint_up_to("chain table length", decoded.len())?;
        let at = c.offset();
        let chains =
            chains_from_json(c.split("chain table", len)?, limits).map_err(|e| e.within(SECTION, at))?;
        if chains.first().is_none_or(|chain| !chain.0.is_empty()) {
            let found = chains.first().map_or_else(|| "none".to_owned(), ToString::to_string);
            return Err(Error::corrupt(SECTION, at, "chain 0", "[]", found));
        }
        let rest_at = c.offset();
        Ok(HeadParts { header, chains, rest: c.rest().to_vec(), rest_at })
    }

    /// Returns the chain table.
    pub fn chains(&self) -> &[ChainSpec] {
        &self.chains
    }

    /// The decoded form with another chain table.
    pub fn with_chains(&self, chains: &[ChainSpec]) -> Vec<u8> {
        let mut out = start(&self.header, chains);
        out.extend(&self.rest);
        out
    }

    /// Reads the tile layouts. `ranks` has one number for each variable, `paddings` is the number of padding
    /// pseudo-variables.
    ///
    /// # Errors
    /// Damage.
    pub fn layouts(self, ranks: &[usize], paddings: usize) -> Result<Head> {
        let mut c = ByteCursor::new(SECTION, self.rest_at, &self.rest);
        let Layouts { variables: layouts, paddings: padding_tile_lens, gap: gap_tile_len } =
            read_layouts(&mut c, SECTION, ranks, paddings)?;
        c.finish()?;
        Ok(Head { header: self.header, chains: self.chains, layouts, padding_tile_lens, gap_tile_len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_and_every_prefix_is_an_error() {
        let head = Head {
            header: b"CDF header".to_vec(),
            chains: vec![ChainSpec::default()],
            layouts: vec![
                TileLayoutSpec::Linear(300),
                TileLayoutSpec::Chunked { shape: vec![1, 90], padded: true },
            ],
            padding_tile_lens: vec![5],
            gap_tile_len: 1 << 20,
        };
        let bytes = head.encode();
        let read = |b: &[u8]| HeadParts::split(b, &Limits::default())?.layouts(&[3, 2], 1);
        assert_eq!(read(&bytes).unwrap(), head);
        for n in 0..bytes.len() {
            assert!(read(&bytes[..n]).is_err(), "{n}");
        }
    }
}
