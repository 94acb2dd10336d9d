//! Reader.
