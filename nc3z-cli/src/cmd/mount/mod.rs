//! `nc3z mount`: originals as files.

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
mod fuse;
mod nfs;
mod options;

use super::view_log::Log;
use crate::args::MountArgs;
use crate::exit::Exit;
use crate::output::set_quiet;
use anyhow::{Context, Result};
use nc3z_mount::{View, ViewOptions};
use nc3z_reader::OpenOptions;
use options::Settings;
use std::path::Path;
use std::sync::Arc;

/// Mounts a source.
pub(crate) fn run(args: &MountArgs) -> Result<Exit> {
    set_quiet(args.quiet);
    let settings = Settings::of(args)?;
    if let Some(address) = args.nfs {
        return nfs::run(args, &settings, address);
    }
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    return fuse::run(args, &settings);
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    {
        let _ = settings;
        anyhow::bail!("nc3z does not support FUSE on this system")
    }
}

/// Makes the view of a source. Its events go to the log.
fn view(source: &Path, is_file: bool, log: &Arc<Log>) -> Result<Arc<View>> {
    let told = Arc::clone(log);
    let options = ViewOptions::default()
        // A command has a limit on the bytes that it decodes. A mount has no such limit, since it serves for
        // years.
        .with_open(OpenOptions::default().with_registry(crate::registry::registry()))
        .with_file_root(is_file)
        .with_log(move |event| told.event(event));
    let view = View::new(source, options);
    Ok(Arc::new(view.with_context(|| format!("mount `{}`", source.display()))?))
}
