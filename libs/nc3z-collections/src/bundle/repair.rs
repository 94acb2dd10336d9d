//! Repairs the groups and archives of a bundle by their parity, at their places.

use super::check::crc32_of;
use super::{Bundle, Member};
use crate::bundle::heads::Head;
use crate::error::{Error, Result};
use crate::pack::README;
use nc3z_format::archive::constants::SLOTS_AT;
use nc3z_reader::Monitor;
use nc3z_reader::parity::{ParityReport, check, locate, repaired_slots};
use nc3z_reader::platform::write_all_at;
use nc3z_reader::source::{ByteSource, FileSource, SharedSource};
use nc3z_writer::ErrorKind;
use nc3z_writer::parity::repair_within;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// The result of repairing a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairedBundle {
    /// The number of groups, archives and other files that the bundle stores.
    pub checked: usize,
    /// The names of those that have the recorded checksum again.
    pub repaired: Vec<String>,
    /// The number of bytes that were written.
    pub bytes: u64,
    /// The names of those that are still damaged, and why.
    pub damaged: Vec<(String, String)>,
    /// True if a damaged one has parity.
    pub has_parity: bool,
}

impl Bundle {
    /// Repairs by parity each damaged group and archive. `file`, called `path`, is a copy of the bundle or the bundle itself. Only lost
    /// bytes are written. A member is compared with the CRC-32 that the bundle records.
    ///
    /// # Errors
    /// The bundle cannot be read, or the file cannot be written; a tar, which records no checksums; a cancelled monitor.
    pub fn repair(&self, file: &File, path: &Path, monitor: &dyn Monitor) -> Result<RepairedBundle> {
        if self.kind == "tar" {
            return Err(Error::refused(
                "a tar records no checksums of its members; unbundle it, and repair its archives",
            ));
        }
        let readme = self.packed.then(|| README.to_owned());
        let names = self.groups().map(str::to_owned).chain(self.plain.iter().cloned()).chain(readme);
        let mut done = RepairedBundle::default();
        for name in names {
            done.checked += 1;
            let place = self.find(&name, &self.source)?.map(|member| (member.offset(), member.len()));
            let (Some((at, len)), Some(expected)) = (place, self.crc32(&name)?) else {
                done.damaged.push((name, "it is not in the bundle".to_owned()));
                continue;
            };
            let part = |of: &SharedSource| -> Result<SharedSource> {
                let part = Member::new(of.clone(), at, len, Head::default());
                Ok(Arc::new(part.map_err(|what| Error::fragment(&name, what))?))
            };
            let tell = |bytes: u64| {
                monitor.advance(bytes);
                !monitor.is_cancelled()
            };
            let is_sound = |source: &SharedSource| -> Result<bool> {
                Ok(crc32_of(source, &tell)?.ok_or_else(nc3z_reader::Error::interrupted)? == expected)
            };
            let damaged = part(&self.source)?;
            if is_sound(&damaged).or_else(|e| if e.is_interrupted() { Err(e) } else { Ok(false) })? {
                continue;
            }
            match repair_within(&damaged, file, at, path, &()) {
                Ok(None) => done.damaged.push((name, "it has no parity".to_owned())),
                Err(e) if e.is_corrupt() || matches!(e.kind(), ErrorKind::Parity { .. }) => {
                    done.has_parity = true;
                    done.damaged.push((name, e.to_string()));
                }
                Err(e) => return Err(e.into()),
                Ok(Some(shards)) => {
                    done.has_parity = true;
                    done.bytes += shards.bytes;
                    let repaired = part(&(Arc::new(FileSource::open(path)?) as SharedSource))?;
                    if !is_sound(&repaired)?
                        && let Some(report) = check(&damaged, &())?
                    {
                        write_slots(&damaged, &report, &repaired, (file, at), path)?;
                    }
                    if is_sound(&repaired)? {
                        done.repaired.push(name);
                    } else {
                        done.damaged.push((name, "its parity does not cover all of the damage".to_owned()));
                    }
                }
            }
        }
        Ok(done)
    }

    /// Returns whether the archive that a name refers to, or the group that it is packed in, has parity. None where no member has that
    /// name.
    ///
    /// # Errors
    /// As [`Bundle::member`].
    pub fn has_parity(&self, name: &str) -> Result<Option<bool>> {
        let Some((at, len, _)) = self.location(name)? else { return Ok(None) };
        let stored = Member::new(self.source.clone(), at, len, Head::default());
        let stored: SharedSource = Arc::new(stored.map_err(|what| Error::fragment(name, what))?);
        Ok(Some(locate(&stored)?.is_some()))
    }
}

/// Writes the commit slots of an archive in a bundle, which its parity does not cover.
fn write_slots(
    damaged: &SharedSource,
    report: &ParityReport,
    repaired: &SharedSource,
    (file, at): (&File, u64),
    path: &Path,
) -> Result<()> {
    if let Some((salt, slots)) = repaired_slots(damaged, report, repaired)? {
        let at = at + SLOTS_AT as u64;
        write_all_at(file, &slots.encode(&salt), at).map_err(|e| Error::io(path, e))?;
    }
    Ok(())
}
