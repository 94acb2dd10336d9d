//! `nc3z plugin`: adds the netCDF plug-in to `.ncrc`.

mod library;
mod ncrc;
pub(crate) mod run;

use crate::args::{PluginCommand, PluginInstallArgs, PluginStatusArgs};
use crate::exit::Exit;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use ncrc::Ncrc;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The versions of netCDF-C that read the file with the plug-in.
const VERSIONS: [&str; 3] = [
    "netCDF-C 4.10.1 and later load it from .ncrc",
    "netCDF-C 4.10.0 loads it from slots 0 to 2 only (`nc3z plugin install --slot 2`)",
    "netCDF-C 4.8.1 to 4.9.3 do not read .ncrc for it: `nc3z run -- COMMAND` (Linux)",
];

/// Runs the command.
pub(crate) fn run(command: &PluginCommand) -> Result<Exit> {
    match command {
        PluginCommand::Install(args) => install(args),
        PluginCommand::Status(args) => status(args),
        PluginCommand::Remove => remove(),
    }
}

/// Returns the file `.ncrc`, in the directory that netCDF-C uses as home directory.
fn place() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = set("NCRCENV_HOME").or_else(|| set("HOME"));
    let home = home.context("neither NCRCENV_HOME nor HOME is set: netCDF-C would look for .ncrc there")?;
    Ok(Path::new(&home).join(".ncrc"))
}

/// Reports environment variables that make netCDF-C read another file, or none.
fn tell_overrides(path: &Path) {
    if std::env::var_os("NCRCENV_IGNORE").is_some() {
        note!("note: NCRCENV_IGNORE is set: netCDF-C reads no .ncrc");
    } else if let Some(other) = std::env::var_os("NCRCENV_RC").filter(|other| Path::new(other) != path) {
        note!(
            "note: NCRCENV_RC is set: netCDF-C reads `{}`, and not `{}`",
            super::shown(Path::new(&other)),
            super::shown(path)
        );
    }
}

fn install(args: &PluginInstallArgs) -> Result<Exit> {
    let mut out = Stdout::results();
    let library = library::find(args.library.as_deref())?;
    let path = place()?;
    let mut ncrc = Ncrc::read(&path)?;
    if let Some(other) = ncrc.library_of(args.slot).filter(|_| !ncrc.is_ours(args.slot)) {
        let free: Vec<String> =
            (0..10).filter(|slot| ncrc.library_of(*slot).is_none()).map(|slot| slot.to_string()).collect();
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
    let slots: Vec<(u8, String)> =
        (0..10).filter(|slot| ncrc.is_ours(*slot)).filter_map(|n| Some((n, ncrc.library_of(n)?))).collect();
    let found = library::find(None).ok();
    if args.json {
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
            if Path::new(library).exists() { "" } else { " (there is no such file: install it again)" };
        let library = crate::output::text::safe(library);
        writeln!(
            out,
            "installed in {} as user-defined format {slot}: {library}{missing}",
            super::shown(&path)
        )?;
    }
    match &found {
        Some(library) => writeln!(out, "library of this program: {}", super::shown(library))?,
        None => writeln!(out, "library of this program: not found ({})", library::places())?,
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
