//! `nc3z mount`: originals as files.

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod fuse;
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod options;

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
pub(crate) use fuse::run;

/// Refuses, and names the ways that this system has.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub(crate) fn run(_: &crate::args::MountArgs) -> anyhow::Result<crate::exit::Exit> {
    anyhow::bail!(
        "mounts are for Linux and FreeBSD; on this system `nc3z serve` shows archives to programs by URL, `nc3z netcdf-plugin install` \
         to programs with netCDF-C 4.10.1 or later, and `nc3z restore` writes the files (docs/mount.md)"
    )
}
