//! Reads the classic file as a stream of raw tiles: fixed variables by their position in the file, then the record
//! region record by record, and last the bytes of the gap. Small arrays precede all others ([`first_arrays`]).
//!
//! The source is read forward once. While the records are read, each interleaved record variable fills one open
//! tile or one layer of chunks. [`crate::options::RECORD_TILES_LEN`] limits the bytes of open tiles, whatever the
//! number of variables. Larger layers are read from the source box by box after their records.

mod cache;
mod chunks;
mod first;
mod open;
mod padding;
mod pieces;
mod raw;
mod read_ahead;
mod records;
mod samples;

use crate::error::Result;
use crate::options::RECORD_TILES_LEN;
pub(crate) use cache::HeldTiles;
use chunks::Chunked;
pub(crate) use first::{SMALL_LEN, first_arrays, for_each_of};
use nc3z_format::array_table::{ArrayInfo, Arrays};
use nc3z_format::classic::{Layout, SegmentKind};
use nc3z_reader::ClassicFile;
use open::OpenTile;
pub(crate) use padding::fill_up;
use pieces::chunk_samples;
pub(crate) use pieces::scan_pieces;
pub(crate) use raw::RawTile;
use read_ahead::ReadAhead;
pub(crate) use samples::{held_samples, read_samples, record_samples};

/// Bytes of a box of chunks that is read at a time, unless chunks are larger: a share of `memory` within this
/// range.
const BOX_LEN: std::ops::RangeInclusive<u64> = 4 << 20..=64 << 20;

/// Calls `sink` with every tile of every array, in the archive's order. Only the part of a layer of chunks that is
/// read at a time depends on `memory`.
pub(crate) fn for_each_tile(
    classic: &ClassicFile,
    arrays: &Arrays,
    memory: u64,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    let layout = classic.layout();
    let budget = (memory.saturating_sub(RECORD_TILES_LEN) / 4).clamp(*BOX_LEN.start(), *BOX_LEN.end());
    let mut reader = ReadAhead::new(&**classic.source());
    for segment in layout.segments() {
        match segment.kind {
            SegmentKind::Fixed(var) => {
                let info = arrays.variable(var);
                if let Some(chunked) = Chunked::new(classic, arrays, var)? {
                    chunked.read_layers(0..chunked.layers(), &mut reader, budget, sink)?;
                    continue;
                }
                let begin = segment.offset;
                for tile in 0..info.tiling.tile_count() {
                    let (first, len) = info.tile_bytes(tile)?;
                    let mut bytes = vec![0; len];
                    reader.read(begin + first, &mut bytes)?;
                    sink(RawTile { array: info.id, tile, bytes })?;
                }
            }
            SegmentKind::Records => {
                let records =
                    layout.records.as_ref().expect("a record segment exists only where records are regular");
                let columns = records::columns(classic, records, arrays)?;
                records::read_records(&mut reader, records, columns, budget, sink)?;
            }
            SegmentKind::Header | SegmentKind::Gap => {}
        }
    }
    read_gap(&mut reader, layout, arrays.gap(), sink)
}

fn read_gap(
    reader: &mut ReadAhead<'_>,
    layout: &Layout,
    info: &ArrayInfo,
    sink: &mut dyn FnMut(RawTile) -> Result<()>,
) -> Result<()> {
    let mut open = OpenTile::new(info)?;
    for (offset, len) in layout.gaps.runs() {
        let mut at = offset;
        let end = offset + len;
        while at < end {
            let room = open.room();
            let n = usize::try_from(end - at).map_or(room, |left| left.min(room));
            reader.read(at, open.take(n))?;
            at += n as u64;
            open.emit_if_full(sink)?;
        }
    }
    Ok(())
}
