//! Squarified treemaps: rectangles with areas proportional to sizes, as close to squares as possible (Bruls,
//! Huizing, van Wijk, 2000).

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    /// Returns the rectangle without a margin, and without a strip at the top.
    pub(super) fn inside(self, margin: f64, top: f64) -> Self {
        Rect {
            x: self.x + margin,
            y: self.y + margin + top,
            width: (self.width - 2.0 * margin).max(0.0),
            height: (self.height - 2.0 * margin - top).max(0.0),
        }
    }
}

/// Returns a rectangle for each size. Sizes must be in descending order. A size of zero has no area.
pub(super) fn squarify(sizes: &[f64], mut room: Rect) -> Vec<Rect> {
    let total: f64 = sizes.iter().sum();
    let scale = if total > 0.0 { room.width * room.height / total } else { 0.0 };
    let areas: Vec<f64> = sizes.iter().map(|s| s * scale).collect();
    let mut out = Vec::with_capacity(areas.len());
    let mut rest = &areas[..];
    while !rest.is_empty() {
        let side = room.width.min(room.height);
        let mut n = 1;
        while n < rest.len() && worst(&rest[..=n], side) <= worst(&rest[..n], side) {
            n += 1;
        }
        let (row, others) = rest.split_at(n);
        room = lay(row, room, &mut out);
        rest = others;
    }
    out
}

/// Returns the largest ratio of sides in a row along `side`.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let (largest, smallest) =
        (row.iter().copied().fold(0.0, f64::max), row.iter().copied().fold(f64::MAX, f64::min));
    let side = side * side;
    if sum <= 0.0 || smallest <= 0.0 || side <= 0.0 {
        return f64::MAX;
    }
    (side * largest / (sum * sum)).max(sum * sum / (side * smallest))
}

/// OutputDirs a row along the shorter side, and returns the remaining rectangle.
fn lay(row: &[f64], room: Rect, out: &mut Vec<Rect>) -> Rect {
    let sum: f64 = row.iter().sum();
    let Rect { mut x, mut y, width, height } = room;
    if width >= height {
        let thick = if height > 0.0 { (sum / height).min(width) } else { 0.0 };
        for area in row {
            let length = if thick > 0.0 { area / thick } else { 0.0 };
            out.push(Rect { x, y, width: thick, height: length });
            y += length;
        }
        return Rect { x: room.x + thick, y: room.y, width: width - thick, height };
    }
    let thick = if width > 0.0 { (sum / width).min(height) } else { 0.0 };
    for area in row {
        let length = if thick > 0.0 { area / thick } else { 0.0 };
        out.push(Rect { x, y, width: length, height: thick });
        x += length;
    }
    Rect { x: room.x, y: room.y + thick, width, height: height - thick }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_as_sizes_are_and_nothing_overlaps() {
        let room = Rect { x: 0.0, y: 0.0, width: 600.0, height: 400.0 };
        let sizes = [600.0, 600.0, 400.0, 300.0, 200.0, 200.0, 100.0];
        let rects = squarify(&sizes, room);
        for (rect, size) in rects.iter().zip(sizes) {
            assert!((rect.width * rect.height - size * 100.0).abs() < 1e-6, "{rect:?} {size}");
            let shape = (rect.width / rect.height).max(rect.height / rect.width);
            assert!(shape < 4.0, "{rect:?}");
            assert!(rect.x >= -1e-9 && rect.x + rect.width <= 600.0 + 1e-9);
            assert!(rect.y >= -1e-9 && rect.y + rect.height <= 400.0 + 1e-9);
        }
        for (i, a) in rects.iter().enumerate() {
            for b in &rects[..i] {
                let apart = |a0: f64, a1: f64, b0: f64, b1: f64| a1 <= b0 + 1e-9 || b1 <= a0 + 1e-9;
                assert!(
                    apart(a.x, a.x + a.width, b.x, b.x + b.width)
                        || apart(a.y, a.y + a.height, b.y, b.y + b.height),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_and_zeros_do_no_harm() {
        let room = Rect { x: 0.0, y: 0.0, width: 10.0, height: 10.0 };
        assert!(squarify(&[], room).is_empty());
        assert!(squarify(&[0.0, 0.0], room).iter().all(|r| r.width * r.height == 0.0));
        let some = squarify(&[5.0, 0.0], room);
        assert!((some[0].width * some[0].height - 100.0).abs() < 1e-9 && some.len() == 2);
        assert!(squarify(&[1.0], Rect { width: 0.0, ..room }).iter().all(|r| r.width.is_finite()));
    }
}
