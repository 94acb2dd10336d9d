//! Explicit vector instructions for loops that compilers do not vectorize. These functions may be called only if
//! the processor is known to have AVX2 ([`multiversion::target::match_target`]). Next to each call is the code for
//! other processors, with the same results.
//!
//! Vectors are converted from and to arrays by [`zerocopy::transmute`], so no code here is unsafe.

pub(crate) mod expand;
pub(crate) mod fields;
pub(crate) mod mix;
pub(crate) mod planes;
pub(crate) mod running_sums;
