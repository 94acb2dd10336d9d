//! The bytes of the files in a bundle. Those that are stored as they are are ranges of the bundle's file, which are read without the rest of
//! their tile; others are decoded.

use super::member::Range as Place;
use crate::error::Result;
use bytes::{Bytes, BytesMut};
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, IndexEntry};
use nc3z_format::array::TileKey;
use nc3z_format::classic::VarId;
use nc3z_reader::source::{ByteSource, Reach};
use nc3z_reader::{Archive, Result as ReadResult};
use std::ops::Range;
use std::sync::Arc;

/// The variable `content` as a source.
pub(crate) struct Content {
    archive: Archive,
    array: ArrayId,
    tile: u64,
    len: u64,
}

/// Bytes of one tile.
enum Piece {
    /// A range of the file.
    Stored(Range<u64>),
    /// Some bytes of the tile with this number, which is decoded.
    Coded(u64, Range<usize>),
}

impl Content {
    /// The elements of a variable, which are bytes.
    pub(super) fn new(archive: &Archive, id: VarId) -> Result<Self> {
        let info = archive.arrays().variable(id);
        let tile = info.linear_tile_len().filter(|len| *len > 0);
        let tile = tile.ok_or_else(|| super::table::wrong("the content of a bundle is in chunks"))?;
        Ok(Content { archive: archive.clone(), array: info.id, tile, len: info.total_bytes() })
    }

    /// The content of a bundle whose files have no bytes.
    pub(super) fn empty(archive: &Archive) -> Self {
        Content { archive: archive.clone(), array: ArrayId::GAP, tile: 1, len: 0 }
    }

    /// The pieces of a range.
    fn pieces(&self, archive: &Archive, range: &Range<u64>) -> ReadResult<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let number = at / self.tile;
            let end = range.end.min((number + 1).saturating_mul(self.tile));
            let (skip, len) = (at % self.tile, end - at);
            pieces.push(match archive.entry(self.array, number)? {
                IndexEntry::Stored { offset, len: stored, chain, .. }
                    if is_plain(archive, chain) && skip + len <= u64::from(stored) =>
                {
                    let begin = offset + BLOCK_HEADER_LEN as u64 + skip;
                    Piece::Stored(begin..begin + len)
                }
                _ => {
                    let within = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                    Piece::Coded(number, within(skip)..within(skip + len))
                }
            });
            at = end;
        }
        Ok(pieces)
    }

    /// The ranges of the file that reading a range takes: of a tile that is decoded, all of it.
    pub(crate) fn places(&self, range: Range<u64>) -> ReadResult<Vec<Range<u64>>> {
        self.check(&range)?;
        let mut places: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces(&self.archive, &range)? {
            let place = match piece {
                Piece::Stored(place) => place,
                Piece::Coded(tile, _) => match self.archive.entry(self.array, tile)? {
                    IndexEntry::Stored { offset, len, .. } => {
                        offset..offset + BLOCK_HEADER_LEN as u64 + u64::from(len)
                    }
                    // The container of short tiles begins there.
                    IndexEntry::Shared { offset, .. } => offset..offset + BLOCK_HEADER_LEN as u64,
                    _ => continue,
                },
            };
            match places.last_mut() {
                Some(last) if last.end == place.start => last.end = place.end,
                _ => places.push(place),
            }
        }
        Ok(places)
    }

    /// The ranges of the file of some ranges, in the order of their offsets, not adjacent.
    pub(super) fn ranges(&self, wanted: &[Place]) -> Result<Vec<Place>> {
        let mut found = Vec::new();
        for range in wanted {
            let places = self.places(range.offset..range.offset.saturating_add(range.len))?;
            found.extend(places.iter().map(|at| Place { offset: at.start, len: at.end - at.start }));
        }
        Ok(super::needs::merged(found))
    }

    /// Fetches the index pages of the tiles of some ranges together, if requests cost time.
    fn indexed(&self, ranges: &[Range<u64>]) -> ReadResult<Archive> {
        if !self.reach().fetches_ahead() {
            return Ok(self.archive.clone());
        }
        // Of each range the first and the last tile: the pages between them hold many.
        let tiles = ranges.iter().filter(|range| range.start < range.end);
        let tiles = tiles.flat_map(|range| [range.start / self.tile, (range.end - 1) / self.tile]);
        let keys: Vec<TileKey> = tiles.map(|tile| TileKey::new(self.array, tile)).collect();
        self.archive.indexed(&keys)
    }

    fn check(&self, range: &Range<u64>) -> ReadResult<()> {
        let wanted = range.end.saturating_sub(range.start);
        let available = self.len.saturating_sub(range.start);
        if wanted > available {
            let missing = wanted - available;
            let error =
                nc3z_format::Error::truncated("content of a bundle", range.start, "read", missing, available);
            return Err(error.into());
        }
        Ok(())
    }
}

