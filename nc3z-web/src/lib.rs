//! The reader for browsers: archives and classic files by byte ranges that the page fetches.
//!
//! WebAssembly cannot wait for a request, and the reader asks for bytes where it needs them. So every operation is an attempt: where bytes are
//! missing it ends with the ranges that it needs ([`Outcome::Fetch`]), and is repeated when they were given ([`File::provide`]). The reader
//! plans ahead for sources that pay for requests, so that a few rounds suffice, each of several ranges that are fetched at once.
//!
//! The module has no imports, and a handful of exports (`exports.rs`): bytes in, bytes out. `page/` is the page over it, by plain JavaScript.
//! docs/design/0043-reader-in-the-browser.md says why it is made so.

mod describe;
mod exports;
mod file;
mod held;
mod request;

pub use file::{File, Form, Outcome};
pub use request::{Reply, Session, Status};
