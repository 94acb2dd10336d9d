//! Configures the heap for work on tiles: one arena, in huge pages, that keeps freed memory.
//!
//! Each tile needs a dozen buffers of its length. By default glibc gives each thread an arena of its own, in
//! pages of 4 KiB. The system clears each page when it is first touched, and gets freed pages back. That
//! takes a quarter of the time of archiving a file of some MB. Figures:
//! `docs/design/0036-heap-of-the-tool.md`.

/// Configures the heap once, before threads are started. 0 threads means one for each core. A setting that
/// the system refuses is unchanged.
pub(crate) fn set_up(threads: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    {
        static DONE: std::sync::Once = std::sync::Once::new();
        DONE.call_once(|| glibc::set_up(threads));
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
    let _ = threads;
}

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "glibc's heap is set up by calls of C")]
mod glibc {
    use libc::{M_ARENA_MAX, M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, c_int};

    /// glibc's maximum: larger buffers are mapped one by one.
    const MAPPED_LEN: c_int = 32 << 20;
    /// The address space by which the heap grows at first, for each thread, and the number of threads that
    /// count. It uses memory only after it is touched.
    const RESERVED_LEN: c_int = 64 << 20;
    const RESERVING_THREADS: usize = 8;
    /// The number of bytes by which it grows later.
    const GROWTH_LEN: c_int = 16 << 20;
    /// The length of a huge page, or a multiple of it.
    const HUGE_LEN: usize = 2 << 20;

    pub(super) fn set_up(threads: usize) {
        // If the address space is limited, the program may need all of it.
        if is_limited(libc::RLIMIT_AS) || is_limited(libc::RLIMIT_DATA) {
            return;
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = if threads == 0 { cores() } else { threads }.min(RESERVING_THREADS);
        let reserved = c_int::try_from(threads).map_or(RESERVED_LEN, |threads| threads * RESERVED_LEN);
        set(M_ARENA_MAX, 1);
        set(M_MMAP_THRESHOLD, MAPPED_LEN);
        set(M_TRIM_THRESHOLD, c_int::MAX);
        set(M_TOP_PAD, reserved);
        let before = end();
        // SAFETY: a block is allocated and freed, so that the heap has to grow. (black_box prevents the
        // compiler from removing the two calls.)
        unsafe { libc::free(std::hint::black_box(libc::malloc(HUGE_LEN))) };
        set(M_TOP_PAD, GROWTH_LEN);
        let (begin, end) = (before.next_multiple_of(HUGE_LEN), end());
        if end > begin {
            // SAFETY: the range belongs to the heap, which was extended just before. The advice does not
            // change the content. If it is refused, the pages are unchanged.
            unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
        }
    }

    /// Returns whether a resource of the process is limited.
    fn is_limited(resource: libc::__rlimit_resource_t) -> bool {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: it writes to the limit, which is valid during the call.
        unsafe { libc::getrlimit(resource, &raw mut limit) };
        limit.rlim_cur != libc::RLIM_INFINITY
    }

    /// Sets one setting of glibc's heap. If it is refused, it is unchanged.
    fn set(setting: c_int, value: c_int) {
        // SAFETY: it only sets a number.
        unsafe { libc::mallopt(setting, value) };
    }

    /// Returns the address after the heap's last byte.
    fn end() -> usize {
        // SAFETY: for a growth of 0, it returns the end of the heap.
        unsafe { libc::sbrk(0) }.addr()
    }
}
