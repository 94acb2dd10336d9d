//! A common interface to archives and classic files: named variables, read by hyperslabs.

mod archive;
mod bytes;
mod cached_read;
mod classic;
mod conversion;
pub mod convert;
mod gather;
mod mapped_read;
mod pieces;
mod read;
mod slab_source_read;
mod source;
mod tiles;
mod typed;
mod variable;

pub(crate) use pieces::read_elements;
pub use source::ArraySource;
pub use tiles::{Tile, TileIter};
pub use variable::Variable;

use crate::archive::Archive;
use crate::classic::ClassicFile;
use crate::error::Result;
use crate::open::with_ends;
use crate::options::OpenOptions;
use crate::source::SharedSource;
use nc3z_format::classic::{Attribute, Dimension, Header, Layout, VarId};
use std::sync::Arc;

/// An open file of either kind. Clones share all state. All methods may be called from any number of threads.
#[derive(Clone)]
pub struct Dataset {
    source: Arc<dyn ArraySource>,
}

impl Dataset {
    /// Opens an archive or a classic netCDF file. The first bytes of the file decide which it is. The file is
    /// mapped, unless the options say otherwise.
    ///
    /// # Errors
    /// An error of the operating system; an invalid structure; a file of another kind, which is named.
    #[cfg(feature = "fs")]
    pub fn open(path: impl AsRef<std::path::Path>, options: &OpenOptions) -> Result<Self> {
        Self::from_source(crate::source::open(path.as_ref(), options.mapped)?, options)
    }

    /// Opens an archive or a classic file from any byte source. An archive with parity is read through damage; see
    /// [`OpenOptions::with_read_repair`].
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn from_source(source: SharedSource, options: &OpenOptions) -> Result<Self> {
        // The bytes read to detect the kind of file are used to open it, too.
        let source = with_ends(source);
        if Archive::is_one(&*source)? {
            return Ok(Archive::from_source(source, &options.clone().read_repair())?.into());
        }
        Ok(ClassicFile::from_source(source, &options.limits)?.into())
    }

    /// A dataset from any other array source.
    pub fn new(source: Arc<dyn ArraySource>) -> Self {
        Dataset { source }
    }

    /// The source of the variables.
    pub fn source(&self) -> &Arc<dyn ArraySource> {
        &self.source
    }

    /// The archive, if this is one.
    pub fn archive(&self) -> Option<&Archive> {
        self.source.as_archive()
    }

    /// The classic file, if this is one.
    pub fn classic(&self) -> Option<&ClassicFile> {
        self.source.as_classic()
    }

    /// Checks that a classic file was not written to since it was opened ([`ByteSource::check_unchanged`](crate::source::ByteSource::check_unchanged)), for a caller that has read
    /// all that it needs. The values of an archive have checksums.
    ///
    /// # Errors
    /// The file was written to.
    pub fn check_unchanged(&self) -> Result<()> {
        self.classic().map_or(Ok(()), |classic| classic.source().check_unchanged())
    }

    /// Returns the parsed header.
    pub fn header(&self) -> &Header {
        self.source.header()
    }

    /// The layout of the classic file.
    pub fn layout(&self) -> &Layout {
        self.source.layout()
    }

    /// Dimensions in stored order; a record dimension has length 0 here and [`Dataset::records`] in shapes.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.header().dimensions
    }

    /// The number of records: the header's, or the number that the file's length implies.
    pub fn records(&self) -> u64 {
        self.layout().numrecs
    }

    /// Global attributes in stored order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.header().attributes
    }

    /// The first variable of that name.
    ///
    /// # Errors
    /// No such variable. The message lists the variables of the file.
    pub fn variable(&self, name: &str) -> Result<Variable> {
        let id = crate::archive::find_variable(self.header(), name)?;
        Ok(Variable::new(Arc::clone(&self.source), id))
    }

    /// A variable by its position in the header.
    pub fn variable_at(&self, id: VarId) -> Option<Variable> {
        self.header().variables.get(id.index()).map(|_| Variable::new(Arc::clone(&self.source), id))
    }

    /// All variables in stored order.
    pub fn variables(&self) -> impl Iterator<Item = Variable> + '_ {
        self.header().variables().map(|(id, _)| Variable::new(Arc::clone(&self.source), id))
    }

    /// Length of the classic file in bytes.
    pub fn original_len(&self) -> u64 {
        self.layout().file_len
    }

    /// Fills `out` with the bytes of the classic file from `offset`.
    ///
    /// # Errors
    /// A range beyond its end; damage.
    pub fn read_bytes(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.source.read_bytes(offset, out)
    }
}

impl From<Archive> for Dataset {
    fn from(archive: Archive) -> Self {
        Dataset::new(Arc::new(archive))
    }
}

impl From<ClassicFile> for Dataset {
    fn from(file: ClassicFile) -> Self {
        Dataset::new(Arc::new(file))
    }
}

impl std::fmt::Debug for Dataset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.archive().is_some() { "archive" } else { "classic" };
        f.debug_struct("Dataset").field("kind", &kind).field("header", self.header()).finish_non_exhaustive()
    }
}
