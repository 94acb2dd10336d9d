//! Draws a scene as pixels. Lines and text are anti-aliased. Nothing is drawn outside a group's rectangle.

use crate::font::Font;
use crate::scene::{Anchor, Group, Point, Rect, Rgb, Scene, Shape};
use crate::svg::BASELINE;
use crate::{Result, png};
use zeno::{Cap, Command, Join, Mask, PathBuilder as _, Stroke};

/// Positions farther from the picture than this are moved to this distance, which the rasteriser's numbers
/// can represent.
const FARTHEST: f64 = 16_000.0;

/// Encodes the scene as PNG.
pub(super) fn png(scene: &Scene, font: &Font) -> Result<Vec<u8>> {
    let mut canvas = Canvas::new(scene.width, scene.height);
    scene.groups.iter().for_each(|group| canvas.draw(group, font));
    png::encode(scene.width, scene.height, &canvas.pixels, false)
}

struct Canvas {
    size: Rect,
    /// Three bytes for each pixel.
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: u32, height: u32) -> Self {
        let signed = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let size = Rect { left: 0, top: 0, right: signed(width), bottom: signed(height) };
        Canvas { size, pixels: vec![255; width as usize * height as usize * 3] }
    }

    fn draw(&mut self, group: &Group, font: &Font) {
        let clip = group.clip.unwrap_or(self.size);
        for shape in &group.shapes {
            match shape {
                Shape::Rule(from, to, colour) => self.fill(pixels_of(*from, *to), clip, *colour),
                Shape::Line { points, width, colour } => {
                    self.stroke(std::slice::from_ref(points), *width, clip, *colour, 1.0);
                }
                Shape::Outline { lines, width, colour, opacity } => {
                    self.stroke(lines, *width, clip, *colour, *opacity);
                }
                Shape::Dot { at, radius, colour } => {
                    let mut path = Vec::new();
                    path.add_circle(near(*at), narrow(*radius));
                    self.blend(&path, None, clip, *colour, 1.0);
                }
                Shape::Image(rect, raster) => {
                    for (row, y) in (rect.top..rect.bottom).enumerate() {
                        for (column, x) in (rect.left..rect.right).enumerate() {
                            // The raster has as many pixels as the rectangle, or a multiple.
                            let (across, down) = (raster.width as usize, raster.height as usize);
                            let (wide, high) = (index(rect.width()).max(1), index(rect.height()).max(1));
                            let at = ((row * down / high) * across + column * across / wide) * 4;
                            if let Some([r, g, b, 255]) = raster.rgba.get(at..at + 4) {
                                self.put((x, y), clip, [*r, *g, *b], 255);
                            }
                        }
                    }
                }
                Shape::Text { words, size, at, anchor, turned } => {
                    let path = place(font, words, *size, *at, *anchor, *turned);
                    self.blend(&path, None, clip, super::draw::INK, 1.0);
                }
            }
        }
    }

    fn stroke(&mut self, lines: &[Vec<Point>], width: f64, clip: Rect, colour: Rgb, opacity: f64) {
        let mut path: Vec<Command> = Vec::new();
        // Clipped first, so that no number is too large for the rasteriser. The exact line width is clipped
        // when the line is drawn.
        for part in lines.iter().flat_map(|points| clip.grown(8).clip_line(points)) {
            for (n, point) in part.into_iter().enumerate() {
                if n == 0 {
                    path.move_to(near(point));
                } else {
                    path.line_to(near(point));
                }
            }
        }
        let mut stroke = Stroke::new(narrow(width));
        stroke.join(Join::Round).cap(Cap::Round);
        self.blend(&path, Some(stroke), clip, colour, opacity);
    }

    /// Colours the pixels that a path covers.
    fn blend(&mut self, path: &[Command], stroke: Option<Stroke<'_>>, clip: Rect, colour: Rgb, opacity: f64) {
        if path.is_empty() {
            return;
        }
        let mut mask = Mask::new(path);
        let (mut left, mut top) = (0, 0);
        if let Some(stroke) = stroke {
            // The mask is at most as large as the visible part.
            mask.style(stroke).size(clip.width().unsigned_abs(), clip.height().unsigned_abs());
            mask.offset((-narrow(clip.left.into()), -narrow(clip.top.into())));
            (left, top) = (clip.left, clip.top);
        }
        let (alpha, place) = mask.render();
        let (left, top) = (left + place.left, top + place.top);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
        let part = |alpha: u8| (f64::from(alpha) * opacity).round() as u8;
        for (row, y) in alpha.chunks_exact((place.width as usize).max(1)).zip(top..) {
            for (alpha, x) in row.iter().zip(left..).filter(|(alpha, _)| **alpha > 0) {
                self.put((x, y), clip, colour, part(*alpha));
            }
        }
    }

    fn fill(&mut self, rect: Rect, clip: Rect, colour: Rgb) {
        for y in rect.top.max(clip.top)..rect.bottom.min(clip.bottom) {
            for x in rect.left.max(clip.left)..rect.right.min(clip.right) {
                self.put((x, y), clip, colour, 255);
            }
        }
    }

    /// Blends a colour into a pixel with the opacity `alpha` / 255.
    fn put(&mut self, (x, y): (i32, i32), clip: Rect, colour: Rgb, alpha: u8) {
        let inside = |r: Rect| (r.left..r.right).contains(&x) && (r.top..r.bottom).contains(&y);
        if !inside(clip) || !inside(self.size) {
            return;
        }
        let at = (index(y) * index(self.size.right) + index(x)) * 3;
        let alpha = u32::from(alpha);
        for (below, above) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            let mixed = (u32::from(*below) * (255 - alpha) + u32::from(above) * alpha + 127) / 255;
            *below = u8::try_from(mixed).unwrap_or(u8::MAX);
        }
    }
}

