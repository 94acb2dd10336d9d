//! Dates in the place of times since a date.

use super::style::Style;
use crate::classic::{Attribute, Header, Variable};
use crate::decode_value::{Decoding, numbers, time_unit};
use crate::types::NcType;
use crate::units::TimeUnit;

/// Columns that the two tabs before a comment take beyond their two bytes.
const TABS: usize = 14;

/// Writes the values of one variable as dates.
#[derive(Debug)]
pub(crate) struct Calendar {
    decoding: Decoding,
    unit: TimeUnit,
    separator: char,
}

impl Calendar {
    /// The dates of a variable with a time since a date, or of the bounds of one. `None` for other variables, and if the style has
    /// no dates.
    pub(crate) fn new(header: &Header, variable: &Variable, style: &Style) -> Option<Self> {
        let separator = style.dates?.separator();
        if variable.ty == NcType::Char {
            return None;
        }
        let decoding = Decoding::new(header, variable);
        let unit = *decoding.time()?;
        Some(Calendar { decoding, unit, separator })
    }

    /// Appends the date of a stored value in quotes. Returns false, and appends nothing, if the value has no date.
    pub(crate) fn print(&self, item: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(moment) = self.unit.moment(self.decoding.unpacked(item)) else { return false };
        out.push(b'"');
        out.extend_from_slice(moment.cdl(self.separator).as_bytes());
        out.push(b'"');
        true
    }
}

/// Appends the dates of an attribute's numbers as a comment, and ends the line. One or two dates are written on the attribute's
/// line, and more on the next lines.
pub(crate) fn comment(variable: Option<&Variable>, attribute: &Attribute, style: &Style, out: &mut Vec<u8>) {
    let unit =
        variable.filter(|_| attribute.ty != NcType::Char && !attribute.values.is_empty()).and_then(time_unit);
    let (Some(unit), Some(dates)) = (unit, style.dates) else {
        out.push(b'\n');
        return;
    };
    let items: Vec<String> = numbers(attribute)
        .map(|number| match unit.moment(number.real()) {
            Some(moment) => format!("\"{}\"", moment.cdl(dates.separator())),
            None if number.real().is_infinite() => {
                format!("{}Infinity", if number.real() < 0.0 { "-" } else { "" })
            }
            None => number.real().to_string(),
        })
        .collect();
    let wraps = items.len() > 2;
    let most = style.line_len.saturating_sub(TABS);
    let mut begin = out.len();
    for (i, item) in items.iter().enumerate() {
        let item = if i + 1 < items.len() { format!("{item},") } else { item.clone() };
        if i == 0 && !wraps {
            out.extend_from_slice(b" //");
        } else if wraps && (i == 0 || out.len() - begin + 1 + item.len() > most) {
            out.push(b'\n');
            begin = out.len();
            out.extend_from_slice(b"\t\t  //");
        }
        out.push(b' ');
        out.extend_from_slice(item.as_bytes());
    }
    out.push(b'\n');
}
