//! `nc3z netcdf-plugin run`: runs a program with the netCDF plug-in preloaded.

use crate::args::RunCommandArgs;
use crate::exit::Exit;
use anyhow::Result;

/// Replaces this process by the program, whose exit code becomes ours.
#[cfg(unix)]
pub(super) fn run(args: &RunCommandArgs) -> Result<Exit> {
    use std::ffi::OsString;
    use std::io::ErrorKind;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    if cfg!(not(target_os = "linux")) {
        return refuse();
    }
    let library = super::library(args.library.as_deref())?;
    let bytes = library.as_os_str().as_encoded_bytes();
    if bytes.iter().any(|b| *b == b':' || b.is_ascii_whitespace()) {
        anyhow::bail!(
            "LD_PRELOAD cannot name `{}`, which has a colon or a blank: make a link to it elsewhere, and give that with --library",
            super::super::shown(&library)
        );
    }
    let mut preload: OsString = library.into();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let (program, rest) = args.command.split_first().expect("clap asks for one");
    let error = Command::new(program).args(rest).env("LD_PRELOAD", preload).exec();
    let name = super::super::shown(program.as_ref());
    // As in a shell: 127 if there is no such program, 126 if it cannot be run.
    let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
    crate::output::report_error(None, &anyhow::Error::from(error).context(format!("run `{name}`")));
    std::process::exit(code);
}

/// Other systems do not support preloading.
#[cfg(not(unix))]
pub(super) fn run(_: &RunCommandArgs) -> Result<Exit> {
    refuse()
}

fn refuse() -> Result<Exit> {
    anyhow::bail!(
        "`nc3z netcdf-plugin run` preloads a library, which works on Linux only; `nc3z netcdf-plugin install` serves netCDF-C 4.10.1 and later"
    )
}
