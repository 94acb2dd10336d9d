//! Draws a quick look at a variable, as a map or a series, in the units of its coordinates.

mod axis;
mod classes;
mod coast;
mod colour;
mod dates;
mod draw;
mod error;
mod field;
mod font;
mod image;
mod layout;
mod pixels;
mod place;
mod scene;
mod shown;
mod svg;
mod tables;
mod ticks;

pub use colour::Colours;
pub use error::{Error, Result};

use crate::selection::Selection;
use crate::text;
use axis::{Axis, Role};
use field::Field;
use nc3z_reader::{Dataset, Variable};
use std::fmt;

/// A picture's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// A raster image.
    Png,
    /// Lines and text. The cells of a map are an embedded image.
    Svg,
}

/// The options of drawing.
#[derive(Debug, Clone)]
pub struct Options {
    /// The name of the file that is shown under the title.
    pub file: String,
    /// Width in pixels, 300 to 4000.
    pub width: u32,
    /// Height in pixels, 200 to 4000. None means a height that fits the width.
    pub height: Option<u32>,
    /// The ends of the colour scale, or of a series' axis. None means the smallest and the largest value.
    pub range: Option<(f64, f64)>,
    /// The colours of a map. None means [`Colours::default`], or [`Colours::diverging`] if the scale is
    /// centred.
    pub colours: Option<Colours>,
    /// Centres the scale at 0, with different colours for both sides.
    pub diverging: bool,
    /// Draws coastlines on maps whose axes are longitude and latitude.
    pub coastline: bool,
}

impl Options {
    /// The widths and heights that pictures may have.
    pub const WIDTHS: std::ops::RangeInclusive<u32> = 300..=4000;
    /// See [`Options::WIDTHS`].
    pub const HEIGHTS: std::ops::RangeInclusive<u32> = 200..=4000;
}

impl Default for Options {
    fn default() -> Self {
        Options {
            file: String::new(),
            width: 1000,
            height: None,
            range: None,
            colours: None,
            diverging: false,
            coastline: true,
        }
    }
}

/// A note on data that are not in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Of a dimension every `every`-th value is drawn.
    Thinned {
        /// Its name, safe to show.
        dimension: String,
        /// The distance of the drawn values.
        every: u64,
    },
    /// Of a dimension with several indices, only the first one is drawn.
    First {
        /// Its name, safe to show.
        dimension: String,
        /// The coordinate's value at that index.
        value: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Thinned { dimension, every } => write!(f, "of `{dimension}` one value in {every} is drawn"),
            Note::First { dimension, value } => {
                write!(f, "only the first of `{dimension}` is drawn ({value})")
            }
        }
    }
}

/// A picture.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The bytes of a PNG or SVG file.
    pub bytes: Vec<u8>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// The kinds of pictures.
enum Picture {
    /// Values over one axis.
    Series { x: Axis, values: Vec<f64> },
    /// Values along a height or depth, which is the vertical axis.
    Profile { y: Axis, values: Vec<f64> },
    /// Values over two axes, of which the first runs fastest.
    Map { x: Axis, y: Axis, values: Vec<f64> },
}

/// The text around a picture.
struct Words {
    title: String,
    /// The fixed indices: `TIME = 1979-01-16`.
    subtitle: String,
    /// The name of the values, with their units.
    values: String,
    /// The names of the classes, if the values are classes.
    classes: Vec<String>,
}

/// Draws the selected part of a variable. If more than two dimensions are longer than one, the picture is a
/// map of the last two. At most as many values are read as the picture can show.
///
/// # Errors
/// Text, no values, a single value; a read error.
pub fn draw(
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
    kind: PictureFormat,
    options: &Options,
) -> Result<Drawn> {
    let width = options.width.clamp(*Options::WIDTHS.start(), *Options::WIDTHS.end());
    let height = options.height.map(|h| h.clamp(*Options::HEIGHTS.start(), *Options::HEIGHTS.end()));
    let options = &Options { width, height, ..options.clone() };
    let mut field = Field::read(dataset, variable, selection, width)?;
    let notes = std::mem::take(&mut field.notes);
    let words = Words {
        title: title(variable),
        subtitle: field.fixed.join(", "),
        values: axis::label(&text::safe(&variable.name()), units(variable).as_deref()),
        classes: classes::of(variable, &mut field.values),
    };
    let picture = picture(dataset, variable, field)?;
    let bytes = draw::file(&picture, &words, kind, options)?;
    Ok(Drawn { bytes, notes })
}

/// Makes a series, a profile or a map, depending on the dimensions that are longer than one.
fn picture(dataset: &Dataset, variable: &Variable, field: Field) -> Result<Picture> {
    if let Some(place) = &field.place
        && let Some((x, y, values)) = place.raster(&field.all, &field.dims, &field.values)?
    {
        return Ok(Picture::Map { x, y, values });
    }
    let mut axes = field.dims.iter().map(|d| Axis::of(dataset, d));
    Ok(match (axes.next().transpose()?, axes.next().transpose()?) {
        (Some(y), Some(x)) if upright(&x) > upright(&y) => {
            let values = transposed(&field.values, x.values.len());
            Picture::Map { x: y, y: x, values }
        }
        (Some(y), Some(x)) => Picture::Map { x, y, values: field.values },
        (Some(y), None) if y.role == Role::Vertical => Picture::Profile { y, values: field.values },
        (Some(x), None) => Picture::Series { x, values: field.values },
        _ => return Err(Error::no_picture(variable, "has one value there, which is no picture")),
    })
}

/// Of two axes, the one with the larger number is vertical: heights before latitudes before all others.
fn upright(axis: &Axis) -> u8 {
    match axis.role {
        Role::Vertical => 2,
        Role::Latitude => 1,
        Role::Longitude | Role::Other => 0,
    }
}

/// Transposes values.
fn transposed(values: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns.max(1))).copied().collect()
}

/// Returns a text attribute, shortened to the length of a title.
fn attribute(variable: &Variable, name: &str) -> Option<String> {
    whole_attribute(variable, name).map(|value| short(&value))
}

/// Returns a text attribute in full.
fn whole_attribute(variable: &Variable, name: &str) -> Option<String> {
    let a = variable.attribute(name).filter(|a| a.ty == nc3z_format::NcType::Char)?;
    let value = text::safe(String::from_utf8_lossy(&a.values).trim_end_matches(['\0', ' ', '\n']));
    (!value.is_empty()).then_some(value)
}

/// Shortens text to the length of a title.
fn short(words: &str) -> String {
    cut(words, 80)
}

/// Returns the first `most` letters of a text.
fn cut(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}

fn units(variable: &Variable) -> Option<String> {
    attribute(variable, "units")
}

fn title(variable: &Variable) -> String {
    let name = text::safe(&variable.name());
    match attribute(variable, "long_name").or_else(|| attribute(variable, "standard_name")) {
        Some(long) => format!("{long} ({name})"),
        None => name,
    }
}
