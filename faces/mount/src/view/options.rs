//! Options of a view.

use super::event::{Event, Log};
use nc3z_reader::OpenOptions;

/// Options of a view.
pub struct ViewOptions {
    pub(super) open: OpenOptions,
    pub(super) log: Log,
    pub(super) is_file: bool,
    /// True if archives also appear with their own names.
    pub(super) archives: bool,
    /// True if links that lead out of the source are not followed.
    pub(super) confined: bool,
    /// True if names that begin with a dot are shown.
    pub(super) dot_names: bool,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions {
            open: OpenOptions::default(),
            log: Log::new(|_| ()),
            is_file: false,
            archives: false,
            confined: false,
            dot_names: true,
        }
    }
}

impl ViewOptions {
    /// Sets the options for opening archives. They are read by position, never mapped.
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

    /// Makes the original of a single archive the root, instead of a directory with it. The version is fixed:
    /// later commits are not visible.
    #[must_use]
    pub fn with_file_root(mut self, is_file: bool) -> Self {
        self.is_file = is_file;
        self
    }

    /// Shows archives also with their own names and bytes.
    #[must_use]
    pub fn with_archives(mut self, archives: bool) -> Self {
        self.archives = archives;
        self
    }

    /// Shows names that begin with a dot: hidden files, and temporary files of commands that are running. True by default.
    #[must_use]
    pub fn with_dot_names(mut self, dot_names: bool) -> Self {
        self.dot_names = dot_names;
        self
    }

    /// Does not follow symbolic links that lead out of the source directory.
    #[must_use]
    pub fn with_confined(mut self, confined: bool) -> Self {
        self.confined = confined;
        self
    }
}
