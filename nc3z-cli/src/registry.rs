//! The filters and codecs of this run: built-in ones, and those of plug-ins if the user requests them.

use crate::args::Cli;
use crate::output::text;
use anyhow::{Context, Result};
use nc3z_filters::{Launcher, Plugins};
use nc3z_format::codec::Registry;
use nc3z_reader::OpenOptions;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// HDF5's own variable for the directories of plug-ins.
pub(crate) const PATH_VARIABLE: &str = "HDF5_PLUGIN_PATH";
/// The time limit of a plug-in for one tile, in seconds.
const PATIENCE_VARIABLE: &str = "NC3Z_PLUGIN_SECONDS";

static LOADED: OnceLock<(Plugins, Registry)> = OnceLock::new();

/// Finds plug-ins, if they are requested.
pub(crate) fn set_up(cli: &Cli) -> Result<()> {
    let mut directories: Vec<PathBuf> = cli.plugin_path.iter().flat_map(std::env::split_paths).collect();
    if cli.plugins {
        directories.extend(std::env::var_os(PATH_VARIABLE).iter().flat_map(std::env::split_paths));
    }
    directories.retain(|directory| !directory.as_os_str().is_empty());
    if cli.plugins && directories.is_empty() {
        anyhow::bail!(
            "plug-ins were asked for, but {PATH_VARIABLE} names no directory, and no other was given"
        );
    }
    if directories.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().context("find the program that calls plug-ins")?;
    let mut launcher =
        Launcher::new(program, ["filter-worker"]).with_cancel(crate::output::signals::interrupted);
    if let Ok(seconds) = std::env::var(PATIENCE_VARIABLE) {
        let seconds =
            seconds.parse().with_context(|| format!("{PATIENCE_VARIABLE}: `{seconds}` is not a number"))?;
        launcher = launcher.with_patience(Duration::from_secs(seconds));
    }
    let plugins = Plugins::scan(&directories, launcher)?;
    let registry = plugins.register(&Registry::default());
    let _ = LOADED.set((plugins, registry));
    Ok(())
}

/// Returns the plug-ins, if they were requested.
pub(crate) fn loaded() -> Option<&'static Plugins> {
    LOADED.get().map(|(plugins, _)| plugins)
}

/// Ends the processes that call plug-ins.
pub(crate) fn end() {
    if let Some((plugins, _)) = LOADED.get() {
        plugins.end();
    }
}

/// Returns all filters and codecs of this run.
pub(crate) fn registry() -> Registry {
    LOADED.get().map_or_else(Registry::default, |(_, registry)| registry.clone())
}

/// Reads archives with parity through damage, and prints a note for each once.
pub(crate) fn with_read_repair(options: OpenOptions, file: &Path) -> OpenOptions {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let file = file.to_owned();
    options.with_read_repair(move |repaired| {
        if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(file.clone()) {
            let name = text::safe(&crate::cmd::url::shown(&file));
            note!("nc3z: warning: {name} is {repaired}; `nc3z repair` fixes the file");
        }
    })
}

/// Returns the options with which this tool opens archives.
pub(crate) fn open_options() -> OpenOptions {
    OpenOptions::of_command().with_registry(registry())
}
