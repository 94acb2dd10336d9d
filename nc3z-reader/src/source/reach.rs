//! How a source likes to be read.

/// What a request costs a source, in terms of what is worth asking for with it.
///
/// ```
/// use nc3z_reader::source::Reach;
/// let near_store = Reach::REMOTE.with_gap(64 << 10).with_requests(64);
/// assert!(near_store.fetches_ahead());
/// assert!(!Reach::LOCAL.fetches_ahead());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reach {
    /// Bytes that arrive in the time that a request waits for its answer: what one request costs. No more than this is read between two
    /// wanted ranges; [`Reach::merge`] decides.
    pub gap: u64,
    /// Bytes of a merged request at most.
    pub request_len: u64,
    /// Requests under way at once, at most; 0 where a request costs nothing, so that each range is best read when
    /// it is needed.
    pub requests: usize,
    /// Bytes read of something whose length only its own header tells.
    pub speculative_len: u64,
    /// Bytes of the beginning that are read when an archive is opened.
    pub head_len: u64,
    /// Bytes of the end that are read when an archive is opened.
    pub tail_len: u64,
}

impl Reach {
    /// A map, a file, memory: a read costs no more than its bytes.
    pub const LOCAL: Reach = Reach {
        gap: 0,
        request_len: u64::MAX,
        requests: 0,
        speculative_len: 4 << 10,
        head_len: 4 << 10,
        tail_len: 64 << 10,
    };

    /// An object store: a request costs as much as two mebibytes, which is 20 ms at 100 MB/s. 128 requests at once are the most of other readers of
    /// object stores; the source finds out how many its server bears.
    pub const REMOTE: Reach = Reach {
        gap: 2 << 20,
        request_len: 16 << 20,
        requests: 128,
        speculative_len: 256 << 10,
        head_len: 16 << 10,
        tail_len: 256 << 10,
    };

    /// Whether what will be needed should be fetched together, ahead of its use.
    pub fn fetches_ahead(&self) -> bool {
        self.requests > 0
    }

    /// With this gap.
    #[must_use]
    pub fn with_gap(mut self, bytes: u64) -> Self {
        self.gap = bytes;
        self
    }

    /// With merged requests of this length at most.
    #[must_use]
    pub fn with_request_len(mut self, bytes: u64) -> Self {
        self.request_len = bytes;
        self
    }

    /// With so many requests at once.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// With so many bytes read of what tells its own length.
    #[must_use]
    pub fn with_speculative_len(mut self, bytes: u64) -> Self {
        self.speculative_len = bytes;
        self
    }

    /// With so many first and last bytes read when an archive is opened.
    #[must_use]
    pub fn with_ends(mut self, head: u64, tail: u64) -> Self {
        (self.head_len, self.tail_len) = (head, tail);
        self
    }
}
