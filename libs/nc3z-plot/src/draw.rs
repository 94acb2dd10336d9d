//! Draws the picture: frame, axes, colour bar, text, and the content of the frame.

use crate::axis::{Axis, Role};
use crate::colour::{ABOVE, BELOW, Colours, Scale};
use crate::font::Font;
use crate::layout::{BAR_END, BAR_START, Layout, Ruler};
use crate::scene::{Anchor, Group, Point, Raster, Rect, Rgb, Scene, Shape};
use crate::{Options, Picture, PictureFormat, Result, Words, coast, pdf, pixels, svg};
use nc3z_look::text;

pub(super) const INK: Rgb = [40, 40, 40];
const LINE: Rgb = [0x1f, 0x5f, 0xa8];
const FAINT: Rgb = [225, 225, 225];
/// A map with a larger range of longitudes than this is not a map of the globe.
const AROUND: f64 = 400.0;
/// The maximal number of points of a series for which each point is marked.
const MARKED: usize = 60;

/// Returns the picture as a file of the kind.
pub(super) fn file(
    picture: &Picture,
    words: &Words,
    kind: PictureFormat,
    options: &Options,
) -> Result<Vec<u8>> {
    let font = Font::new()?;
    match kind {
        PictureFormat::Png => pixels::png(&scene(picture, words, &font, options, 1), &font),
        // With twice the resolution of the frame, for screens with high resolution.
        PictureFormat::Svg => svg::svg(&scene(picture, words, &font, options, 2)),
        PictureFormat::Pdf => pdf::pdf(&scene(picture, words, &font, options, 2), &font),
    }
}

/// Makes all shapes. A map's image has `fine` pixels in each direction for one pixel of the picture.
fn scene(picture: &Picture, words: &Words, font: &Font, options: &Options, fine: i32) -> Scene {
    let values = match picture {
        Picture::Map { values, .. } | Picture::Series { values, .. } | Picture::Profile { values, .. } => {
            values
        }
    };
    let is_map = matches!(picture, Picture::Map { .. });
    let scale = scale(values, words, options, is_map);
    // Without any value the frame is still drawn.
    let measured = Ruler::Values(room(scale, options), &words.values, &words.classes);
    let bar = scale.map(|scale| Ruler::Values(scale, &words.values, &words.classes));
    let (rulers, bar) = match picture {
        Picture::Map { x, y, .. } => ([Ruler::Axis(x), Ruler::Axis(y)], bar),
        Picture::Series { x, .. } => ([Ruler::Axis(x), measured], None),
        Picture::Profile { y, .. } => ([measured, Ruler::Axis(y)], None),
    };
    let layout = Layout::new(picture, rulers, bar, font, options);
    let mut pen = Pen { layout: &layout, font, groups: Vec::new() };
    pen.titles(words, options);
    let is_line = !matches!(picture, Picture::Map { .. });
    pen.x_axis(rulers[0], is_line);
    pen.y_axis(rulers[1], is_line);
    match (picture, scale) {
        (_, None) => pen.nothing(),
        (Picture::Map { x, y, values }, Some(scale)) => {
            pen.cells(x, y, values, scale, fine);
            pen.coastline(x, y, options);
            pen.colour_bar(scale, &words.values, values);
        }
        (Picture::Series { x, values }, Some(_)) => pen.line(&x.values, values, rulers),
        (Picture::Profile { y, values }, Some(_)) => pen.line(values, &y.values, rulers),
    }
    pen.frame();
    Scene { width: layout.width, height: layout.height, groups: pen.groups }
}

/// Returns the scale of values: the requested range, or from the smallest to the largest of them.
fn scale(values: &[f64], words: &Words, options: &Options, is_map: bool) -> Option<Scale> {
    let colours = options.colours.or_else(|| options.diverging.then(Colours::diverging));
    let found = Scale { colours, log: options.log, ..Scale::new(values)? };
    Some(match options.range {
        Some((low, high)) => Scale { low, high, beyond: is_map && words.classes.is_empty(), ..found },
        None if !words.classes.is_empty() => Scale { colours, ..Scale::of_classes(words.classes.len()) },
        None if options.diverging => found.centred(),
        None => found,
    })
}

/// Returns the scale of a line, with a margin to the frame.
fn room(scale: Option<Scale>, options: &Options) -> Scale {
    let scale = scale.unwrap_or_default();
    if options.range.is_some() || scale.classes > 0 { scale } else { scale.wider() }
}

