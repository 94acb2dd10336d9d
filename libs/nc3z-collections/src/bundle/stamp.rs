//! Modification time and permissions of the files in a bundle.

use crate::catalog::{Head, UNKNOWN_TIME};
use nc3z_format::units::{Calendar, Date};
use nc3z_writer::Attributes;
use std::fs::Metadata;
use std::time::{Duration, SystemTime};

/// Permission bits.
const MODE: u32 = 0o777;
/// The time of members without one: 1980-01-01, 00:00, the first that a ZIP can have.
const FIRST_DATE: u16 = 0x21;
const NANOS: i64 = 1_000_000_000;

/// Modification time and permissions of a file, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970; the least number if unknown.
    modified: i64,
    /// Permission bits; all bits if unknown.
    mode: u16,
}

impl Default for Stamp {
    fn default() -> Self {
        Stamp { modified: i64::MIN, mode: u16::MAX }
    }
}

impl Stamp {
    pub(crate) fn new(nanos: Option<i64>, mode: Option<u32>) -> Self {
        let mode = mode.and_then(|mode| u16::try_from(mode & MODE).ok());
        Stamp { modified: nanos.unwrap_or(i64::MIN), mode: mode.unwrap_or(u16::MAX) }
    }

    /// Takes time and permissions from a row of a catalogue.
    pub(crate) fn of_head(head: &Head) -> Self {
        let nanos = Some(head.modified).filter(|nanos| *nanos != UNKNOWN_TIME);
        Self::new(nanos, head.mode.map(u32::from))
    }

    pub(crate) fn from_metadata(meta: &Metadata) -> Self {
        let nanos = meta.modified().ok().and_then(|time| match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).ok(),
            Err(e) => i64::try_from(e.duration().as_nanos()).ok().map(|n| -n),
        });
        Self::new(nanos, Attributes::from(meta).mode)
    }

    /// Makes the mode and the time of a member from seconds since 1970.
    pub(crate) fn of_seconds(seconds: Option<i64>, mode: Option<u32>) -> Self {
        Self::new(seconds.and_then(|seconds| seconds.checked_mul(NANOS)), mode)
    }

    /// Nanoseconds since 1970.
    pub(crate) fn nanos(self) -> Option<i64> {
        Some(self.modified).filter(|nanos| *nanos != i64::MIN)
    }

    /// The time of the last change of the file.
    pub fn modified(self) -> Option<SystemTime> {
        let nanos = self.nanos()?;
        let by = Duration::from_nanos(nanos.unsigned_abs());
        if nanos < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(by)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(by)
        }
    }

    /// The permission bits of the file.
    pub fn mode(self) -> Option<u32> {
        Some(u32::from(self.mode)).filter(|mode| *mode <= MODE)
    }

    /// Returns mode and time for a file that is written.
    pub fn attributes(self) -> Attributes {
        Attributes { mode: self.mode(), modified: self.modified() }
    }

    /// Time and date of a ZIP, in UTC.
    pub(crate) fn dos(self) -> [u16; 2] {
        let Some(nanos) = self.nanos() else { return [0, FIRST_DATE] };
        let seconds = nanos.div_euclid(NANOS);
        let Date { year, month, day } = Calendar::ProlepticGregorian.date(seconds.div_euclid(86_400));
        let of_day = seconds.rem_euclid(86_400);
        let date = (year - 1980) << 9 | i64::from(month << 5 | day);
        let time = (of_day / 3600) << 11 | (of_day / 60 % 60) << 5 | (of_day % 60 / 2);
        match (u16::try_from(time), u16::try_from(date)) {
            (Ok(time), Ok(date)) if (1980..2108).contains(&year) => [time, date],
            _ => [0, FIRST_DATE],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_forms_of_a_zip() {
        let of = |seconds: i64| Stamp::of_seconds(Some(seconds), Some(0o100_640));
        // 2009-02-13 12:00:31
        assert_eq!(of(1_234_526_431).dos(), [(12 << 11) + 15, (29 << 9) + (2 << 5) + 13]);
        // 2000-02-29 23:59:59
        assert_eq!(of(951_868_799).dos(), [(23 << 11) + (59 << 5) + 29, (20 << 9) + (2 << 5) + 29]);
        assert_eq!(of(-1).dos(), [0, FIRST_DATE]);
        // 2107-12-31 23:59:58, the last one, and the next second but one.
        assert_eq!(of(4_354_819_198).dos(), [(23 << 11) + (59 << 5) + 29, (127 << 9) + (12 << 5) + 31]);
        assert_eq!(of(4_354_819_200).dos(), [0, FIRST_DATE]);
        assert_eq!((of(0).mode(), Stamp::default().mode()), (Some(0o640), None));
        assert_eq!((Stamp::default().modified(), Stamp::default().dos()), (None, [0, FIRST_DATE]));
        assert_eq!(of(-1).modified(), SystemTime::UNIX_EPOCH.checked_sub(Duration::from_secs(1)));
    }
}
