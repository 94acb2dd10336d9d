//! Answers requests of the kernel from the view.

use crate::view::{Attr, Entry, Handle, NodeKind, View};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The time that the kernel caches a name, and attributes of files other than originals. A commit, or another
/// archive of the same name, is visible after this time.
const NAME_TTL: Duration = Duration::from_secs(1);
/// The time that the kernel caches the attributes of an original: for a given number they never change.
const FIXED_TTL: Duration = Duration::from_secs(24 * 3600);
/// The maximal number of requests for the kernel's own read-ahead: those of some files at once.
const BACKGROUND: u16 = 64;
/// The preferred block size that `stat` reports: the size of most tiles.
const BLOCK_SIZE: u32 = 1 << 20;
/// The attribute that names the archive.
const ARCHIVE_XATTR: &[u8] = b"user.nc3z.archive";

/// Open objects, by the numbers that the kernel got for them.
struct Table<T> {
    open: RwLock<HashMap<u64, Arc<T>>>,
    next: AtomicU64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { open: RwLock::default(), next: AtomicU64::new(1) }
    }
}

impl<T> Table<T> {
    fn add(&self, thing: T) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(thing));
        FileHandle(number)
    }

    fn find(&self, handle: FileHandle) -> Result<Arc<T>, Errno> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&handle.0).map(Arc::clone).ok_or(Errno::EBADF)
    }

    fn remove(&self, handle: FileHandle) -> Option<Arc<T>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&handle.0)
    }
}

/// The file system of a view.
pub(crate) struct ViewFs {
    view: Arc<View>,
    files: Table<Handle>,
    directories: Table<Vec<Entry>>,
    /// The number of open files.
    open: Arc<AtomicUsize>,
}

impl ViewFs {
    pub(crate) fn new(view: Arc<View>, open: Arc<AtomicUsize>) -> Self {
        ViewFs { view, files: Table::default(), directories: Table::default(), open }
    }

    fn xattr(&self, ino: INodeNo) -> Result<Vec<u8>, Errno> {
        let path = self.view.archive_path(ino.0).map_err(|e| errno(&e))?;
        Ok(path.ok_or(Errno::NO_XATTR)?.into_os_string().into_encoded_bytes())
    }
}

/// Returns the error number for the kernel.
fn errno(e: &io::Error) -> Errno {
    if let Some(code) = e.raw_os_error() {
        return Errno::from_i32(code);
    }
    match e.kind() {
        io::ErrorKind::NotFound => Errno::ENOENT,
        io::ErrorKind::NotADirectory => Errno::ENOTDIR,
        io::ErrorKind::IsADirectory => Errno::EISDIR,
        io::ErrorKind::StaleNetworkFileHandle => Errno::ESTALE,
        io::ErrorKind::PermissionDenied => Errno::EACCES,
        io::ErrorKind::InvalidInput => Errno::EINVAL,
        _ => Errno::EIO,
    }
}

fn type_of(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Directory => FileType::Directory,
        NodeKind::File => FileType::RegularFile,
        NodeKind::Link => FileType::Symlink,
    }
}

fn attr_of(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.blocks,
        atime: attr.accessed,
        mtime: attr.modified,
        ctime: attr.changed,
        crtime: attr.modified,
        kind: type_of(attr.kind),
        perm: attr.mode,
        // 1 for a directory means that its subdirectories are not counted, as on btrfs. 2 would mean that it has none.
        nlink: 1,
        uid: attr.uid,
        gid: attr.gid,
        rdev: 0,
        blksize: BLOCK_SIZE,
        flags: 0,
    }
}

/// Returns whether a request comes from a thread of this process: a link of the source leads into the mount. The
/// answer would need the mount again, without end, and such a process cannot be killed.
fn is_own(request: &Request) -> bool {
    std::path::Path::new(&format!("/proc/self/task/{}", request.pid())).exists()
}

fn ttl_of(attr: &Attr) -> Duration {
    if attr.is_fixed { FIXED_TTL } else { NAME_TTL }
}

