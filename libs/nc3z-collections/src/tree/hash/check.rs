//! Lists of digests checked, with the behaviour of `sha256sum -c`.

use super::{Line, Subject, other_name, parse};
use nc3z_format::classic::sniff;
use nc3z_reader::{Dataset, DigestRequest, Digests};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// All lines for one file, in the list's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The path of the file.
    pub file: PathBuf,
    /// The lines of the list.
    pub lines: Vec<Line>,
}

/// A file that cannot be a list of digests, with its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}, not a list of digests")]
pub struct NotAList(pub &'static str);

/// Reads a list of digests. Returns its files, and the numbers of the lines that are not digests, from 1.
///
/// # Errors
/// The first bytes are those of another format, or of no text.
pub fn read_list(bytes: &[u8]) -> Result<(Vec<Listed>, Vec<u64>), NotAList> {
    if let Some(what) = what_is_no_list(bytes) {
        return Err(NotAList(what));
    }
    let (mut files, mut malformed) = (Vec::<Listed>::new(), Vec::new());
    let mut by_file: HashMap<PathBuf, usize> = HashMap::new();
    for (number, line) in (1..).zip(bytes.split(|&b| b == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let Some(line) = parse(line) else {
            malformed.push(number);
            continue;
        };
        let at = *by_file.entry(line.file.clone()).or_insert_with(|| {
            files.push(Listed { file: line.file.clone(), lines: Vec::new() });
            files.len() - 1
        });
        files[at].lines.push(line);
    }
    Ok((files, malformed))
}

/// Returns the kind of a file that cannot be a list of digests: its first bytes are of another format, or it
/// has zero bytes.
fn what_is_no_list(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"CDF") {
        return Some("a classic netCDF file");
    }
    let head = &bytes[..bytes.len().min(4096)];
    let is_text = std::str::from_utf8(head).is_ok() || !head.contains(&0);
    match sniff(head) {
        Some(foreign) if !is_text => Some(foreign.name),
        _ => None,
    }
}

/// The result for one file's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    /// The file was read.
    Compared {
        /// For each line, whether the digest matches.
        lines: Vec<bool>,
        /// The file that was read instead: the archive of the listed file, or its original.
        instead: Option<PathBuf>,
    },
    /// The file does not exist, and that is allowed.
    Missing,
}

/// The rules for a missing file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckPolicy {
    /// The archive of a missing file is checked instead, and the original of a missing archive.
    pub either: bool,
    /// A missing file is not an error.
    pub ignore_missing: bool,
}

/// Checks the lines of one file. `digests` opens a file and returns it with the wanted digests, `sha256` returns the digest of a file's
/// own bytes.
///
/// # Errors
/// Errors of `digests` and `sha256`.
pub fn check<E>(
    listed: &Listed,
    policy: CheckPolicy,
    digests: &dyn Fn(&Path, DigestRequest) -> Result<(Dataset, Digests), E>,
    sha256: &dyn Fn(&Path) -> Result<[u8; 32], E>,
) -> Result<Checked, E> {
    let mut file = &listed.file;
    let other = other_name(file);
    // A dangling link is a missing file; a file without permission is not.
    let gone = |f: &Path| std::fs::metadata(f).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    let mut instead = None;
    if gone(file) {
        if policy.either && !gone(&other) {
            file = &other;
            instead = Some(other.clone());
        } else if policy.ignore_missing {
            return Ok(Checked::Missing);
        }
    }
    let has = |subject: &dyn Fn(&Subject) -> bool| listed.lines.iter().any(|l| subject(&l.subject));
    // Under another name it is the classic file for which the digest was made.
    let as_it_stands = has(&|s| *s == Subject::File) && instead.is_none();
    let wanted = DigestRequest {
        tree: false,
        content: has(&|s| matches!(s, Subject::Content | Subject::Variable(_))),
        sha256: has(&|s| *s == Subject::Original || (*s == Subject::File && instead.is_some())),
    };
    let mut found = None;
    let mut names: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    if wanted.content || wanted.sha256 {
        let (dataset, computed) = digests(file, wanted)?;
        for (i, v) in dataset.header().variables.iter().enumerate() {
            names.entry(v.name.clone()).or_default().push(i);
        }
        found = Some(computed);
    }
    let of_file = if as_it_stands { Some(sha256(file)?) } else { None };
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    let lines = listed.lines.iter().map(|line| {
        let digests: Option<&Digests> = found.as_ref();
        let expected = match &line.subject {
            Subject::File if as_it_stands => of_file,
            Subject::File | Subject::Original => digests.and_then(|d| d.sha256),
            Subject::Content => digests.and_then(|d| d.content),
            Subject::Variable(name) => {
                // The first line with a name belongs to the first variable with that name.
                let nth = seen.entry(name).or_insert(0);
                let index = names.get(name).and_then(|v| v.get(*nth));
                *nth += 1;
                index.and_then(|&i| digests.and_then(|d| d.variables.get(i).copied()))
            }
        };
        expected == Some(line.digest)
    });
    Ok(Checked::Compared { lines: lines.collect(), instead })
}
