//! Serves the same tree by NFS, for systems without FUSE.

use super::options::Settings;
use super::view;
use crate::args::MountArgs;
use crate::cmd::view_log::Log;
use crate::exit::Exit;
use crate::output::progress::interrupted;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves until a signal arrives.
pub(super) fn run(args: &MountArgs, settings: &Settings, address: SocketAddr) -> Result<Exit> {
    if !address.ip().is_loopback() {
        bail!("{address} is not a loopback address: by NFS, any client could read the files");
    }
    let log = Arc::new(Log::open(settings.log.as_deref(), false)?);
    settings.set_cache();
    let view = view(&args.source, false, &log)?;
    let ready = |address: SocketAddr| {
        let mut out = Stdout::verdicts();
        let _ = writeln!(out, "{}", words(address)).and_then(|()| out.flush());
    };
    nc3z_mount::nfs::serve(&view, address, ready, interrupted)
        .with_context(|| format!("serve NFS at {address}"))?;
    Ok(Exit::Done)
}

/// Returns the commands for mounting the address.
fn words(address: SocketAddr) -> String {
    let (ip, port) = (address.ip(), address.port());
    let options = format!("vers=3,tcp,port={port},mountport={port},ro,soft");
    let mount = match std::env::consts::OS {
        "macos" => format!("mount_nfs -o {options},nolocks {ip}:/ MOUNTPOINT"),
        "windows" => format!("mount.exe -o anon,nolock,mtype=soft \\\\{ip}\\! X:"),
        _ => format!("mount -t nfs -o {options},nolock {ip}:/ MOUNTPOINT"),
    };
    format!("nfs://{address}/\n{mount}")
}
