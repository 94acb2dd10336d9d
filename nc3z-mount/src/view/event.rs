//! Events of a view that its operator should know of.

use nc3z_reader::{Archive, Error, TilePlace};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Something that whoever runs the view should know.
#[non_exhaustive]
pub enum Event<'e> {
    /// Bytes of an original cannot be read: a tile is damaged, or gone with a part of the archive. Told once for each tile.
    Damaged {
        /// The archive's path.
        path: &'e Path,
        /// The archive.
        archive: &'e Archive,
        /// The hyperslab that the tile holds.
        place: &'e TilePlace,
        /// Why.
        error: &'e Error,
    },
    /// More tiles of the original are damaged. They are not reported.
    MoreDamage {
        /// The archive's path.
        path: &'e Path,
    },
    /// Bytes of an original cannot be read, and it is no tile's fault.
    Unread {
        /// The archive's path.
        path: &'e Path,
        /// Why.
        error: &'e Error,
    },
    /// An archive cannot be opened. Told once for each state of the file.
    Unopened {
        /// The archive's path.
        path: &'e Path,
        /// Why.
        error: &'e io::Error,
    },
    /// An archive is not shown, because the original is there as a file too.
    Hidden {
        /// The archive's path.
        path: &'e Path,
    },
}

/// The receiver of events.
#[derive(Clone)]
pub(crate) struct Log(Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl Log {
    pub(crate) fn new(tell: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Log(Arc::new(tell))
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        (self.0)(event);
    }
}
