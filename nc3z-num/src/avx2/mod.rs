//! Vector instructions by name, where compilers find none in plain loops. Functions here may be called where the processor is known to have
//! AVX2 ([`multiversion::target::match_target`]); beside each call stands what is done elsewhere, with the same results.
//!
//! Vectors come from arrays and become arrays again by [`zerocopy::transmute`], so that nothing here is unsafe.

pub(crate) mod expand;
pub(crate) mod fields;
pub(crate) mod planes;
pub(crate) mod sums;
