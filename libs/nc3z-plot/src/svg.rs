//! Writes a scene as SVG. Groups have the class of their content. Nothing is drawn outside of the picture.

use crate::scene::{Anchor, Group, Point, Raster, Rgb, Scene, Shape};
use crate::{Result, png};
use base64::Engine as _;
use std::fmt::{self, Write as _};

/// The distance of the base line of text below its middle, as a share of its size.
pub(super) const BASELINE: f64 = 0.36;

pub(super) fn svg(scene: &Scene) -> Result<Vec<u8>> {
    let (width, height) = (scene.width, scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"'DejaVu Sans', Verdana, sans-serif\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for group in &scene.groups {
        write_group(&mut out, group)?;
    }
    out.push_str("</svg>\n");
    Ok(out.into_bytes())
}

fn write_group(out: &mut String, group: &Group) -> Result<()> {
    let class = group.class;
    match group.clip {
        // An inner picture clips its content without an identifier, which might occur in another picture of
        // the same page.
        Some(r) => {
            let (x, y, width, height) = (r.left, r.top, r.width(), r.height());
            let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            let view = format!("viewBox=\"{x} {y} {width} {height}\"");
            writeln!(out, "<svg class=\"{class}\" {place} {view} overflow=\"hidden\">")
        }
        None => writeln!(out, "<g class=\"{class}\">"),
    }
    .map_err(super::Error::drawing)?;
    for shape in &group.shapes {
        write_shape(out, shape)?;
        out.push('\n');
    }
    out.push_str(if group.clip.is_some() { "</svg>\n" } else { "</g>\n" });
    Ok(())
}

fn write_shape(out: &mut String, shape: &Shape) -> Result<()> {
    let written = match shape {
        Shape::Rule(from, to, colour) => {
            // The line includes the whole pixels at both ends.
            let (dx, dy) = if (from.1 - to.1).abs() < 0.5 { (0.5, 0.0) } else { (0.0, 0.5) };
            let (a, b) = if (from.0, from.1) <= (to.0, to.1) { (from, to) } else { (to, from) };
            let ends = [a.0 - dx, a.1 - dy, b.0 + dx, b.1 + dy].map(Number);
            let [x1, y1, x2, y2] = ends;
            write!(out, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{}\"/>", Hex(*colour))
        }
        Shape::Line { points, width, colour } => {
            let points: Vec<String> =
                points.iter().map(|p| format!("{},{}", Number(p.0), Number(p.1))).collect();
            let style = "stroke-linejoin=\"round\" stroke-linecap=\"round\"";
            let (points, colour) = (points.join(" "), Hex(*colour));
            write!(
                out,
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" {style}/>"
            )
        }
        Shape::Outline { lines, width, colour, opacity } => {
            let path: String = lines.iter().map(|points| path(points)).collect();
            let style = "stroke-linejoin=\"round\" stroke-linecap=\"round\"";
            let colour = Hex(*colour);
            let pen = format!("stroke=\"{colour}\" stroke-width=\"{width}\" stroke-opacity=\"{opacity}\"");
            write!(out, "<path d=\"{path}\" fill=\"none\" {pen} {style}/>")
        }
        Shape::Dot { at, radius, colour } => {
            let (x, y) = (Number(at.0), Number(at.1));
            write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{}\"/>", Hex(*colour))
        }
        Shape::Image(r, raster) => {
            let (x, y, width, height) = (r.left, r.top, r.width(), r.height());
            let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
            let style = "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\"";
            let data = data(raster)?;
            write!(out, "<image {place} {style} href=\"data:image/png;base64,{data}\"/>")
        }
        Shape::Text { words, size, at, anchor, turned } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let down = size * BASELINE;
            let (x, y) = if *turned { (at.0 + down, at.1) } else { (at.0, at.1 + down) };
            let (x, y, ink) = (Number(x), Number(y), Hex(super::draw::INK));
            let turn = if *turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            let words = Escaped(words);
            write!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{ink}\" text-anchor=\"{anchor}\"{turn}>{words}</text>"
            )
        }
    };
    written.map_err(super::Error::drawing)
}

/// A path. Each point is given by its distance from the previous one, in tenths of a pixel: the shortest form
/// in SVG, since coastlines have thousands of points.
fn path(points: &[Point]) -> String {
    let mut out = String::new();
    let mut before = (0.0, 0.0);
    for (n, p) in points.iter().enumerate() {
        let at = ((p.0 * 10.0).round(), (p.1 * 10.0).round());
        for (i, step) in [at.0 - before.0, at.1 - before.1].into_iter().enumerate() {
            match (n, i) {
                (0, 0) => out.push('M'),
                (1, 0) => out.push('l'),
                _ if step >= 0.0 => out.push(' '),
                _ => {}
            }
            let step = Number(step / 10.0).to_string();
            out.push_str(&step.replacen(
                "0.",
                ".",
                usize::from(step.starts_with("0.") || step.starts_with("-0.")),
            ));
        }
        before = at;
    }
    out
}

/// Returns the URL of an embedded image.
fn data(raster: &Raster) -> Result<String> {
    let bytes = png::encode(raster.width, raster.height, &raster.rgba, true)?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A colour as `#1f5fa8`.
struct Hex(Rgb);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// A number of pixels, rounded to hundredths.
#[derive(Clone, Copy)]
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding 0 makes a negative zero positive.
        write!(f, "{}", (self.0 * 100.0).round() / 100.0 + 0.0)
    }
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            // Characters that XML 1.0 does not allow.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}'),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_leave_their_place() {
        assert_eq!(Escaped("a<b>&\u{1b}\n").to_string(), "a&lt;b&gt;&amp;\u{fffd}\u{fffd}");
        assert_eq!(Number(-0.001).to_string(), "0");
        assert_eq!(path(&[(1.0, 2.04), (1.25, 3.0)]), "M1 2l.3 1");
        assert_eq!(path(&[(10.0, 10.0), (9.5, 12.0), (19.5, 11.9)]), "M10 10l-.5 2 10-.1");
    }
}
