//! Names as CDL writes them.

/// Appends a name, with characters that are special in CDL escaped: `\` before punctuation and a leading
/// digit, `\%xx` for control characters. Bytes beyond ASCII are unchanged. A name ends at its first NUL, as
/// in libnetcdf.
pub fn escape_name(name: &[u8], out: &mut Vec<u8>) {
    let name = until_nul(name);
    if name.first().is_some_and(u8::is_ascii_digit) {
        out.push(b'\\');
    }
    for &byte in name {
        match byte {
            0..0x20 | 0x7F => {
                out.extend_from_slice(b"\\%");
                out.extend_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
            }
            b' ' | b'!' | b'"' | b'#' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b',' | b':' | b';'
            | b'<' | b'=' | b'>' | b'?' | b'[' | b']' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'~' => {
                out.extend_from_slice(&[b'\\', byte]);
            }
            _ => out.push(byte),
        }
    }
}

/// The name up to its first NUL.
pub(crate) fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|&b| b == 0).next().unwrap_or(name)
}

fn hex(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit)]
}

/// Appends one byte of quoted text, except line feeds: C's escapes, or octal for bytes that `raw` does not
/// accept.
pub(crate) fn escape_text(byte: u8, raw: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    match byte {
        0x08 => out.extend_from_slice(b"\\b"),
        0x0C => out.extend_from_slice(b"\\f"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x0B => out.extend_from_slice(b"\\v"),
        b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', byte]),
        _ if raw(byte) => out.push(byte),
        _ => {
            let octal = [byte >> 6, byte >> 3 & 7, byte & 7].map(|d| d + b'0');
            out.push(b'\\');
            out.extend_from_slice(&octal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        for (name, text) in [
            (&b"tas"[..], "tas"),
            (b"2m temp", "\\2m\\ temp"),
            (b"a/b.c-d_e+f@g%", "a/b.c-d_e+f@g%"),
            (b"tab\tdel\x7f", "tab\\%09del\\%7f"),
            ("température".as_bytes(), "température"),
            (b"cut\0off", "cut"),
            (b"", ""),
        ] {
            let mut out = Vec::new();
            escape_name(name, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
