//! Times that are stored as text, such as WRF's `Times`.

use super::{Calendar, Period, TimeUnit};
use crate::NcType;
use crate::classic::{DimId, Header, Variable};

/// The lengths in bytes of a time that is stored as text.
const LENGTHS: std::ops::RangeInclusive<u64> = 4..=256;

/// The times of a variable of text. As numbers they are days since 1970, in the calendar of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextTimes {
    unit: TimeUnit,
    len: u64,
}

impl TextTimes {
    /// Returns the times of a variable. Its name must be one for times (`Times`, `xtime`, or the name of its dimension), and it must
    /// have one row of characters for each index of one dimension, or a single row.
    pub fn new(header: &Header, variable: &Variable) -> Option<Self> {
        let (along, row) = match variable.dimensions[..] {
            [along, row] => (Some(&header.dimensions.get(along.index())?.name[..]), row),
            [row] => (None, row),
            _ => return None,
        };
        let name = &variable.name[..];
        let is_named = [&b"Times"[..], b"xtime"].contains(&name) || along == Some(name);
        let len = header.dimensions.get(row.index()).filter(|row| !row.is_record())?.len;
        let fits = variable.ty == NcType::Char && is_named && LENGTHS.contains(&len);
        fits.then(|| TextTimes { unit: TimeUnit::days(calendar_of(header)), len })
    }

    /// Like [`TextTimes::new`], of a variable with a row for each index of `dim`.
    pub fn along(header: &Header, variable: &Variable, dim: DimId) -> Option<Self> {
        TextTimes::new(header, variable)
            .filter(|_| variable.dimensions.len() == 2 && variable.dimensions[0] == dim)
    }

    /// The length of a row in bytes.
    pub fn row_len(&self) -> u64 {
        self.len
    }

    /// The unit of the numbers.
    pub fn unit(&self) -> TimeUnit {
        self.unit
    }

    /// Returns the time of a row; `None` where it is invalid.
    pub fn number(&self, row: &[u8]) -> Option<f64> {
        let text = String::from_utf8_lossy(row);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        let period = text.parse::<Period>().ok()?;
        Some(self.unit.number(&period.moment(self.unit.calendar()).ok()?))
    }
}

/// Returns the calendar of times that are text: MPAS has it in an attribute of the file, others use the
/// standard calendar.
fn calendar_of(header: &Header) -> Calendar {
    let words = |name: &[u8]| {
        let a = header.attribute(name).filter(|a| a.ty == NcType::Char)?;
        Some(String::from_utf8_lossy(&a.values).to_ascii_lowercase())
    };
    let named = words(b"config_calendar_type").or_else(|| words(b"calendar"));
    match named.as_deref() {
        Some(name) if name.contains("noleap") || name.contains("365") => Calendar::NoLeap,
        Some(name) if name.contains("360") => Calendar::Day360,
        _ => Calendar::Standard,
    }
}
