//! Ranges of bytes and conditions, by RFC 9110.

use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The maximal number of ranges in one request. Clients that want more send several requests.
const RANGES: usize = 64;

/// The bytes that a request selects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestedRanges {
    All,
    /// The ranges. None is empty, none exceeds the end, and there is at least one.
    Ranges(Vec<Range<u64>>),
    /// None of the ranges is inside the file, or the syntax is invalid.
    Refused,
}

/// Parses the header `Range` for a file of `len` bytes.
pub(crate) fn wanted(header: Option<&str>, len: u64) -> RequestedRanges {
    let Some((unit, set)) = header.and_then(|header| header.split_once('=')) else {
        // Without a unit it is invalid. Another unit is ignored.
        return if header.is_some() { RequestedRanges::Refused } else { RequestedRanges::All };
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RequestedRanges::All;
    }
    let mut ranges = Vec::new();
    for spec in set.split(',').map(|spec| spec.trim_matches([' ', '\t'])).filter(|spec| !spec.is_empty()) {
        let Some(range) = range(spec, len) else { return RequestedRanges::Refused };
        if ranges.len() == RANGES {
            return RequestedRanges::Refused;
        }
        ranges.extend(Some(range).filter(|range| !range.is_empty()));
    }
    // A short request must not select more bytes than the file has.
    let bytes = ranges.iter().try_fold(0_u64, |sum, range| sum.checked_add(range.end - range.start));
    if ranges.is_empty() || bytes.is_none_or(|bytes| bytes > len) {
        RequestedRanges::Refused
    } else {
        RequestedRanges::Ranges(ranges)
    }
}

/// Parses one range. It is empty if it begins beyond the end. None if it is invalid.
fn range(spec: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(len.saturating_sub(suffix)..len);
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    Some(first.min(len)..last.saturating_add(1).min(len))
}

/// Parses digits. A number that does not fit becomes the largest number.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The values that conditions are compared with.
pub(crate) struct Validators<'a> {
    /// The entity tag with its quotes. None if the content has no known state.
    pub(crate) etag: Option<&'a str>,
    pub(crate) modified: Option<SystemTime>,
}

#[derive(Default)]
pub(crate) struct Conditions {
    pub(crate) matching: Option<String>,
    pub(crate) none_matching: Option<String>,
    pub(crate) modified_since: Option<String>,
    pub(crate) unmodified_since: Option<String>,
    pub(crate) range: Option<String>,
}

/// The result of the conditions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answer,
    NotModified,
    Failed,
}

impl Conditions {
    pub(crate) fn verdict(&self, of: &Validators<'_>) -> Verdict {
        if let Some(list) = &self.matching {
            if !has_tag(list, of.etag, false) {
                return Verdict::Failed;
            }
        } else if let Some(date) = self.unmodified_since.as_deref().and_then(date)
            && of.modified.is_some_and(|modified| seconds(modified) > seconds(date))
        {
            return Verdict::Failed;
        }
        if let Some(list) = &self.none_matching {
            if has_tag(list, of.etag, true) {
                return Verdict::NotModified;
            }
        } else if let Some(date) = self.modified_since.as_deref().and_then(date)
            && of.modified.is_some_and(|modified| seconds(modified) <= seconds(date))
        {
            return Verdict::NotModified;
        }
        Verdict::Answer
    }

    /// Returns true if a range is answered as a range: it belongs to the file of which the client has a part.
    pub(crate) fn range_holds(&self, of: &Validators<'_>) -> bool {
        let Some(condition) = self.range.as_deref().map(str::trim) else { return true };
        if condition.starts_with('"') || condition.starts_with("W/") {
            return Some(condition) == of.etag;
        }
        // Dates have a resolution of one second. A date that differs, even an older one, means another file.
        let same = date(condition).zip(of.modified).is_some_and(|(a, b)| seconds(a) == seconds(b));
        let is_old = |t: SystemTime| t.elapsed().is_ok_and(|age| age >= Duration::from_secs(2));
        same && of.modified.is_some_and(is_old)
    }
}

