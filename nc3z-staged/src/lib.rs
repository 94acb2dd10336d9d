//! An array with staged changes, agnostic of what stores it.
//!
//! The array is cut into chunks. Each lies on a *slab*: the *full* slab, which holds the fill value and is never dropped; a *base* slab, which is read-only and read when it
//! is touched ([`BaseSlab`]: the tiles of an archive, a file, anything); or a *staged* slab in memory. Two tables over the grid of chunks say which slab each chunk lies on
//! (`slab_indices`), and where it begins there along the first axis (`slab_offsets`).
//!
//! Every operation makes a plan first, a value that knows shapes and indices and no data, and then carries it out:
//!
//! ```
//! use nc3z_staged::{Index, Selection, StagedArray};
//!
//! // 8 x 8 in chunks of 2 x 2, all of them one below the other in a base slab.
//! let base: Vec<i32> = (0..64).collect();
//! let mut array = StagedArray::from_base([8, 8], [2, 2], base, -1)?;
//! let box_ = [Index::Slice { start: Some(2), stop: Some(5), step: 1 }, Index::Slice { start: Some(3), stop: Some(6), step: 1 }];
//! let selection = Selection::new(&box_, array.shape())?;
//! let plan = array.plan_set(&selection);
//! assert_eq!(plan.changes.append, [[6, 2], [2, 2]]);
//! array.set_scalar(&selection, 42)?;
//! assert_eq!(array.get(&selection)?, [42; 9]);
//! # Ok::<(), nc3z_staged::Error>(())
//! ```
//! Chunks that are overwritten whole are never read; those of which a part is overwritten are read once. Shrinking reads and writes nothing: what lies beyond the edge of a
//! chunk is not looked at, and filled when the array grows again. Slabs that no chunk lies on any more are let go.
//! What is staged can be put away ([`StagedArray::spill`]), into a temporary file for one, and is read from there like a base slab.

mod array;
mod dense;
mod index;
mod map;
mod plan;
mod print;
mod table;

pub use array::{BaseSlab, StagedArray};
pub use index::{FlatRun, Index, Segment, Selection};
pub use map::TileMap;
pub use plan::{
    Changes, CommitPlan, GetPlan, LoadPlan, Place, ResizePlan, SetPlan, StagedChunk, Touched, Transfer,
    Transfers,
};
pub use table::Table;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A selection, shape or value that does not fit the array.
    #[error("{0}")]
    Invalid(String),
    /// A base slab could not be read.
    #[error("read a base slab")]
    Base(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    pub(crate) fn index(why: String) -> Self {
        Error::Invalid(why)
    }
}
