//! Comments with the indices of a value or row.

use super::name::escape_name;
use super::number::unsigned;
use super::style::Indices;

/// The comment after value `column` of the row whose outer indices are `outer`. The text continues on a new
/// line.
pub(crate) fn value(name: &[u8], indices: Indices, outer: &[u64], column: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"  // ");
    escape_name(name, out);
    out.push(b'(');
    match indices {
        Indices::C => {
            outer_c(outer, out);
            unsigned(column, out);
        }
        Indices::Fortran => {
            unsigned(column + 1, out);
            outer_fortran(outer, out);
        }
    }
    out.extend_from_slice(b")\n    ");
}

/// In front of a row of `columns` values; the row follows on a new line, indented by four.
pub(crate) fn row(name: &[u8], indices: Indices, outer: &[u64], columns: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"// ");
    escape_name(name, out);
    out.push(b'(');
    match indices {
        Indices::C => {
            outer_c(outer, out);
            if columns == 1 {
                out.push(b'0');
            } else {
                out.extend_from_slice(b" 0-");
                unsigned(columns - 1, out);
            }
        }
        Indices::Fortran => {
            if columns == 1 {
                out.push(b'1');
            } else {
                out.extend_from_slice(b"1-");
                unsigned(columns, out);
                out.push(b' ');
            }
            outer_fortran(outer, out);
        }
    }
    out.extend_from_slice(b")\n    ");
}

/// The outer indices, each followed by a comma.
fn outer_c(outer: &[u64], out: &mut Vec<u8>) {
    for &i in outer {
        unsigned(i, out);
        out.push(b',');
    }
}

fn outer_fortran(outer: &[u64], out: &mut Vec<u8>) {
    for &i in outer.iter().rev() {
        out.push(b',');
        unsigned(i + 1, out);
    }
}
