//! What a reader makes of archives that are damaged, spliced, hostile, or only large.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../nc3z-writer/tests/it/classic.rs"]
mod classic;
#[path = "../../../fuzz/src/targets.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate's library, where these are public")]
mod targets;

mod cache;
mod corpus;
mod damage;
mod dataset;
mod faulty;
mod generations;
mod hostile;
mod hostile_recover;
mod lossy;
mod original_tiles;
mod references;
mod registry;
mod repair;
mod replay;
mod requests;
mod short;
mod source_faults;
mod support;
mod verified;
mod verify;
