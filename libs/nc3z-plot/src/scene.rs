//! A picture as a list of shapes in pixels. [`super::svg`] and [`super::pixels`] draw the same list.

/// A colour: red, green, blue.
pub(super) type Rgb = [u8; 3];

/// A position in pixels from the upper left corner of the picture. The middle of the first pixel is (0.5,
/// 0.5).
pub(super) type Point = (f64, f64);

/// Positions beyond this many pixels are moved to this distance.
const FARTHEST: f64 = 1e6;

/// A rectangle whose edges are between pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

impl Rect {
    pub(super) fn width(self) -> i32 {
        self.right - self.left
    }

    pub(super) fn height(self) -> i32 {
        self.bottom - self.top
    }

    /// The rectangle that is `by` pixels larger on each side.
    pub(super) fn grown(self, by: i32) -> Self {
        Rect { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    /// Returns the part of the line from `a` to `b` inside the rectangle, by Liang and Barsky's method.
    pub(super) fn clip(self, a: Point, b: Point) -> Option<(Point, Point)> {
        // For larger numbers, differences would lose all digits.
        let near = |p: Point| (p.0.clamp(-FARTHEST, FARTHEST), p.1.clamp(-FARTHEST, FARTHEST));
        let (a, b) = (near(a), near(b));
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        let edges = [
            (-dx, a.0 - f64::from(self.left)),
            (dx, f64::from(self.right) - a.0),
            (-dy, a.1 - f64::from(self.top)),
            (dy, f64::from(self.bottom) - a.1),
        ];
        for (way, room) in edges {
            let at = room / way;
            if way < 0.0 {
                from = from.max(at);
            } else if way > 0.0 {
                to = to.min(at);
            } else if room < 0.0 || way.is_nan() {
                return None;
            }
        }
        let at = |part: f64| (a.0 + dx * part, a.1 + dy * part);
        let is_number = [a.0, a.1, b.0, b.1].iter().all(|v| v.is_finite());
        (is_number && from <= to)
            .then(|| (if from > 0.0 { at(from) } else { a }, if to < 1.0 { at(to) } else { b }))
    }

    /// Returns the parts of a line through several points inside the rectangle.
    pub(super) fn clip_line(self, points: &[Point]) -> Vec<Vec<Point>> {
        let mut parts: Vec<Vec<Point>> = Vec::new();
        for pair in points.windows(2) {
            let Some((a, b)) = self.clip(pair[0], pair[1]) else { continue };
            match parts.last_mut().filter(|part| part.last() == Some(&a)) {
                Some(part) => part.push(b),
                None => parts.push(vec![a, b]),
            }
        }
        parts
    }
}

/// The point of a text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Pixels of four bytes each: red, green, blue, and opacity 0 (the background is visible) or 255.
#[derive(Debug, Clone)]
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) rgba: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// A straight line of one pixel, vertical or horizontal.
    Rule(Point, Point, Rgb),
    /// A line through points, with round corners and ends.
    Line {
        points: Vec<Point>,
        width: f64,
        colour: Rgb,
    },
    /// Several lines of one colour, with an opacity from 0 to 1.
    Outline {
        lines: Vec<Vec<Point>>,
        width: f64,
        colour: Rgb,
        opacity: f64,
    },
    Dot {
        at: Point,
        radius: f64,
        colour: Rgb,
    },
    /// An image that fills a rectangle.
    Image(Rect, Raster),
    /// Text, vertically centred at the position. It runs upwards if `turned`.
    Text {
        words: String,
        size: f64,
        at: Point,
        anchor: Anchor,
        turned: bool,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The name of the group, used as `class` in SVG.
    pub(super) class: &'static str,
    /// Nothing is drawn outside of this rectangle.
    pub(super) clip: Option<Rect>,
    pub(super) shapes: Vec<Shape>,
}

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) groups: Vec<Group>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Rect = Rect { left: 0, top: 0, right: 10, bottom: 10 };

    #[test]
    fn lines_end_at_the_edges() {
        assert_eq!(BOX.clip((-5.0, 5.0), (15.0, 5.0)), Some(((0.0, 5.0), (10.0, 5.0))));
        assert_eq!(BOX.clip((5.0, 5.0), (5.0, 1e9)), Some(((5.0, 5.0), (5.0, 10.0))));
        assert_eq!(BOX.clip((-1.0, -1.0), (-1.0, 11.0)), None);
        assert_eq!(BOX.clip((-5.0, 0.0), (0.0, -5.0)), None);
        assert_eq!(BOX.clip((f64::NAN, 0.0), (0.0, 5.0)), None);
        let (a, b) = BOX.clip((-f64::MAX, -f64::MAX), (f64::MAX, f64::INFINITY)).unwrap();
        assert!([a.0, a.1, b.0 - 10.0, b.1 - 10.0].iter().all(|v| v.abs() < 1e-6), "{a:?} {b:?}");
        assert_eq!(BOX.clip((1.0, 1.0), (2.0, 3.0)), Some(((1.0, 1.0), (2.0, 3.0))));
    }

    #[test]
    fn a_line_that_leaves_and_returns_has_two_parts() {
        let parts = BOX.clip_line(&[(1.0, 1.0), (5.0, 5.0), (5.0, 20.0), (8.0, 20.0), (8.0, 2.0)]);
        assert_eq!(parts, [vec![(1.0, 1.0), (5.0, 5.0), (5.0, 10.0)], vec![(8.0, 10.0), (8.0, 2.0)]]);
    }
}
