//! Cuts arrays into tiles. Sizes and alignment depend only on shapes and requests (pure).

mod model;
mod request;

use crate::error::Result;
use crate::options::{RECORD_TILES_LEN, WriterOptions};
use model::{Bounds, Subject};
use nc3z_format::Limits;
use nc3z_format::archive::TileLayoutSpec;
use nc3z_format::array_table::{Arrays, padded_variables};
use nc3z_format::classic::{Header, Layout, VarLayout};
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::ClassicFile;
use request::Wish;

/// The tile layouts of one archive, as the head copy stores them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// One for each variable of the header, in id order.
    pub(crate) variables: Vec<TileLayoutSpec>,
    /// Bytes of a tile, for each padding pseudo-variable in variable id order.
    pub(crate) paddings: Vec<u64>,
    /// Bytes of a tile of the gap pseudo-variable.
    pub(crate) gap: u64,
    /// Messages on requests that cannot be met, and on layouts that are slow to restore.
    pub(crate) warnings: Vec<String>,
    /// True if chunk lengths were requested, and no variable has their dimensions.
    pub(crate) without_chunks: bool,
}

impl Partition {
    /// Cuts all arrays of a classic file.
    ///
    /// # Errors
    /// The file's variables and dimensions do not allow the requested chunks or layouts.
    pub(crate) fn new(header: &Header, layout: &Layout, options: &WriterOptions) -> Result<Self> {
        let padded: Vec<u64> = padded_variables(layout).into_iter().map(|(_, len)| len).collect();
        let record_arrays =
            layout.variables.iter().filter(|v| v.is_record && v.present > 0).count() + padded.len();
        // The open tiles of all interleaved arrays together fit in RECORD_TILES_LEN, whatever the number of
        // arrays.
        let record_cap = (RECORD_TILES_LEN / (record_arrays.max(1) as u64)).max(1);
        let edge = options.layouts.edge;
        let (wishes, without_chunks) = request::resolve(header, layout, &options.layouts)?;
        let mut warnings = Vec::new();
        let mut variables = Vec::with_capacity(wishes.len());
        for ((wish, v), named) in wishes.into_iter().zip(&layout.variables).zip(&header.variables) {
            let cap = if v.is_record { record_cap } else { RECORD_TILES_LEN };
            let target = options.wanted_tile_len();
            let bounds = Bounds { target, least: target.div_ceil(4), layer: cap };
            // A linear tile of a record variable stays open while other variables' records pass.
            let linear_target = if v.is_record { target.min(record_cap) } else { target };
            let linear =
                TileLayout::aligned_len(&v.shape, v.present, (linear_target / v.element_size()).max(1));
            let chunk = match wish {
                _ if !is_whole(v) => {
                    if wish.is_explicit() && v.owned && v.elements != Some(v.present) {
                        warnings.push(format!(
                            "not all of variable \"{}\" is in the file: its tiles are linear, not chunks",
                            named.name_lossy()
                        ));
                    }
                    None
                }
                Wish::Chunks(shape) => Some(shape),
                Wish::Choice(choice) => {
                    let subject = Subject { shape: &v.shape, ty: v.ty, linear, edge };
                    model::choose(choice, &subject, &bounds)
                }
            };
            variables.push(match chunk {
                None => TileLayoutSpec::Linear(linear),
                Some(shape) => {
                    warnings.extend(slow_restore(&shape, v, &named.name_lossy()));
                    TileLayoutSpec::Chunked { shape, padded: edge == Edge::Padded }
                }
            });
        }
        let pad = options.wanted_tile_len().min(record_cap);
        Ok(Partition {
            variables,
            paddings: padded.iter().map(|&present| present.clamp(1, pad)).collect(),
            gap: options.wanted_tile_len(),
            warnings,
            without_chunks,
        })
    }
}

impl Partition {
    /// Returns the arrays of the file that was cut.
    pub(crate) fn arrays(&self, classic: &ClassicFile) -> Result<Arrays> {
        let (header, layout) = (classic.header(), classic.layout());
        let Partition { variables, paddings, gap, .. } = self;
        Ok(Arrays::new(header, layout, variables, paddings, *gap, &Limits::default())?)
    }
}

/// Whether the format allows chunks: the variable is owned, and all its elements are in the file.
fn is_whole(v: &VarLayout) -> bool {
    v.owned && v.present > 0 && v.elements == Some(v.present)
}

/// Returns a warning for chunks that restore slowly. A restore keeps one layer of chunks in memory, so that
/// each chunk is decoded once. If a layer is larger than the limit, its chunks are decoded again for every
/// strip of it.
fn slow_restore(chunk: &[u64], v: &VarLayout, name: &str) -> Option<String> {
    let (Some(&along), Some(&len)) = (chunk.first(), v.shape.first()) else { return None };
    let layer = v.present / len * along.min(len) * v.element_size();
    let times = layer.div_ceil(RECORD_TILES_LEN);
    (times > 1).then(|| {
        format!(
            "a restore will decode each chunk of variable \"{name}\" about {times} times: chunks are {along} long along \
             its first dimension, a layer of them has {layer} bytes, and the buffer holds {RECORD_TILES_LEN}"
        )
    })
}
