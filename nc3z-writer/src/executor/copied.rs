//! Stored tiles of one archive that are copied to another without encoding them again.

use super::{Encode, Executor, for_all};
use crate::encode::{EncodedTile, Form};
use crate::error::Result;
use crate::generation::{GenerationWriter, Medium, Unsealed, WholeContainer};
use crate::options::Preset;
use crate::plan::{ArrayPlan, CopyPlanner, is_coded_against_older};
use nc3z_format::archive::constants::{REQUIRED_LATER_HEAD, REQUIRED_LOSSY, REQUIRED_LOST};
use nc3z_format::archive::{ArrayId, Head, IndexEntry, Metadata, Role, Salt};
use nc3z_format::codec::{Chain, ChainSpec, StageSpec};
use nc3z_reader::recover::StoredTile;
use nc3z_reader::{Archive, Digest, Monitor};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;

/// Stored bytes that are copied in one round of parallel work.
const BATCH_LEN: u64 = 64 << 20;

/// The level in a chain that is added; decoders ignore it.
const ZSTD_LEVEL: i32 = 9;

/// Copies pieces of an archive.
struct CopiedPieces<'a> {
    archive: &'a Archive,
    planner: CopyPlanner<'a>,
    /// The plans of arrays with tiles that are encoded again, by their ids in the old archive.
    plans: HashMap<ArrayId, ArrayPlan>,
}

/// A unit that is copied as a whole.
enum Piece {
    /// A tile that is constant or shares its block with no other tile.
    Tile(ArrayId, u64),
    /// The container at an offset, and its current members.
    Container(u64, Vec<(ArrayId, u64)>),
}

/// A piece in the form in which it is written.
enum Stored {
    Tiles(Vec<EncodedTile>),
    Container(WholeContainer),
}

/// Returns the SHA-256 of the restored original and records the tiles that were filled.
pub(crate) fn restored_sha256(archive: &Archive, monitor: &dyn Monitor) -> Result<[u8; 32]> {
    let mut sha = Sha256::new();
    archive.restore_into(monitor, &mut |_, bytes: &[u8]| -> nc3z_reader::Result<()> {
        sha.update(bytes);
        Ok(())
    })?;
    Ok(sha.finalize().into())
}

/// Writes an archive of all tiles that are not lost to an empty medium, without its trailer. Returns the
/// number of tiles.
pub(crate) fn copy_tiles(
    archive: &Archive,
    is_lost: &dyn Fn(ArrayId, u64) -> bool,
    medium: &Medium<'_>,
    metadata: &Metadata,
    monitor: &dyn Monitor,
) -> Result<(Unsealed, u64)> {
    // The new head copy contains all chains; their numbers stay the same.
    let mut chains: Vec<ChainSpec> = archive.chains().iter().map(|chain| chain.spec().clone()).collect();
    // In the short form the directory compressed these bytes. In the long form they need a chain.
    if archive.is_short() && !chains.iter().any(ChainSpec::is_zstd) {
        chains.push(ChainSpec(vec![StageSpec::zstd(ZSTD_LEVEL)]));
    }
    let head = Head { chains, ..archive.head().clone() };
    let out = medium.buffered_at(0)?;
    // The archive's salt belongs to the first state, and a later state has another header.
    let later = archive.trailer().required & REQUIRED_LATER_HEAD != 0;
    let salt = if later {
        let sha256 = match archive.digest() {
            Digest::Sha256(recorded) => recorded,
            _ => restored_sha256(archive, monitor)?,
        };
        Salt::of_file(archive.header_bytes(), archive.original_len(), &sha256)
    } else {
        archive.superblock().salt
    };
    let mut writer =
        GenerationWriter::fresh(out, medium.name(), &head, archive.original_len(), salt, Preset::Default)?;
    writer.require(archive.trailer().required & REQUIRED_LOSSY);
    for (variable, _) in archive.header().variables() {
        for (number, bytes) in archive.stored_definitions(archive.arrays().number_of(variable)).0 {
            writer.put_definition(variable.0, number, &bytes)?;
        }
    }
    let mut order: Vec<(u64, ArrayId, u64)> = Vec::new();
    let mut some_lost = false;
    for info in archive.arrays().iter() {
        writer.declare_lost(fresh_id(archive, info.id), info.tiling.tile_count());
        for tile in 0..info.tiling.tile_count() {
            if is_lost(info.id, tile) {
                some_lost = true;
            } else {
                order.push((archive.stored_offset(info.id, tile).unwrap_or(0), info.id, tile));
            }
        }
    }
    if some_lost {
        writer.require(REQUIRED_LOST);
    }
    // Tiles are written in the order of their old offsets, so that neighbours stay neighbours.
    order.sort_unstable();
    let encoder = CopiedPieces { archive, planner: CopyPlanner::new(archive), plans: HashMap::new() };
    let mut executor = Executor::new(encoder, BATCH_LEN, monitor);
    for piece in pieces(archive, &order) {
        let len = piece.len(archive);
        executor.push(piece, len, &mut writer)?;
    }
    executor.finish(&mut writer)?;
    Ok((writer.finish(metadata)?, order.len() as u64))
}