/// Returns whether bytes with this chain are stored as they are.
fn is_plain(archive: &Archive, chain: u16) -> bool {
    archive.chains().get(usize::from(chain)).is_some_and(|chain| chain.spec().0.is_empty())
}

impl ByteSource for Content {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_into(&self, offset: u64, mut buf: &mut [u8]) -> ReadResult<()> {
        let range = offset..offset.saturating_add(buf.len() as u64);
        self.check(&range)?;
        for piece in self.pieces(&self.archive, &range)? {
            let len = match &piece {
                Piece::Stored(place) => usize::try_from(place.end - place.start).unwrap_or(usize::MAX),
                Piece::Coded(_, part) => part.len(),
            };
            let (here, rest) = buf.split_at_mut(len);
            match piece {
                Piece::Stored(place) => self.archive.source().read_into(place.start, here)?,
                Piece::Coded(tile, part) => {
                    here.copy_from_slice(&self.archive.cached_tile(self.array, tile)?[part]);
                }
            }
            buf = rest;
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, len: usize) -> ReadResult<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        Ok(self.read_ranges(std::slice::from_ref(&range))?.pop().unwrap_or_default())
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> ReadResult<Vec<Bytes>> {
        ranges.iter().try_for_each(|range| self.check(range))?;
        let archive = self.indexed(ranges)?;
        let pieces = ranges.iter().map(|range| self.pieces(&archive, range));
        let pieces: Vec<Vec<Piece>> = pieces.collect::<ReadResult<_>>()?;
        let stored = pieces.iter().flatten().filter_map(|piece| match piece {
            Piece::Stored(place) => Some(place.clone()),
            Piece::Coded(..) => None,
        });
        let stored: Vec<Range<u64>> = stored.collect();
        let source = archive.source();
        // The parts of a range are divided by the headers of blocks: one request reads them all.
        let merged = if self.reach().fetches_ahead() { self.reach().merge(&stored) } else { stored.clone() };
        let read: Vec<Bytes> = source.read_ranges(&merged)?;
        let mut next = 0;
        let mut take = |place: &Range<u64>| -> Option<Bytes> {
            let number = if merged.len() == stored.len() && merged.get(next) == Some(place) {
                next
            } else {
                merged.partition_point(|range| range.start <= place.start).checked_sub(1)?
            };
            next += 1;
            let from = usize::try_from(place.start - merged[number].start).ok()?;
            let len = usize::try_from(place.end - place.start).ok()?;
            let bytes = read.get(number)?;
            bytes.get(from..from + len)?;
            Some(bytes.slice(from..from + len))
        };
        let mut out = Vec::with_capacity(ranges.len());
        for pieces in &pieces {
            let mut parts = Vec::with_capacity(pieces.len());
            for piece in pieces {
                parts.push(match piece {
                    Piece::Stored(place) => take(place).ok_or_else(|| {
                        let what = "the source gave other ranges than were asked for";
                        nc3z_reader::Error::io("read ranges of", None, std::io::Error::other(what))
                    })?,
                    Piece::Coded(tile, part) => archive.cached_tile(self.array, *tile)?.slice(part.clone()),
                });
            }
            out.push(if parts.len() == 1 {
                parts.remove(0)
            } else {
                let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
                parts.iter().for_each(|part| whole.extend_from_slice(part));
                whole.freeze()
            });
        }
        Ok(out)
    }

    fn reach(&self) -> Reach {
        self.archive.source().reach()
    }

    fn lends(&self) -> bool {
        self.archive.source().lends()
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        let source = self.archive.source();
        self.reach().fetches_ahead()
            && self.check(range).is_ok()
            && self.places(range.clone()).is_ok_and(|places| places.iter().all(|place| source.holds(place)))
    }

    fn identity(&self) -> Option<Arc<str>> {
        self.archive.source().identity()
    }
}