/// Answers with an attribute's value, or with its length if only that is requested.
fn reply_xattr(value: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match value {
        Err(e) => reply.error(e),
        Ok(value) => match u32::try_from(value.len()) {
            Ok(len) if size == 0 => reply.size(len),
            Ok(len) if len <= size => reply.data(&value),
            _ => reply.error(Errno::ERANGE),
        },
    }
}

thread_local! {
    /// The buffer for answers to reads. It grows to the largest request.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Filesystem for ViewFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // An older kernel may lack them, and works without.
        for wanted in [InitFlags::FUSE_PARALLEL_DIROPS, InitFlags::FUSE_CACHE_SYMLINKS] {
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if is_own(request) {
            return reply.error(Errno::ELOOP);
        }
        match self.view.lookup(parent.0, name) {
            Ok(attr) => {
                reply.entry_with_ttls(&ttl_of(&attr), &NAME_TTL, &attr_of(&attr), Generation(0));
            }
            Err(e) => reply.error(errno(&e)),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.view.forget(ino.0, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.view.attr(ino.0) {
            Ok(attr) => reply.attr(&ttl_of(&attr), &attr_of(&attr)),
            Err(e) => reply.error(errno(&e)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.view.link(ino.0) {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(e) => reply.error(errno(&e)),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        match self.view.open(ino.0) {
            Ok(handle) => {
                let keep = if handle.archive().is_some() {
                    FopenFlags::FOPEN_KEEP_CACHE
                } else {
                    FopenFlags::empty()
                };
                self.open.fetch_add(1, Ordering::Relaxed);
                reply.opened(self.files.add(handle), keep);
            }
            Err(e) => reply.error(errno(&e)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let handle = match self.files.find(handle) {
            Ok(handle) => handle,
            Err(e) => return reply.error(e),
        };
        BUFFER.with_borrow_mut(|buffer| {
            let size = usize::try_from(size).expect("the kernel asks for a mebibyte at most");
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            match handle.read(&self.view, offset, &mut buffer[..size]) {
                Ok(n) => reply.data(&buffer[..n]),
                Err(e) => reply.error(errno(&e)),
            }
        });
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if self.files.remove(handle).is_some() {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        reply.ok();
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.view.list(ino.0) {
            Ok(entries) => reply.opened(self.directories.add(entries), FopenFlags::empty()),
            Err(e) => reply.error(errno(&e)),
        }
    }

    fn readdir(&self, _: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = match self.directories.find(handle) {
            Ok(entries) => entries,
            Err(e) => return reply.error(e),
        };
        let dots = [".", ".."].map(|name| (ino, FileType::Directory, OsStr::new(name)));
        let names = entries.iter().map(|e| (INodeNo(e.ino), type_of(e.kind), e.name.as_os_str()));
        let all = (1..).zip(dots.into_iter().chain(names));
        // The offset of an entry is the number of entries up to it.
        for (next, (ino, kind, name)) in all.skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(ino, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.directories.remove(handle);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match rustix::fs::statvfs(self.view.source()) {
            Ok(s) => {
                let size = |n: u64| u32::try_from(n).unwrap_or(4096);
                let (block, fragment) = (size(s.f_bsize), size(s.f_frsize));
                reply.statfs(s.f_blocks, s.f_bfree, s.f_bavail, s.f_files, s.f_ffree, block, 255, fragment);
            }
            Err(e) => reply.error(Errno::from_i32(e.raw_os_error())),
        }
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let value =
            if name.as_encoded_bytes() == ARCHIVE_XATTR { self.xattr(ino) } else { Err(Errno::NO_XATTR) };
        reply_xattr(value, size, reply);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let names = self.view.archive_path(ino.0).map_err(|e| errno(&e));
        let names =
            names.map(|path| if path.is_some() { [ARCHIVE_XATTR, b"\0"].concat() } else { Vec::new() });
        reply_xattr(names, size, reply);
    }
}
