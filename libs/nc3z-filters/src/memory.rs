//! The memory of a worker process: limits for a call, and for the memory that remains in use after it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::thread::available_parallelism;

/// The maximal address space of a worker: stacks, libraries, and memory that allocators reserve.
const MOST_ADDRESSES: u64 = 6 << 30;
/// The fixed part of the memory that a call may use: windows and tables of compressors at high levels take
/// about 100 MiB.
const FIXED: u64 = 512 << 20;
/// The additional memory that a call may use for each processor: threads of a filter have stacks of 8 MiB and
/// heaps.
const FOR_A_THREAD: u64 = 16 << 20;
/// The memory that a call may use for each input or output byte: filters for floats work with several copies
/// in double precision.
const FOR_A_BYTE: u64 = 32;
/// The memory that may remain in use after a call, besides its own bytes: allocators keep freed memory.
const MAY_STAY: u64 = 256 << 20;
const MAY_STAY_FOR_A_BYTE: u64 = 8;

/// Sets the limits of the process: its address space, and no core dumps.
pub(crate) fn limit_process() {
    // If a limit is refused, a lower one is in force.
    let _ = setrlimit(Resource::As, of(MOST_ADDRESSES));
    let _ = setrlimit(Resource::Core, of(0));
}

fn of(most: u64) -> Rlimit {
    Rlimit { current: Some(most), maximum: Some(most) }
}

/// The memory that remains in use after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// An insignificant amount.
    Little,
    /// The amount that several calls together may leave: the process is not used for another call.
    Much,
    /// The memory is larger than one call may leave behind; its size in bytes.
    TooMuch(u64),
}

/// The memory of this process, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// The memory in use.
    resident: u64,
    /// The writable memory, used or not.
    data: u64,
}

impl Memory {
    /// Returns the current values. `None` if the system does not report them.
    pub(crate) fn now() -> Option<Self> {
        let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
        let page = rustix::param::page_size() as u64;
        let mut fields = pages.split_ascii_whitespace().map(|field| field.parse::<u64>().ok());
        let mut nth = |n| fields.nth(n).flatten()?.checked_mul(page);
        // Size, resident, shared, text, library, data.
        Some(Memory { resident: nth(1)?, data: nth(3)? })
    }

    /// Limits the memory of a call that handles `bytes`, in addition to what the process used at its start.
    pub(crate) fn limit_call(&self, bytes: u64) {
        let threads = available_parallelism().map_or(1, std::num::NonZero::get) as u64;
        let more = FIXED + threads.saturating_mul(FOR_A_THREAD);
        let most = self.data.saturating_add(more).saturating_add(bytes.saturating_mul(FOR_A_BYTE));
        let maximum = getrlimit(Resource::Data).maximum;
        let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
        let _ = setrlimit(Resource::Data, Rlimit { current, maximum });
    }

    /// Removes the limit of [`Memory::limit_call`]: messages between calls do not belong to a plug-in.
    pub(crate) fn lift_limit() {
        let maximum = getrlimit(Resource::Data).maximum;
        let _ = setrlimit(Resource::Data, Rlimit { current: maximum, maximum });
    }

    /// Returns the memory that remains in use after a call that handled `bytes`. `self` is the memory at the
    /// process's start, `before` that before the call.
    pub(crate) fn left(&self, before: &Memory, after: &Memory, bytes: u64) -> Left {
        let may_stay = MAY_STAY.saturating_add(bytes.saturating_mul(MAY_STAY_FOR_A_BYTE));
        let by_call = after.resident.saturating_sub(before.resident);
        match () {
            () if by_call > may_stay => Left::TooMuch(by_call),
            () if after.resident.saturating_sub(self.resident) > may_stay => Left::Much,
            () => Left::Little,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_judged_by_the_call_and_by_all_calls() {
        let of = |mib: u64| Memory { resident: mib << 20, data: 0 };
        for (begin, before, after, bytes, left) in [
            (10, 10, 12, 1000, Left::Little),
            (10, 200, 150, 1000, Left::Little),
            (10, 200, 270, 1000, Left::Much),
            (10, 20, 300, 1000, Left::TooMuch(280 << 20)),
            (10, 20, 300, 10 << 20, Left::Little),
        ] {
            assert_eq!(of(begin).left(&of(before), &of(after), bytes), left, "{begin} {before} {after}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_memory_of_this_process_is_known() {
        let before = Memory::now().unwrap();
        let kept = vec![1_u8; 64 << 20];
        let after = Memory::now().unwrap();
        assert!(after.resident - before.resident > 60 << 20, "{before:?} {after:?} {}", kept.len());
        assert!(after.data >= after.resident / 2, "{after:?}");
    }
}
