//! A catalogue ([`Catalog`]): a small archive that says what many files hold, and answers without them. It has the header of each file, its coordinates, and of
//! each tile of each variable the place, the number of valid values, the least, the largest, the sum and the sum of squares.
//!
//! Values are those that a user sees: unpacked, missing ones left out ([`nc3z_format::decode_value`]).

mod along;
mod answers;
mod append;
mod condition;
mod container;
mod content;
mod described;
mod member;
mod needs;
mod presence;
mod read;
mod recall;
mod scan;
mod spool;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod within;
mod write;

pub use along::{Part, Series, along};
pub use answers::{Hit, Question, Row, Unknown, find, statistics};
pub use append::Appender;
pub use condition::Condition;
pub(crate) use container::Container;
pub use described::described;
pub use member::{CoordinateValues, Exactly, Head, HeadKind, Member, Range, Tile, UNKNOWN_TIME, Variable};
pub use needs::{Asked, Need, need};
pub use read::{Block, Catalog, Occurrence, Sums, Tiles};
pub use recall::{Recall, RecalledFile, recall};
pub use scan::{Location, Places, scan};
pub use summary::Summary;
pub(crate) use table::MAX_NAME;
pub use within::Area;
pub(crate) use write::BundleWriter;
pub use write::Writer;
