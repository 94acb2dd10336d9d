//! The destination of the messages of a mount or a server: standard error, a file, or the system's log.

use crate::cmd::subset::history::moment;
use crate::output::{message, text};
use anyhow::{Context, Result};
use nc3z_mount::Event;
#[cfg(unix)]
use nc3z_mount::SystemLog;
use std::fs::File;
use std::io::Write;
use std::path::Path;

pub(in crate::cmd) enum Log {
    Terminal,
    File(File),
    /// The system's log, if there is one.
    #[cfg(unix)]
    System(Option<SystemLog>),
}

impl Log {
    /// Opens the file, if one is named; otherwise the system's log for a mount in the background.
    pub(in crate::cmd) fn open(file: Option<&Path>, in_background: bool) -> Result<Self> {
        if let Some(path) = file {
            crate::cmd::outputs::check(file, true)?;
            let opened = File::options().append(true).create(true).open(path);
            return Ok(Log::File(opened.with_context(|| format!("open the log `{}`", path.display()))?));
        }
        if !in_background {
            return Ok(Log::Terminal);
        }
        #[cfg(unix)]
        return Ok(Log::System(SystemLog::open().ok()));
        #[cfg(not(unix))]
        Ok(Log::Terminal)
    }

    /// Writes one line. A line that cannot be written is dropped.
    pub(in crate::cmd) fn write(&self, line: &str) {
        match self {
            Log::Terminal => note!("nc3z: {line}"),
            Log::File(file) => {
                let mut file = file;
                let _ = file.write_all(format!("{} nc3z: {line}\n", moment()).as_bytes());
            }
            #[cfg(unix)]
            Log::System(Some(log)) => log.warn(line),
            #[cfg(unix)]
            Log::System(None) => {}
        }
    }

    /// Writes the line of an event.
    pub(in crate::cmd) fn event(&self, event: &Event<'_>) {
        let name = |path: &Path| format!("`{}`", text::safe(&path.to_string_lossy()));
        let line = match event {
            Event::Damaged { path, archive, place, error } => {
                let (path, place) = (name(path), nc3z_look::tile_location::words(place, Some(archive)));
                format!("{path}: reading {place} is an error: {}", text::safe(&message::of_reader(error)))
            }
            Event::MoreDamage { path } => {
                format!("{}: more tiles are damaged; they are not reported", name(path))
            }
            Event::Unread { path, error } => {
                format!("{}: it cannot be read: {}", name(path), text::safe(&message::of_reader(error)))
            }
            Event::Unopened { path, error } => {
                let cause = error.get_ref().and_then(|e| e.downcast_ref::<nc3z_reader::Error>());
                let cause = cause.map_or_else(|| error.to_string(), message::of_reader);
                format!("{}: it cannot be opened: {}", name(path), text::safe(&cause))
            }
            Event::Repaired { path, repaired } => {
                format!("{} is {repaired}; `nc3z repair` fixes the file", name(path))
            }
            Event::Hidden { path } => {
                format!("{} is not shown: the file without .nc3z exists, too", name(path))
            }
            _ => return,
        };
        self.write(&line);
    }
}
