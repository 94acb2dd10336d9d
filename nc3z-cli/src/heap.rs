//! The heap, set up for work on tiles: one arena, in huge pages, that keeps what is freed.
//!
//! Each tile takes a dozen buffers of its length. As glibc sets itself up, each thread has an arena of its own, in pages of 4 KiB, which the
//! system clears one by one when they are first touched, and to which it returns what is freed: a quarter of the time that archiving a file
//! of some MB takes. Figures: `docs/design/0036-heap-of-the-tool.md`.

/// Sets the heap up, once, before threads are started; 0 threads are one for each core. What the system does not grant stays as it was.
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

    /// The most that glibc allows: larger buffers are mapped one by one.
    const MAPPED_LEN: c_int = 32 << 20;
    /// Address space that the heap grows by at first, for each thread, and how many threads count. It is memory only once it is touched.
    const RESERVED_LEN: c_int = 64 << 20;
    const RESERVING_THREADS: usize = 8;
    /// Bytes that it grows by later.
    const GROWTH_LEN: c_int = 16 << 20;
    /// The length of a huge page, or a multiple of it.
    const HUGE_LEN: usize = 2 << 20;

    pub(super) fn set_up(threads: usize) {
        // Whoever limits address space has a use for all of it.
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
        // SAFETY: a block is allocated and freed, for which the heap has to grow. (A pair of calls that nothing is seen of would be left out.)
        unsafe { libc::free(std::hint::black_box(libc::malloc(HUGE_LEN))) };
        set(M_TOP_PAD, GROWTH_LEN);
        let (begin, end) = (before.next_multiple_of(HUGE_LEN), end());
        if end > begin {
            // SAFETY: the range is of the heap, which was extended by it just now; the advice changes no content. Where it is refused, pages
            // stay as they are.
            unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
        }
    }

    /// Whether the process may not have as much as it likes of a resource.
    fn is_limited(resource: libc::__rlimit_resource_t) -> bool {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: it writes to the limit, which lives for the call.
        unsafe { libc::getrlimit(resource, &raw mut limit) };
        limit.rlim_cur != libc::RLIM_INFINITY
    }

    /// One setting of glibc's heap; one that is refused stays as it was.
    fn set(setting: c_int, value: c_int) {
        // SAFETY: it sets a number, and has no other condition.
        unsafe { libc::mallopt(setting, value) };
    }

    /// The address behind the heap's last byte.
    fn end() -> usize {
        // SAFETY: asked for no growth, it tells where the heap ends.
        unsafe { libc::sbrk(0) }.addr()
    }
}
