//! A shadow: a small file that says what many files hold, and answers without them. It has dimensions and attributes of each file, and of each
//! tile of each variable the number of valid values, the least, the largest, the exact sum and the exact sum of squares.
//!
//! Values are those that a user sees: unpacked, missing ones left out ([`nc3z_format::decode_value`]).

mod exact;
mod file;
mod question;
mod scan;

pub use exact::{Exact, Pair};
pub use file::{Member, Shadow, Tile, Variable};
pub use question::{Condition, Summary};
pub use scan::scan;
