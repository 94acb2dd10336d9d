//! Digests of archives and classic files. One forward pass over the (restored) file computes the SHA-256 of
//! its bytes and the content digests. It runs in parallel, in the memory of a restore.

mod aliased;
mod recorded;
mod stream;

use crate::archive::Archive;
use crate::classic::ClassicFile;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::parallel;
use crate::source::ByteSource;
use nc3z_format::classic::{Header, Layout};
use nc3z_format::digest::{Hash, Root, content_root, encode_tree, variable_digest};
pub(super) use recorded::differs;
pub(super) use stream::Stream;

/// Bytes of a classic file that are read at a time: two windows fit into a processor's second cache, so that bytes
/// are hashed from there.
const WINDOW_LEN: u64 = 512 << 10;

/// Selects the digests to compute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DigestRequest {
    /// The content digests of the file and of each variable.
    pub content: bool,
    /// SHA-256 of the classic file's bytes.
    pub sha256: bool,
    /// A tree file (`spec/proof.md`), with the digests of the content.
    pub tree: bool,
}

/// Digests computed from the bytes, never taken from a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digests {
    /// Bytes of the classic file.
    pub len: u64,
    /// SHA-256 of the classic file's bytes, if wanted.
    pub sha256: Option<Hash>,
    /// The root of the file (`spec/digest.md`), if wanted.
    pub content: Option<Hash>,
    /// The digest of each variable, in the header's order; empty unless content is wanted.
    pub variables: Vec<Hash>,
    /// The tree file, if wanted.
    pub tree: Option<Vec<u8>>,
}

impl Digests {
    /// The root of the file, if its content was hashed.
    pub fn root(&self) -> Option<Root> {
        self.content.map(Root)
    }
}

impl Archive {
    /// Decodes everything and computes digests of the original and of its content.
    ///
    /// # Errors
    /// Damage; a SHA-256 that differs from the recorded one; a cancelled monitor; variables that overlap so
    /// often that reading them would not end (a limit).
    pub fn digests(&self, wanted: DigestRequest, monitor: &dyn Monitor) -> Result<Digests> {
        let mut stream = Stream::new(self.layout(), wanted)?;
        self.restore_into(monitor, &mut |at, bytes: &[u8]| {
            stream.feed(at, bytes);
            Ok::<_, Error>(())
        })?;
        let source = self.original();
        let digests = finish(stream, self.header(), self.layout(), &source, wanted, monitor)?;
        if let Some(sha256) = &digests.sha256 {
            self.check_recorded(sha256)?;
        }
        Ok(digests)
    }
}

impl Archive {
    /// The recorded digests, if all wanted ones are recorded. Nothing is decoded. `variables` requests the
    /// digests of the variables too.
    pub fn digests_on_record(&self, wanted: DigestRequest, variables: bool) -> Option<Digests> {
        let sha256 = self.digest().sha256()?;
        let record = self.recorded_digests();
        let has_variables = record.variables.len() == self.header().variables.len();
        if wanted.tree || (wanted.content && record.content.is_none()) || (variables && !has_variables) {
            return None;
        }
        Some(Digests {
            len: self.original_len(),
            sha256: wanted.sha256.then_some(sha256),
            content: record.content.filter(|_| wanted.content),
            variables: record.variables,
            tree: None,
        })
    }
}

impl ClassicFile {
    /// Reads everything and computes digests of the file and of its content.
    ///
    /// # Errors
    /// As [`Archive::digests`].
    pub fn digests(&self, wanted: DigestRequest, monitor: &dyn Monitor) -> Result<Digests> {
        self.digests_with(wanted, &mut |_| (), monitor)
    }

    /// As [`Self::digests`], and passes all bytes of the file to `seen`, in order.
    ///
    /// # Errors
    /// As [`Archive::digests`].
    pub fn digests_with(
        &self,
        wanted: DigestRequest,
        seen: &mut (dyn FnMut(&[u8]) + Send),
        monitor: &dyn Monitor,
    ) -> Result<Digests> {
        let source = &**self.source();
        let mut stream = Stream::new(self.layout(), wanted)?;
        let read = |at: u64, window: &mut Vec<u8>| -> Result<()> {
            let len = WINDOW_LEN.min(source.len() - at);
            window.resize(usize::try_from(len).expect("at most WINDOW_LEN"), 0);
            source.read_into(at, window)
        };
        let (mut ready, mut spare, mut at) = (Vec::new(), Vec::new(), 0);
        read(at, &mut ready)?;
        while !ready.is_empty() {
            if monitor.is_cancelled() {
                return Err(Error::interrupted());
            }
            let next = at + ready.len() as u64;
            // The next window is read while this one is hashed.
            let feed = || {
                seen(&ready);
                stream.feed(at, &ready);
            };
            parallel::join(feed, || read(next, &mut spare)).1?;
            monitor.advance(ready.len() as u64);
            at = next;
            std::mem::swap(&mut ready, &mut spare);
        }
        let digests = finish(stream, self.header(), self.layout(), source, wanted, monitor)?;
        source.check_unchanged()?;
        Ok(digests)
    }
}

/// Computes the digests that the stream cannot: of aliased variables, and of the whole content.
pub(super) fn finish(
    stream: Stream<'_>,
    header: &Header,
    layout: &Layout,
    source: &dyn ByteSource,
    wanted: DigestRequest,
    monitor: &dyn Monitor,
) -> Result<Digests> {
    let (sha256, mut trees) = stream.finish();
    let mut digests =
        Digests { len: layout.file_len, sha256, content: None, variables: Vec::new(), tree: None };
    if wanted.content || wanted.tree {
        aliased::fill(layout, source, monitor, &mut trees)?;
        let each = layout.variables.iter().zip(&trees.roots);
        digests.variables = each.map(|(variable, root)| variable_digest(variable, root)).collect();
        digests.content = Some(content_root(header, layout, &digests.variables).0);
    }
    if let Some(nodes) = trees.nodes {
        let each: Vec<_> = trees.roots.into_iter().zip(nodes).collect();
        digests.tree = Some(encode_tree(layout, &each));
    }
    Ok(digests)
}
