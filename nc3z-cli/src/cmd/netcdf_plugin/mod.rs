//! `nc3z netcdf-plugin`: adds the netCDF plug-in to `.ncrc`.

mod run;

use crate::args::{NetcdfPluginCommand, PluginInstallArgs, PluginStatusArgs};
use crate::exit::Exit;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_filters::netcdf::{
    self, LIBRARY_NAME, LIBRARY_VARIABLE, LibraryError, Ncrc, Override, find_library, library_places,
};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The versions of netCDF-C that read the file with the plug-in.
const VERSIONS: [&str; 3] = [
    "netCDF-C 4.10.1 and later load it from .ncrc",
    "netCDF-C 4.10.0 loads it from slots 0 to 2 only (`nc3z netcdf-plugin install --slot 2`)",
    "netCDF-C 4.8.1 to 4.9.3 do not read .ncrc for it: `nc3z netcdf-plugin run -- COMMAND` (Linux)",
];

pub(crate) fn run(command: &NetcdfPluginCommand) -> Result<Exit> {
    match command {
        NetcdfPluginCommand::Install(args) => install(args),
        NetcdfPluginCommand::Status(args) => status(args),
        NetcdfPluginCommand::Remove => remove(),
        NetcdfPluginCommand::Run(args) => run::run(args),
    }
}

fn place() -> Result<PathBuf> {
    netcdf::place().context("neither NCRCENV_HOME nor HOME is set: netCDF-C would look for .ncrc there")
}

/// Finds the library of the plug-in.
fn library(named: Option<&Path>) -> Result<PathBuf> {
    find_library(named).map_err(|e| match e {
        LibraryError::Missing(path) => anyhow!("library `{}` does not exist", super::shown(&path)),
        LibraryError::Path { path, source } => {
            anyhow::Error::from(source).context(format!("`{}`", super::shown(&path)))
        }
        _ => anyhow!(
            "{LIBRARY_NAME} was not found: {}; name it with --library or {LIBRARY_VARIABLE}",
            searched()
        ),
    })
}

/// Returns the places that are searched, for messages.
fn searched() -> String {
    let places: Vec<String> = library_places().iter().map(|path| super::shown(path)).collect();
    format!("looked for {}", places.join(", "))
}

/// Reports environment variables that make netCDF-C read another file, or none.
fn tell_overrides(path: &Path) {
    match Override::from_path(path) {
        Some(Override::Ignored) => note!("note: NCRCENV_IGNORE is set: netCDF-C reads no .ncrc"),
        Some(Override::Other(other)) => note!(
            "note: NCRCENV_RC is set: netCDF-C reads `{}`, and not `{}`",
            super::shown(&other),
            super::shown(path)
        ),
        None => {}
    }
}

fn install(args: &PluginInstallArgs) -> Result<Exit> {
    let mut out = Stdout::results();
    let library = self::library(args.library.as_deref())?;
    let path = place()?;
    let mut ncrc = Ncrc::read(&path)?;
    if let Some(other) = ncrc.library_of(args.slot).filter(|_| !ncrc.is_ours(args.slot)) {
        let free: Vec<String> = ncrc.free().iter().map(ToString::to_string).collect();
        bail!(
            "slot {} in `{}` belongs to `{}`; choose another with --slot (free: {})",
            args.slot,
            super::shown(&path),
            crate::output::text::safe(&other),
            free.join(", ")
        );
    }
    ncrc.set(args.slot, &library)?;
    let changed = ncrc.write(&path)?;
    let what = if changed { "installed" } else { "already installed" };
    writeln!(
        out,
        "{what}: {} as user-defined format {} in {}",
        super::shown(&library),
        args.slot,
        super::shown(&path)
    )?;
    for line in VERSIONS {
        writeln!(out, "  {line}")?;
    }
    tell_overrides(&path);
    Ok(Exit::Done)
}

fn status(args: &PluginStatusArgs) -> Result<Exit> {
    let mut out = Stdout::results();
    let path = place()?;
    let ncrc = Ncrc::read(&path)?;
    let slots = ncrc.ours();
    let found = self::library(None).ok();
    if *args.json {
        let slots: Vec<_> = slots
            .iter()
            .map(|(slot, library)| json!({"slot": slot, "library": library, "exists": Path::new(library).exists()}))
            .collect();
        let library = found.map(|path| path.to_string_lossy().into_owned());
        let value = json!({"ncrc": path.to_string_lossy(), "installed": slots, "library": library, "versions": VERSIONS});
        writeln!(out, "{value:#}")?;
        return Ok(Exit::Done);
    }
    if slots.is_empty() {
        writeln!(out, "not installed in {}", super::shown(&path))?;
    }
    for (slot, library) in &slots {
        let missing =
            if Path::new(library).exists() { "" } else { " (the file is missing: install it again)" };
        let library = crate::output::text::safe(library);
        writeln!(
            out,
            "installed in {} as user-defined format {slot}: {library}{missing}",
            super::shown(&path)
        )?;
    }
    match &found {
        Some(library) => writeln!(out, "library of this program: {}", super::shown(library))?,
        None => writeln!(out, "library of this program: not found ({})", searched())?,
    }
    for line in VERSIONS {
        writeln!(out, "  {line}")?;
    }
    tell_overrides(&path);
    Ok(Exit::Done)
}

fn remove() -> Result<Exit> {
    let mut out = Stdout::results();
    let path = place()?;
    let mut ncrc = Ncrc::read(&path)?;
    ncrc.clear();
    if ncrc.write(&path)? {
        writeln!(out, "removed from {}", super::shown(&path))?;
    } else {
        writeln!(out, "not installed in {}", super::shown(&path))?;
    }
    Ok(Exit::Done)
}
