//! The master array: an array of partitions, each of which refers to a part of a sub-array.
//!
//! The terms are those of NCA. The *sub-array* is a whole array in some file. A partition's *data array* is
//! the part of it that the partition uses. It is *conformed* when it has the master's order and direction of
//! dimensions, units, type and fill value.

mod bound;
pub(crate) mod conform;
mod copy;
pub(crate) mod cut;
mod read;
#[cfg(test)]
mod tests;

pub use read::Touched;

use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The maximal number of partitions of one master array.
pub(crate) const MAX_PARTITIONS: usize = 20_000_000;

/// One array over many sub-arrays.
pub struct MasterArray {
    /// Its name in messages.
    pub name: String,
    /// Type of its elements.
    pub ty: NcType,
    /// The value of missing elements, big-endian.
    pub fill: Vec<u8>,
    /// The attributes that limit its valid values.
    pub limits: Vec<Attribute>,
    /// Its units, if it has any.
    pub units: Option<String>,
    /// Its calendar, if it has any.
    pub calendar: Option<String>,
    /// Names of its dimensions, slowest first.
    pub dimensions: Vec<String>,
    /// The cuts along each dimension: 0, the borders between partitions, its length.
    pub cuts: Vec<Vec<u64>>,
    /// Its partitions in row-major order of the matrix that the cuts make.
    pub partitions: Box<dyn PartitionList>,
}

impl MasterArray {
    /// Adds the URIs of its fragments, with the fingerprint of each, if it is stored.
    pub(crate) fn add_uris(&self, uris: &mut BTreeSet<(String, Option<String>)>) -> Result<()> {
        for n in 0..self.partitions.len() {
            let partition = self.partitions.get(n)?;
            let Some(sub) = partition.sub_array() else { continue };
            if let FileRef::Uri(uri) = &sub.file {
                uris.insert((uri.clone(), sub.fingerprint.clone()));
            }
        }
        Ok(())
    }
}

/// Partitions by their position in the matrix.
pub trait PartitionList: Send + Sync {
    /// The number of partitions.
    fn len(&self) -> usize;

    /// True where there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One partition.
    ///
    /// # Errors
    /// The description of the partition is malformed.
    fn get(&self, n: usize) -> Result<Cow<'_, Partition>>;
}

impl PartitionList for Vec<Partition> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn get(&self, n: usize) -> Result<Cow<'_, Partition>> {
        let found = self.as_slice().get(n).map(Cow::Borrowed);
        found.ok_or_else(|| Error::refused(format!("no partition {n}")))
    }
}

/// A partition: the content of one box of the master array.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// The stored dimensions of the data array. None means the master's dimensions, of which some of length 1
    /// may be missing.
    pub dimensions: Option<Vec<String>>,
    /// The dimensions whose direction is opposite to the master's.
    pub reversed: Vec<String>,
    /// The source of the units of its values.
    pub units: UnitsOf,
    /// The indices of the sub-array that the partition uses, for each stored dimension. None means all.
    pub part: Option<Vec<Indices>>,
    /// The sub-array.
    pub data: Data,
}

/// The source of the units of a sub-array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitsOf {
    /// The attributes of the variable that contains it. If it has none, the master's units.
    Variable,
    /// The aggregation. A value that is not given is the master's.
    Given {
        /// Units.
        units: Option<String>,
        /// Calendar.
        calendar: Option<String>,
    },
}

/// The content that a partition refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Nothing: all elements are missing.
    Missing,
    /// One value, big-endian, of the master's type.
    Value(Vec<u8>),
    /// An array in a file.
    Array(SubArray),
}

/// An array in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubArray {
    /// The file of the sub-array.
    pub file: FileRef,
    /// The variable of the sub-array.
    pub variable: String,
    /// Its shape, if the aggregation gives it.
    pub shape: Option<Vec<u64>>,
    /// The fingerprint of the file when the aggregation was made.
    pub fingerprint: Option<String>,
}

