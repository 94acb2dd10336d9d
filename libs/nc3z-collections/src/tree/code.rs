//! Stable codes of failures, for logs: a scheduler decides by them whether a run is repeated.

use crate::tree::refusal::{Mismatch, Refusal, SourceKept};
use crate::tree::{Error, ErrorKind};
use std::path::Path;

/// The code of a failure, and whether the same run may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// A name such as `io.enospc`. It never changes its meaning.
    pub name: &'static str,
    /// True if the same run may succeed later, without a change of the input.
    pub retry: bool,
}

const CODES: [(&str, bool); 20] = [
    ("input.not-classic", false),
    ("input.damaged", false),
    ("input.limit", false),
    ("input.unsupported", false),
    ("input.name", false),
    ("input.missing", true),
    ("changed", true),
    ("open-for-writing", true),
    ("exists.other", false),
    ("exists", false),
    ("option", false),
    ("proof", true),
    ("busy", true),
    ("interrupted", true),
    ("io.enospc", true),
    ("io.edquot", true),
    ("io.eacces", true),
    ("io.eio", true),
    ("io.other", true),
    ("other", true),
];

impl Code {
    /// Returns the code of an error of archiving a file.
    pub fn from_error(error: &Error) -> Self {
        Self::named(match error.kind() {
            _ if error.is_interrupted() => "interrupted",
            ErrorKind::Io { source, .. } => nc3z_reader::code_of_io(source),
            ErrorKind::Walk(e) => e.io_error().map_or("other", nc3z_reader::code_of_io),
            ErrorKind::Read(e) | ErrorKind::Archive { source: e, .. } => e.code(),
            ErrorKind::Write(e) => e.code(),
            ErrorKind::Aggregate(e) => e.code(),
            ErrorKind::Pattern { .. } => "other",
            ErrorKind::Refused(refusal) => of_refusal(refusal),
        })
    }

    /// Returns the code of an error of archiving `input`. Where something else does not exist, such as the directory of the archive,
    /// the input is not to blame.
    pub fn of_file(error: &Error, input: &Path) -> Self {
        let code = Self::from_error(error);
        if code.name == "input.missing" && input.exists() { Self::named("io.other") } else { code }
    }

    /// Returns the code of the first cause that has one; `other` if none has.
    pub fn from_chain<'e>(chain: impl IntoIterator<Item = &'e (dyn std::error::Error + 'static)>) -> Self {
        let name = |cause: &(dyn std::error::Error + 'static)| {
            if let Some(e) = cause.downcast_ref::<Error>() {
                return Some(Self::from_error(e).name);
            }
            if let Some(e) = cause.downcast_ref::<nc3z_writer::Error>() {
                return Some(e.code());
            }
            if let Some(e) = cause.downcast_ref::<crate::Error>() {
                return Some(e.code()).filter(|code| *code != "other");
            }
            let reader = cause.downcast_ref::<nc3z_reader::Error>().map(nc3z_reader::Error::code);
            reader.or_else(|| cause.downcast_ref::<std::io::Error>().map(nc3z_reader::code_of_io))
        };
        Self::named(chain.into_iter().find_map(name).unwrap_or("other"))
    }

    /// Returns the code of a name; `other` for an unknown one.
    pub fn named(name: &str) -> Self {
        // Codes that other commands have of their own.
        let name = match name {
            "argument" => "input.not-classic",
            "input.incomplete" => "input.damaged",
            name => name,
        };
        let found = CODES.iter().find(|(known, _)| *known == name).or(CODES.last());
        let (name, retry) = *found.expect("there are codes");
        Code { name, retry }
    }

    /// Returns whether the input will never be archived as it is.
    pub fn is_permanent_input(self) -> bool {
        !self.retry && self.name.starts_with("input.")
    }
}

fn of_refusal(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Source(SourceKept::Open(_)) => "open-for-writing",
        Refusal::Source(_) => "changed",
        // The source was written to: its archive is of an older file.
        Refusal::NotItsArchive {
            why:
                Mismatch::OtherFile
                | Mismatch::NoDigest
                | Mismatch::OtherData
                | Mismatch::Older
                | Mismatch::Edited
                | Mismatch::Versions,
            ..
        } => "exists.other",
        Refusal::Exists(_) => "exists",
        Refusal::ListedName | Refusal::Manifest(_) | Refusal::Suffix(_) => "input.name",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::error::Context as _;
    use std::io;

    #[test]
    fn codes_say_what_a_scheduler_needs() {
        let io = |kind: io::ErrorKind| {
            let failed: io::Result<()> = Err(kind.into());
            Code::from_error(&failed.with_context(|| "write".to_owned()).unwrap_err())
        };
        assert_eq!(io(io::ErrorKind::StorageFull), Code { name: "io.enospc", retry: true });
        assert_eq!(io(io::ErrorKind::NotFound).name, "input.missing");
        let failed: io::Result<()> = Err(io::ErrorKind::NotFound.into());
        let failed = failed.with_context(|| "create the archive".to_owned()).unwrap_err();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(Code::of_file(&failed, &here.join("Cargo.toml")), Code { name: "io.other", retry: true });
        assert_eq!(Code::of_file(&failed, &here.join("no such file")).name, "input.missing");
        let exists = Code::from_error(&Refusal::Exists("a".into()).into());
        assert_eq!((exists.name, exists.retry, exists.is_permanent_input()), ("exists", false, false));
        assert!(Code::named("input.damaged").is_permanent_input());
        assert_eq!(Code::named("what").name, "other");
        // Names are unique.
        let names: std::collections::BTreeSet<_> = CODES.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), CODES.len());
    }
}
