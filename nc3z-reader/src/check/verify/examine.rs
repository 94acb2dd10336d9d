//! A check as thorough as requested: of one version or of all.

use super::{OlderVersion, Report, deep, older_versions, quick};
use crate::archive::Archive;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::options::OpenOptions;
use crate::source::SharedSource;
use crate::versions::VersionName;

/// The parts of a check that come after the checksums of all bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// The version to open and, with `deep`, to rebuild; none means the newest.
    pub version: Option<VersionName>,
    /// Decodes every tile and rebuilds the original.
    pub deep: bool,
    /// Also rebuilds every older version.
    pub all_versions: bool,
}

/// The results of [`examine`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Examined {
    /// The findings of the archive.
    pub report: Report,
    /// The archive, if it opens.
    pub archive: Option<Archive>,
    /// Older versions that were rebuilt, newest first.
    pub older: Vec<OlderVersion>,
}

/// Checks the bytes of an archive, as [`quick`] or [`deep`] does. If an older version is named, all bytes are checked, too, and with
/// `deep` that version is rebuilt.
///
/// # Errors
/// As [`quick`]; the named version does not open or cannot be rebuilt; the list of versions cannot be read.
pub fn examine(
    source: &SharedSource,
    what: &Examination,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Examined> {
    let is_deep = what.deep || what.all_versions;
    let check = if is_deep && what.version.is_none() { deep } else { quick };
    let mut report = check(source, options, monitor)?;
    let archive =
        match Archive::from_source(source.clone(), &options.clone().with_version(what.version.clone())) {
            Err(e) if what.version.is_some() => return Err(e),
            archive => archive.ok(),
        };
    if let (Some(archive), true, true) = (&archive, what.version.is_some(), is_deep) {
        report.restored = Some(archive.check_original(monitor)?);
    }
    let older = match &archive {
        Some(archive) if what.all_versions => older_versions(archive, source, options, monitor)?,
        _ => Vec::new(),
    };
    Ok(Examined { report, archive, older })
}
