//! A mount by FUSE: creates it, and serves it until it ends, here or in a process in the background.

use super::options::Settings;
use crate::args::MountArgs;
use crate::cmd::view_log::Log;
use crate::exit::Exit;
use crate::output::set_quiet;
use crate::output::signals::interrupted;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use nc3z_mount::fuse::{MountOptions, Mounted, is_stale, leave_terminal, mount};
use nc3z_mount::{View, ViewOptions};
use nc3z_reader::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The line that the process in the background prints when the mount answers.
const READY: &str = "mounted";
/// The interval at which the process checks for signals.
const STEP: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &MountArgs) -> Result<Exit> {
    set_quiet(args.quiet);
    let settings = &Settings::new(args)?;
    let mountpoint = &args.mountpoint;
    check_mountpoint(mountpoint)?;
    if args.daemon {
        return in_background(args, settings, mountpoint);
    }
    let log = Arc::new(Log::open(settings.log.as_deref(), args.serve_for_parent)?);
    settings.set_cache();
    let mounted = mounted(args, settings, mountpoint, &log)?;
    if args.serve_for_parent {
        let mut out = Stdout::verdicts();
        writeln!(out, "{READY}")?;
        out.flush()?;
        leave_terminal().context("leave the terminal")?;
    } else {
        let (source, place) = (args.source.display(), mounted.mountpoint().display());
        tell!("nc3z: `{source}` is mounted at `{place}`; ^C or `fusermount3 -u` unmounts it");
    }
    serve(&mounted, &log)?;
    Ok(Exit::Done)
}

fn mounted(args: &MountArgs, settings: &Settings, mountpoint: &Path, log: &Arc<Log>) -> Result<Mounted> {
    let view = view(&args.source, mountpoint.is_file(), log)?;
    let options = MountOptions { allow_other: settings.allow_other };
    let mounted = mount(view, mountpoint, &options).map_err(|e| {
        let why = advice(&e);
        anyhow::Error::new(e).context(format!("mount at `{}`{why}", mountpoint.display()))
    })?;
    Ok(mounted)
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

/// Returns advice on an error of mounting.
fn advice(e: &std::io::Error) -> &'static str {
    match e.kind() {
        std::io::ErrorKind::NotFound => {
            " (it needs /dev/fuse, and fusermount3 of the package fuse3 for users who are not root)"
        }
        std::io::ErrorKind::PermissionDenied => " (may you use /dev/fuse?)",
        _ => "",
    }
}

/// Refuses an invalid mount point, before anything is opened.
fn check_mountpoint(mountpoint: &Path) -> Result<()> {
    let place = mountpoint.display();
    if is_stale(mountpoint) {
        bail!(
            "the server of an earlier mount at `{place}` is gone, and its mount is still there; `fusermount3 -u -z {place}`, or \
             `umount -l {place}` as root, clears it"
        );
    }
    if let Err(e) = mountpoint.metadata() {
        bail!("cannot mount at `{place}`: {e}; create a directory there");
    }
    Ok(())
}

/// Serves until the mount has ended. A signal removes the mount from its path. Open files are served until
/// they are closed or another signal arrives.
fn serve(mounted: &Mounted, log: &Log) -> Result<()> {
    while !interrupted() {
        if mounted.wait(STEP) {
            return Ok(());
        }
    }
    mounted.detach().with_context(|| format!("unmount `{}`", mounted.mountpoint().display()))?;
    // Without open files the session ends at once.
    if mounted.wait(STEP) {
        return Ok(());
    }
    let open = mounted.open_files();
    let files = if open == 1 { "1 file".to_owned() } else { format!("{open} files") };
    log.write(&format!("unmounted; {files} still open, served until closed; another signal ends that too"));
    while !mounted.wait(STEP) {}
    Ok(())
}

/// Starts a process that serves the mount, and returns when the mount answers.
fn in_background(args: &MountArgs, settings: &Settings, mountpoint: &Path) -> Result<Exit> {
    let program = std::env::current_exe().context("find this program")?;
    let mut command = Command::new(program);
    command.args(["mount", "--serve-for-parent"]);
    if settings.allow_other {
        command.arg("--allow-other");
    }
    if let Some(cache) = settings.cache {
        command.arg("--cache").arg(cache.to_string());
    }
    if let Some(log) = &settings.log {
        command.arg("--log").arg(log);
    }
    command.arg("--").arg(&args.source).arg(mountpoint);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("start the process in the background")?;
    let mut line = String::new();
    let out = child.stdout.take().context("read from the process in the background")?;
    BufReader::new(out).read_line(&mut line).context("wait for the mount")?;
    if line.trim_end() == READY {
        return Ok(Exit::Done);
    }
    // The process has reported the reason.
    child.wait().context("wait for the process in the background")?;
    Ok(Exit::Failed)
}
