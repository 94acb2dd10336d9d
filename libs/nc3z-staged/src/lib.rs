//! An array with staged changes, independent of its storage.
//!
//! The array is cut into chunks. Each is in a *slab*. The *full* slab has the fill value and is never
//! dropped. A *base* slab is read-only, and is read when it is needed ([`BaseSlab`]: the tiles of an archive,
//! a file, anything). A *staged* slab is in memory. Two tables over the grid of chunks contain the slab of
//! each chunk (`slab_indices`), and its offset there along the first axis (`slab_offsets`).
//!
//! Every operation first makes a plan, a value that contains shapes and indices but no data, and then
//! executes it:
//!
//! ```
//! use nc3z_format::selection::{Segment, Selection};
//! use nc3z_staged::StagedArray;
//!
//! // 8 x 8 in chunks of 2 x 2, one after another in a base slab.
//! let base: Vec<i32> = (0..64).collect();
//! let mut array = StagedArray::from_base([8, 8], [2, 2], base, -1)?;
//! let selection = Selection::new(vec![vec![Segment::new(2, 3)], vec![Segment::new(3, 3)]]).placed(&[8, 8])?;
//! let plan = array.plan_set(&selection);
//! assert_eq!(plan.changes.append, [[6, 2], [2, 2]]);
//! array.set(&selection, &[1, 1], &[42])?;
//! assert_eq!(array.get(&selection)?, [42; 9]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Chunks that are overwritten completely are never read. Chunks that are overwritten partly are read once.
//! Shrinking reads and writes nothing: elements beyond the edge of the array are not read, and are filled
//! when the array grows again. Slabs that no chunk uses any more are dropped. Staged slabs can be moved out
//! of memory ([`StagedArray::spill`]), for example into a temporary file, and are then read like a base slab.

mod array;
mod dense;
mod index;
mod map;
mod plan;
mod print;
mod table;

pub use array::{BaseSlab, MAX_CHUNKS, StagedArray, check_grid};
pub use map::TileMap;
pub use plan::{
    Changes, CommitPlan, GetPlan, LoadPlan, Place, ResizePlan, SetPlan, StagedChunk, Touched, Transfer,
    Transfers,
};
pub use table::Table;

/// An error of an array with staged changes.
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
