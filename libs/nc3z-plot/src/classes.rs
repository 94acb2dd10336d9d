//! Variables whose values are classes: `flag_values` and `flag_meanings` of the CF conventions (section 3.5).

use crate::whole_attribute;
use nc3z_format::decode_value::{Number, numbers};
use nc3z_reader::Variable;

/// The largest number of classes with a colour each; more are drawn as numbers.
const MOST: usize = 24;

/// Returns the names of classes, if a variable has them and all of its values are classes. The values become
/// positions in the list.
pub(super) fn of(variable: &Variable, values: &mut [f64]) -> Vec<String> {
    let flags: Vec<f64> = variable
        .attribute("flag_values")
        .map(|a| numbers(a).take(64).map(Number::real).collect())
        .unwrap_or_default();
    let meanings = whole_attribute(variable, "flag_meanings").unwrap_or_default();
    let names: Vec<String> = meanings.split_ascii_whitespace().map(str::to_owned).collect();
    if flags.is_empty() || flags.len() != names.len() || flags.len() > MOST {
        return Vec::new();
    }
    // Flags are integers, which are exact as doubles.
    let class = |value: f64| flags.iter().position(|flag| flag.total_cmp(&value).is_eq());
    if values.iter().any(|v| v.is_finite() && class(*v).is_none()) {
        return Vec::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "at most MOST")]
    values.iter_mut().for_each(|v| *v = class(*v).map_or(f64::NAN, |n| n as f64));
    names
}