/// Joins members of one container, which are adjacent in `order`, into one piece.
fn pieces(archive: &Archive, order: &[(u64, ArrayId, u64)]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for &(offset, array, tile) in order {
        if !matches!(archive.entry(array, tile), Ok(IndexEntry::Shared { .. })) {
            pieces.push(Piece::Tile(array, tile));
            continue;
        }
        match pieces.last_mut() {
            Some(Piece::Container(at, members)) if *at == offset => members.push((array, tile)),
            _ => pieces.push(Piece::Container(offset, vec![(array, tile)])),
        }
    }
    pieces
}

impl Piece {
    /// Returns the stored bytes.
    fn len(&self, archive: &Archive) -> u64 {
        let of = |(array, tile): (ArrayId, u64)| match archive.entry(array, tile) {
            Ok(IndexEntry::Stored { len, .. } | IndexEntry::Shared { len, .. }) => len.into(),
            _ => 0u64,
        };
        self.tiles().map(of).sum()
    }

    fn tiles(&self) -> impl Iterator<Item = (ArrayId, u64)> {
        let (one, members) = match self {
            Piece::Tile(array, tile) => (Some((*array, *tile)), &[][..]),
            Piece::Container(_, members) => (None, &members[..]),
        };
        one.into_iter().chain(members.iter().copied())
    }
}

impl Encode for CopiedPieces<'_> {
    type Item = Piece;
    type Encoded = Stored;

    fn encode(&mut self, batch: Vec<Piece>, monitor: &dyn Monitor) -> Result<Vec<Stored>> {
        let tiles = batch.iter().flat_map(Piece::tiles);
        let again =
            tiles.filter(|&(array, tile)| self.planner.needs_plan(array, tile)).map(|(array, _)| array);
        let unplanned: BTreeSet<ArrayId> = again.filter(|array| !self.plans.contains_key(array)).collect();
        if !unplanned.is_empty() {
            self.planner.open_file()?;
        }
        let unplanned: Vec<ArrayId> = unplanned.into_iter().collect();
        let made =
            for_all(&unplanned, monitor, |&array| Ok(self.planner.plan(fresh_id(self.archive, array))))?;
        self.plans.extend(unplanned.into_iter().zip(made));
        for_all(batch, monitor, |piece| Ok(self.stored(&piece)?))
    }

    fn write<W: Write>(&mut self, stored: Stored, writer: &mut GenerationWriter<'_, W>) -> Result<()> {
        match stored {
            Stored::Tiles(tiles) => tiles.into_iter().try_for_each(|tile| writer.put(tile)),
            Stored::Container(container) => writer.put_container(container),
        }
    }
}

