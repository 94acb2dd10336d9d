//! One file a command, each with `run(args)`, thin over the libraries.

pub(crate) mod archive;
pub(crate) mod dump;
pub(crate) mod estimate;
pub(crate) mod explain;
mod fixity;
pub(crate) mod hash;
pub(crate) mod info;
pub(crate) mod layout;
mod manifests;
mod many;
pub(crate) mod parity;
mod parity_repair;
mod place;
pub(crate) mod places;
pub(crate) mod read;
pub(crate) mod recompress;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod subset;
mod targets;
mod tree;
pub(crate) mod verify;

use crate::args::OpenArgs;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_format::Limits;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, ClassicFile, Dataset, source};
use std::path::Path;

/// Either kind of file, told apart by the first bytes.
pub(crate) enum Input {
    /// An nc3z archive.
    Archive(Archive),
    /// A classic netCDF file.
    Classic(Box<ClassicFile>),
}

/// Names the file in an error that does not do so itself.
pub(crate) fn in_file<T>(path: &Path, result: Result<T>) -> Result<T> {
    let name = format!("`{}`", path.display());
    result.map_err(|e| if crate::output::chain(&e).contains(&name) { e } else { e.context(name) })
}

/// Opens an archive or a classic file.
pub(crate) fn open_input(path: &Path, args: &OpenArgs) -> Result<Input> {
    let source = source::open(path, args.mmap)?;
    if is_archive(&source, args)? {
        return Ok(Input::Archive(Archive::from_source(source, &args.options())?));
    }
    let classic = ClassicFile::from_source(source, &Limits::default()).map_err(|e| no_archive(&e))?;
    Ok(Input::Classic(Box::new(classic)))
}

/// Of a file that is no archive: exit code 3 says that an archive is corrupt.
fn no_archive(e: &nc3z_reader::Error) -> anyhow::Error {
    anyhow!("{}", e.with_causes())
}

/// Opens the variables of either kind of file.
pub(crate) fn open_dataset(path: &Path, args: &OpenArgs) -> Result<Dataset> {
    let source = source::open(path, args.mmap)?;
    let archive = is_archive(&source, args)?;
    let dataset = Dataset::from_source(source, &args.options());
    dataset.map_err(|e| if archive { e.into() } else { no_archive(&e) })
}

/// Whether the first bytes are those of an archive; an error where a state was asked for that no other file has.
fn is_archive(source: &SharedSource, args: &OpenArgs) -> Result<bool> {
    let mut magic = [0; 8];
    let len = usize::try_from(source.len().min(8)).context("eight bytes at most")?;
    source.read_into(0, &mut magic[..len])?;
    let found = magic == nc3z_format::archive::constants::MAGIC;
    if !found && args.names_state() {
        bail!("it is no archive, and has one state only; --generation and --older are for archives");
    }
    Ok(found)
}

/// Opens an archive.
pub(crate) fn open_archive(path: &Path, args: &OpenArgs) -> Result<Archive> {
    Ok(Archive::from_source(source::open(path, args.mmap)?, &args.options())?)
}

/// Runs `work` in a pool of so many threads; 0 is one for each core.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("start threads")?;
    Ok(pool.install(work))
}