/// A reference to a file, as an aggregation names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileRef {
    /// The file of the aggregation itself.
    Own,
    /// Another one: a path or a URI.
    Uri(String),
}

/// Indices along one dimension of a sub-array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indices {
    /// `count` indices with a constant distance.
    Range {
        /// The first selected index.
        start: u64,
        /// The number of indices.
        count: u64,
        /// Distance from one to the next; not 0.
        step: i64,
    },
    /// A list of indices.
    List(Vec<u64>),
}

impl Indices {
    /// Returns all indices of a dimension of length `len`.
    pub fn all(len: u64) -> Self {
        Indices::Range { start: 0, count: len, step: 1 }
    }

    /// The number of indices.
    pub fn count(&self) -> u64 {
        match self {
            Indices::Range { count, .. } => *count,
            Indices::List(list) => list.len() as u64,
        }
    }

    /// Returns the `n`-th index; `n` must be less than the count.
    pub(crate) fn at(&self, n: u64) -> u64 {
        match self {
            // Modulo 2^64; the result is right, since `lies_in` has checked that all indices are inside the
            // array.
            Indices::Range { start, step, .. } => start.wrapping_add(step.cast_unsigned().wrapping_mul(n)),
            Indices::List(list) => {
                usize::try_from(n).ok().and_then(|n| list.get(n)).copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns whether all indices are inside a dimension of length `len`.
    pub(crate) fn lies_in(&self, len: u64) -> bool {
        match self {
            Indices::Range { count: 0, start, .. } => *start <= len,
            Indices::Range { start, count, step } => {
                let last = i128::from(*start) + i128::from(*step) * i128::from(count - 1);
                *start < len && *step != 0 && (0..i128::from(len)).contains(&last)
            }
            Indices::List(list) => list.iter().all(|n| *n < len),
        }
    }

    /// Returns `count` of the indices from number `first` on; they must exist.
    pub(crate) fn slice(&self, first: u64, count: u64) -> Self {
        match self {
            Indices::Range { step, .. } => Indices::Range { start: self.at(first), count, step: *step },
            Indices::List(_) => Indices::List((first..first + count).map(|n| self.at(n)).collect()),
        }
    }
}

impl MasterArray {
    /// Length along each dimension.
    pub fn shape(&self) -> Vec<u64> {
        self.cuts.iter().map(|cuts| cuts.last().copied().unwrap_or(0)).collect()
    }

    /// Partitions along each dimension.
    pub fn matrix(&self) -> Vec<usize> {
        self.cuts.iter().map(|cuts| cuts.len().saturating_sub(1)).collect()
    }

    /// Checks that cuts and partitions fit.
    ///
    /// # Errors
    /// Cuts that do not ascend; a number of partitions that does not fit the cuts, or exceeds
    /// `MAX_PARTITIONS`.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::malformed(&self.name, what));
        if self.cuts.len() != self.dimensions.len() {
            return wrong(format!("{} dimensions are cut, of {}", self.cuts.len(), self.dimensions.len()));
        }
        let mut expected = 1_usize;
        for (cuts, dim) in self.cuts.iter().zip(&self.dimensions) {
            if cuts.first() != Some(&0) || cuts.windows(2).any(|pair| pair[0] >= pair[1]) {
                return wrong(format!("the cuts along `{dim}` do not ascend from 0"));
            }
            expected = expected.saturating_mul(cuts.len() - 1);
        }
        if expected > MAX_PARTITIONS {
            return wrong(format!("{expected} partitions are more than {MAX_PARTITIONS}"));
        }
        if expected != self.partitions.len() {
            return wrong(format!("there are {} partitions where {expected} belong", self.partitions.len()));
        }
        Ok(())
    }
}

impl std::fmt::Debug for MasterArray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MasterArray")
            .field("name", &self.name)
            .field("ty", &self.ty)
            .field("dimensions", &self.dimensions)
            .field("cuts", &self.cuts)
            .finish_non_exhaustive()
    }
}
