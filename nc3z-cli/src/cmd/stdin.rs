//! `-` as the name of an input: standard input.

use crate::output::signals::while_blocked;
use anyhow::Result;
use nc3z_reader::source::SharedSource;
use std::path::Path;

/// Returns whether a name means standard input.
pub(crate) fn is(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the bytes of standard input, which may be opened more than once in a run.
pub(crate) fn source() -> Result<SharedSource> {
    // No file is incomplete meanwhile: a signal may end the process at once.
    Ok(while_blocked(nc3z::opener::standard_input)?)
}
