//! The output of a command that writes one file: a file that appears complete or not at all, or standard output.

use super::signals::while_blocked;
use super::streams::Stdout;
use crate::cmd::{outputs, stdin};
use anyhow::{Context, Result, bail};
use nc3z_writer::AtomicFile;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

/// The bytes of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Readable on a terminal.
    Text,
    /// Not written to a terminal.
    Binary,
}

/// An output that is being written.
#[derive(Debug)]
pub(crate) enum Target {
    /// A file of that name.
    Named(AtomicFile),
    /// Standard output. The bytes are in a temporary file until they are complete.
    Stream(File),
}

impl Target {
    /// Creates the output. `-` is standard output. With `force`, an existing file is replaced.
    pub(crate) fn create(output: &Path, force: bool, content: Content) -> Result<Self> {
        if stdin::is(output) {
            if content == Content::Binary && Stdout::results().is_terminal() {
                bail!("this output is not for terminals; name a file with -o, or send it through a pipe");
            }
            let spool = tempfile::tempfile().context("create a temporary file for standard output")?;
            return Ok(Target::Stream(spool));
        }
        outputs::prepare(output)?;
        Ok(Target::Named(AtomicFile::create_with_mode(output, force, 0o666)?))
    }

    /// The file to write into.
    pub(crate) fn file(&self) -> &File {
        match self {
            Target::Named(file) => file.file(),
            Target::Stream(spool) => spool,
        }
    }

    pub(crate) fn commit(self) -> Result<()> {
        match self {
            Target::Named(file) => Ok(file.commit(None)?),
            Target::Stream(mut spool) => {
                spool.rewind().context("read the temporary file of standard output")?;
                let mut out = Stdout::results();
                while_blocked(|| std::io::copy(&mut spool, &mut out).and_then(|_| out.flush()))
                    .context("write to standard output")
            }
        }
    }
}
