//! A quick look at a variable, as a map or a series, in the units of its coordinates.

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
mod number;
mod pixels;
mod place;
mod scene;
mod shown;
mod svg;
mod tables;

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
pub enum Kind {
    /// Pixels.
    Png,
    /// Lines and words; a map's cells are an image in it.
    Svg,
}

/// How it is drawn.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the file, as it is to stand under the title.
    pub file: String,
    /// Width in pixels, 300 to 4000.
    pub width: u32,
    /// Height in pixels, 200 to 4000; without one it follows from the width.
    pub height: Option<u32>,
    /// Ends of the colour scale, or of a series' axis; the smallest and the largest value where there are none.
    pub range: Option<(f64, f64)>,
    /// The colours of a map; without any, [`Colours::default`], or [`Colours::diverging`] where the scale is centred.
    pub colours: Option<Colours>,
    /// A scale with 0 in its middle, in colours for both sides.
    pub diverging: bool,
    /// Coastlines on maps whose axes are longitude and latitude.
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

/// What is not in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Of a dimension one value in so many is drawn.
    Thinned {
        /// Its name, safe to show.
        dimension: String,
        /// In how many.
        every: u64,
    },
    /// Of a dimension of several only the first index is drawn.
    First {
        /// Its name, safe to show.
        dimension: String,
        /// What the coordinate says there.
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
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What is drawn.
enum Picture {
    /// Values over one axis.
    Series { x: Axis, values: Vec<f64> },
    /// Values along a height or depth, which is upright.
    Profile { y: Axis, values: Vec<f64> },
    /// Values over two axes, the first running fastest.
    Map { x: Axis, y: Axis, values: Vec<f64> },
}

/// What stands around it.
struct Words {
    title: String,
    /// What is fixed: `TIME = 1979-01-16`.
    subtitle: String,
    /// What the values are, with their units.
    values: String,
    /// The names of the classes that the values are, if they are.
    classes: Vec<String>,
}

/// Draws what is selected of a variable: of more than two dimensions longer than one, a map of the last two. No more values are read
/// than a picture has room for.
///
/// # Errors
/// Text, no values, a single value; what reading says.
pub fn draw(
    dataset: &Dataset,
    variable: &Variable,
    selection: &Selection,
    kind: Kind,
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

/// A series, a profile or a map, by the dimensions that are longer than one.
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

/// Of two axes the one that is upright has the larger number: heights before latitudes before all others.
fn upright(axis: &Axis) -> u8 {
    match axis.role {
        Role::Vertical => 2,
        Role::Latitude => 1,
        Role::Longitude | Role::Other => 0,
    }
}

/// Values with rows as columns.
fn transposed(values: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns.max(1))).copied().collect()
}

/// A text attribute, no longer than a title may be.
fn attribute(variable: &Variable, name: &str) -> Option<String> {
    whole_attribute(variable, name).map(|value| short(&value))
}

/// A text attribute with all of its letters.
fn whole_attribute(variable: &Variable, name: &str) -> Option<String> {
    let a = variable.attribute(name).filter(|a| a.ty == nc3z_format::NcType::Char)?;
    let value = text::safe(String::from_utf8_lossy(&a.values).trim_end_matches(['\0', ' ', '\n']));
    (!value.is_empty()).then_some(value)
}

/// No longer than a title may be.
fn short(words: &str) -> String {
    cut(words, 80)
}

/// The first `most` letters of words.
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
