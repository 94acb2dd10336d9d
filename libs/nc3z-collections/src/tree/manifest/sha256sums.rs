//! `SHA256SUMS`, in the format of `sha256sum`.

use super::{Entry, push_line};
use crate::tree::Result;
use crate::tree::hash::{Line, Subject, parse};
use crate::tree::refusal::ManifestFault;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The manifest's name in its directory.
pub const NAME: &str = "SHA256SUMS";

/// The lines of a manifest.
pub fn decode(bytes: &[u8], name: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match parse(line) {
            Some(Line { subject: Subject::File, file, digest }) => {
                entries.push(Entry { path: file, sha256: digest });
            }
            _ => return Err(ManifestFault::Line { path: name.to_owned(), line: number }.into()),
        }
    }
    Ok(entries)
}

/// Returns the manifest's bytes, sorted by name. Names are escaped as in sha256sum, and otherwise unchanged.
pub fn encode(entries: &BTreeMap<PathBuf, [u8; 32]>) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, sha256) in entries {
        let mut name = Vec::new();
        for &b in path.as_os_str().as_encoded_bytes() {
            match b {
                b'\\' => name.extend_from_slice(b"\\\\"),
                b'\n' => name.extend_from_slice(b"\\n"),
                b'\r' => name.extend_from_slice(b"\\r"),
                b => name.push(b),
            }
        }
        let escaped = name.len() > path.as_os_str().len();
        push_line(&mut out, escaped, sha256, &name);
    }
    out
}

/// Returns the entries of an existing manifest.
pub fn existing(root: &Path) -> Result<BTreeMap<PathBuf, [u8; 32]>> {
    of_file(&root.join(NAME))
}

/// Returns the entries of a manifest; none if it does not exist.
pub fn of_file(path: &Path) -> Result<BTreeMap<PathBuf, [u8; 32]>> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(BTreeMap::new());
    }
    Ok(decode(&super::read(path)?, path)?.into_iter().map(|e| (e.path, e.sha256)).collect())
}

/// Adds files to the directory's manifest, or creates it. Other lines are kept.
pub fn update(root: &Path, new: &[Entry]) -> Result<()> {
    let mut entries = existing(root)?;
    entries.extend(new.iter().map(|e| (e.path.clone(), e.sha256)));
    super::replace(&root.join(NAME), &encode(&entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_come_back() {
        let names: [&[u8]; 5] = [b"a b.nc3z", b"new\nline", b"back\\slash\r", b"\xff", b"sub/\x1b"];
        let entries: BTreeMap<PathBuf, [u8; 32]> =
            names.iter().map(|n| Entry::new(n, [n[0]; 32])).map(|e| (e.path, e.sha256)).collect();
        let bytes = encode(&entries);
        let back = decode(&bytes, Path::new("x")).unwrap();
        assert_eq!(back.into_iter().map(|e| (e.path, e.sha256)).collect::<BTreeMap<_, _>>(), entries);
        assert!(decode(b"what is this?\n", Path::new("x")).unwrap_err().to_string().contains("line 1"));
    }
}