/// Draws shapes at the positions of the layout.
struct Pen<'a> {
    layout: &'a Layout,
    font: &'a Font,
    groups: Vec<Group>,
}

impl Pen<'_> {
    fn group(&mut self, class: &'static str, clip: Option<Rect>, shapes: Vec<Shape>) {
        self.groups.push(Group { class, clip, shapes });
    }

    /// Draws text no wider than `most`.
    fn text(&self, words: &str, size: f64, at: Point, anchor: Anchor, most: f64) -> Shape {
        Shape::Text { words: self.font.fit(words, size, most), size, at, anchor, turned: false }
    }

    /// Draws text that runs upwards.
    fn turned(&self, words: &str, at: Point) -> Shape {
        let size = self.layout.small();
        let words = self.font.fit(words, size, f64::from(self.layout.height));
        // Centred at the frame. Long text is moved so that it stays in the picture.
        let half = self.font.width(&words, size) / 2.0 + 4.0;
        let y = at.1.min(f64::from(self.layout.height) - half).max(half);
        Shape::Text { words, size, at: (at.0, y), anchor: Anchor::Middle, turned: true }
    }

    fn titles(&mut self, words: &Words, options: &Options) {
        let (l, r) = (self.layout, self.layout.inside);
        let file = text::safe(&options.file);
        let under = match (words.subtitle.is_empty(), file.is_empty()) {
            (true, _) => file,
            (false, true) => words.subtitle.clone(),
            (false, false) => format!("{} \u{b7} {file}", words.subtitle),
        };
        let middle = f64::from(r.left + r.right) / 2.0;
        let shapes =
            [(&words.title, l.title(), 40.0), (&under, l.small(), 17.0)].map(|(words, size, above)| {
                let y = f64::from(r.top - l.px(above));
                self.centred(words, size, middle, y)
            });
        let [title, subtitle] = shapes;
        self.group("title", None, vec![title]);
        self.group("subtitle", None, vec![subtitle]);
    }

    /// Draws centred text, moved where it would leave the picture.
    fn centred(&self, words: &str, size: f64, middle: f64, y: f64) -> Shape {
        let width = f64::from(self.layout.width);
        let words = self.font.fit(words, size, width - 8.0);
        let half = self.font.width(&words, size) / 2.0 + 4.0;
        let x = middle.min(width - half).max(half);
        Shape::Text { words, size, at: (x, y), anchor: Anchor::Middle, turned: false }
    }

    fn frame(&mut self) {
        let r = self.layout.inside;
        let at = |n: i32, by: f64| f64::from(n) + by;
        let (left, right) = (at(r.left, -0.5), at(r.right, 0.5));
        let (top, bottom) = (at(r.top, -0.5), at(r.bottom, 0.5));
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        let lines = (0..4).map(|n| Shape::Rule(corners[n], corners[(n + 1) % 4], INK)).collect();
        self.group("frame", None, lines);
    }

    fn nothing(&mut self) {
        let r = self.layout.inside;
        let middle = (f64::from(r.left + r.right) / 2.0, f64::from(r.top + r.bottom) / 2.0);
        let words = self.text(
            "all values are missing",
            self.layout.title(),
            middle,
            Anchor::Middle,
            f64::from(r.width()),
        );
        self.group("missing", None, vec![words]);
    }

    /// Returns the position of a value in horizontal and vertical direction.
    fn across(&self, ruler: Ruler<'_>, value: f64) -> f64 {
        let r = self.layout.inside;
        along(value, ruler.ends(), (r.left, r.right))
    }

    fn down(&self, ruler: Ruler<'_>, value: f64) -> f64 {
        let r = self.layout.inside;
        let ends = if ruler.is_downwards() { (r.top, r.bottom) } else { (r.bottom, r.top) };
        along(value, ruler.ends(), ends)
    }

    fn x_axis(&mut self, ruler: Ruler<'_>, grid: bool) {
        let (l, r) = (self.layout, self.layout.inside);
        let (top, bottom) = (f64::from(r.top), f64::from(r.bottom) + 0.5);
        let (mut lines, mut shapes) = (Vec::new(), Vec::new());
        let mut lower = 0;
        for tick in &l.x {
            let at = middle_of_pixel(self.across(ruler, tick.value), r.left, r.right);
            lines.push(Shape::Rule((at, top + 0.5), (at, bottom - 1.0), FAINT));
            shapes.push(Shape::Rule((at, bottom), (at, bottom + f64::from(l.px(5.0))), INK));
            let rows = [Some(&tick.words), tick.below.as_ref()];
            for (words, row) in rows.into_iter().flatten().zip(0..) {
                lower = lower.max(row);
                let y = f64::from(r.bottom + l.px(16.0) + row * l.px(18.0));
                shapes.push(self.text(words, l.small(), (at, y), Anchor::Middle, f64::INFINITY));
            }
        }
        let middle = f64::from(r.left + r.right) / 2.0;
        let y = f64::from(r.bottom + l.px(41.0) + lower * l.px(18.0));
        shapes.push(self.centred(ruler.label(), l.small(), middle, y));
        if grid {
            self.group("grid", None, lines);
        }
        self.group("x-axis", None, shapes);
    }

    fn y_axis(&mut self, ruler: Ruler<'_>, grid: bool) {
        let (l, r) = (self.layout, self.layout.inside);
        let (left, right) = (f64::from(r.left) - 0.5, f64::from(r.right));
        let (mut lines, mut shapes) = (Vec::new(), Vec::new());
        let mut widest = 0.0_f64;
        for tick in &l.y {
            let at = middle_of_pixel(self.down(ruler, tick.value), r.top, r.bottom);
            lines.push(Shape::Rule((left + 1.0, at), (right - 0.5, at), FAINT));
            shapes.push(Shape::Rule((left - f64::from(l.px(5.0)), at), (left, at), INK));
            let words =
                tick.below.as_ref().map_or_else(|| tick.words.clone(), |b| format!("{b} {}", tick.words));
            widest = widest.max(self.font.width(&words, l.small()));
            let place = (left - f64::from(l.px(9.0)), at);
            shapes.push(self.text(&words, l.small(), place, Anchor::End, f64::INFINITY));
        }
        // The label is next to the numbers.
        let x = (left - f64::from(l.px(9.0)) - widest - 14.0 * l.unit).max(l.small() * 0.6);
        shapes.push(self.turned(ruler.label(), (x, f64::from(r.top + r.bottom) / 2.0)));
        if grid {
            self.group("grid", None, lines);
        }
        self.group("y-axis", None, shapes);
    }

    fn colour_bar(&mut self, scale: Scale, label: &str, values: &[f64]) {
        let (l, r) = (self.layout, self.layout.inside);
        let (from, to) = (r.right + l.px(BAR_START), r.right + l.px(BAR_END));
        let rows = (r.top..r.bottom).map(|y| {
            let place = (f64::from(r.bottom - y) - 0.5) / f64::from(r.height());
            scale.at(place)
        });
        let rgba = rows.flat_map(|[red, green, blue]| [red, green, blue, 255]).collect();
        let raster = Raster { width: 1, height: u32::try_from(r.height()).unwrap_or(0), rgba };
        let bar = Rect { left: from, right: to, ..r };
        let mut shapes = vec![Shape::Image(bar, raster)];
        // Boxes beyond the ends show the colours of values there.
        let (gap, deep) = (l.px(3.0), l.px(10.0));
        let ends = [
            (values.iter().any(|v| *v < scale.low), BELOW, r.bottom + gap, r.bottom + gap + deep),
            (values.iter().any(|v| *v > scale.high), ABOVE, r.top - gap - deep, r.top - gap),
        ];
        for (_, [red, green, blue], top, bottom) in ends.into_iter().filter(|end| scale.beyond && end.0) {
            let raster = Raster { width: 1, height: 1, rgba: vec![red, green, blue, 255] };
            shapes.push(Shape::Image(Rect { top, bottom, ..bar }, raster));
        }
        let edge = |x: i32| f64::from(x) + 0.5;
        let (top, bottom) = (edge(r.top - 1), edge(r.bottom));
        let corners = [(edge(from - 1), top), (edge(to), top), (edge(to), bottom), (edge(from - 1), bottom)];
        shapes.extend((0..4).map(|n| Shape::Rule(corners[n], corners[(n + 1) % 4], INK)));
        let mut widest = 0.0_f64;
        for tick in &l.bar {
            let at = along(tick.value, (scale.low, scale.high), (r.bottom, r.top));
            let at = middle_of_pixel(at, r.top, r.bottom);
            shapes.push(Shape::Rule((edge(to), at), (edge(to + l.px(5.0)), at), INK));
            widest = widest.max(self.font.width(&tick.words, l.small()));
            let place = (edge(to + l.px(8.0)), at);
            shapes.push(self.text(&tick.words, l.small(), place, Anchor::Start, f64::INFINITY));
        }
        let x = edge(to + l.px(8.0)) + widest + 14.0 * l.unit;
        shapes.push(self.turned(label, (x, f64::from(r.top + r.bottom) / 2.0)));
        self.group("colour-bar", None, shapes);
    }

    /// Draws the image of a map.
    fn cells(&mut self, x: &Axis, y: &Axis, values: &[f64], scale: Scale, fine: i32) {
        let r = self.layout.inside;
        let (width, height) = (r.width() * fine, r.height() * fine);
        let columns: Vec<Option<usize>> = (0..width).map(|c| cell(x, c, width, false)).collect();
        let mut rgba = Vec::new();
        for row in 0..height {
            // The first row is at the top: the largest value, unless values grow downwards.
            let at = cell(y, row, height, !y.downwards);
            for column in &columns {
                let place = at.zip(*column).map(|(row, column)| row * x.values.len() + column);
                let value = place.and_then(|at| values.get(at)).filter(|v| v.is_finite());
                let [red, green, blue] = value.map_or([0; 3], |v| scale.colour(*v));
                rgba.extend([red, green, blue, if value.is_some() { 255 } else { 0 }]);
            }
        }
        let raster = Raster { width: width.unsigned_abs(), height: height.unsigned_abs(), rgba };
        self.group("cells", Some(r), vec![Shape::Image(r, raster)]);
    }

    /// Draws coastlines on a map of longitudes and latitudes.
    fn coastline(&mut self, x: &Axis, y: &Axis, options: &Options) {
        if !options.coastline || (x.role, y.role) != (Role::Longitude, Role::Latitude) {
            return;
        }
        let (west, east) = x.ends();
        if east - west > AROUND {
            return;
        }
        let place = |lon: f64, lat: f64| (self.across(Ruler::Axis(x), lon), self.down(Ruler::Axis(y), lat));
        let r = self.layout.inside;
        let lines = coast::placed(west, east, place);
        let lines: Vec<Vec<Point>> = lines.iter().flat_map(|line| r.grown(2).clip_line(line)).collect();
        if !lines.is_empty() {
            // A dark line on top of a light one is visible on all colours.
            let unit = self.layout.unit;
            let line = |width: f64, colour: Rgb, opacity: f64| Shape::Outline {
                lines: lines.clone(),
                width: width * unit,
                colour,
                opacity,
            };
            self.group("coastline", Some(r), vec![line(2.4, [255; 3], 0.5), line(1.0, INK, 0.9)]);
        }
    }

    /// Draws a line through values, with gaps where one is missing.
    fn line(&mut self, x: &[f64], y: &[f64], rulers: [Ruler<'_>; 2]) {
        let r = self.layout.inside;
        let count = x.len().min(y.len());
        let shown: Vec<usize> = (0..count).filter(|&n| x[n].is_finite() && y[n].is_finite()).collect();
        let width = 2.0 * self.layout.unit;
        let mut shapes = Vec::new();
        for run in shown.chunk_by(|a, b| a + 1 == *b) {
            let points: Vec<Point> =
                run.iter().map(|&n| (self.across(rulers[0], x[n]), self.down(rulers[1], y[n]))).collect();
            if points.len() == 1 || count <= MARKED {
                let inside = points.iter().filter(|p| r.grown(3).clip(**p, **p).is_some());
                let radius = 3.0 * self.layout.unit;
                shapes.extend(inside.map(|&at| Shape::Dot { at, radius, colour: LINE }));
            }
            if points.len() > 1 {
                let lines = r.grown(8).clip_line(&points).into_iter();
                shapes.extend(lines.map(|points| Shape::Line { points, width, colour: LINE }));
            }
        }
        self.group("line", Some(r), shapes);
    }
}

/// Returns the position of a value between two ends.
fn along(value: f64, (low, high): (f64, f64), (from, to): (i32, i32)) -> f64 {
    // Halved first, since the distance between the ends may exceed the range of a double.
    let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    f64::from(from) + f64::from(to - from) * part
}

/// Returns the middle of the pixel at a position between two edges.
fn middle_of_pixel(at: f64, low: i32, high: i32) -> f64 {
    at.floor().clamp(f64::from(low), f64::from(high - 1).max(f64::from(low))) + 0.5
}

/// Returns the cell of an axis under the middle of a pixel.
fn cell(axis: &Axis, pixel: i32, pixels: i32, falls: bool) -> Option<usize> {
    let (low, high) = axis.ends();
    let part = (f64::from(pixel) + 0.5) / f64::from(pixels);
    axis.cell(if falls { high - (high - low) * part } else { low + (high - low) * part })
}
