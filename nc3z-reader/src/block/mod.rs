//! Stored blocks to decoded tiles.

mod containers;
mod fetch;
mod pages;

pub(crate) use containers::Containers;
pub(crate) use pages::Pages;
