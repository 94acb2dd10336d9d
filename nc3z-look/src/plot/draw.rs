//! The picture: frame, axes, colour bar, words. Drawn alike into pixels and into SVG, in which a map is an image of its own.

use super::axis::{Axis, numbered, ticks};
use super::colour::{Scale, colour};
use super::{Error, Options, Picture, Result, Words, image};
use crate::text;
use base64::Engine as _;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::sync::OnceLock;

/// The font of pictures in pixels. In SVG the reader's own sans-serif stands.
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
const FAMILY: &str = "sans-serif";
const TITLE: u32 = 18;
const SMALL: u32 = 14;
const INK: RGBColor = RGBColor(40, 40, 40);
const LINE: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const FAINT: RGBColor = RGBColor(225, 225, 225);
/// Points of a series up to which each is marked.
const MARKED: usize = 60;

type Area<'a, DB> = DrawingArea<DB, Shift>;

/// Where things stand, in pixels.
struct Layout {
    size: (u32, u32),
    /// The frame: left, top, right, bottom.
    frame: (i32, i32, i32, i32),
}

impl Layout {
    fn of(picture: &Picture, width: u32) -> Self {
        let (left, right, top, bottom) = match picture {
            Picture::Map { .. } => (85, 135, 66, 62),
            Picture::Series { .. } => (95, 30, 66, 62),
        };
        let inner = width.saturating_sub(left + right).max(50);
        let height = match picture {
            Picture::Map { x, y, .. } => match (x.degrees(), y.degrees()) {
                // A degree is as long in both directions, within reason.
                (Some(x), Some(y)) => scaled(inner, (y / x).clamp(0.3, 1.2)),
                _ => scaled(inner, 0.6),
            },
            Picture::Series { .. } => scaled(inner, 0.45),
        };
        let signed = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let frame = (signed(left), signed(top), signed(left + inner), signed(top + height));
        Layout { size: (width, top + height + bottom), frame }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand pixels")]
fn scaled(length: u32, by: f64) -> u32 {
    (f64::from(length) * by).round() as u32
}

/// The picture as PNG.
pub(super) fn png(picture: &Picture, words: &Words, options: &Options) -> Result<Vec<u8>> {
    let layout = Layout::of(picture, options.width);
    let (width, height) = layout.size;
    let mut pixels = vec![255; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, layout.size).into_drawing_area();
        draw(&area, &layout, picture, words, options)?;
        if let Picture::Map { x, y, values } = picture {
            let cells = Cells::of(&layout, 1, x, y, values, scale(values, options));
            for (at, pixel) in (0_i32..).zip(cells.pixels.chunks_exact(4)).filter(|(_, p)| p[3] > 0) {
                let place = (cells.left + at % cells.width, cells.top + at / cells.width);
                area.draw_pixel(place, &RGBColor(pixel[0], pixel[1], pixel[2])).map_err(Error::drawing)?;
            }
        }
        area.present().map_err(Error::drawing)?;
    }
    image::png(width, height, &pixels, false)
}

/// The picture as SVG.
pub(super) fn svg(picture: &Picture, words: &Words, options: &Options) -> Result<Vec<u8>> {
    let layout = Layout::of(picture, options.width);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, layout.size).into_drawing_area();
        draw(&area, &layout, picture, words, options)?;
        area.present().map_err(Error::drawing)?;
    }
    if let Picture::Map { x, y, values } = picture {
        // Twice as fine as the frame's pixels, for screens that are.
        let cells = Cells::of(&layout, 2, x, y, values, scale(values, options));
        let (width, height) = (cells.width, cells.height);
        let png = image::png(width.unsigned_abs(), height.unsigned_abs(), &cells.pixels, true)?;
        let data = base64::engine::general_purpose::STANDARD.encode(png);
        let image = format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
             href=\"data:image/png;base64,{data}\"/>\n",
            cells.left,
            cells.top,
            width / 2,
            height / 2
        );
        let end = text.rfind("</svg>").ok_or_else(|| Error::drawing("the picture has no end"))?;
        text.insert_str(end, &image);
    }
    Ok(text.into_bytes())
}

/// The colours of what lies inside the frame, transparent where nothing is.
struct Cells {
    left: i32,
    top: i32,
    width: i32,
    height: i32,
    pixels: Vec<u8>,
}

