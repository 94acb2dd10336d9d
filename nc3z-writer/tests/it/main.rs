//! Archives of small classic files: everything restores, with every way of reading.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod chunks;
mod classic;
mod determinism;
mod finer;
mod layouts;
mod memory;
mod repaired;
#[cfg(test)]
mod repaired_files;
mod short;
mod sizes;
mod support;
