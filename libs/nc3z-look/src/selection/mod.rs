//! From arguments of the command line ([`DimArg`], [`BoxArg`]) to a [`Selection`]: two segments along a dimension if a range wraps
//! around, and a mask if the part is not a box.

mod arg;
mod dimension;
mod region;
mod request;
mod search;
mod variables;

pub use arg::{Bound, BoxArg, DimArg, RangeArg};
pub use nc3z_format::selection::{Mask, Segment, Selection, elements};
pub use region::{Region, of_all as regions};
pub use request::{Error, Request, Result};
pub use variables::named_variables;

use nc3z_format::NcType;
use nc3z_format::classic::DimId;
use nc3z_reader::{Dataset, Variable};

/// Returns the one-dimensional numeric variable with the dimension's own name.
pub fn coordinate_variable(dataset: &Dataset, dim: DimId) -> Option<Variable> {
    let header = dataset.header();
    let name = &header.dimensions.get(dim.index())?.name;
    let (id, v) = header.variable(name)?;
    let is_coordinate = v.dimensions == [dim] && v.ty != NcType::Char;
    is_coordinate.then(|| dataset.variable_at(id)).flatten()
}
