//! The share of an archive that its parity can repair, as users write it.

use super::layout::Params;
use crate::archive::Salt;
use crate::error::{Error, Result};

/// The share of an archive that may be lost, in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u32);

/// The default share in parts per million.
const USUAL: u32 = 50_000;

impl Share {
    /// From 0.1% (1,000) to 30% (300,000).
    ///
    /// # Errors
    /// Another number.
    pub fn from_ppm(ppm: u32) -> Result<Self> {
        if (1_000..=300_000).contains(&ppm) {
            return Ok(Share(ppm));
        }
        Err(Error::invalid(format!("a parity share of {ppm} parts per million; it may be 0.1% to 30%")))
    }

    /// Reads `5%`, `5` or `0.5%`.
    ///
    /// # Errors
    /// No percentage, or one out of range.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("invalid share `{text}`; expected one such as 5% or 0.5%"));
        let number = text.strip_suffix('%').unwrap_or(text);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if number == text && whole == "0" && number.len() > 1 {
            return Err(Error::invalid(format!(
                "`{text}` may be a fraction or a percentage: write `{text}%`, or the percentage that is meant, such as 5%"
            )));
        }
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || whole.len() > 3 || part.len() > 4 || !digits(whole) || !digits(part) {
            return Err(wrong());
        }
        let ppm: u32 = format!("{whole}{part:0<4}").parse().map_err(|_| wrong())?;
        Share::from_ppm(ppm)
    }

    /// Parts per million.
    pub fn ppm(self) -> u32 {
        self.0
    }

    /// The share that gives a region of `region` bytes after an archive of about `begin` bytes, before a tail
    /// of `tail` bytes. The file does not record the share, but few shares give the same region. Of these, 5%
    /// is preferred, then 10, 20, 30, 15 and 25%, then the roundest and least. If none does (another writer chose otherwise), the least
    /// tenth of a percent that gives at least as much.
    pub fn of_region(begin: u64, tail: u64, region: u64) -> Share {
        let given = |ppm: u32| {
            // The archive's length was rounded up to *begin*; one less has the same shards, unless they became longer just there.
            let fits = |len: u64| {
                let params = Params::choose(Salt([0; 8]), 1, len, tail, Share(ppm)).ok()?;
                (params.begin == begin).then_some(params.end - params.begin)
            };
            (fits(begin.saturating_sub(1)), fits(begin))
        };
        let tenths = || (1..=300).map(|n| n * 1_000);
        let tens = [100_000, 200_000, 300_000, 150_000, 250_000];
        let whole = (1..=30).map(|n| n * 10_000);
        let halves = (1..=60).map(|n| n * 5_000);
        let mut round = std::iter::once(USUAL).chain(tens).chain(whole).chain(halves).chain(tenths());
        let exact = round.find(|&ppm| {
            let (a, b) = given(ppm);
            a == Some(region) || b == Some(region)
        });
        let enough = || tenths().find(|&ppm| given(ppm).1.is_some_and(|len| len >= region));
        Share(exact.or_else(enough).unwrap_or(300_000))
    }

    /// Returns half of this share of `sectors` sectors, at least one.
    pub(super) fn half_of(self, sectors: u64) -> u64 {
        let hit = u128::from(sectors) * u128::from(self.0);
        u64::try_from(hit.div_ceil(2_000_000)).expect("less than the sectors").max(1)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_written() {
        for (text, ppm, shown) in [
            ("5%", 50_000, "5%"),
            ("0.5%", 5_000, "0.5%"),
            ("12.25%", 122_500, "12.25%"),
            ("30", 300_000, "30%"),
        ] {
            let share = Share::parse(text).unwrap();
            assert_eq!((share.ppm(), share.to_string()), (ppm, shown.to_owned()));
        }
        for bad in [
            "",
            "%",
            "-1",
            "5%%",
            "31",
            "0.09",
            "0",
            "1e1",
            "1.00001",
            ".5",
            "0000000005",
            "5 %",
            "0.5",
            "0.2",
        ] {
            assert!(Share::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_share_is_known_by_its_region() {
        for len in [900, 5_000, 40_000, 65_535, 65_536, 70_000, 1_000_000, 33_000_000, 700_000_000] {
            for tail in [224, 248, 320] {
                for ppm in [1_000, 5_000, 10_000, 25_000, 50_000, 73_000, 200_000, 300_000] {
                    let share = Share(ppm);
                    let choose = |share| Params::choose(Salt([1; 8]), 2, len, tail, share).unwrap();
                    let made = choose(share);
                    let found = Share::of_region(made.begin, tail, made.end - made.begin);
                    let again = choose(found);
                    assert_eq!((again.begin, again.end), (made.begin, made.end), "{share} of {len}: {found}");
                    // Where there is room for a difference, the share itself.
                    assert!(len < 10_000_000 || found == share || ppm < 10_000, "{share} of {len}: {found}");
                }
            }
        }
        // A region of no share: the next larger one, or the largest.
        let some = Share::of_region(1 << 20, 248, 70_001);
        let made = Params::choose(Salt([1; 8]), 2, 1 << 20, 248, some).unwrap();
        assert!(made.end - made.begin >= 70_001);
        assert_eq!(Share::of_region(1 << 20, 248, 1 << 40).ppm(), 300_000);
    }
}