impl CopiedPieces<'_> {
    fn stored(&self, piece: &Piece) -> nc3z_reader::Result<Stored> {
        let archive = self.archive;
        let (offset, members) = match piece {
            Piece::Tile(array, tile) => {
                return Ok(Stored::Tiles(vec![self.stored_tile(*array, *tile, None)?]));
            }
            Piece::Container(offset, members) => (*offset, members),
        };
        let container = archive.stored_container(offset)?;
        // Lost and superseded members must not be copied: a probe of the new archive would find them.
        let mut counted = members.clone();
        counted.sort_unstable();
        let mut all: Vec<_> = container.members.iter().map(|m| (m.array, m.tile)).collect();
        all.sort_unstable();
        let renumbered = members.iter().any(|&(array, _)| fresh_id(archive, array) != array);
        let codes_older = container.members.iter().any(|m| is_coded_against_older(archive, m.chain));
        let inside = archive.is_short() && container.chain == 0;
        if all != counted || renumbered || codes_older || inside {
            let by = archive.chains().get(usize::from(container.chain)).map(Chain::spec);
            // zstd needs no number, and an uncompressed container may be compressed.
            let container_chain = by.filter(|c| !(c.0.is_empty() || c.is_zstd())).map(|_| container.chain);
            let tile = |&(array, tile): &(ArrayId, u64)| self.stored_tile(array, tile, container_chain);
            return Ok(Stored::Tiles(members.iter().map(tile).collect::<nc3z_reader::Result<_>>()?));
        }
        let entry = |m: &nc3z_format::archive::Member| {
            let StoredTile::Shared { decoded_crc: check, .. } = archive.stored_tile(m.array, m.tile)? else {
                unreachable!("`pieces` has asked for its entry");
            };
            let (start, len, chain) = (m.start, m.len, m.chain);
            Ok((m.array, m.tile, IndexEntry::Shared { offset, start, len, chain, check }))
        };
        Ok(Stored::Container(WholeContainer {
            chain: container.chain,
            members: container.members.iter().map(entry).collect::<nc3z_reader::Result<_>>()?,
            payload: container.payload.to_vec(),
            decoded_len: container.decoded_len,
            decoded_crc: container.decoded_crc,
        }))
    }

    /// Encodes a tile again that is coded against an older one.
    fn without_older(&self, array: ArrayId, tile: u64) -> nc3z_reader::Result<Form> {
        let plan = self.plans.get(&array).cloned().unwrap_or_default();
        self.planner.without_older(array, tile, &plan)
    }

    fn stored_tile(
        &self,
        array: ArrayId,
        tile: u64,
        container_chain: Option<u16>,
    ) -> nc3z_reader::Result<EncodedTile> {
        let archive = self.archive;
        let (decoded_len, decoded_crc, form) = match archive.stored_tile(array, tile)? {
            StoredTile::Constant { value, size } => (0, 0, Form::Constant { value, size }),
            // The older tile is not copied.
            StoredTile::Shared { chain, decoded_crc, .. } if is_coded_against_older(archive, chain) => {
                let decoded_len = archive.arrays().get(array).map_or(Ok(0), |info| info.tile_len(tile))?;
                let decoded_len = u32::try_from(decoded_len).expect("a tile is at most 1 GiB");
                (decoded_len, decoded_crc, self.without_older(array, tile)?)
            }
            StoredTile::Shared { chain, bytes, decoded_crc } => {
                (0, decoded_crc, Form::Member { chain, bytes, container_chain })
            }
            StoredTile::Block { chain, payload, decoded_len, decoded_crc } => {
                let form = if is_coded_against_older(archive, chain) {
                    self.without_older(array, tile)?
                } else {
                    Form::Block { chain, payload: payload.to_vec() }
                };
                (decoded_len, decoded_crc, form)
            }
        };
        Ok(EncodedTile { array: fresh_id(archive, array), tile, decoded_len, decoded_crc, form })
    }
}

/// The id of an array in a new archive, where arrays are numbered by the position of their variables in the
/// header.
fn fresh_id(archive: &Archive, array: ArrayId) -> ArrayId {
    match (array.role(), archive.arrays().variable_of(array)) {
        (Role::Variable(_), Some(v)) => ArrayId::variable(v.0),
        (Role::Padding(_), Some(v)) => ArrayId::padding(v.0),
        _ => array,
    }
}
