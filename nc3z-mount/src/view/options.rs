//! Options of a view.

use super::event::{Event, Log};
use nc3z_reader::OpenOptions;

/// Options of a view.
pub struct ViewOptions {
    pub(super) open: OpenOptions,
    pub(super) log: Log,
    pub(super) is_file: bool,
    /// True if archives are shown by their own names, too.
    pub(super) archives: bool,
    /// True if links out of the source lead nowhere.
    pub(super) confined: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions {
            open: OpenOptions::default(),
            log: Log::new(|_| ()),
            is_file: false,
            archives: false,
            confined: false,
        }
    }
}

impl ViewOptions {
    /// How archives are opened. They are read by position, never mapped.
    #[must_use]
    pub fn with_open(mut self, open: OpenOptions) -> Self {
        self.open = open;
        self
    }

    /// Sets the receiver of events. Any thread may call it.
    #[must_use]
    pub fn with_log(mut self, tell: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.log = Log::new(tell);
        self
    }

    /// Makes the root the original of the one archive instead of a directory with it, as it is now: later commits are not seen.
    #[must_use]
    pub fn with_file_root(mut self, is_file: bool) -> Self {
        self.is_file = is_file;
        self
    }

    /// Shows archives by their own names too, with their own bytes.
    #[must_use]
    pub fn with_archives(mut self, archives: bool) -> Self {
        self.archives = archives;
        self
    }

    /// Keeps to the source: a symbolic link that leads out of a directory leads nowhere.
    #[must_use]
    pub fn with_confined(mut self, confined: bool) -> Self {
        self.confined = confined;
        self
    }
}