impl Cells {
    fn of(layout: &Layout, fine: i32, x: &Axis, y: &Axis, values: &[f64], scale: Option<Scale>) -> Self {
        let (left, top, right, bottom) = layout.frame;
        let (left, top) = (left + 1, top + 1);
        let (width, height) = ((right - left) * fine, (bottom - top) * fine);
        let columns: Vec<Option<usize>> = (0..width).map(|c| cell(x, c, width, x.downwards)).collect();
        let mut pixels = Vec::new();
        for row in 0..height {
            // The first row is the topmost: the largest value, unless values grow downwards.
            let Some(at) = cell(y, row, height, !y.downwards) else {
                pixels.extend(std::iter::repeat_n(0, columns.len() * 4));
                continue;
            };
            for column in &columns {
                let value = column.and_then(|c| values.get(at * x.values.len() + c)).copied();
                match (value.filter(|v| v.is_finite()), scale) {
                    (Some(value), Some(scale)) => {
                        pixels.extend(scale.colour(value));
                        pixels.push(255);
                    }
                    _ => pixels.extend([0; 4]),
                }
            }
        }
        Cells { left, top, width, height, pixels }
    }
}

/// The cell of an axis under the middle of a pixel.
fn cell(axis: &Axis, pixel: i32, pixels: i32, falls: bool) -> Option<usize> {
    let (low, high) = axis.ends();
    let part = (f64::from(pixel) + 0.5) / f64::from(pixels);
    axis.cell(if falls { high - (high - low) * part } else { low + (high - low) * part })
}

fn scale(values: &[f64], options: &Options) -> Option<Scale> {
    options.range.map(|(low, high)| Scale { low, high }).or_else(|| Scale::of(values))
}

/// The same for a line, which is to keep off the frame.
fn room(values: &[f64], options: &Options) -> Option<Scale> {
    let scale = scale(values, options)?;
    let room = if options.range.is_some() { 0.0 } else { (scale.high - scale.low) * 0.05 };
    let wider = Scale { low: scale.low - room, high: scale.high + room };
    Some(if wider.low.is_finite() && wider.high.is_finite() { wider } else { scale })
}

/// All but a map's cells.
fn draw<DB: DrawingBackend>(
    area: &Area<'_, DB>,
    layout: &Layout,
    picture: &Picture,
    words: &Words,
    options: &Options,
) -> Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let known = REGISTERED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok());
    if !known {
        return Err(Error::drawing("the built-in font cannot be read"));
    }
    let pen = Pen { area, layout };
    area.fill(&WHITE).map_err(Error::drawing)?;
    let (left, top, right, _) = layout.frame;
    let middle = left + (right - left) / 2;
    pen.text(&words.title, TITLE, (middle, top - 42), HPos::Center, VPos::Center, false)?;
    let file = text::safe(&options.file);
    let under = if words.subtitle.is_empty() { file } else { format!("{} \u{b7} {file}", words.subtitle) };
    pen.text(&under, SMALL, (middle, top - 18), HPos::Center, VPos::Center, false)?;
    match picture {
        Picture::Map { x, y, values } => {
            pen.x_axis(x, false)?;
            pen.y_ticks(&y.ticks(7), y.ends(), y.downwards, false)?;
            pen.y_label(&y.label)?;
            match scale(values, options) {
                Some(scale) => pen.colour_bar(scale, &words.values)?,
                None => pen.nothing()?,
            }
        }
        Picture::Series { x, values } => match room(values, options) {
            Some(scale) => {
                pen.x_axis(x, true)?;
                pen.y_ticks(
                    &numbered(&ticks(scale.low, scale.high, 7, false)),
                    (scale.low, scale.high),
                    false,
                    true,
                )?;
                pen.y_label(&words.values)?;
                pen.series(x, values, scale)?;
            }
            None => pen.nothing()?,
        },
    }
    pen.frame()
}

/// Draws into an area.
struct Pen<'a, DB: DrawingBackend> {
    area: &'a Area<'a, DB>,
    layout: &'a Layout,
}

