//! Prints the values of a variable: as lines, CSV, JSON, NumPy's format, or unchanged bytes.
//!
//! [`for_each_block`] divides a selection into blocks, and a [`Sink`] writes them.

mod blocks;
mod csv;
mod error;
mod items;
mod json;
mod lines;
mod npy;
mod values;

pub use blocks::for_each as for_each_block;
pub use csv::{Csv, Style};
pub use error::{Error, Result};
pub use json::Json;
pub use lines::Lines;
pub use npy::Binary;
pub use values::{json_number, number};

/// A receiver of a selection's bytes, block after block, that writes them in some format.
pub trait Sink {
    /// Writes the next bytes, big-endian, complete elements.
    ///
    /// # Errors
    /// The output fails, or the format has no such value.
    fn block(&mut self, bytes: Vec<u8>) -> Result<()>;

    /// Called after the last block.
    ///
    /// # Errors
    /// As [`Sink::block`].
    fn finish(&mut self) -> Result<()>;
}
