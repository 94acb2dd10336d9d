//! What a caller asks for, from the first check to the rename: one file or folder a job, each through
//! [`crate::generation`].

pub(crate) mod archive;
mod changed;
pub(crate) mod commit;
mod dropped;
mod equal;
pub(crate) mod estimate;
pub(crate) mod gc;
mod history;
mod input;
pub(crate) mod quantize;
pub(crate) mod recompress;
pub(crate) mod repair;
pub(crate) mod saved;
pub(crate) mod state;
pub(crate) mod tag;
