//! Stored blocks to decoded tiles.

mod containers;
mod dictionaries;
mod fetch;
mod pages;

pub(crate) use containers::Containers;
pub(crate) use dictionaries::Dictionaries;
pub(crate) use pages::Pages;
