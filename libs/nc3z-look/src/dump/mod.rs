//! What a dump in CDL shows: the values of a variable in pieces, and the special attributes of chunks and filters.

mod feed;
mod special;

pub use feed::Feed;
pub use special::{hdf5_text, specials};
