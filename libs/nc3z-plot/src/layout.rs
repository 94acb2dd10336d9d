//! Computes the positions of the parts of a picture: the frame, and the margins for its text.

use crate::axis::Axis;
use crate::colour::Scale;
use crate::font::Font;
use crate::scene::Rect;
use crate::ticks::{Tick, logarithmic, numbered, round_numbers};
use crate::{Options, Picture};

/// Sizes in pixels, for a picture of 1000 pixels.
const TITLE: f64 = 18.0;
const SMALL: f64 = 14.0;
/// The number of letters of a class's name that are shown.
const LONGEST: usize = 20;

/// An axis for values: a coordinate, or the values themselves.
#[derive(Clone, Copy)]
pub(super) enum Ruler<'a> {
    Axis(&'a Axis),
    /// With the names of classes, if the values are numbers of classes from 0 on.
    Values(Scale, &'a str, &'a [String]),
}

impl Ruler<'_> {
    pub(super) fn ends(&self) -> (f64, f64) {
        match self {
            Ruler::Axis(axis) => axis.ends(),
            Ruler::Values(scale, ..) => (scale.low, scale.high),
        }
    }

    pub(super) fn ticks(&self, most: usize) -> Vec<Tick> {
        match self {
            Ruler::Axis(axis) => axis.ticks(most),
            Ruler::Values(_, _, names) if !names.is_empty() => {
                let each = (0_u32..).zip(*names);
                each.map(|(n, name)| Tick::new(f64::from(n), super::cut(name, LONGEST))).collect()
            }
            Ruler::Values(scale, ..) if scale.log => logarithmic(scale.low, scale.high, most),
            Ruler::Values(scale, ..) => numbered(&round_numbers(scale.low, scale.high, most, false)),
        }
    }

    pub(super) fn label(&self) -> &str {
        match self {
            Ruler::Axis(axis) => &axis.label,
            Ruler::Values(_, label, _) => label,
        }
    }

    pub(super) fn is_downwards(&self) -> bool {
        matches!(self, Ruler::Axis(axis) if axis.downwards)
    }
}

/// The positions in pixels.
pub(super) struct Layout {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The length of one unit in pixels. Text scales with the size of the picture.
    pub(super) unit: f64,
    /// The inside of the frame. The frame's lines are next to it.
    pub(super) inside: Rect,
    pub(super) x: Vec<Tick>,
    pub(super) y: Vec<Tick>,
    pub(super) bar: Vec<Tick>,
}

impl Layout {
    pub(super) fn new(
        picture: &Picture,
        rulers: [Ruler<'_>; 2],
        bar: Option<Ruler<'_>>,
        font: &Font,
        options: &Options,
    ) -> Self {
        let [x, y] = rulers;
        let width = options.width;
        let unit = (f64::from(width) / 1000.0)
            .min(options.height.map_or(f64::INFINITY, |h| f64::from(h) / 500.0))
            .clamp(0.75, 3.0);
        let small = SMALL * unit;
        let widest = |ticks: &[Tick]| ticks.iter().map(|t| font.width(&t.words, small)).fold(0.0, f64::max);
        // As many ticks as fit into a frame with the usual proportions.
        let usual = f64::from(options.height.unwrap_or(width / 2));
        let most = count(usual / (70.0 * unit)).clamp(2, 8);
        let (mut y_ticks, mut bar_ticks) = (y.ticks(most), bar.map_or_else(Vec::new, |bar| bar.ticks(most)));
        // A date is before the time of day.
        let beside = |t: &Tick| t.below.as_ref().map_or(0.0, |below| font.width(&format!("{below} "), small));
        let longest = y_ticks.iter().map(|t| font.width(&t.words, small) + beside(t)).fold(0.0, f64::max);
        let left = up(30.0 * unit + longest + 16.0 * unit);
        let right = match bar {
            Some(_) => up(BAR_END * unit + 10.0 * unit + widest(&bar_ticks) + 34.0 * unit),
            None => up(30.0 * unit),
        };
        let words_width = |words: &str| font.width(words, small);
        // Text at the ends of the axis needs a margin beside the frame.
        let inner = (signed(width) - left - right).max(50);
        let beyond = overhang(&x, f64::from(inner), words_width);
        let (left, right) = (left.max(up(beyond.0) + 4), right.max(up(beyond.1) + 4));
        let inner = (signed(width) - left - right).max(50);
        let x_ticks = fitting(&x, f64::from(inner), words_width);
        let lines = if x_ticks.iter().any(|t| t.below.is_some()) { 2.0 } else { 1.0 };
        let top = up(62.0 * unit);
        let bottom = up((44.0 + 18.0 * lines) * unit);
        let high = match options.height {
            Some(height) => (signed(height) - top - bottom).max(30),
            None => up(f64::from(inner) * shape(picture)),
        };
        // A low frame has room for fewer ticks.
        let most = count(f64::from(high) / (30.0 * unit)).clamp(2, 10).min(most + 1);
        let fewer = |ruler: Ruler<'_>, ticks: &mut Vec<Tick>| {
            let others = ruler.ticks(most);
            if widest(&others) <= widest(ticks) || others.len() < ticks.len() {
                *ticks = others;
            }
        };
        fewer(y, &mut y_ticks);
        if let Some(bar) = bar {
            fewer(bar, &mut bar_ticks);
        }
        let inside = Rect { left, top, right: left + inner, bottom: top + high };
        let height = options.height.unwrap_or_else(|| u32::try_from(top + high + bottom).unwrap_or(u32::MAX));
        Layout { width, height, unit, inside, x: x_ticks, y: y_ticks, bar: bar_ticks }
    }

