//! Converts values to colours.

use crate::scene::Rgb;
use crate::tables::{CIVIDIS, CLASSES, COOLWARM, INFERNO, MAGMA, PLASMA, VIRIDIS};

/// A map of colours for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colours {
    name: &'static str,
    /// Evenly spaced colours as `0xrrggbb`, with linear interpolation between two of them.
    table: &'static [u32],
    is_reversed: bool,
}

impl Default for Colours {
    fn default() -> Self {
        MAPS[0]
    }
}

impl Colours {
    /// The names of all maps. Each may have `_r` appended, which reverses the map.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MAPS.iter().map(|map| map.name)
    }

    /// Returns the map with this name.
    ///
    /// ```
    /// use nc3z_plot::Colours;
    /// assert!(Colours::named("magma_r").is_some() && Colours::named("rainbow").is_none());
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        let (name, is_reversed) = name.strip_suffix("_r").map_or((name, false), |name| (name, true));
        let map = MAPS.iter().find(|map| map.name == name)?;
        Some(Colours { is_reversed, ..*map })
    }

    /// The map for values on both sides of a centre: blue, white, red.
    pub fn diverging() -> Self {
        MAPS[MAPS.len() - 1]
    }

    /// Returns the colour at a position from 0 to 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "within the table, and between two bytes"
    )]
    pub(super) fn at(self, place: f64) -> Rgb {
        let place = if self.is_reversed { 1.0 - place } else { place };
        let last = self.table.len() - 1;
        let at = place.clamp(0.0, 1.0) * last as f64;
        let index = (at as usize).min(last - 1);
        let part = at - index as f64;
        let (a, b) = (rgb(self.table[index]), rgb(self.table[index + 1]));
        std::array::from_fn(|i| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * part).round() as u8)
    }
}

fn rgb(colour: u32) -> Rgb {
    let [_, r, g, b] = colour.to_be_bytes();
    [r, g, b]
}

/// The ends of a scale and its colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    /// The colours that are requested.
    pub(super) colours: Option<Colours>,
    /// The number of classes; 0 where values are numbers.
    pub(super) classes: usize,
    /// True if values beyond the ends have colours of their own.
    pub(super) beyond: bool,
    /// True if values are logarithms to the base 10.
    pub(super) log: bool,
}

/// The colours of values below and above a requested range.
pub(super) const BELOW: Rgb = [0xa8, 0xa8, 0xa8];
pub(super) const ABOVE: Rgb = [0xe4, 0x1a, 0x8c];

impl Default for Scale {
    fn default() -> Self {
        Scale { low: 0.0, high: 1.0, colours: None, classes: 0, beyond: false, log: false }
    }
}

impl Scale {
    /// Returns the scale from the smallest to the largest value. None without values.
    pub(super) fn new(values: &[f64]) -> Option<Self> {
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let (low, high) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        match low.partial_cmp(&high)? {
            std::cmp::Ordering::Less => Some(Scale { low, high, ..Scale::default() }),
            // A single value is in the middle of the scale.
            std::cmp::Ordering::Equal => {
                let room = (low.abs() * 0.05).max(0.5);
                Some(Scale { low: low - room, high: high + room, ..Scale::default() })
            }
            std::cmp::Ordering::Greater => None,
        }
    }

    /// Returns the scale with 0 in its middle.
    pub(super) fn centred(self) -> Self {
        let most = self.low.abs().max(self.high.abs());
        Scale { low: -most, high: most, ..self }
    }

    /// Returns the scale with a margin at both ends, so that a line does not touch the frame.
    pub(super) fn wider(self) -> Self {
        let room = (self.high - self.low) * 0.05;
        let wider = Scale { low: self.low - room, high: self.high + room, ..self };
        if wider.low.is_finite() && wider.high.is_finite() { wider } else { self }
    }

    /// Returns the position of a value on the scale, from 0 to 1. Values beyond an end are at that end.
    pub(super) fn place(self, value: f64) -> f64 {
        let span = self.high / 2.0 - self.low / 2.0;
        ((value / 2.0 - self.low / 2.0) / span).clamp(0.0, 1.0)
    }

