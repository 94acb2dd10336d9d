//! Formats units, and makes names from files safe for a terminal.

use nc3z_format::quantize::VariableLoss;

/// Describes the rounding of a variable in one line.
pub(crate) fn loss(v: &VariableLoss) -> String {
    format!(
        "{} {}: {} of {} values changed, by at most {:.6e} (relative {:.6e})",
        safe(&v.name),
        safe(&v.quantize),
        v.changed,
        v.elements,
        v.max_abs_error,
        v.max_rel_error
    )
}

pub(crate) use nc3z_format::bytes::hex;
pub(crate) use nc3z_look::text::{name, ratio, safe, size};
