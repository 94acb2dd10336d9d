//! Reduces a long series to the values that are visible in a picture: of each column of pixels the first, the
//! smallest, the largest and the last value. A line through them covers the same pixels (the method M4 of
//! Jugel and others, VLDB 2014).

/// Collects the visible values of a series.
#[derive(Debug)]
pub(super) struct Shown {
    /// The number of values in a column.
    each: u64,
    /// The number of values so far.
    seen: u64,
    column: Column,
    kept: Vec<(u64, f64)>,
}

/// Positions and values in a column.
#[derive(Debug, Default)]
struct Column {
    ends: Option<[(u64, f64); 2]>,
    extremes: Option<[(u64, f64); 2]>,
}

impl Shown {
    /// Reduces `count` values to `columns` columns.
    pub(super) fn new(count: u64, columns: u32) -> Self {
        let each = count.div_ceil(u64::from(columns.max(1)));
        Shown { each, seen: 0, column: Column::default(), kept: Vec::new() }
    }

    /// Returns whether no value would be omitted.
    pub(super) fn is_all(&self) -> bool {
        self.each <= 4
    }

    pub(super) fn add(&mut self, value: f64) {
        let at = (self.seen, value);
        self.seen += 1;
        if value.is_finite() {
            let [first, _] = self.column.ends.unwrap_or([at; 2]);
            let [low, high] = self.column.extremes.unwrap_or([at; 2]);
            self.column.ends = Some([first, at]);
            self.column.extremes =
                Some([if value < low.1 { at } else { low }, if value > high.1 { at } else { high }]);
        }
        if self.seen.is_multiple_of(self.each) {
            self.end_column();
        }
    }

    fn end_column(&mut self) {
        let column = std::mem::take(&mut self.column);
        let Some((ends, extremes)) = column.ends.zip(column.extremes) else {
            // The column has no finite value: the line has a gap.
            self.kept.push((self.seen - 1, f64::NAN));
            return;
        };
        let mut all = [ends[0], extremes[0], extremes[1], ends[1]];
        all.sort_unstable_by_key(|(at, _)| *at);
        let before = self.kept.len();
        for one in all {
            if !self.kept[before..].iter().any(|(at, _)| *at == one.0) {
                self.kept.push(one);
            }
        }
    }

    /// Returns the positions and values that are kept.
    pub(super) fn finish(mut self) -> (Vec<u64>, Vec<f64>) {
        if !self.seen.is_multiple_of(self.each) {
            self.end_column();
        }
        self.kept.into_iter().unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[f64], columns: u32) -> (Vec<u64>, Vec<f64>) {
        let mut shown = Shown::new(values.len() as u64, columns);
        values.iter().for_each(|v| shown.add(*v));
        shown.finish()
    }

    #[test]
    fn each_column_keeps_its_extremes_and_ends() {
        let mut state = 1_u32;
        let mut values: Vec<f64> = (0..10_007)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from(state >> 8)
            })
            .collect();
        values[5000..5400].fill(f64::NAN);
        values[77] = 1e12;
        let (at, kept) = shown(&values, 100);
        assert!(at.windows(2).all(|w| w[0] < w[1]) && at.len() <= 400 && at.len() == kept.len());
        let extremes = |v: &[f64]| {
            v.iter().filter(|v| v.is_finite()).fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)))
        };
        for (n, column) in values.chunks(101).enumerate() {
            let mine: Vec<f64> =
                at.iter().zip(&kept).filter(|(at, _)| **at / 101 == n as u64).map(|(_, v)| *v).collect();
            assert_eq!(extremes(&mine), extremes(column), "column {n}");
            if column.iter().all(|v| v.is_finite()) {
                assert_eq!((mine[0], mine[mine.len() - 1]), (column[0], column[column.len() - 1]));
            }
        }
        assert!(kept.iter().any(|v| v.is_nan()));
        assert!(
            at.iter()
                .zip(&kept)
                .all(|(at, v)| v.is_nan() || values[usize::try_from(*at).unwrap()].total_cmp(v).is_eq())
        );
    }

    #[test]
    fn short_series_are_kept_whole() {
        assert!(Shown::new(4000, 1000).is_all() && !Shown::new(4001, 1000).is_all());
        assert_eq!(shown(&[1.0, 2.0, 3.0], 1), (vec![0, 2], vec![1.0, 3.0]));
    }
}