    pub(super) fn title(&self) -> f64 {
        TITLE * self.unit
    }

    pub(super) fn small(&self) -> f64 {
        SMALL * self.unit
    }

    /// Converts units to whole pixels.
    pub(super) fn px(&self, units: f64) -> i32 {
        up(units * self.unit)
    }
}

/// The distance from the frame to the far side of the colour bar.
pub(super) const BAR_START: f64 = 16.0;
pub(super) const BAR_END: f64 = 34.0;

/// The frame's height as a share of its width. A degree, or a metre, has the same length in both directions,
/// within limits. A profile is higher than a series.
fn shape(picture: &Picture) -> f64 {
    let span = |axis: &Axis| axis.ends().1 - axis.ends().0;
    match picture {
        Picture::Map { x, y, .. } => match (x.degrees(), y.degrees()) {
            (Some(x), Some(y)) => (y / x).clamp(0.3, 1.2),
            _ if x.is_length && y.is_length => (span(y) / span(x)).clamp(0.3, 1.2),
            _ => 0.6,
        },
        Picture::Series { .. } => 0.45,
        Picture::Profile { .. } => 0.75,
    }
}

/// Returns as many ticks as fit next to each other without touching.
fn fitting(ruler: &Ruler<'_>, room: f64, width: impl Fn(&str) -> f64) -> Vec<Tick> {
    let (low, high) = ruler.ends();
    // The width of one letter between two.
    let gap = width("0") * 1.6;
    let fits = |ticks: &[Tick], words: &dyn Fn(&Tick) -> Option<&str>| {
        let with: Vec<(f64, f64)> = ticks
            .iter()
            .filter_map(|t| Some(((t.value - low) / (high - low) * room, width(words(t)?) + gap)))
            .collect();
        with.windows(2).all(|w| (w[1].0 - w[0].0).abs() >= f64::midpoint(w[0].1, w[1].1))
    };
    let all = (2..=10).rev().map(|most| ruler.ticks(most));
    let mut ticks: Vec<Tick> = Vec::new();
    for these in all {
        ticks = these;
        if fits(&ticks, &|t| Some(&t.words)) && fits(&ticks, &|t| t.below.as_deref()) {
            break;
        }
    }
    ticks
}

/// Returns the margin that the text of an axis needs beyond its ends.
fn overhang(ruler: &Ruler<'_>, room: f64, width: impl Fn(&str) -> f64) -> (f64, f64) {
    let (low, high) = ruler.ends();
    let mut out = (0.0_f64, 0.0_f64);
    for tick in fitting(ruler, room, &width) {
        let at = (tick.value - low) / (high - low) * room;
        let half = width(&tick.words).max(tick.below.as_deref().map_or(0.0, &width)) / 2.0;
        out = (out.0.max(half - at), out.1.max(at + half - room));
    }
    out
}

#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
fn up(n: f64) -> i32 {
    n.ceil() as i32
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful")]
fn count(n: f64) -> usize {
    n.max(0.0) as usize
}

fn signed(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
