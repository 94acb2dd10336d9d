//! The font of pictures: the width of text, and its outlines.

use crate::{Error, Result};
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use zeno::{Command, PathBuilder as _};

/// Latin, Greek and symbols of DejaVu Sans. SVG names this font first, followed by the viewer's own
/// sans-serif.
const FONT: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");

pub(super) struct Font(Face<'static>);

impl Font {
    pub(super) fn new() -> Result<Self> {
        Face::parse(FONT, 0).map(Font).map_err(|e| Error::drawing(format!("built-in font: {e}")))
    }

    fn scale(&self, size: f64) -> f64 {
        size / f64::from(self.0.units_per_em().max(1))
    }

    /// Returns the glyph of a character, or the glyph for unknown characters.
    fn glyph(&self, c: char) -> GlyphId {
        self.0.glyph_index(c).or_else(|| self.0.glyph_index('\u{fffd}')).unwrap_or(GlyphId(0))
    }

    fn advance(&self, glyph: GlyphId) -> f64 {
        f64::from(self.0.glyph_hor_advance(glyph).unwrap_or(0))
    }

    /// Returns the width of text in pixels.
    pub(super) fn width(&self, words: &str, size: f64) -> f64 {
        words.chars().map(|c| self.advance(self.glyph(c))).sum::<f64>() * self.scale(size)
    }

    /// Returns the text, shortened with an ellipsis if it is wider than `most` pixels.
    pub(super) fn fit(&self, words: &str, size: f64, most: f64) -> String {
        if self.width(words, size) <= most {
            return words.to_owned();
        }
        let room = most - self.width("…", size);
        let mut kept = String::new();
        let mut width = 0.0;
        for c in words.chars() {
            width += self.advance(self.glyph(c)) * self.scale(size);
            if width > room {
                break;
            }
            kept.push(c);
        }
        kept.truncate(kept.trim_end().len());
        kept.push('…');
        kept
    }

    /// Returns the outlines of text in pixels, from the start of its base line, with y pointing downwards.
    pub(super) fn outline(&self, words: &str, size: f64) -> Vec<Command> {
        let mut pen = Pen { commands: Vec::new(), scale: self.scale(size), across: 0.0 };
        for c in words.chars() {
            let glyph = self.glyph(c);
            self.0.outline_glyph(glyph, &mut pen);
            pen.across += self.advance(glyph);
        }
        pen.commands
    }
}

/// Collects the outlines of consecutive glyphs.
struct Pen {
    commands: Vec<Command>,
    scale: f64,
    /// Units of the font from the start of the text.
    across: f64,
}

impl Pen {
    #[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (((self.across + f64::from(x)) * self.scale) as f32, (f64::from(-y) * self.scale) as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.commands.move_to(to);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.at(x, y);
        self.commands.line_to(to);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (by, to) = (self.at(x1, y1), self.at(x, y));
        self.commands.quad_to(by, to);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (one, two, to) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.commands.curve_to(one, two, to);
    }

    fn close(&mut self) {
        self.commands.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_wide_as_their_characters() {
        let font = Font::new().unwrap();
        // DejaVu Sans: digits are 1303 of 2048 units wide.
        assert!((font.width("0123456789", 20.48) - 130.3).abs() < 1e-9);
        assert_eq!(font.fit("temperature", 14.0, 1000.0), "temperature");
        let short = font.fit("temperature of the sea", 14.0, 100.0);
        assert!(short.ends_with('…') && font.width(&short, 14.0) <= 100.0, "{short}");
        assert!(!font.outline("ä", 14.0).is_empty() && !font.outline("漢", 14.0).is_empty());
    }
}
