//! An open file, and what of it belongs to one process.

use crate::process;
use nc3z_reader::source::{FileSource, SharedSource};
use nc3z_reader::{Dataset, OpenOptions, PerProcess, Result};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// An open file. All methods may be called from any number of threads.
pub struct File {
    opened: PerProcess<Opened>,
    options: OpenOptions,
}

/// A file as one process has it open.
pub struct Opened {
    source: SharedSource,
    dataset: Dataset,
}

impl Opened {
    fn new(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        process::set_up();
        let options = options.clone().with_cache(process::cache());
        let dataset = Dataset::from_source(Arc::clone(&source), &options)?;
        Ok(Opened { source, dataset })
    }

    /// The bytes that it is read from.
    pub fn source(&self) -> &SharedSource {
        &self.source
    }
}

impl Deref for Opened {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        &self.dataset
    }
}

impl File {
    /// Opens an archive or a classic file by its path. It is read by position: a map of a file that another program cuts short would
    /// end the host's process.
    ///
    /// # Errors
    /// The system refuses; the file is damaged.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        Self::from_source(Arc::new(FileSource::open(path)?), options)
    }

    /// Opens a file from any source of bytes.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        let opened = PerProcess::new(Opened::new(source, options)?);
        Ok(File { opened, options: options.clone() })
    }

    /// The file for this process: a forked child opens it again, since threads of its parent may hold locks that are never released.
    ///
    /// # Errors
    /// Opening it again failed.
    pub fn get(&self) -> Result<Arc<Opened>> {
        self.opened.get(|parent| {
            let parent = parent.expect("File::from_source puts one there, and nothing takes it away");
            Opened::new(Arc::clone(&parent.source), &self.options)
        })
    }
}
