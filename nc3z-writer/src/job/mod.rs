//! The jobs that a caller can request, from the first check to the rename. Each job handles one file or folder and
//! writes through [`crate::generation`].

pub(crate) mod archive;
pub(crate) mod commit;
pub(crate) mod estimate;
pub(crate) mod gc;
mod history;
pub(crate) mod quantize;
pub(crate) mod recompress;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod revert;
mod rewritten;
pub(crate) mod state;
pub(crate) mod tag;
