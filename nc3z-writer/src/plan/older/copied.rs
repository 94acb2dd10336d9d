//! Chooses the encoding of tiles that are copied from an archive without the older tiles that they are coded
//! against.

use super::super::{ArrayPlan, TileChain, plan_one};
use crate::encode::Form;
use crate::error::Result;
use crate::options::{PACK_LEN, WriterOptions};
use crate::scratch::with_scratch;
use nc3z_format::Limits;
use nc3z_format::archive::{ArrayId, IndexEntry, Role};
use nc3z_format::array_table::Arrays;
use nc3z_format::codec::{Chain, StageSpec, TileShape, encode_tile};
use nc3z_reader::{Archive, ClassicFile};
use std::sync::Arc;

/// True for a chain whose tiles are differences to older tiles.
pub(crate) fn is_coded_against_older(archive: &Archive, chain: u16) -> bool {
    archive.chains().get(usize::from(chain)).is_some_and(|chain| chain.needs().base)
}

/// Plans the tiles of an archive that cannot be copied as they are stored. The new archive has the chains of the
/// old one and no others, so a plan's way is used only if the archive has its chain.
pub(crate) struct CopyPlanner<'a> {
    archive: &'a Archive,
    /// True if some chain of the archive is one of differences to older tiles.
    has_differences: bool,
    options: WriterOptions,
    /// The archive's file, and its arrays by the position of their variables in the header.
    file: Option<(ClassicFile, Arrays)>,
}

impl<'a> CopyPlanner<'a> {
    pub(crate) fn new(archive: &'a Archive) -> Self {
        let has_differences = archive.chains().iter().any(|chain| chain.needs().base);
        CopyPlanner { archive, has_differences, options: WriterOptions::default(), file: None }
    }

    /// True for a difference to an older tile, unless the tile is so short that it goes into a container.
    pub(crate) fn needs_plan(&self, array: ArrayId, tile: u64) -> bool {
        if !self.has_differences {
            return false;
        }
        let Ok(IndexEntry::Stored { chain, .. } | IndexEntry::Shared { chain, .. }) =
            self.archive.entry(array, tile)
        else {
            return false;
        };
        let len = self.archive.arrays().get(array).map_or(Ok(0), |info| info.tile_len(tile));
        is_coded_against_older(self.archive, chain) && len.is_ok_and(|len| len as u64 > PACK_LEN)
    }

    /// Opens the archive's file for [`Self::plan`].
    ///
    /// # Errors
    /// The header cannot be read.
    pub(crate) fn open_file(&mut self) -> Result<()> {
        if self.file.is_none() {
            let classic = ClassicFile::from_source(Arc::new(self.archive.original()), &Limits::default())?;
            let head = self.archive.head();
            let arrays = Arrays::new(
                classic.header(),
                classic.layout(),
                &head.layouts,
                &head.padding_tile_lens,
                head.gap_tile_len,
                &Limits::default(),
            )?;
            self.file = Some((classic, arrays));
        }
        Ok(())
    }

    /// Plans an array of the file as in a new archive. The plan is empty if samples of the array are lost.
    pub(crate) fn plan(&self, array: ArrayId) -> ArrayPlan {
        let Some((classic, arrays)) = &self.file else { return ArrayPlan::default() };
        let (Role::Variable(_), Some(info)) = (array.role(), arrays.get(array)) else {
            return ArrayPlan::default();
        };
        with_scratch(|scratch| plan_one(classic, arrays, info, &self.options, scratch)).unwrap_or_default()
    }

    /// Decodes a tile, and encodes it by its array's plan or by one of the archive's chains of byte planes and
    /// zstd, whichever is smaller. If all are larger than the tile, it is stored as it is. A short tile becomes a
    /// member of a container.
    ///
    /// # Errors
    /// The tile cannot be read, or a codec fails.
    pub(crate) fn without_older(
        &self,
        array: ArrayId,
        tile: u64,
        plan: &ArrayPlan,
    ) -> nc3z_reader::Result<Form> {
        let bytes = self.archive.read_tile(array, tile)?;
        if bytes.len() as u64 <= PACK_LEN {
            return Ok(Form::Member { chain: 0, bytes, container_chain: None });
        }
        let Some(info) = self.archive.arrays().get(array) else {
            return Ok(Form::Block { chain: 0, payload: bytes });
        };
        let shape = TileShape { ty: info.ty, geometry: info.tiling.geometry(tile)? };
        let number_of = |way: &TileChain| {
            let at = self.archive.chains().iter().position(|known| known.spec() == way.chain.spec());
            at.and_then(|at| u16::try_from(at).ok())
        };
        let has_table = |way: &&TileChain| way.num.as_ref().is_some_and(|num| num.dictionary().is_some());
        let planned = plan.tiles.iter().filter(|way| way.against.is_none() && !has_table(way));
        let planned = planned.filter_map(|way| Some((number_of(way)?, way.clone())));
        let of_bytes =
            (0u16..).zip(self.archive.chains()).filter(|(_, chain)| is_of_bytes(chain, info.ty.size()));
        let of_bytes = of_bytes.map(|(number, chain)| (number, TileChain::bytes(chain.clone())));
        let mut best = (0, bytes.clone());
        for (number, way) in planned.chain(of_bytes) {
            let mut made = Vec::new();
            with_scratch(|scratch| encode_tile(way.coder(), &bytes, &shape, scratch, &mut made))?;
            if made.len() < best.1.len() {
                best = (number, made);
            }
        }
        Ok(Form::Block { chain: best.0, payload: best.1 })
    }
}

/// True for zstd, also of byte planes of elements of this size.
fn is_of_bytes(chain: &Chain, size: usize) -> bool {
    let stages = &chain.spec().0;
    let planes = [StageSpec::shuffle(size).id().to_owned(), StageSpec::zstd(0).id().to_owned()];
    let element = || stages.first().and_then(|s| s.get("elementsize")).and_then(serde_json::Value::as_u64);
    chain.spec().is_zstd()
        || (stages.iter().map(StageSpec::id).eq(planes.iter().map(String::as_str))
            && element() == Some(size as u64))
}
