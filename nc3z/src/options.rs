//! Options of the calls. Each starts from `default()`.

use crate::opener::Opener;
use crate::version::VersionName;
use nc3z_reader::Monitor;
use nc3z_writer::{Preset, Share, WriterOptions};
use std::fmt;
use std::sync::Arc;

/// The monitor of a call, if it has one.
#[derive(Clone, Default)]
struct Watch(Option<Arc<dyn Monitor + Send + Sync>>);

impl Watch {
    fn monitor(&self) -> &dyn Monitor {
        self.0.as_deref().map_or(&(), |monitor| monitor)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a monitor" } else { "none" })
    }
}

/// Adds the setter and the getter of a monitor.
macro_rules! watched {
    ($($options:ty)+) => {$(
        impl $options {
            /// Reports progress to a monitor, which can cancel the work.
            #[must_use]
            pub fn with_monitor(mut self, monitor: Arc<dyn Monitor + Send + Sync>) -> Self {
                self.watch = Watch(Some(monitor));
                self
            }

            pub(crate) fn monitor(&self) -> &dyn Monitor {
                self.watch.monitor()
            }
        }
    )+};
}
watched! { ArchiveOptions RestoreOptions VerifyOptions EditOptions }

/// Options of opening an input.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub(crate) reader: nc3z_reader::OpenOptions,
    #[cfg(feature = "collections")]
    fragments: Fragments,
    #[cfg(feature = "remote")]
    remote: nc3z_remote::RemoteOptions,
}

/// The way in which the fragments of an aggregation are opened.
#[cfg(feature = "collections")]
#[derive(Debug, Clone, Copy, Default)]
struct Fragments {
    as_stored: bool,
    outside: bool,
    fill_missing: bool,
}

impl OpenOptions {
    fn map(mut self, change: impl FnOnce(nc3z_reader::OpenOptions) -> nc3z_reader::OpenOptions) -> Self {
        self.reader = change(self.reader);
        self
    }

    /// Opens this version of the file, by number or tag; the newest by default.
    #[must_use]
    pub fn with_version(self, version: impl Into<VersionName>) -> Self {
        self.map(|options| options.with_version(version.into().into_reader()))
    }

    /// Maps the file into memory (on by default) or reads it by position. Reading by position is safe for files that
    /// other programs may shorten.
    #[must_use]
    pub fn with_mmap(self, mapped: bool) -> Self {
        self.map(|options| options.with_mmap(mapped))
    }

    /// Reads fill values in place of damaged or lost values (off by default, which makes them errors).
    #[must_use]
    pub fn with_fill_lost(self, fill: bool) -> Self {
        self.map(|options| options.with_fill_lost(fill))
    }

    /// Opens the last whole state if a later state is damaged (off by default, which makes it an error).
    #[must_use]
    pub fn with_older(self, older: bool) -> Self {
        self.map(|options| options.with_older(older))
    }

    /// Sets a setting of the store of a URL, such as `region`, `endpoint` or `header.NAME`; see the documents about remote files.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn with_setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.remote = self.remote.with_setting(name, value);
        self
    }

    /// Opens an aggregation as stored: the variables that describe it, without the data of its fragments (off by default).
    #[cfg(feature = "collections")]
    #[must_use]
    pub fn with_as_stored(mut self, as_stored: bool) -> Self {
        self.fragments.as_stored = as_stored;
        self
    }

    /// Allows fragments outside the directory of an aggregation, and on servers (off by default): only for one that you trust.
    #[cfg(feature = "collections")]
    #[must_use]
    pub fn with_outside(mut self, outside: bool) -> Self {
        self.fragments.outside = outside;
        self
    }

    /// Reads missing values in place of fragments that do not exist (off by default, which makes them errors).
    #[cfg(feature = "collections")]
    #[must_use]
    pub fn with_fill_missing(mut self, fill: bool) -> Self {
        self.fragments.fill_missing = fill;
        self
    }

    /// Returns the opener with these options.
    pub(crate) fn opener(&self) -> Opener {
        let opener = Opener::new(self.reader.clone());
        #[cfg(feature = "remote")]
        let opener = opener.with_remote(self.remote.clone());
        #[cfg(feature = "collections")]
        let opener = {
            use nc3z_collections::{Missing, Options};
            let Fragments { as_stored, outside, fill_missing } = self.fragments;
            let mut options = Options::default();
            options.outside = outside;
            options.missing = if fill_missing { Missing::Fill } else { Missing::Refuse };
            opener.with_fragments((!as_stored).then_some(options))
        };
        opener
    }
}

