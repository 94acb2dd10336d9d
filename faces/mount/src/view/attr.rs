//! Attributes of files: of those in the source, and of those in the view.

use sha2::{Digest, Sha256};
use std::time::SystemTime;

/// The length of a block in `stat`, in bytes.
pub const BLOCK_LEN: u64 = 512;

/// The kind of a file of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

/// Attributes of a file of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// The number of the node.
    pub ino: u64,
    /// The kind of the node.
    pub kind: NodeKind,
    /// Length in bytes.
    pub size: u64,
    /// The number of blocks of [`BLOCK_LEN`] bytes on disk: for an original, those of its archive.
    pub blocks: u64,
    /// Permission bits.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of the last read.
    pub accessed: SystemTime,
    /// Time of the last change of content. An archive has the time of its original.
    pub modified: SystemTime,
    /// Time of the last change of the inode.
    pub changed: SystemTime,
    /// True if neither the bytes nor the size of this number ever change.
    pub is_fixed: bool,
}

/// Attributes of a file of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: NodeKind,
    pub(crate) len: u64,
    pub(crate) blocks: u64,
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) accessed: SystemTime,
    pub(crate) modified: SystemTime,
    pub(crate) changed: SystemTime,
    /// The identity of the file, independent of its name.
    pub(crate) file: u64,
}

/// Attributes that change if the content of a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    file: u64,
    len: u64,
    modified: SystemTime,
    changed: SystemTime,
}

impl Signature {
    /// Returns a digest of all attributes.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let time = |t: SystemTime| {
            let (sign, since) = match t.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(since) => (0, since),
                Err(e) => (1_u128, e.duration()),
            };
            (since.as_nanos() << 1 | sign).to_le_bytes()
        };
        let Signature { file, len, modified, changed } = *self;
        digest(&[b"file", &file.to_le_bytes(), &len.to_le_bytes(), &time(modified), &time(changed)])
    }
}

impl Stat {
    pub(crate) fn signature(&self) -> Signature {
        let Stat { file, len, modified, changed, .. } = *self;
        Signature { file, len, modified, changed }
    }

    /// Returns the attributes of a directory that the source does not have. Users who may read the file may list it.
    pub(crate) fn as_directory(&self) -> Self {
        let mode = self.mode & 0o444 | (self.mode & 0o444) >> 2;
        Stat { kind: NodeKind::Directory, len: 0, blocks: 0, mode, ..*self }
    }

    /// Returns the attributes of a file that is shown unchanged.
    pub(crate) fn attr(&self, ino: u64) -> Attr {
        Attr {
            ino,
            kind: self.kind,
            size: self.len,
            blocks: self.blocks,
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            accessed: self.accessed,
            modified: self.modified,
            changed: self.changed,
            is_fixed: false,
        }
    }
}

/// Returns the kind of a file; `None` for pipes, sockets and devices.
pub(crate) fn kind_of(kind: std::fs::FileType) -> Option<NodeKind> {
    match kind {
        k if k.is_dir() => Some(NodeKind::Directory),
        k if k.is_file() => Some(NodeKind::File),
        k if k.is_symlink() => Some(NodeKind::Link),
        _ => None,
    }
}

/// Returns a number that depends only on the parts, on any machine and in any run.
pub(crate) fn number(parts: &[&[u8]]) -> u64 {
    let digest = digest(parts);
    u64::from_le_bytes(digest[..8].try_into().expect("eight bytes"))
}

/// Returns a digest that depends only on the parts.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    sha.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_where_parts_end() {
        assert_ne!(number(&[b"ab", b"c"]), number(&[b"a", b"bc"]));
        assert_eq!(number(&[b"ab", b"c"]), number(&[b"ab", b"c"]));
    }
}
