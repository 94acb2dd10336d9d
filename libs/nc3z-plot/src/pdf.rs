//! Writes a scene as PDF (ISO 32000-1): a page of the picture's size. Text is drawn by its outlines, so that no font is needed. The file
//! has neither dates nor identifiers: the same picture gives the same bytes.

use crate::draw::INK;
use crate::font::Font;
use crate::pixels::{pixels_of, place};
use crate::scene::{Group, Point, Raster, Rect, Rgb, Scene, Shape};
use crate::{Error, Result};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use zeno::{Command, Vector};

/// Points of a page for a pixel of the picture: 96 pixels are an inch.
const POINTS: f64 = 0.75;
/// The distance of a circle's control points, for a radius of 1.
const CIRCLE: f64 = 0.552_284_75;

pub(super) fn pdf(scene: &Scene, font: &Font) -> Result<Vec<u8>> {
    let mut page = Page { text: String::new(), images: Vec::new(), opacities: Vec::new() };
    let (width, height) = (f64::from(scene.width), f64::from(scene.height));
    // Pixels are counted downwards from the upper left corner.
    page.put(format_args!("{POINTS} 0 0 -{POINTS} 0 {} cm", Number(height * POINTS)))?;
    let signed = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    let all = Rect { left: 0, top: 0, right: signed(scene.width), bottom: signed(scene.height) };
    for group in &scene.groups {
        page.group(group, all, font)?;
    }
    let mut file = File { out: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), offsets: Vec::new() };
    file.object(b"<< /Type /Catalog /Pages 2 0 R >>", None)?;
    file.object(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", None)?;
    // Each image is followed by its mask.
    let images: String =
        (0..page.images.len()).fold(String::new(), |s, n| format!("{s}/I{n} {} 0 R ", 5 + 2 * n));
    let states = (0..)
        .zip(&page.opacities)
        .fold(String::new(), |s, (n, opacity)| format!("{s}/G{n} << /CA {opacity} /ca {opacity} >> "));
    let (wide, high) = (Number(width * POINTS), Number(height * POINTS));
    let head = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {wide} {high}] /Contents 4 0 R \
         /Resources << /XObject << {images}>> /ExtGState << {states}>> >> >>"
    );
    file.object(head.as_bytes(), None)?;
    file.object(b"/Filter /FlateDecode", Some(&deflated(page.text.as_bytes())?))?;
    for raster in &page.images {
        let size = format!("/Width {} /Height {}", raster.width, raster.height);
        let colours: Vec<u8> =
            raster.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        let mask: Vec<u8> = raster.rgba.chunks_exact(4).map(|pixel| pixel[3]).collect();
        let next = file.offsets.len() + 2;
        let image = "/Type /XObject /Subtype /Image /BitsPerComponent 8 /Filter /FlateDecode";
        let head = format!("{image} {size} /ColorSpace /DeviceRGB /SMask {next} 0 R");
        file.object(head.as_bytes(), Some(&deflated(&colours)?))?;
        let head = format!("{image} {size} /ColorSpace /DeviceGray");
        file.object(head.as_bytes(), Some(&deflated(&mask)?))?;
    }
    file.finish()
}

/// The objects of a file.
struct File {
    out: Vec<u8>,
    offsets: Vec<usize>,
}

impl File {
    /// Adds an object: a dictionary, or the entries of a stream's dictionary and its bytes.
    fn object(&mut self, head: &[u8], stream: Option<&[u8]>) -> Result<()> {
        self.offsets.push(self.out.len());
        let number = self.offsets.len();
        writeln!(self.out, "{number} 0 obj").map_err(Error::drawing)?;
        match stream {
            None => self.out.extend(head),
            Some(bytes) => {
                self.out.extend(b"<< ");
                self.out.extend(head);
                write!(self.out, " /Length {} >>\nstream\n", bytes.len()).map_err(Error::drawing)?;
                self.out.extend(bytes);
                self.out.extend(b"\nendstream");
            }
        }
        self.out.extend(b"\nendobj\n");
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        let (at, count) = (self.out.len(), self.offsets.len() + 1);
        write!(self.out, "xref\n0 {count}\n0000000000 65535 f \n").map_err(Error::drawing)?;
        for offset in &self.offsets {
            writeln!(self.out, "{offset:010} 00000 n ").map_err(Error::drawing)?;
        }
        let end = format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n");
        self.out.extend(end.into_bytes());
        Ok(self.out)
    }
}

/// The content of the page.
struct Page<'s> {
    text: String,
    images: Vec<&'s Raster>,
    opacities: Vec<f64>,
}

