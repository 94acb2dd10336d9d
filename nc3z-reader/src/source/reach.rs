//! The cost of requests to a source.

/// The cost of requests to a source, and the limits of a request.
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
    /// Bytes that arrive in the time that a request waits for its answer: the cost of one request. This is
    /// the largest gap between two wanted ranges that is read. [`Reach::merge`] decides.
    pub gap: u64,
    /// Largest length in bytes of a merged request.
    pub request_len: u64,
    /// Largest number of simultaneous requests. 0 means that a request costs nothing and each range is best
    /// read when it is needed.
    pub requests: usize,
    /// Bytes to read of a structure whose length is only in its own header.
    pub speculative_len: u64,
    /// Bytes to read from the beginning when an archive is opened.
    pub head_len: u64,
    /// Bytes to read from the end when an archive is opened.
    pub tail_len: u64,
}

impl Reach {
    /// A map, a file or memory: a read costs no more than its bytes.
    pub const LOCAL: Reach = Reach {
        gap: 0,
        request_len: u64::MAX,
        requests: 0,
        speculative_len: 4 << 10,
        head_len: 4 << 10,
        tail_len: 64 << 10,
    };

    /// An object store: a request costs as much as 2 MiB, which take 20 ms at 100 MB/s. 128 simultaneous
    /// requests are the maximum of other readers of object stores. The source measures how many its server
    /// accepts.
    pub const REMOTE: Reach = Reach {
        gap: 2 << 20,
        request_len: 16 << 20,
        requests: 128,
        speculative_len: 256 << 10,
        head_len: 16 << 10,
        tail_len: 256 << 10,
    };

    /// Returns true if readers should fetch the bytes that they will need together, ahead of their use.
    pub fn fetches_ahead(&self) -> bool {
        self.requests > 0
    }

    /// Sets the length of the largest gap that is read.
    #[must_use]
    pub fn with_gap(mut self, bytes: u64) -> Self {
        self.gap = bytes;
        self
    }

    /// Sets the largest length of a merged request.
    #[must_use]
    pub fn with_request_len(mut self, bytes: u64) -> Self {
        self.request_len = bytes;
        self
    }

    /// Sets the largest number of simultaneous requests.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// Sets the number of bytes to read of a structure whose length is only in its own header.
    #[must_use]
    pub fn with_speculative_len(mut self, bytes: u64) -> Self {
        self.speculative_len = bytes;
        self
    }

    /// Sets the numbers of first and last bytes to read when an archive is opened.
    #[must_use]
    pub fn with_ends(mut self, head: u64, tail: u64) -> Self {
        (self.head_len, self.tail_len) = (head, tail);
        self
    }
}