/// True if the list has the tag.
fn has_tag(list: &str, etag: Option<&str>, weak: bool) -> bool {
    list.trim() == "*"
        || list.split(',').map(str::trim).any(|tag| {
            let strong = if weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
            Some(strong) == etag
        })
}

fn date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text.trim()).ok()
}

/// Returns whole seconds since 1970; earlier times are 0.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns a date in the form of HTTP. None if that is not possible.
pub(crate) fn http_date(time: SystemTime) -> Option<String> {
    // The crate panics for years after 9999.
    let seconds = seconds(time);
    (seconds > 0 && seconds < 253_402_300_800).then(|| httpdate::fmt_http_date(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(ranges: &[(u64, u64)]) -> RequestedRanges {
        RequestedRanges::Ranges(ranges.iter().map(|(from, to)| *from..*to).collect())
    }

    #[test]
    fn ranges_are_those_of_the_standard() {
        assert_eq!(wanted(None, 10), RequestedRanges::All);
        for (header, expected) in [
            ("bytes=0-3", some(&[(0, 4)])),
            ("bytes=4-", some(&[(4, 10)])),
            ("bytes=-3", some(&[(7, 10)])),
            ("bytes=-30", some(&[(0, 10)])),
            ("bytes=9-99", some(&[(9, 10)])),
            ("BYTES = 0-0 , 3-4,, -1", some(&[(0, 1), (3, 5), (9, 10)])),
            ("bytes=0-1,50-60", some(&[(0, 2)])),
            ("bytes=0-99999999999999999999999", some(&[(0, 10)])),
            ("lines=1-2", RequestedRanges::All),
        ] {
            assert_eq!(wanted(Some(header), 10), expected, "{header}");
        }
        for bad in [
            "bytes=10-",
            "bytes=-0",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=",
            "bytes",
            "bytes=1",
            "bytes=--1",
            "bytes=0-9,0-9",
            "bytes=+1-2",
        ] {
            assert_eq!(wanted(Some(bad), 10), RequestedRanges::Refused, "{bad}");
        }
        assert_eq!(wanted(Some("bytes=0-"), 0), RequestedRanges::Refused);
    }

    proptest! {
        #[test]
        fn no_header_gives_bytes_that_are_not_there(set in "[-0-9, a]{0,40}", len in 0_u64..100) {
            match wanted(Some(&format!("bytes={set}")), len) {
                RequestedRanges::Ranges(ranges) => {
                    prop_assert!(!ranges.is_empty());
                    for range in ranges {
                        prop_assert!(range.start < range.end && range.end <= len);
                    }
                }
                RequestedRanges::Refused => {}
                RequestedRanges::All => prop_assert!(false),
            }
        }
    }

    #[test]
    fn conditions_compare_tags_first_and_dates_to_the_second() {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_500);
        let of = Validators { etag: Some("\"a\""), modified: Some(modified) };
        let date = http_date(modified).unwrap();
        let with = |set: &dyn Fn(&mut Conditions)| {
            let mut conditions = Conditions::default();
            set(&mut conditions);
            conditions
        };
        let text = |s: &str| Some(s.to_owned());
        assert_eq!(with(&|c| c.none_matching = text("\"b\", W/\"a\"")).verdict(&of), Verdict::NotModified);
        assert_eq!(with(&|c| c.none_matching = text("\"b\"")).verdict(&of), Verdict::Answer);
        assert_eq!(with(&|c| c.modified_since = text(&date)).verdict(&of), Verdict::NotModified);
        assert_eq!(with(&|c| c.matching = text("W/\"a\"")).verdict(&of), Verdict::Failed);
        assert_eq!(with(&|c| c.matching = text("\"a\"")).verdict(&of), Verdict::Answer);
        assert!(with(&|c| c.range = text("\"a\"")).range_holds(&of));
        assert!(with(&|c| c.range = text(&date)).range_holds(&of));
        assert!(!with(&|c| c.range = text("W/\"a\"")).range_holds(&of));
        assert!(!with(&|c| c.range = text("Mon, 01 Jan 2024 00:00:00 GMT")).range_holds(&of));
    }
}
