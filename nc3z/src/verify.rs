//! Checks an archive.

use crate::error::{At, Result};
use crate::name::Name;
use crate::opener::{Access, Kind};
use crate::options::VerifyOptions;
use std::ops::Range;
use std::path::Path;

/// One damaged part of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the damaged structure of the format.
    pub structure: &'static str,
    /// The bytes of the archive; empty if the finding is not about particular bytes.
    pub bytes: Range<u64>,
    /// A description of the damage.
    pub message: String,
}

/// The result of [`verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Bytes of the archive.
    pub stored_len: u64,
    /// Tiles that were checked.
    pub tiles: u64,
    /// The damaged parts; empty for a sound archive.
    pub findings: Vec<Finding>,
    /// The number of findings that are not listed.
    pub more_findings: u64,
    /// Parts of arrays that were lost before the archive was repaired. They are recorded, and are not findings.
    pub lost: usize,
    /// Tiles that could not be decoded, because this build does not have their codecs.
    pub undecoded_tiles: u64,
    /// The reason why the original could not be rebuilt although no damage was found.
    pub not_rebuilt: Option<String>,
}

impl VerifyReport {
    /// True if no damage was found.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// True if the check covered everything that was requested.
    pub fn is_complete(&self) -> bool {
        self.undecoded_tiles == 0 && self.not_rebuilt.is_none()
    }
}

/// Checks every byte of an archive: checksums, the values of all tiles, and the SHA-256 of the rebuilt file. Damage is
/// listed in the report.
///
/// # Errors
/// The file cannot be read.
pub fn verify(path: impl AsRef<Path>) -> Result<VerifyReport> {
    verify_with(path, &VerifyOptions::default())
}

/// Checks an archive with options; see [`verify`].
///
/// # Errors
/// As [`verify`].
pub fn verify_with(path: impl AsRef<Path>, options: &VerifyOptions) -> Result<VerifyReport> {
    let name = Name::parse(path)?;
    check(&name, options).at(Path::new(&name.to_string()))
}

fn check(name: &Name, options: &VerifyOptions) -> Result<VerifyReport, nc3z_reader::Error> {
    // By position: with a memory map, a failing disk would end the process.
    let opener = options.open.clone().with_mmap(false).opener().with_access(Access::Forward);
    let source = opener.source(name)?;
    // A ZIP or a tar is not an archive, although blocks of archives in it would be found.
    if matches!(Kind::from_source(&source), Ok(Kind::Bundle)) {
        return Err(nc3z_reader::Error::other(opener.wrong_kind(Kind::Bundle, Kind::Archive, source, name)));
    }
    let check = if options.quick { nc3z_reader::verify::quick } else { nc3z_reader::verify::deep };
    let report = check(&source, &options.open.reader, options.monitor())?;
    let findings = report.findings.into_iter();
    let listed = findings.map(|finding| Finding {
        structure: finding.structure.name(),
        bytes: finding.bytes,
        message: finding.message,
    });
    Ok(VerifyReport {
        stored_len: report.stored_len,
        tiles: report.tiles,
        findings: listed.collect(),
        more_findings: report.more,
        lost: report.lost.len(),
        undecoded_tiles: report.undecoded,
        not_rebuilt: report.not_rebuilt,
    })
}
