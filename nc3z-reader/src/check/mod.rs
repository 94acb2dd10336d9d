//! Whether an archive is whole, and what can be had of one that is not: [`verify`] finds damage, [`recover`] opens in spite of it,
//! [`parity`] undoes it.

pub mod parity;
pub mod recover;
pub mod verify;
