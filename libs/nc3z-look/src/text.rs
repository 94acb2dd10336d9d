//! Makes names and texts from files safe for terminals and pictures.

use serde_json::Value;
use std::fmt::Write as _;

/// Formats a name from a file as UTF-8, with control characters and invalid bytes escaped.
pub fn name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_unsafe(c) {
                let _ = write!(out, "{}", c.escape_unicode());
            } else {
                out.push(c);
            }
        }
        for b in chunk.invalid() {
            let _ = write!(out, "\\x{b:02x}");
        }
    }
    out
}

/// Escapes control characters, including line breaks, in a message with text from a file.
pub fn safe(text: &str) -> String {
    name(text.as_bytes())
}

/// Makes the strings and keys of a value from a file safe.
pub fn safe_json(value: Value) -> Value {
    match value {
        Value::String(s) => Value::String(safe(&s)),
        Value::Array(items) => items.into_iter().map(safe_json).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (safe(&k), safe_json(v))).collect(),
        other => other,
    }
}

/// Escapes text for HTML, so that no character is markup.
pub fn escaped_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Returns whether a terminal would execute or hide a character, or use it to reorder its neighbours, instead
/// of showing it.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Formats a size in binary units, like `ls -h`: `12.3 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats original size over stored size; `-` if nothing is stored.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn ratio(original: u64, stored: u64) -> String {
    if stored == 0 { "-".to_owned() } else { format!("{:.2}", original as f64 / stored as f64) }
}

/// Formats a count: `1 tile`, `2 tiles`.
pub fn count(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn terminal_escapes_in_names_are_shown_not_obeyed() {
        assert_eq!(name(b"a\x1b[31mb\nc"), "a\\u{1b}[31mb\\u{a}c");
        assert_eq!(name(&[b'x', 0xff]), "x\\xff");
        assert_eq!(name("température\u{202e}".as_bytes()), "température\\u{202e}");
    }
}
