//! Older versions of an archive, rebuilt.

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::options::OpenOptions;
use crate::restore::RestoreReport;
use crate::source::SharedSource;
use crate::versions::VersionName;

/// The number of a version, and the result of rebuilding it.
pub type OlderVersion = (u64, Result<RestoreReport>);

/// Rebuilds all versions but the newest, and compares their digests, newest first. The progress in `monitor` counts the originals' bytes.
///
/// # Errors
/// The list of versions cannot be read; a cancelled monitor. Damage of a version is its result.
pub fn older_versions(
    archive: &Archive,
    source: &SharedSource,
    options: &OpenOptions,
    monitor: &dyn Monitor,
) -> Result<Vec<OlderVersion>> {
    let mut older = Vec::new();
    for version in archive.versions(u64::MAX)?.iter().skip(1) {
        let number = version.record.number;
        let options = options.clone().with_version(Some(VersionName::Number(number)));
        let done = Archive::from_source(source.clone(), &options).and_then(|a| a.check_original(monitor));
        if done.as_ref().is_err_and(Error::is_interrupted) {
            return Err(Error::interrupted());
        }
        older.push((number, done));
    }
    Ok(older)
}
