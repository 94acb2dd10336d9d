//! Names of dimensions, variables and attributes among separators: a backslash takes the next character into the name. The same rule holds wherever a name stands beside
//! `,`, `:`, `=` or `@` on the command line.

use nc3z_format::classic::Header;

/// What separates names from others, and the backslash itself.
const SEPARATORS: &[u8] = br",:=@\";

/// Parts between separators that no backslash stands before. Backslashes stay.
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

/// What is before and behind the first separator that no backslash stands before. Backslashes stay.
pub fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    let at = find(text.as_bytes(), u8::try_from(separator).ok()?)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The first separator that no backslash stands before.
fn find(text: &[u8], separator: u8) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&byte| {
        let found = byte == separator && !escaped;
        escaped = byte == b'\\' && !escaped;
        found
    })
}

/// A name without the backslashes that take the next character as it is.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next().or(Some(c)) } else { Some(c) });
    }
    out
}

/// The same of bytes.
pub fn unescape_bytes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        out.push(if byte == b'\\' { *bytes.next().unwrap_or(&byte) } else { byte });
    }
    out
}

/// Names between commas.
pub fn list(text: &str) -> Vec<String> {
    let names = split(text.as_bytes(), b',').into_iter().filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(&unescape_bytes(name)).into_owned()).collect()
}

/// Recalls the rule in an error, where a name of the file needs it.
pub fn hint(header: &Header) -> &'static str {
    let names = header.variables.iter().map(|v| &v.name).chain(header.dimensions.iter().map(|d| &d.name));
    let needed = names.flatten().any(|byte| SEPARATORS.contains(byte));
    if needed { r" (in a name, a backslash stands before `,` `:` `=` `@` and `\`)" } else { "" }
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
        assert_eq!(unescape_bytes(br"T\,P\\"), br"T,P\");
    }
}
