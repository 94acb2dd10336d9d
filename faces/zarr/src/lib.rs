//! References into an archive: the location of its tiles, and the codecs with which Zarr's readers decode
//! them without nc3z.
//!
//! [`Arrays::new`] presents an archive as Zarr arrays, or returns an error that names a variable for which
//! that is not possible. [`kerchunk`](Arrays::kerchunk) writes them as the Zarr 2 group of kerchunk's JSON,
//! [`icechunk`](Arrays::icechunk) as Zarr 3 documents and virtual chunks, which the Python package passes to
//! repositories of Icechunk and to VirtualiZarr.
//!
//! Chunks are unchanged blocks of the archive. Chunks without a block of their own, or with another chain
//! than the rest of their array, are encoded again and stored in the references.

mod array;
mod codecs;
mod error;
mod kerchunk;
mod values;
mod zarr3;

pub use codecs::PROFILE_CHAIN;
pub use error::{Error, Result};
pub use values::attributes_json;
pub use zarr3::{LEFT_OUT, array_document, group_document};

use array::Array;
use nc3z_reader::Archive;
use std::collections::BTreeSet;

/// The arrays of an archive.
pub struct Arrays<'a> {
    archive: &'a Archive,
    arrays: Vec<Array>,
}

impl<'a> Arrays<'a> {
    /// Finds the arrays. Reads the index, and tiles that have no block of their own.
    ///
    /// # Errors
    /// A variable that cannot be a Zarr array, with the reason; read errors.
    pub fn new(archive: &'a Archive) -> Result<Self> {
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
                return Err(in_variable(Error::not_zarr("its name is not possible in Zarr, or not unique")));
            }
            arrays.push(Array::new(archive, id, name.clone()).map_err(in_variable)?);
        }
        Ok(Arrays { archive, arrays })
    }

    /// Adds an offset to the references, for an archive that begins at byte `offset` of the referenced file:
    /// a bundle.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.arrays.iter_mut().for_each(|array| array.shift(offset));
        self
    }
}
