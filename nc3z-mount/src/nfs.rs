//! Serves a view by NFS, version 3, on loopback: for systems without FUSE, whose own NFS client mounts it.
//!
//! NFS has no open files. A file that was read is kept open for a while, by its number. Since a number's
//! bytes never change, the many requests of a client read the same file. If the archive of a number has
//! changed, and is not open any more, the number is stale. The client then looks the name up again.

use crate::view::{Attr, Entry, Handle, NodeKind, ROOT, View};
use nc3z_reader::platform::path_of;
use nfs3_server::nfs3_types::nfs3::{
    FSF3_HOMOGENEOUS, FSF3_SYMLINK, FSINFO3resok, Nfs3Option, fattr3, filename3, ftype3, nfspath3, nfsstat3,
    nfstime3, specdata3,
};
use nfs3_server::tcp::{NFSTcp, NFSTcpListener};
use nfs3_server::vfs::{DirEntryPlus, FileHandleU64, NextResult, NfsReadFileSystem, ReadDirPlusIterator};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The maximal number of files that are kept open.
const OPEN: usize = 64;
/// The time that a file is kept open without a read.
const IDLE: Duration = Duration::from_secs(30);
/// The maximal number of bytes of a read.
const READ_LEN: u32 = 1 << 20;

/// The file system of a view.
struct NfsView {
    view: Arc<View>,
    open: Arc<Mutex<HashMap<u64, (Arc<Handle>, Instant)>>>,
}

/// Serves a view until `is_over` returns true; it is called several times a second. `ready` is called with
/// the address when the server answers.
///
/// # Errors
/// An error of the system, for example an address that is in use or does not belong to this machine.
pub fn serve(
    view: &Arc<View>,
    address: SocketAddr,
    ready: impl FnOnce(SocketAddr),
    is_over: impl Fn() -> bool,
) -> io::Result<()> {
    /// The interval at which the end is checked for.
    const STEP: Duration = Duration::from_millis(200);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (fs, idle) = (NfsView { view: Arc::clone(view), open: Arc::default() }, Arc::clone(view));
    let open = Arc::clone(&fs.open);
    runtime.block_on(async {
        let listener = NFSTcpListener::bind_ro(&address.to_string(), fs).await?;
        ready(SocketAddr::new(listener.get_listen_ip(), listener.get_listen_port()));
        let end = async {
            while !is_over() {
                tokio::time::sleep(STEP).await;
                close_idle(&open);
                idle.close_idle();
            }
        };
        tokio::select! {
            done = listener.handle_forever() => done,
            () = end => Ok(()),
        }
    })
}

/// Closes files that had no read for a while.
fn close_idle(open: &Mutex<HashMap<u64, (Arc<Handle>, Instant)>>) {
    let now = Instant::now();
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    let idle: Vec<_> = open.extract_if(|_, (_, used)| now.duration_since(*used) > IDLE).collect();
    drop(open);
    drop(idle);
}

/// Returns the error number for a client.
fn status(e: &io::Error) -> nfsstat3 {
    match e.kind() {
        io::ErrorKind::NotFound => nfsstat3::NFS3ERR_NOENT,
        io::ErrorKind::NotADirectory => nfsstat3::NFS3ERR_NOTDIR,
        io::ErrorKind::IsADirectory => nfsstat3::NFS3ERR_ISDIR,
        io::ErrorKind::StaleNetworkFileHandle => nfsstat3::NFS3ERR_STALE,
        io::ErrorKind::PermissionDenied => nfsstat3::NFS3ERR_ACCES,
        io::ErrorKind::InvalidInput => nfsstat3::NFS3ERR_INVAL,
        _ => nfsstat3::NFS3ERR_IO,
    }
}

/// Converts a time to NFS, whose range ends in 2106. Times outside the range become its ends.
fn time(t: SystemTime) -> nfstime3 {
    let since = t.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
    nfstime3 { seconds, nseconds: since.subsec_nanos() }
}

fn attr_of(attr: &Attr) -> fattr3 {
    let type_ = match attr.kind {
        NodeKind::Directory => ftype3::NF3DIR,
        NodeKind::File => ftype3::NF3REG,
        NodeKind::Link => ftype3::NF3LNK,
    };
    fattr3 {
        type_,
        mode: attr.mode.into(),
        nlink: if attr.kind == NodeKind::Directory { 2 } else { 1 },
        uid: attr.uid,
        gid: attr.gid,
        size: attr.size,
        used: attr.blocks.saturating_mul(crate::view::BLOCK_LEN),
        rdev: specdata3 { specdata1: 0, specdata2: 0 },
        fsid: 1,
        fileid: attr.ino,
        atime: time(attr.accessed),
        mtime: time(attr.modified),
        ctime: time(attr.changed),
    }
}

