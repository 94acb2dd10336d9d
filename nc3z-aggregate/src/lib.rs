//! Many files as one.

pub mod units;
