//! References into an archive: where its tiles lie, and by which codecs Zarr's readers decode them without nc3z.
//!
//! [`Arrays::of`] finds what an archive is as arrays of Zarr, or names the variable that is none. [`kerchunk`](Arrays::kerchunk) writes
//! that as the Zarr 2 group of kerchunk's JSON, [`icechunk`](Arrays::icechunk) as Zarr 3 documents and virtual chunks, which the
//! Python package puts into repositories of Icechunk and hands to VirtualiZarr.
//!
//! Chunks are blocks of the archive as they stand there. Those that have no block of their own, or another chain than the rest of their
//! array, are encoded anew and stand in the references.

mod array;
mod codecs;
mod error;
mod kerchunk;
mod values;
mod zarr3;

pub use error::{Error, Result};
pub use values::attributes_json;
pub use zarr3::{array_document, group_document};

use array::Array;
use nc3z_reader::Archive;
use std::collections::BTreeSet;

/// The chain of the profile for Zarr: what NumCodecs and Zarr have everywhere. Beside it tiles are chunks, filled up at the edges.
pub const PROFILE_CHAIN: &str = r#"[{"id":"shuffle"},{"id":"zstd","level":9}]"#;

/// The arrays of an archive.
pub struct Arrays<'a> {
    archive: &'a Archive,
    arrays: Vec<Array>,
}

impl<'a> Arrays<'a> {
    /// Finds them. Reads the index, and tiles that have no block of their own.
    ///
    /// # Errors
    /// A variable that is no array of Zarr, with what it is made of; what reading says.
    pub fn of(archive: &'a Archive) -> Result<Self> {
        let mut names = BTreeSet::new();
        let mut arrays = Vec::new();
        for (id, variable) in archive.header().variables() {
            let name = variable.name_lossy().into_owned();
            let in_variable = |e: Error| e.in_variable(&name);
            if name.contains('/')
                || matches!(&*name, "." | ".." | "zarr.json")
                || name.starts_with(".z")
                || !names.insert(name.clone())
            {
                return Err(in_variable(Error::not_zarr("Zarr has no array of that name, or two of them")));
            }
            arrays.push(Array::of(archive, id, name.clone()).map_err(in_variable)?);
        }
        Ok(Arrays { archive, arrays })
    }

    /// The arrays of an archive that begins at byte `offset` of the file that readers are sent to: a bundle.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.arrays.iter_mut().for_each(|array| array.shift(offset));
        self
    }
}