impl<DB: DrawingBackend> Pen<'_, DB> {
    fn text(&self, text: &str, size: u32, at: (i32, i32), h: HPos, v: VPos, upwards: bool) -> Result<()> {
        let mut font = (FAMILY, size).into_font();
        if upwards {
            font = font.transform(FontTransform::Rotate270);
        }
        let style = TextStyle::from(font).color(&INK).pos(Pos::new(h, v));
        self.area.draw_text(text, &style, at).map_err(Error::drawing)
    }

    fn line(&self, from: (i32, i32), to: (i32, i32), colour: &RGBColor) -> Result<()> {
        self.area.draw(&PathElement::new(vec![from, to], colour)).map_err(Error::drawing)
    }

    fn frame(&self) -> Result<()> {
        let (left, top, right, bottom) = self.layout.frame;
        self.area.draw(&Rectangle::new([(left, top), (right, bottom)], INK)).map_err(Error::drawing)
    }

    fn nothing(&self) -> Result<()> {
        let (left, top, right, bottom) = self.layout.frame;
        let middle = (left + (right - left) / 2, top + (bottom - top) / 2);
        self.text("all values are missing", TITLE, middle, HPos::Center, VPos::Center, false)
    }

    /// The pixel of a value between two ends.
    #[expect(clippy::cast_possible_truncation, reason = "within the picture")]
    fn along(value: f64, (low, high): (f64, f64), from: i32, to: i32) -> i32 {
        let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
        from + (f64::from(to - from) * part).round() as i32
    }

    fn x_axis(&self, x: &Axis, grid: bool) -> Result<()> {
        let (left, top, right, bottom) = self.layout.frame;
        // As many as their words leave room for.
        let longest = x.ticks(6).iter().map(|(_, w)| w.chars().count()).max().unwrap_or(1).max(1);
        let room = usize::try_from(right - left).unwrap_or(1) / (longest * 10 + 15);
        let (from, to) = if x.downwards { (right, left) } else { (left, right) };
        for (value, words) in x.ticks(room.clamp(2, 10)) {
            let at = Self::along(value, x.ends(), from, to);
            if grid {
                self.line((at, top), (at, bottom), &FAINT)?;
            }
            self.line((at, bottom), (at, bottom + 5), &INK)?;
            self.text(&words, SMALL, (at, bottom + 9), HPos::Center, VPos::Top, false)?;
        }
        let middle = left + (right - left) / 2;
        self.text(&x.label, SMALL, (middle, bottom + 34), HPos::Center, VPos::Top, false)
    }

    fn y_ticks(&self, ticks: &[(f64, String)], ends: (f64, f64), downwards: bool, grid: bool) -> Result<()> {
        let (left, top, right, bottom) = self.layout.frame;
        let (from, to) = if downwards { (top, bottom) } else { (bottom, top) };
        for (value, words) in ticks {
            let at = Self::along(*value, ends, from, to);
            if grid {
                self.line((left, at), (right, at), &FAINT)?;
            }
            self.line((left - 5, at), (left, at), &INK)?;
            self.text(words, SMALL, (left - 8, at), HPos::Right, VPos::Center, false)?;
        }
        Ok(())
    }

    fn y_label(&self, label: &str) -> Result<()> {
        let (_, top, _, bottom) = self.layout.frame;
        let middle = top + (bottom - top) / 2;
        self.text(label, SMALL, (16, middle), HPos::Center, VPos::Center, true)
    }

    fn colour_bar(&self, scale: Scale, label: &str) -> Result<()> {
        let (_, top, right, bottom) = self.layout.frame;
        let (from, to) = (right + 20, right + 38);
        for y in top..bottom {
            let place = f64::from(bottom - y) / f64::from(bottom - top);
            let [r, g, b] = colour(place);
            let row = Rectangle::new([(from, y), (to, y + 1)], RGBColor(r, g, b).filled());
            self.area.draw(&row).map_err(Error::drawing)?;
        }
        self.area.draw(&Rectangle::new([(from, top), (to, bottom)], INK)).map_err(Error::drawing)?;
        for (value, words) in numbered(&ticks(scale.low, scale.high, 7, false)) {
            let at = Self::along(value, (scale.low, scale.high), bottom, top);
            self.line((to, at), (to + 5, at), &INK)?;
            self.text(&words, SMALL, (to + 8, at), HPos::Left, VPos::Center, false)?;
        }
        let (width, _) = self.layout.size;
        let edge = i32::try_from(width).unwrap_or(i32::MAX) - 14;
        let middle = top + (bottom - top) / 2;
        self.text(label, SMALL, (edge, middle), HPos::Center, VPos::Center, true)
    }

    fn series(&self, x: &Axis, values: &[f64], scale: Scale) -> Result<()> {
        let (left, top, right, bottom) = self.layout.frame;
        let (from, to) = if x.downwards { (right, left) } else { (left, right) };
        let point = |n: usize| {
            let across = Self::along(x.values[n], x.ends(), from, to);
            (across, Self::along(values[n], (scale.low, scale.high), bottom, top))
        };
        let shown: Vec<usize> = (0..values.len()).filter(|&n| values[n].is_finite()).collect();
        // A line ends where a value is missing.
        for run in shown.chunk_by(|a, b| a + 1 == *b) {
            let points: Vec<(i32, i32)> = run.iter().map(|&n| point(n)).collect();
            if points.len() > 1 {
                let line = PathElement::new(points.clone(), LINE.stroke_width(2));
                self.area.draw(&line).map_err(Error::drawing)?;
            }
            if points.len() == 1 || values.len() <= MARKED {
                for at in points {
                    self.area.draw(&Circle::new(at, 3, LINE.filled())).map_err(Error::drawing)?;
                }
            }
        }
        Ok(())
    }
}
