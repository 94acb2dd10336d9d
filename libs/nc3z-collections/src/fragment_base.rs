//! The place of a file, in which the fragments of an aggregation are searched.

use crate::beside::{OpenUrl, Urls};
use crate::bundle::{Bundle, Members};
use crate::error::{Error, Result};
use crate::file::{is_aggregation, wrap};
use crate::fragments::{OpenFragment, Options};
use nc3z_reader::Dataset;
use std::path::PathBuf;
use std::sync::Arc;

/// The place of a file.
#[derive(Clone)]
pub enum FragmentBase {
    /// Memory, without other files.
    Memory,
    /// The file with this path; others are in its directory.
    Disk(PathBuf),
    /// A bundle, and the file's name in it.
    Bundle(Arc<Bundle>, String),
    /// The object at this URL.
    Server(String),
}

impl FragmentBase {
    /// Returns the offset of the file in its bundle, or 0.
    ///
    /// # Errors
    /// It is packed, or the bundle has changed.
    pub fn offset(&self) -> Result<u64> {
        let FragmentBase::Bundle(bundle, member) = self else { return Ok(0) };
        let offset = bundle.offset(member)?;
        offset.ok_or_else(|| Error::refused(format!("the bundle has lost `{member}`")))
    }

    /// Presents an aggregation with the data of its fragments, and any other file unchanged. Messages call the file `name`; `open`
    /// opens fragments that are named by a URL.
    ///
    /// # Errors
    /// The aggregation contradicts its convention.
    pub fn present(
        &self,
        dataset: Dataset,
        name: &str,
        open: OpenUrl,
        mut options: Options,
    ) -> Result<Dataset> {
        if !is_aggregation(&dataset) {
            return Ok(dataset);
        }
        let urls = |address: Option<&str>| -> Arc<dyn OpenFragment> {
            Arc::new(Urls::beside(address, options.outside, open))
        };
        let (opener, base): (Arc<dyn OpenFragment>, _) = match self {
            FragmentBase::Memory => (urls(None), None),
            FragmentBase::Disk(path) => (urls(None), path.parent()),
            FragmentBase::Bundle(bundle, member) => {
                (Arc::new(Members::beside(Arc::clone(bundle), member)), None)
            }
            FragmentBase::Server(url) => (urls(Some(url)), None),
        };
        options.opener = Some(opener);
        wrap(dataset, name, base, &options)
    }
}
