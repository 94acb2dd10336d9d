//! The extension module behind the Python package `nc3z`.
//!
//! The Python part of the package wraps this module: see `python/nc3z`. All work is done with the GIL
//! released. Elements are read directly into NumPy's memory. The rules are in `docs/python.md`.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod aggregated;
mod attributes;
mod bundle;
mod catalog;
mod chunks;
mod collection;
mod dataset;
mod decode;
mod edit;
mod error;
mod handle;
mod journal;
mod key;
mod many;
mod num;
mod operations;
mod picture;
mod process;
mod source;
mod tree;
mod variable;
mod versions;
mod work;

use pyo3::prelude::*;

/// Archives and classic netCDF files; the public names are in `nc3z`.
#[pymodule]
mod _nc3z {
    #[pymodule_export]
    use crate::bundle::Bundle;
    #[pymodule_export]
    use crate::catalog::Catalog;
    #[pymodule_export]
    use crate::collection::{Condition, Form, Group, Head, Member, Scan, group_files};
    #[pymodule_export]
    use crate::dataset::{Dataset, Dimension, open};
    #[pymodule_export]
    use crate::edit::Edit;
    #[pymodule_export]
    use crate::journal::Journal;
    #[pymodule_export]
    use crate::many::archive_many;
    #[pymodule_export]
    use crate::num::{num_decode, num_encode};
    #[pymodule_export]
    use crate::operations::{
        archive, archive_buffer, archive_bytes, check, estimate, present, refuse_url, restore,
    };
    #[pymodule_export]
    use crate::process::{cache_stats, get_threads, set_cache, set_threads, shown};
    #[pymodule_export]
    use crate::source::{names_part, without_version};
    #[pymodule_export]
    use crate::tree::files_of_tree;
    #[pymodule_export]
    use crate::variable::{Indexer, Variable};
    #[pymodule_export]
    use crate::versions::{commit, tag};
    #[pymodule_export]
    use crate::work::Cancel;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        nc3z_reader::enter_pool_by(crate::process::enter_pool);
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
