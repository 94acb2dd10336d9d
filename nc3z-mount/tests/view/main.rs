//! What a view shows, of a directory, an archive and a bundle; and what becomes of it when its files change.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod change;
mod names;
mod sources;
mod support;
