//! `--skip-existing`: whether the archive that is there is the source's.

use crate::args::{OpenArgs, SkipArg};
use crate::cmd::hash::sha256_of_file;
use crate::cmd::open_archive;
use crate::output::progress::Progress;
use anyhow::{Context, Result, bail};
use nc3z_reader::Digest;
use nc3z_reader::source::open_regular;
use std::io::Read;
use std::path::Path;

/// True where `output` is there and, as far as `how` asks, the archive of `input`; false where nothing has that name.
///
/// # Errors
/// Where something else has the name: it is told why, and left alone.
pub(super) fn is_present(input: &Path, output: &Path, how: SkipArg) -> Result<bool> {
    match std::fs::symlink_metadata(output) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e).with_context(|| format!("look at `{}`", output.display())),
        Ok(_) if how == SkipArg::Name => return Ok(true),
        Ok(_) => {}
    }
    let there = || format!("`{}` is there, and", output.display());
    let archive = open_archive(output, &OpenArgs::default())
        .with_context(|| format!("{} is no whole archive (--force replaces it)", there()))?;
    let mut source = open_regular(input).with_context(|| format!("open `{}`", input.display()))?;
    let meta = source.metadata().with_context(|| format!("look at `{}`", input.display()))?;
    let mut header = vec![0; archive.header_bytes().len()];
    let is_same_header = meta.len() == archive.original_len()
        && source.read_exact(&mut header).is_ok()
        && header == archive.header_bytes();
    if !is_same_header {
        bail!("{} is the archive of another file (--force replaces it)", there());
    }
    if how == SkipArg::Digest {
        let Digest::Sha256(recorded) = archive.digest() else {
            bail!("{} has no digest to compare (--force replaces it)", there());
        };
        let progress = Progress::new(meta.len(), String::new());
        if sha256_of_file(input, &progress)? != recorded {
            bail!("{} is the archive of other data (--force replaces it)", there());
        }
        return Ok(true);
    }
    // An archive has its source's time.
    let made = std::fs::metadata(output).and_then(|m| m.modified());
    if let (Ok(source), Ok(made)) = (meta.modified(), made)
        && source > made
    {
        bail!("{} is older than the source (--skip-existing=digest compares, --force replaces it)", there());
    }
    Ok(true)
}
