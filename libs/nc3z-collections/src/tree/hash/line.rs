//! Lines of digests, as `hash` prints them and `hash --check` reads them (`spec/digest.md`, section 7).

use nc3z_format::bytes::hex;
use nc3z_reader::platform::path_of;
use std::path::{Path, PathBuf};

/// The subject of a line's digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The digest is of the file itself.
    File,
    /// The classic file: the file itself, or the archive's original.
    Original,
    /// The digest is of the content.
    Content,
    /// The values of the variable of this name.
    Variable(Vec<u8>),
}

/// One digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The subject of the digest.
    pub subject: Subject,
    /// The path of the file.
    pub file: PathBuf,
    /// The digest of the line.
    pub digest: [u8; 32],
}

impl Subject {
    fn tag(&self) -> &'static str {
        match self {
            Subject::File => "SHA256",
            Subject::Original => "SHA256-ORIGINAL",
            Subject::Content => "NC3Z1-CONTENT",
            Subject::Variable(_) => "NC3Z1-VARIABLE",
        }
    }

    /// Returns the text after the file's name in a result.
    pub fn words(&self) -> String {
        match self {
            Subject::File => String::new(),
            Subject::Original => " original".to_owned(),
            Subject::Content => " content".to_owned(),
            Subject::Variable(name) => format!(" variable {}", nc3z_look::text::name(name)),
        }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = escape(self.file.as_os_str().as_encoded_bytes(), false);
        let name = match &self.subject {
            Subject::Variable(name) => escape(name, true),
            _ => Escaped::default(),
        };
        let mark = if file.changed || name.changed { "\\" } else { "" };
        write!(f, "{mark}{} ({})", self.subject.tag(), file.text)?;
        if matches!(self.subject, Subject::Variable(_)) {
            write!(f, " {}", name.text)?;
        }
        write!(f, " = {}", hex(&self.digest))
    }
}

#[derive(Default)]
struct Escaped {
    text: String,
    changed: bool,
}

/// Escapes like sha256sum, and also characters that a terminal would execute or a line cannot contain.
fn escape(bytes: &[u8], is_name: bool) -> Escaped {
    use std::fmt::Write as _;
    let mut out = Escaped::default();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.text.push_str("\\\\"),
                '\n' => out.text.push_str("\\n"),
                '\r' => out.text.push_str("\\r"),
                c if nc3z_look::text::is_unsafe(c) || (is_name && c == ')') => {
                    for b in c.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(out.text, "\\x{b:02x}");
                    }
                }
                c => {
                    out.text.push(c);
                    continue;
                }
            }
            out.changed = true;
        }
        for b in chunk.invalid() {
            let _ = write!(out.text, "\\x{b:02x}");
            out.changed = true;
        }
    }
    out
}

/// The inverse of [`escape`]; `None` for unknown escapes.
fn unescape(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let (&kind, after) = rest.split_first()?;
        rest = after;
        match kind {
            b'\\' => out.push(b'\\'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Parses a line without its end; `None` if it is not a digest.
pub fn parse(line: &[u8]) -> Option<Line> {
    let (line, escaped) = match line.strip_prefix(b"\\") {
        Some(rest) => (rest, true),
        None => (line, false),
    };
    let plain = |bytes: &[u8]| if escaped { unescape(bytes) } else { Some(bytes.to_vec()) };
    let path = |bytes: &[u8]| plain(bytes).filter(|b| !b.is_empty()).map(|b| path_of(&b));
    if let Some((digits, rest)) = line.split_at_checked(64)
        && let Some(digest) = unhex(digits)
        && let [b' ', b' ' | b'*', name @ ..] = rest
    {
        return Some(Line { subject: Subject::File, file: path(name)?, digest });
    }
    let (rest, digits) = line.split_at_checked(line.len().checked_sub(64)?)?;
    let (digest, rest) = (unhex(digits)?, rest.strip_suffix(b" = ")?);
    for subject in [Subject::File, Subject::Original, Subject::Content] {
        let inside = rest.strip_prefix(subject.tag().as_bytes()).and_then(|r| r.strip_prefix(b" ("));
        if let Some(file) = inside.and_then(|r| r.strip_suffix(b")")) {
            return Some(Line { subject, file: path(file)?, digest });
        }
    }
    let inside = rest.strip_prefix(b"NC3Z1-VARIABLE (")?;
    // A variable's name has no `)`: the last one ends the file's name.
    let at = inside.iter().rposition(|&b| b == b')')?;
    let name = inside[at + 1..].strip_prefix(b" ")?;
    Some(Line { subject: Subject::Variable(plain(name)?), file: path(&inside[..at])?, digest })
}

/// 64 hexadecimal digits, either case.
pub(crate) fn unhex(digits: &[u8]) -> Option<[u8; 32]> {
    crate::tree::journal::unhex(std::str::from_utf8(digits).ok()?)?.try_into().ok()
}

/// Returns the other name of a file: with or without the archive's suffix.
pub fn other_name(file: &Path) -> PathBuf {
    let bytes = file.as_os_str().as_encoded_bytes();
    match bytes.strip_suffix(b".nc3z") {
        Some(stem) => path_of(stem),
        None => crate::tree::walk::archive_name(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(subject: Subject, file: &[u8]) -> Line {
        Line { subject, file: path_of(file), digest: [0xA5; 32] }
    }

    #[test]
    fn lines_come_back_whatever_the_names() {
        let names: [&[u8]; 9] = [
            b"tas.nc",
            b"a b) = c.nc",
            b"back\\slash",
            b"new\nline\r",
            b"\x1b[31mred",
            b"\xff\xfe.nc",
            "temp\u{e9}rature\u{202e}".as_bytes(),
            b") (",
            b"NC3Z1-VARIABLE (x) y",
        ];
        for file in names {
            for subject in [Subject::File, Subject::Original, Subject::Content] {
                let line = line(subject, file);
                let text = line.to_string();
                assert!(!text.chars().any(nc3z_look::text::is_unsafe), "{text:?}");
                assert_eq!(parse(text.as_bytes()), Some(line), "{text}");
            }
            for name in names.into_iter().chain([b"".as_slice()]) {
                let line = line(Subject::Variable(name.to_vec()), file);
                let text = line.to_string();
                assert!(!text.chars().any(nc3z_look::text::is_unsafe), "{text:?}");
                assert_eq!(parse(text.as_bytes()), Some(line), "{text}");
            }
        }
    }

    #[test]
    fn lines_of_sha256sum_are_read() {
        let hex = "a5".repeat(32);
        for text in [
            format!("{hex}  a.nc"),
            format!("{hex} *a.nc"),
            format!("SHA256 (a.nc) = {}", hex.to_uppercase()),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(line(Subject::File, b"a.nc")), "{text}");
        }
        assert_eq!(parse(format!("\\{hex}  a\\nb").as_bytes()), Some(line(Subject::File, b"a\nb")));
        for bad in
            ["", "x", &hex, &format!("{hex} a.nc"), &format!("MD5 (a.nc) = {hex}"), &format!("\\{hex}  a\\q")]
        {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
