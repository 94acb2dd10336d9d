//! Makes a mount, waits for it, and removes it.

use super::filesystem::ViewFs;
use super::overlap;
use crate::view::View;
use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The least number of threads that answer the kernel. A thread that decodes a tile delays only requests for that tile.
const THREADS: usize = 4;
/// The kernel's read-ahead in KiB, if we may set it: a tile of the usual size.
const KERNEL_AHEAD_KIB: u32 = 1024;

/// Options of a mount.
#[derive(Debug, Clone, Default)]
pub struct MountOptions {
    /// True if other users may use the mount, as far as the files' permissions allow.
    pub allow_other: bool,
}

/// A mounted view. Dropping this does not unmount it: use [`Mounted::detach`].
pub struct Mounted {
    // Dropping it would unmount by path, where another file system may be mounted by then.
    session: ManuallyDrop<BackgroundSession>,
    view: Arc<View>,
    mountpoint: PathBuf,
    open: Arc<AtomicUsize>,
}

/// Mounts a view. It answers requests when this returns.
///
/// # Errors
/// A mount point that is the source, inside it, or above it. An error of the system: no `/dev/fuse`, no
/// permission to mount, an invalid mount point.
pub fn mount(view: Arc<View>, mountpoint: &Path, options: &MountOptions) -> io::Result<Mounted> {
    let mountpoint = mountpoint.canonicalize()?;
    overlap::refuse(&mountpoint, &view.source())?;
    let mut config = Config::default();
    let name = view.source().to_string_lossy().replace(',', "\\,");
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::DefaultPermissions,
        MountOption::FSName(name),
        // As an option of the kernel: the crate keeps its own `Subtype` from it.
        MountOption::CUSTOM("subtype=nc3z".to_owned()),
    ];
    if options.allow_other {
        config.acl = SessionACL::All;
    }
    if cfg!(target_os = "linux") {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        config.n_threads = Some(cores.max(THREADS));
        config.clone_fd = true;
    }
    let open = Arc::new(AtomicUsize::new(0));
    let fs = ViewFs::new(Arc::clone(&view), Arc::clone(&open));
    let session = ManuallyDrop::new(Session::new(fs, &mountpoint, &config)?.spawn()?);
    widen_ahead(&mountpoint);
    Ok(Mounted { session, view, mountpoint, open })
}

impl Mounted {
    /// Returns true after the mount was unmounted and its last open file was closed.
    pub fn is_over(&self) -> bool {
        self.session.guard.is_finished()
    }

    /// Waits for the end of the mount, at most `timeout`. Closes idle archives afterwards.
    pub fn wait(&self, timeout: Duration) -> bool {
        /// The interval at which the end is checked for.
        const STEP: Duration = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        while !self.is_over() && waited < timeout {
            std::thread::sleep(STEP);
            waited += STEP;
        }
        self.view.close_idle();
        self.is_over()
    }

    /// The number of its open files.
    pub fn open_files(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The path of the mount point.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Removes the mount from its path at once. Open files are served until they are closed; then
    /// [`Mounted::is_over`] is true.
    ///
    /// # Errors
    /// The system's error. It is not an error if the mount is already gone.
    pub fn detach(&self) -> io::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        match detach_here(&self.mountpoint) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => by_helper(&self.mountpoint),
            done => done,
        }
    }
}

#[cfg(target_os = "linux")]
fn detach_here(mountpoint: &Path) -> io::Result<()> {
    use rustix::mount::{UnmountFlags, unmount};
    Ok(unmount(mountpoint, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn detach_here(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::PermissionDenied.into())
}

/// Unmounts by the helper program: users other than root need it.
fn by_helper(mountpoint: &Path) -> io::Result<()> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for (program, options) in
        [("fusermount3", &["-u", "-z"][..]), ("fusermount", &["-u", "-z"]), ("umount", &[])]
    {
        let run = Command::new(program).args(options).arg("--").arg(mountpoint).stdin(Stdio::null()).output();
        match run {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => {
                let words = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                last = io::Error::other(words);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Increases the kernel's read-ahead from the usual 128 KiB, for fewer requests. Only root may do that;
/// otherwise nothing else changes.
fn widen_ahead(mountpoint: &Path) {
    let Some(device) = overlap::device_at(mountpoint) else { return };
    let place = format!("/sys/class/bdi/{device}/read_ahead_kb");
    let _ = std::fs::write(place, KERNEL_AHEAD_KIB.to_string());
}
