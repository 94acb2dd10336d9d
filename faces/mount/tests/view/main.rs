//! Tests views of a directory, an archive and a bundle, and their reaction to changes of the files.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod change;
mod names;
mod sources;
mod support;
