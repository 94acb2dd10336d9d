//! Names of dimensions, variables and attributes between separators. A backslash makes the next character a
//! part of the name. This rule applies wherever the command line has a name next to `,`, `:`, `=` or `@`.

use crate::classic::Header;

/// The separators of names, and the backslash itself.
const SEPARATORS: &[u8] = br",:=@\";

/// Splits at separators without a backslash before them. Backslashes are kept.
pub fn split(text: &[u8], separator: u8) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, separator) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts
}

/// Splits at the first separator without a backslash before it. Backslashes are kept.
pub fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    let at = find(text.as_bytes(), u8::try_from(separator).ok()?)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Finds the first separator without a backslash before it.
fn find(text: &[u8], separator: u8) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&byte| {
        let found = byte == separator && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}

/// Removes the backslashes from a name, and keeps the character after each.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next().or(Some(c)) } else { Some(c) });
    }
    out
}

/// Removes the backslashes from the bytes of a name, and keeps the byte after each.
pub fn unescape_bytes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        out.push(if byte == b'\\' { *bytes.next().unwrap_or(&byte) } else { byte });
    }
    out
}

/// Splits names at commas.
pub fn list(text: &str) -> Vec<String> {
    let names = split(text.as_bytes(), b',').into_iter().filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(&unescape_bytes(name)).into_owned()).collect()
}

/// Returns a name that is given without separators. If the file has the name unchanged, it is returned unchanged; otherwise it is returned
/// without the backslashes that a name needs next to separators.
pub fn alone(name: &str, has: impl Fn(&[u8]) -> bool) -> String {
    let plain = unescape(name);
    if !has(name.as_bytes()) && has(plain.as_bytes()) { plain } else { name.to_owned() }
}

/// Returns a reminder of the rule for an error message, if a name in the file needs it.
pub fn hint(header: &Header) -> &'static str {
    hint_for(
        header.variables.iter().map(|v| &v.name[..]).chain(header.dimensions.iter().map(|d| &d.name[..])),
    )
}

/// Returns a reminder of the rule for an error message, if one of these names needs it.
pub fn hint_for<'n>(mut names: impl Iterator<Item = &'n [u8]>) -> &'static str {
    let needed = names.any(|name| name.iter().any(|byte| SEPARATORS.contains(byte)));
    if needed { r" (in a name, write a backslash before `,` `:` `=` `@` and `\`)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_takes_a_separator_into_a_name() {
        assert_eq!(split(br"a,b\,c,\\,", b','), [&b"a"[..], br"b\,c", br"\\", b""]);
        assert_eq!(list(r"a,b\,c,\\,,d\:e\"), ["a", "b,c", r"\", r"d:e\"]);
        assert_eq!(split_once(r"a\:b:c=d", ':'), Some((r"a\:b", "c=d")));
        assert_eq!(split_once(r"a\:b", ':'), None);
        assert_eq!(unescape(r"T\,P\\\é"), r"T,P\é");
        assert_eq!(alone(r"T\,P", |name| name == b"T,P"), "T,P");
        assert_eq!(alone(r"T\,P", |name| name == br"T\,P"), r"T\,P");
        assert_eq!(alone(r"T\,P", |_| false), r"T\,P");
        assert_eq!(unescape_bytes(br"T\,P\\"), br"T,P\");
    }
}
