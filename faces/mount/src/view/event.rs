//! Events of a view for its operator.

use nc3z_reader::parity::ReadRepair;
use nc3z_reader::{Archive, Error, TileLocation};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An event for the operator of a view.
#[non_exhaustive]
pub enum Event<'e> {
    /// Bytes of an original cannot be read: a tile is damaged, or missing because a part of the archive is.
    /// Reported once for each tile.
    Damaged {
        /// The archive's path.
        path: &'e Path,
        /// The archive that is damaged.
        archive: &'e Archive,
        /// The hyperslab of the tile.
        place: &'e TileLocation,
        /// The error that caused it.
        error: &'e Error,
    },
    /// More tiles of the original are damaged. They are not reported.
    MoreDamage {
        /// The archive's path.
        path: &'e Path,
    },
    /// Bytes of an original cannot be read, for another reason than a damaged tile.
    Unread {
        /// The archive's path.
        path: &'e Path,
        /// The error that caused it.
        error: &'e Error,
    },
    /// An archive cannot be opened. Reported once for each state of the file.
    Unopened {
        /// The archive's path.
        path: &'e Path,
        /// The error that caused it.
        error: &'e io::Error,
    },
    /// A damaged archive is read by means of its parity. Reported once each time it is opened.
    Repaired {
        /// The archive's path.
        path: &'e Path,
        /// The damage that was repaired during the read.
        repaired: &'e ReadRepair,
    },
    /// An archive is not shown, because a file with the original's name exists.
    Hidden {
        /// The archive's path.
        path: &'e Path,
    },
}

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
