//! The time unit of a record coordinate.

use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_format::units::{Calendar, TimeUnit};

/// Returns the time unit of a variable: its units and its calendar.
pub(super) fn time_unit(
    units: Option<&Attribute>,
    calendar: Option<&Attribute>,
) -> Option<(TimeUnit, String)> {
    let text = |a: &Attribute| -> Option<String> { (a.ty == NcType::Char).then(|| text(&a.values)) };
    let units = units.and_then(text)?;
    let calendar = Calendar::new(calendar.and_then(text).as_deref())?;
    Some((TimeUnit::parse(&units, calendar).ok()?, units))
}

/// Returns a text attribute without zero bytes and blanks at its ends.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
}
