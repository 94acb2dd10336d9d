//! Arguments of `netcdf-plugin`.

use super::JsonArgs;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The commands for the netCDF plug-in.
#[derive(Debug, Subcommand)]
pub(crate) enum NetcdfPluginCommand {
    /// Add the plug-in to ~/.ncrc, which netCDF-C 4.10.1 and later read.
    #[command(after_help = "Examples:
  nc3z netcdf-plugin install
  nc3z netcdf-plugin install --slot 2                         netCDF-C 4.10.0 takes slots 0 to 2 only
  nc3z netcdf-plugin install --library /opt/nc3z/libnc3z_netcdf_plugin.so

Other lines of the file are kept. If $NCRCENV_HOME is set, the file is $NCRCENV_HOME/.ncrc.")]
    Install(PluginInstallArgs),
    /// Show whether the plug-in is installed, where it is, and which versions of netCDF-C load it.
    Status(PluginStatusArgs),
    /// Remove the plug-in from ~/.ncrc.
    Remove,
    /// Run a program with the plug-in preloaded, so that it opens archives (Linux).
    #[command(after_help = "Examples:
  nc3z netcdf-plugin run -- ncdump -h tas.nc.nc3z
  nc3z netcdf-plugin run -- ncks -v tas tas.nc.nc3z out.nc
  nc3z netcdf-plugin run -- Rscript plot.R tas.nc.nc3z

For programs that use netCDF-C 4.8.1 or later, also those that load it while they run: R, Octave, Perl, Python. GDAL and CDO refuse \
archives by their first bytes: use `nc3z mount`. The exit code is that of the program; 127 if there is no such program, 126 if it \
cannot be run.")]
    Run(RunCommandArgs),
}

/// Arguments of `netcdf-plugin install`.
#[derive(Debug, Args)]
pub(crate) struct PluginInstallArgs {
    /// The slot for user-defined formats, 0 to 9. Other plug-ins use 0 to 5.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u8).range(0..=9), value_name = "SLOT")]
    pub(crate) slot: u8,
    /// The library [default: $NC3Z_UDF_LIBRARY, or libnc3z_netcdf_plugin.so in the directory of this program, in ../lib
    /// or in ../lib/nc3z].
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
}

/// Arguments of `netcdf-plugin status`.
#[derive(Debug, Args)]
pub(crate) struct PluginStatusArgs {
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Arguments of `netcdf-plugin run`.
#[derive(Debug, Args)]
pub(crate) struct RunCommandArgs {
    /// The library [default: as in `nc3z netcdf-plugin install`].
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
