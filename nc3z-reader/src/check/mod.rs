//! Checks of archives, and access to damaged ones: [`verify`] finds damage, [`recover`] opens in spite of it,
//! [`parity`] repairs it.

pub mod parity;
pub mod recover;
pub mod verify;