/// Options of archiving a file.
#[derive(Debug, Clone, Default)]
pub struct ArchiveOptions {
    pub(crate) writer: WriterOptions,
    watch: Watch,
}

impl ArchiveOptions {
    /// Sets the trade-off between size and time; [`Preset::Default`] by default.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.writer = self.writer.with_preset(preset);
        self
    }

    /// Allows an existing target to be replaced (off by default).
    #[must_use]
    pub fn with_force(mut self, force: bool) -> Self {
        self.writer = self.writer.with_force(force);
        self
    }

    /// Adds parity that can repair this share of the archive, in percent; none by default.
    ///
    /// # Errors
    /// The share is outside the range that the format allows.
    pub fn with_parity(mut self, percent: f64) -> crate::Result<Self> {
        self.writer = self.writer.with_parity(Share::parse(&percent.to_string())?);
        Ok(self)
    }

    /// Compares the archive with the source before it gets its name (on by default).
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.writer = self.writer.with_verify(verify);
        self
    }

    /// Records the original's MD5 in the archive (off by default).
    #[must_use]
    pub fn with_md5(mut self, record: bool) -> Self {
        self.writer = self.writer.with_md5(record);
        self
    }

    /// Sets the memory for buffers, in bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.writer = self.writer.with_memory(bytes);
        self
    }
}

/// Options of restoring a file.
#[derive(Debug, Clone, Default)]
pub struct RestoreOptions {
    pub(crate) open: OpenOptions,
    pub(crate) force: bool,
    watch: Watch,
}

impl RestoreOptions {
    /// Sets the options of opening the archive.
    #[must_use]
    pub fn with_open(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Restores this version of the file, by number or tag; the newest by default.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<VersionName>) -> Self {
        self.open = self.open.with_version(version);
        self
    }

    /// Allows an existing target to be replaced (off by default).
    #[must_use]
    pub fn with_force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }
}

/// Options of checking an archive.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    pub(crate) open: OpenOptions,
    pub(crate) quick: bool,
    watch: Watch,
}

impl VerifyOptions {
    /// Sets the options of opening the archive.
    #[must_use]
    pub fn with_open(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Checks the checksums of the stored bytes only. By default, all values are decoded as well, and the rebuilt file is
    /// compared with its recorded SHA-256.
    #[must_use]
    pub fn with_quick(mut self, quick: bool) -> Self {
        self.quick = quick;
        self
    }
}

/// Options of changes of an archive: edits, commits and tags.
#[derive(Debug, Clone)]
pub struct EditOptions {
    pub(crate) writer: WriterOptions,
    pub(crate) move_tag: bool,
    pub(crate) digest: bool,
    watch: Watch,
}

impl Default for EditOptions {
    fn default() -> Self {
        EditOptions {
            writer: WriterOptions::default(),
            move_tag: false,
            digest: true,
            watch: Watch::default(),
        }
    }
}

impl EditOptions {
    /// Sets the trade-off between size and time for new values; [`Preset::Default`] by default.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.writer = self.writer.with_preset(preset);
        self
    }

    /// Reports the effects of a commit without changing the archive (off by default).
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.writer = self.writer.with_dry_run(dry_run);
        self
    }

    /// Allows a file without any of the archive's variables to be committed (off by default).
    #[must_use]
    pub fn with_allow_unrelated(mut self, allow: bool) -> Self {
        self.writer = self.writer.with_force(allow);
        self
    }

    /// Allows a tag to be moved to another version (off by default).
    #[must_use]
    pub fn with_move_tag(mut self, allow: bool) -> Self {
        self.move_tag = allow;
        self
    }

    /// Renews parity with the same share after a change, if the archive has parity (on by default).
    #[must_use]
    pub fn with_parity_renewed(mut self, renewed: bool) -> Self {
        self.writer = self.writer.with_parity_renewed(renewed);
        self
    }

    /// Records the SHA-256 of an edited version (on by default). This takes as long as a restore. Without it, the time of a
    /// commit depends on the size of the change.
    #[must_use]
    pub fn with_digest(mut self, record: bool) -> Self {
        self.digest = record;
        self
    }

    /// Sets the memory for buffers, in bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.writer = self.writer.with_memory(bytes);
        self
    }
}