    /// Returns the scale of `classes` classes, each in the middle of its part.
    pub(super) fn of_classes(classes: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let high = classes as f64 - 0.5;
        Scale { low: -0.5, high, classes, ..Scale::default() }
    }

    pub(super) fn colour(self, value: f64) -> Rgb {
        if self.beyond && value < self.low {
            return BELOW;
        }
        if self.beyond && value > self.high {
            return ABOVE;
        }
        self.at(self.place(value))
    }

    /// Returns the colour at a position from 0 to 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a handful"
    )]
    pub(super) fn at(self, place: f64) -> Rgb {
        if self.classes == 0 {
            return self.colours.unwrap_or_default().at(place);
        }
        let class = ((place * self.classes as f64) as usize).min(self.classes - 1);
        match self.colours {
            None if self.classes <= CLASSES.len() => rgb(CLASSES[class]),
            colours => colours.unwrap_or_default().at((class as f64 + 0.5) / self.classes as f64),
        }
    }
}

/// The maps. The first is the default, the last the diverging one.
const MAPS: [Colours; 6] = [
    Colours { name: "viridis", table: &VIRIDIS, is_reversed: false },
    Colours { name: "cividis", table: &CIVIDIS, is_reversed: false },
    Colours { name: "magma", table: &MAGMA, is_reversed: false },
    Colours { name: "plasma", table: &PLASMA, is_reversed: false },
    Colours { name: "inferno", table: &INFERNO, is_reversed: false },
    Colours { name: "coolwarm", table: &COOLWARM, is_reversed: false },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_begin_and_end_with_their_colours() {
        let (first, last) = ([0x44, 0x01, 0x54], [0xfd, 0xe7, 0x25]);
        let scale = Scale::new(&[f64::NAN, 270.0, 300.0]).unwrap();
        assert_eq!((scale.colour(270.0), scale.colour(300.0)), (first, last));
        assert_eq!((scale.colour(-1e300), scale.colour(1e300)), (first, last));
        let beyond = Scale { beyond: true, ..scale };
        assert_eq!([270.0, 269.0, 301.0].map(|v| beyond.colour(v)), [first, BELOW, ABOVE]);
        assert!(Scale::new(&[f64::NAN]).is_none() && Scale::new(&[]).is_none());
        let one = Scale::new(&[5.0]).unwrap();
        assert!((one.place(5.0) - 0.5).abs() < 1e-9);
        let widest = Scale::new(&[f64::MIN, f64::MAX]).unwrap();
        assert!((widest.place(0.0) - 0.5).abs() < 1e-9);
        assert!(widest.wider().high.is_finite());
    }

    #[test]
    fn classes_have_a_colour_each() {
        for classes in [2, 8, 24] {
            let scale = Scale::of_classes(classes);
            let colours: Vec<Rgb> = (0..24_u8).take(classes).map(|n| scale.colour(n.into())).collect();
            assert!((1..classes).all(|n| !colours[..n].contains(&colours[n])), "{colours:?}");
        }
    }

    #[test]
    fn maps_turn_around_and_have_a_middle() {
        for name in Colours::names() {
            let (map, back) = (Colours::named(name).unwrap(), Colours::named(&format!("{name}_r")).unwrap());
            for place in [0.0, 0.25, 0.5, 1.0] {
                assert_eq!(map.at(place), back.at(1.0 - place), "{name}");
            }
        }
        // Light grey is the middle of a centred scale.
        let scale =
            Scale { colours: Some(Colours::diverging()), ..Scale::new(&[-1.0, 4.0]).unwrap() }.centred();
        assert_eq!((scale.low, scale.high, scale.colour(0.0)), (-4.0, 4.0, [0xdd, 0xdd, 0xdd]));
        assert!(Colours::named("jet").is_none() && Colours::named("_r").is_none());
    }
}
