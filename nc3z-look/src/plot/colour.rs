//! From values to colours: viridis, which reads the same in grey and to those who do not see red.

/// Ten colours of viridis, evenly spaced; between them it is as good as straight.
const VIRIDIS: [[u8; 3]; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x49, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6e, 0xce, 0x58],
    [0xb5, 0xde, 0x2b],
    [0xfd, 0xe7, 0x25],
];

/// A scale of colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// From the smallest to the largest value; nothing where there is none.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let finite = values.iter().copied().filter(|v| v.is_finite());
        let (low, high) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        match low.partial_cmp(&high)? {
            std::cmp::Ordering::Less => Some(Scale { low, high }),
            // A single value stands in the middle.
            std::cmp::Ordering::Equal => {
                let room = (low.abs() * 0.05).max(0.5);
                Some(Scale { low: low - room, high: high + room })
            }
            std::cmp::Ordering::Greater => None,
        }
    }

    /// Where a value lies on the scale, from 0 to 1; beyond its ends, at the end.
    pub(super) fn place(self, value: f64) -> f64 {
        let span = self.high / 2.0 - self.low / 2.0;
        ((value / 2.0 - self.low / 2.0) / span).clamp(0.0, 1.0)
    }

    /// The colour of a value.
    pub(super) fn colour(self, value: f64) -> [u8; 3] {
        colour(self.place(value))
    }
}

/// The colour at a place of the scale.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 9, and between two bytes"
)]
pub(super) fn colour(place: f64) -> [u8; 3] {
    let at = place.clamp(0.0, 1.0) * 9.0;
    let index = (at.floor() as usize).min(8);
    let part = at - at.floor().min(8.0);
    let (a, b) = (VIRIDIS[index], VIRIDIS[index + 1]);
    std::array::from_fn(|i| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * part).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_begin_and_end_with_their_colours() {
        let scale = Scale::of(&[f64::NAN, 270.0, 300.0]).unwrap();
        assert_eq!((scale.colour(270.0), scale.colour(300.0)), (VIRIDIS[0], VIRIDIS[9]));
        assert_eq!((scale.colour(-1e300), scale.colour(1e300)), (VIRIDIS[0], VIRIDIS[9]));
        assert!(Scale::of(&[f64::NAN]).is_none() && Scale::of(&[]).is_none());
        let one = Scale::of(&[5.0]).unwrap();
        assert!((one.place(5.0) - 0.5).abs() < 1e-9);
        let widest = Scale::of(&[f64::MIN, f64::MAX]).unwrap();
        assert!((widest.place(0.0) - 0.5).abs() < 1e-9);
    }
}
