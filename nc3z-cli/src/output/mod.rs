//! What a person sees: safe names, sizes, progress.

pub(crate) mod progress;
pub(crate) mod text;
