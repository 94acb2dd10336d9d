//! Archives of small classic files: everything comes back, by every way of reading.

mod classic;
mod determinism;
mod layouts;
mod support;
