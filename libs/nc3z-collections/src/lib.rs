//! Presents many netCDF files and archives as one: aggregations, collections, bundles.
//!
//! * [`MasterArray`]: one array made of partitions, each a reference to a part of an array in another file,
//!   and how it is read.
//! * [`open`]: aggregation files (CF-1.13, CFA-0.6.2, CFA-0.4, NCA-0.1) as a [`nc3z_reader::Dataset`] like any other.
//! * [`collection`]: many files as the datasets that they are parts of.
//! * [`tree`]: runs over trees of files, their logs, manifests and campaigns.

#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "tests compare with the very numbers that should come out")
)]

mod beside;
mod error;
mod fragment_base;
mod fragments;
mod master;

pub use beside::{OpenUrl, Urls};
pub use error::{Error, Result};
pub use fragment_base::FragmentBase;
pub use fragments::{Fragments, Gathering, Missing, Notes, OpenFragment, Options, names_of};
pub use master::cut::{Placed, cut};
pub use master::{Data, FileRef, Indices, MasterArray, Partition, PartitionList, SubArray, Touched, UnitsOf};
mod file;
pub use file::{Aggregation, Convention, as_aggregation, has_aggregations, is_aggregation, open, wrap};
mod write;
pub use write::{NewAggregation, NewArray, NewFile, NewVariable, attribute, text_attribute};
pub mod build;
pub mod bundle;
pub mod catalog;
pub mod collection;
pub mod pack;
pub mod tree;
