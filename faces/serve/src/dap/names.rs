//! Names in DAP2.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Characters of names that DAP2 does not encode.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'_')
    .remove(b'-')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'+');

/// Returns a name in DAP2: all but a few characters are percent-encoded.
pub(crate) fn name_of(bytes: &[u8]) -> String {
    percent_encode(bytes, PLAIN).to_string()
}

/// Returns whether netCDF-C can read a name. With an encoded first character it refuses the whole data set.
pub(crate) fn is_readable(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first.is_ascii_alphanumeric() || *first == b'_')
}

/// Characters of names of attributes that are not encoded. Clients show encoded ones as they are sent, and netCDF-C reads no
/// others.
const PLAIN_IN_ATTRIBUTES: &AsciiSet =
    &PLAIN.remove(b':').remove(b'#').remove(b'\'').remove(b'%').remove(b'\\');

/// Returns the name of an attribute in DAP2.
pub(crate) fn attribute_name(bytes: &[u8]) -> String {
    percent_encode(bytes, PLAIN_IN_ATTRIBUTES).to_string()
}
