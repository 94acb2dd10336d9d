//! `-` as the name of an archive or a classic file: standard input, copied to disk first, because files are
//! read by position.

use crate::output::progress::while_blocked;
use anyhow::{Context, Result, bail};
use nc3z_reader::source::{FileSource, SharedSource};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The data that were read: `-` may be opened more than once in a run.
static SPOOLED: Mutex<Option<SharedSource>> = Mutex::new(None);

/// Returns whether a name means standard input.
pub(crate) fn is(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the bytes of standard input.
pub(crate) fn source() -> Result<SharedSource> {
    let mut spooled = SPOOLED.lock().expect("nothing panics while it is locked");
    if let Some(source) = &*spooled {
        return Ok(Arc::clone(source));
    }
    let mut input = std::io::stdin().lock();
    if input.is_terminal() {
        bail!("standard input is a terminal: send a file into it, or give a file's name in place of `-`");
    }
    let mut spool = tempfile::tempfile().context("create a temporary file for standard input")?;
    // Until then nothing is written: a signal may end the process at once.
    while_blocked(|| std::io::copy(&mut input, &mut spool)).context("read standard input")?;
    let source: SharedSource = Arc::new(FileSource::from_file(spool, Path::new("standard input"))?);
    *spooled = Some(Arc::clone(&source));
    Ok(source)
}
