//! Writes aggregations as classic files: their own variables, and references to all others.

mod cf;
mod classic;
mod nca;

pub(crate) use classic::free;
pub use classic::{NewFile, NewVariable, attribute, text_attribute};

use crate::error::{Error, Result};
use crate::file::Convention;
use crate::master::PartitionList;
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;

/// A file with aggregated variables, before it is written.
#[derive(Default)]
pub struct NewAggregation<'a> {
    /// Dimensions, attributes, and the variables whose data are in this file.
    pub own: NewFile,
    /// Aggregated variables.
    pub arrays: Vec<NewArray<'a>>,
}

/// An aggregated variable, before it is written.
pub struct NewArray<'a> {
    /// Name.
    pub name: String,
    /// Type of the elements.
    pub ty: NcType,
    /// Its attributes, without those of the aggregation.
    pub attributes: Vec<Attribute>,
    /// Its dimensions, as indices into those of the file.
    pub dimensions: Vec<usize>,
    /// For each dimension, true where coordinates ascend.
    pub directions: Vec<bool>,
    /// The cuts along each dimension.
    pub cuts: Vec<Vec<u64>>,
    /// Its partitions in row-major order.
    pub partitions: Box<dyn PartitionList + 'a>,
}

impl NewAggregation<'_> {
    /// Returns true where a variable has the name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.own.has(name) || self.arrays.iter().any(|a| a.name == name)
    }

    /// Returns the name, with a number appended if a variable has it already.
    pub(crate) fn free_name(&self, name: &str) -> String {
        free(name, |n| self.is_taken(n))
    }

    /// Returns the bytes of the file in a convention.
    ///
    /// # Errors
    /// The convention cannot express the aggregation; the message names one that can. It does not fit a
    /// classic file.
    pub fn to_bytes(&self, convention: Convention) -> Result<Vec<u8>> {
        let mut file = self.own.clone();
        file.reserved = self.arrays.iter().map(|a| a.name.clone()).collect();
        match convention {
            Convention::Cf => cf::add(&mut file, &self.arrays)?,
            Convention::Nca => nca::add(&mut file, &self.arrays)?,
            Convention::Cfa => return Err(Error::refused("CFA-0.4 is read and not written")),
        }
        file.to_bytes()
    }
}
