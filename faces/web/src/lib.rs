//! The reader for browsers: archives and classic files by byte ranges that the page fetches.
//!
//! WebAssembly cannot wait for a request in the middle of a read. Therefore every operation is an attempt. If
//! bytes are missing, it ends with the ranges that it needs ([`Outcome::Fetch`]), and is repeated after they
//! were provided ([`File::provide`]). The reader plans ahead for sources with expensive requests, so that a
//! few rounds suffice. The ranges of a round are fetched at once.
//!
//! The module has no imports, and a few exports (`exports.rs`): bytes in, bytes out. `page/` contains the
//! page that uses it, in plain JavaScript. For the reasons see docs/design/0043-reader-in-the-browser.md.

mod describe;
mod exports;
mod file;
mod provided;
mod request;

pub use file::{File, Form, Outcome};
pub use request::{Reply, Session, Status};