impl NfsView {
    /// Runs work that may decode or wait for the disk on a thread that does not receive requests.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&View) -> io::Result<T> + Send + 'static,
    ) -> Result<T, nfsstat3> {
        let view = Arc::clone(&self.view);
        let done = tokio::task::spawn_blocking(move || work(&view)).await;
        done.map_err(|_| nfsstat3::NFS3ERR_SERVERFAULT)?.map_err(|e| status(&e))
    }
}

/// Returns the file of a number, which is already open or opened now.
fn opened(
    view: &View,
    open: &Mutex<HashMap<u64, (Arc<Handle>, Instant)>>,
    ino: u64,
) -> io::Result<Arc<Handle>> {
    let lock = || open.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((handle, used)) = lock().get_mut(&ino) {
        *used = Instant::now();
        return Ok(Arc::clone(handle));
    }
    let handle = Arc::new(view.open(ino)?);
    // Only the bytes of originals are fixed. Other files are opened for each read.
    if handle.archive().is_some() {
        let mut open = lock();
        if open.len() >= OPEN
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, used))| *used).map(|(ino, _)| *ino)
        {
            open.remove(&oldest);
        }
        open.insert(ino, (Arc::clone(&handle), Instant::now()));
    }
    Ok(handle)
}

impl NfsReadFileSystem for NfsView {
    type Handle = FileHandleU64;

    fn root_dir(&self) -> FileHandleU64 {
        FileHandleU64::new(ROOT)
    }

    async fn lookup(&self, parent: &FileHandleU64, name: &filename3<'_>) -> Result<FileHandleU64, nfsstat3> {
        let (parent, name) = (parent.as_u64(), path_of(name.as_ref()).into_os_string());
        if name == "." {
            return Ok(FileHandleU64::new(parent));
        }
        let found = self.apart(move |view| view.lookup(parent, &name)).await?;
        Ok(FileHandleU64::new(found.ino))
    }

    async fn getattr(&self, file: &FileHandleU64) -> Result<fattr3, nfsstat3> {
        let ino = file.as_u64();
        Ok(attr_of(&self.apart(move |view| view.attr(ino)).await?))
    }

    async fn read(&self, file: &FileHandleU64, offset: u64, count: u32) -> Result<(Vec<u8>, bool), nfsstat3> {
        let (ino, open) = (file.as_u64(), Arc::clone(&self.open));
        let work = move |view: &View| {
            let handle = opened(view, &open, ino)?;
            let len = usize::try_from(count.min(READ_LEN)).expect("a mebibyte at most");
            let mut bytes = vec![0; len];
            let n = handle.read(view, offset, &mut bytes)?;
            bytes.truncate(n);
            let is_end = n < len || offset + n as u64 == view.attr(ino)?.size;
            Ok((bytes, is_end))
        };
        self.apart(work).await
    }

    async fn readdirplus(
        &self,
        directory: &FileHandleU64,
        cookie: u64,
    ) -> Result<impl ReadDirPlusIterator<FileHandleU64>, nfsstat3> {
        let ino = directory.as_u64();
        let entries = self.apart(move |view| view.list(ino)).await?;
        let at = usize::try_from(cookie).unwrap_or(usize::MAX);
        Ok(Entries { entries, at })
    }

    async fn readlink(&self, link: &FileHandleU64) -> Result<nfspath3<'_>, nfsstat3> {
        let ino = link.as_u64();
        let target = self.apart(move |view| view.link(ino)).await?;
        Ok(target.into_os_string().into_encoded_bytes().into())
    }

    async fn fsinfo(&self, root: &FileHandleU64) -> Result<FSINFO3resok, nfsstat3> {
        let root = self.getattr(root).await?;
        Ok(FSINFO3resok {
            obj_attributes: Nfs3Option::Some(root),
            rtmax: READ_LEN,
            rtpref: READ_LEN,
            rtmult: 4096,
            wtmax: READ_LEN,
            wtpref: READ_LEN,
            wtmult: 4096,
            dtpref: READ_LEN,
            // Originals may be of any length.
            maxfilesize: i64::MAX.unsigned_abs(),
            time_delta: nfstime3 { seconds: 0, nseconds: 1 },
            properties: FSF3_SYMLINK | FSF3_HOMOGENEOUS,
        })
    }
}

/// Names of a directory from a given one on. Listing does not open archives: the client requests attributes
/// when it needs them.
struct Entries {
    entries: Vec<Entry>,
    at: usize,
}

impl ReadDirPlusIterator<FileHandleU64> for Entries {
    async fn next(&mut self) -> NextResult<DirEntryPlus<FileHandleU64>> {
        let Some(entry) = self.entries.get(self.at) else { return NextResult::Eof };
        self.at += 1;
        NextResult::Ok(DirEntryPlus {
            fileid: entry.ino,
            name: entry.name.as_encoded_bytes().to_vec().into(),
            cookie: self.at as u64,
            name_attributes: None,
            name_handle: None,
        })
    }
}
