//! The state that a worker of a read keeps from one tile to the next.

use crate::error::Error;
use bytes::Bytes;
use nc3z_format::codec::CodecScratch;
use std::cell::Cell;

thread_local! {
    /// The codec contexts and buffers of this thread, while no worker has them. Creating them takes longer than
    /// decoding a small tile. A pool that threads share would need a lock, which a forked child may find taken.
    static SPARE: Cell<Option<Box<CodecScratch>>> = const { Cell::new(None) };
}

/// A worker that decodes tiles of one archive, one after another.
#[derive(Default)]
pub(crate) struct Worker {
    codec: Option<Box<CodecScratch>>,
    /// The last two containers, each with its offset: that of the tiles, and that of the older tiles which
    /// they are coded against. They stay in memory even if the cache evicts them, so that a container is not
    /// decoded again for each of its members.
    containers: [Option<(u64, Bytes)>; 2],
    /// The offset of a container that could not be decoded, and the error.
    failed: Option<(u64, Error)>,
}

impl Worker {
    /// The codec contexts and buffers.
    pub(super) fn codec(&mut self) -> &mut CodecScratch {
        self.codec.get_or_insert_with(|| SPARE.take().unwrap_or_default())
    }

    /// The container at `offset`, if it was one of the last two.
    pub(super) fn container(&mut self, offset: u64) -> Option<&Bytes> {
        let is_it = |held: &Option<(u64, Bytes)>| held.as_ref().is_some_and(|(at, _)| *at == offset);
        if is_it(&self.containers[1]) {
            self.containers.swap(0, 1);
        }
        self.containers[0].as_ref().filter(|(at, _)| *at == offset).map(|(_, bytes)| bytes)
    }

    /// The error of the container at `offset`, if it was not returned yet.
    pub(super) fn failure(&mut self, offset: u64) -> Option<Error> {
        self.failed.take_if(|(at, _)| *at == offset).map(|(_, error)| error)
    }

    /// Keeps the error of a container for the first of its members.
    pub(super) fn fail(&mut self, offset: u64, error: Error) {
        self.failed = Some((offset, error));
    }

    /// Keeps a decoded container.
    pub(super) fn hold(&mut self, offset: u64, container: Bytes) {
        self.containers.swap(0, 1);
        self.containers[0] = Some((offset, container));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(codec) = self.codec.take() {
            SPARE.set(Some(codec));
        }
    }
}