impl<'s> Page<'s> {
    fn put(&mut self, words: std::fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.text, "{words}").map_err(Error::drawing)
    }

    fn group(&mut self, group: &'s Group, all: Rect, font: &Font) -> Result<()> {
        self.put(format_args!("q"))?;
        let clip = group.clip.unwrap_or(all);
        if group.clip.is_some() {
            let (x, y, width, height) = (clip.left, clip.top, clip.width(), clip.height());
            self.put(format_args!("{x} {y} {width} {height} re W n"))?;
        }
        for shape in &group.shapes {
            self.shape(shape, clip, font)?;
        }
        self.put(format_args!("Q"))
    }

    fn shape(&mut self, shape: &'s Shape, clip: Rect, font: &Font) -> Result<()> {
        match shape {
            Shape::Rule(from, to, colour) => {
                let r = pixels_of(*from, *to);
                let (x, y, width, height) = (r.left, r.top, r.width(), r.height());
                self.put(format_args!("{} rg {x} {y} {width} {height} re f", Colour(*colour)))
            }
            Shape::Line { points, width, colour } => {
                self.stroke(std::slice::from_ref(points), *width, (*colour, 1.0), clip)
            }
            Shape::Outline { lines, width, colour, opacity } => {
                self.stroke(lines, *width, (*colour, *opacity), clip)
            }
            Shape::Dot { at: (x, y), radius, colour } => {
                if !(x.is_finite() && y.is_finite()) {
                    return Ok(());
                }
                let (r, c) = (*radius, radius * CIRCLE);
                self.put(format_args!("{} rg {} m", Colour(*colour), Pair(x + r, *y)))?;
                for [a, b, to] in [
                    [(x + r, y + c), (x + c, y + r), (*x, y + r)],
                    [(x - c, y + r), (x - r, y + c), (x - r, *y)],
                    [(x - r, y - c), (x - c, y - r), (*x, y - r)],
                    [(x + c, y - r), (x + r, y - c), (x + r, *y)],
                ] {
                    self.put(format_args!("{} {} {} c", Pair(a.0, a.1), Pair(b.0, b.1), Pair(to.0, to.1)))?;
                }
                self.put(format_args!("f"))
            }
            Shape::Image(r, raster) => {
                let number = self.images.len();
                self.images.push(raster);
                // An image has its first row at the top.
                let (x, y, width, height) = (r.left, r.bottom, r.width(), r.height());
                self.put(format_args!("q {width} 0 0 -{height} {x} {y} cm /I{number} Do Q"))
            }
            Shape::Text { words, size, at, anchor, turned } => {
                let outline = place(font, words, *size, *at, *anchor, *turned);
                self.put(format_args!("{} rg", Colour(INK)))?;
                self.outline(&outline)?;
                self.put(format_args!("f"))
            }
        }
    }

    fn stroke(
        &mut self,
        lines: &[Vec<Point>],
        width: f64,
        (colour, opacity): (Rgb, f64),
        clip: Rect,
    ) -> Result<()> {
        let known = self.opacities.iter().position(|known| (known - opacity).abs() < 1e-9);
        let state = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        self.put(format_args!("q /G{state} gs {} RG {} w 1 J 1 j", Colour(colour), Number(width)))?;
        for part in lines.iter().flat_map(|points| clip.grown(8).clip_line(points)) {
            for (n, p) in part.into_iter().enumerate() {
                self.put(format_args!("{} {}", Pair(p.0, p.1), if n == 0 { "m" } else { "l" }))?;
            }
        }
        self.put(format_args!("S Q"))
    }

    fn outline(&mut self, commands: &[Command]) -> Result<()> {
        let pair = |v: &Vector| Pair(v.x.into(), v.y.into());
        let mut last = Vector::new(0.0, 0.0);
        for command in commands {
            match command {
                Command::MoveTo(to) => self.put(format_args!("{} m", pair(to)))?,
                Command::LineTo(to) => self.put(format_args!("{} l", pair(to)))?,
                Command::CurveTo(a, b, to) => {
                    self.put(format_args!("{} {} {} c", pair(a), pair(b), pair(to)))?;
                }
                Command::QuadTo(by, to) => {
                    // The same curve with two control points.
                    let near = |end: &Vector| {
                        Vector::new(end.x + (by.x - end.x) * 2.0 / 3.0, end.y + (by.y - end.y) * 2.0 / 3.0)
                    };
                    self.put(format_args!("{} {} {} c", pair(&near(&last)), pair(&near(to)), pair(to)))?;
                }
                Command::Close => self.put(format_args!("h"))?,
            }
            if let Command::MoveTo(to)
            | Command::LineTo(to)
            | Command::QuadTo(_, to)
            | Command::CurveTo(_, _, to) = command
            {
                last = *to;
            }
        }
        Ok(())
    }
}

fn deflated(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).map_err(Error::drawing)?;
    encoder.finish().map_err(Error::drawing)
}

/// A number with at most three decimals. PDF has no exponents.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0.clamp(-32_000.0, 32_000.0) * 1000.0).round() / 1000.0 + 0.0;
        write!(f, "{rounded}")
    }
}

struct Pair(f64, f64);

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", Number(self.0), Number(self.1))
    }
}

struct Colour(Rgb);

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [r, g, b] = self.0.map(|part| Number(f64::from(part) / 255.0));
        write!(f, "{r} {g} {b}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_where_the_table_says() {
        let raster = Raster { width: 1, height: 1, rgba: vec![1, 2, 3, 255] };
        let rect = Rect { left: 10, top: 10, right: 20, bottom: 20 };
        let shapes = vec![
            Shape::Image(rect, raster),
            Shape::Outline {
                lines: vec![vec![(0.0, 0.0), (9.0, 9.0)]],
                width: 1.0,
                colour: [0; 3],
                opacity: 0.5,
            },
            Shape::Dot { at: (f64::NAN, 1.0), radius: 1.0, colour: [0; 3] },
        ];
        let scene =
            Scene { width: 40, height: 30, groups: vec![Group { class: "x", clip: Some(rect), shapes }] };
        let bytes = pdf(&scene, &Font::new().unwrap()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("/MediaBox [0 0 30 22.5]") && text.ends_with("%%EOF\n"));
        // Not the one of `startxref`.
        let table = bytes.windows(6).rposition(|w| w == b"\nxref\n").unwrap() + 1;
        let lines = bytes[table..].split(|b| *b == b'\n').skip(3);
        let rows: Vec<&[u8]> = lines.take_while(|line| *line != b"trailer").collect();
        assert!(rows.len() >= 5);
        for (number, row) in (1..).zip(rows) {
            let at: usize = String::from_utf8_lossy(&row[..10]).parse().unwrap();
            assert!(bytes[at..].starts_with(format!("{number} 0 obj").as_bytes()), "{number}");
        }
    }
}
