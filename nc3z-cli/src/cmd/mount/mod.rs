//! `nc3z mount`: originals as files.

#[cfg(unix)]
mod log;
mod options;
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod serve;

use crate::args::MountArgs;
use crate::exit::Exit;
use crate::output::set_quiet;
use anyhow::Result;
use options::Settings;

/// Mounts.
pub(crate) fn run(args: &MountArgs) -> Result<Exit> {
    set_quiet(args.quiet);
    let settings = Settings::of(args)?;
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    return serve::run(args, &settings);
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    {
        let _ = settings;
        anyhow::bail!("this system has no FUSE that nc3z knows")
    }
}
