//! `libnc3z`: archives and classic files for C, and for all languages that can call C. The header
//! `include/nc3z.h` has the rules. This crate adds pointers to [`nc3z_c_common`], and no logic of its own.
//!
//! A handle is a number with the type of a pointer. It is never used again, so that a closed handle is
//! recognized.

mod code;
mod inquire;
mod open;
mod pointers;
mod read;
mod source;
mod versions;
mod whole;

pub use code::{nc3z_abi_version, nc3z_code_name, nc3z_last_error, nc3z_version};
pub use inquire::{
    nc3z_attribute, nc3z_attribute_id, nc3z_attribute_values, nc3z_dimension, nc3z_dimension_id,
    nc3z_fill_value, nc3z_info, nc3z_inquire, nc3z_type_size, nc3z_variable, nc3z_variable_id,
    nc3z_variable_shape,
};
pub use open::{nc3z_close, nc3z_file, nc3z_open, nc3z_open_memory, nc3z_open_options, nc3z_open_source};
pub use read::{nc3z_read, nc3z_read_original};
pub use source::nc3z_source;
pub use versions::{nc3z_version_info, nc3z_version_text, nc3z_versions};
pub use whole::{nc3z_archive, nc3z_archive_options, nc3z_report, nc3z_restore, nc3z_verify};