/// The pixels of a line between the middles of pixels.
#[expect(clippy::cast_possible_truncation, reason = "within the picture")]
pub(super) fn pixels_of(from: Point, to: Point) -> Rect {
    let at = |a: f64, b: f64| (a.min(b).floor() as i32, (a.max(b).floor() as i32).saturating_add(1));
    let ((left, right), (top, bottom)) = (at(from.0, to.0), at(from.1, to.1));
    Rect { left, top, right, bottom }
}

fn index(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// Converts a number of pixels to the rasteriser's type.
#[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
fn narrow(n: f64) -> f32 {
    if n.is_nan() { 0.0 } else { n.clamp(-FARTHEST, FARTHEST) as f32 }
}

fn near(p: Point) -> (f32, f32) {
    (narrow(p.0), narrow(p.1))
}

/// Returns the outlines of text at its position.
pub(super) fn place(
    font: &Font,
    words: &str,
    size: f64,
    at: Point,
    anchor: Anchor,
    turned: bool,
) -> Vec<Command> {
    let width = font.width(words, size);
    let back = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let down = size * BASELINE;
    let transform = if turned {
        zeno::Transform::new(0.0, -1.0, 1.0, 0.0, narrow(at.0 + down), narrow(at.1 + back))
    } else {
        zeno::Transform::translation(narrow(at.0 - back), narrow(at.1 + down))
    };
    font.outline(words, size).iter().map(|command| command.transform(&transform)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INSIDE: Rect = Rect { left: 20, top: 10, right: 60, bottom: 40 };

    fn lines() -> impl Strategy<Value = Vec<Point>> {
        let number =
            prop_oneof![-50.0..150.0, -1e9..1e9, Just(f64::MAX), Just(f64::NAN), Just(f64::NEG_INFINITY)];
        prop::collection::vec((number.clone(), number), 2..40)
    }

    proptest! {
        #[test]
        fn nothing_is_drawn_outside_of_the_frame(points in lines(), width in 0.5..5.0) {
            let colour = [0, 0, 200];
            let at = points[0];
            let shapes = vec![
                Shape::Line { points: points.clone(), width, colour },
                Shape::Outline { lines: vec![points], width, colour, opacity: 0.5 },
                Shape::Dot { at, radius: width, colour },
            ];
            let mut canvas = Canvas::new(80, 50);
            canvas.draw(&Group { class: "line", clip: Some(INSIDE), shapes }, &Font::new().unwrap());
            for (n, pixel) in (0_i32..).zip(canvas.pixels.chunks_exact(3)) {
                let (x, y) = (n % 80, n / 80);
                let is_inside = (INSIDE.left..INSIDE.right).contains(&x) && (INSIDE.top..INSIDE.bottom).contains(&y);
                prop_assert!(is_inside || pixel == [255; 3], "{x} {y}");
            }
        }
    }

    #[test]
    fn a_line_is_anti_aliased_and_whole() {
        let mut canvas = Canvas::new(80, 50);
        let points = vec![(0.0, 5.0), (80.0, 45.0)];
        let shapes = vec![Shape::Line { points, width: 2.0, colour: [0, 0, 0] }];
        canvas.draw(&Group { class: "line", clip: None, shapes }, &Font::new().unwrap());
        let row = |y: usize| canvas.pixels[y * 240..(y + 1) * 240].iter().step_by(3);
        // Each row that the line crosses has its colour, and shades of it at the edges.
        for y in 6..44 {
            assert!(row(y).any(|v| *v < 20) && row(y).any(|v| (50..200).contains(v)), "{y}");
        }
    }
}
