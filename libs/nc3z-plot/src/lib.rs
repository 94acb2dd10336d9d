//! Draws a quick look at a variable, as a map or a series, in the units of its coordinates.
//!
//! ```
//! use nc3z_plot::{PictureFormat, Options, draw};
//! use nc3z_look::selection::Selection;
//! use nc3z_reader::{Dataset, OpenOptions};
//!
//! let dataset = Dataset::open("../../testdata/classic/etopo120.cdf", &OpenOptions::default())?;
//! let relief = dataset.variable("ROSE")?;
//! let options = Options { file: "etopo120.cdf".to_owned(), ..Options::default() };
//! let drawn = draw(&dataset, &relief, &Selection::all(relief.shape()), PictureFormat::Svg, &options)?;
//! assert!(drawn.bytes.starts_with(b"<svg") && drawn.notes.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod along;
mod axis;
mod cell_positions;
mod classes;
mod coast;
mod colour;
mod dates;
mod draw;
mod error;
mod field;
mod font;
mod layout;
mod pdf;
mod pixels;
mod png;
mod scene;
mod shown;
mod svg;
mod tables;
mod ticks;

pub use colour::Colours;
pub use error::{Error, Result};

use along::Along;
use axis::{Axis, Role};
use field::Field;
use nc3z_look::selection::Selection;
use nc3z_look::text;
use nc3z_reader::{Dataset, Variable};
use std::fmt;

/// A picture's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// A raster image.
    Png,
    /// Lines and text. The cells of a map are an embedded image.
    Svg,
    /// A page of the picture's size, with lines and outlines of text.
    Pdf,
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
    /// The title. None means the variable's long name.
    pub title: Option<String>,
    /// Shows values on a logarithmic scale. Values that are not positive are then missing.
    pub log: bool,
    /// The variable along the horizontal axis. None means the coordinate of the dimension.
    pub x: Option<String>,
    /// The variable along the vertical axis.
    pub y: Option<String>,
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
            title: None,
            log: false,
            x: None,
            y: None,
        }
    }
}

/// A note on data that are not in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Only every `every`-th value of a dimension is drawn.
    Thinned {
        /// Its name, safe to show.
        dimension: String,
        /// The distance of the drawn values.
        every: u64,
    },
    /// Only the first index of a dimension is drawn.
    First {
        /// Its name, safe to show.
        dimension: String,
        /// The coordinate's value at that index.
        value: String,
    },
    /// Values outside of the requested range have colours of their own.
    Beyond {
        /// The number of values below the range, which are grey.
        below: usize,
        /// The number of values above it, which are magenta.
        above: usize,
    },
    /// Values that are not positive have no place on a logarithmic scale.
    NotPositive {
        /// Their number.
        count: usize,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Thinned { dimension, every } => write!(f, "of `{dimension}` one value in {every} is drawn"),
            Note::First { dimension, value } => {
                write!(f, "only the first of `{dimension}` is drawn ({value})")
            }
            Note::Beyond { below, above } => {
                write!(f, "{below} values are below the range (grey), {above} above it (magenta)")
            }
            Note::NotPositive { count } => {
                write!(f, "{count} values are not positive: a logarithmic scale cannot show them")
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
    let mut field = Field::read(dataset, variable, selection, options)?;
    let mut notes = std::mem::take(&mut field.notes);
    let words = Words {
        title: options.title.as_deref().map_or_else(|| title(variable), |words| short(&text::safe(words))),
        subtitle: field.fixed.join(", "),
        values: axis::label(&text::safe(&variable.name()), units(variable).as_deref()),
        classes: classes::of(variable, &mut field.values),
    };
    let options = &to_scale(&mut field.values, &words, options, &mut notes)?;
    let picture = picture(dataset, variable, field, options)?;
    notes.extend(beyond(&picture, &words, options));
    let bytes = draw::file(&picture, &words, kind, options)?;
    Ok(Drawn { bytes, notes })
}

/// Replaces values and the ends of the range by their logarithms, if the scale is logarithmic.
fn to_scale(values: &mut [f64], words: &Words, options: &Options, notes: &mut Vec<Note>) -> Result<Options> {
    let log = options.log && words.classes.is_empty();
    let mut options = Options { log, ..options.clone() };
    if !log {
        return Ok(options);
    }
    if let Some((low, high)) = options.range {
        if low <= 0.0 {
            return Err(Error::Request("the range of a logarithmic scale has positive ends".to_owned()));
        }
        options.range = Some((low.log10(), high.log10()));
    }
    let count = values.iter().filter(|v| v.is_finite() && **v <= 0.0).count();
    if count > 0 {
        notes.push(Note::NotPositive { count });
    }
    values.iter_mut().for_each(|v| *v = if *v > 0.0 { v.log10() } else { f64::NAN });
    Ok(options)
}

/// Counts the values of a map that are outside of the requested range.
fn beyond(picture: &Picture, words: &Words, options: &Options) -> Option<Note> {
    let (Picture::Map { values, .. }, Some((low, high))) = (picture, options.range) else { return None };
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(**v)).count();
    let (below, above) = (count(&|v| v < low), count(&|v| v > high));
    (below + above > 0 && words.classes.is_empty()).then_some(Note::Beyond { below, above })
}

/// Makes a series, a profile or a map, depending on the dimensions that are longer than one.
fn picture(dataset: &Dataset, variable: &Variable, field: Field, options: &Options) -> Result<Picture> {
    if let Some(place) = &field.place
        && let Some((x, y, values)) = place.raster(&field.all, &field.dims, &field.values)?
    {
        return Ok(Picture::Map { x, y, values });
    }
    let along = Along { dataset, variable, field: &field };
    let x = options.x.as_deref().map(|name| along.named(name)).transpose()?;
    let y = options.y.as_deref().map(|name| along.named(name)).transpose()?;
    if let [dim] = &field.dims[..] {
        return along.line(dim, x, y);
    }
    if let ([slow, fast], true) = (&field.dims[..], x.is_some() || y.is_some()) {
        return along.map(slow, fast, x, y);
    }
    let mut axes = field.dims.iter().map(|d| Axis::new(dataset, d));
    Ok(match (axes.next().transpose()?, axes.next().transpose()?) {
        (Some(y), Some(x)) if upright(&x) > upright(&y) => {
            let values = transposed(&field.values, x.values.len());
            Picture::Map { x: y, y: x, values }
        }
        (Some(y), Some(x)) => Picture::Map { x, y, values: field.values },
        _ => return Err(Error::no_picture(variable, "has one value there, which cannot be drawn")),
    })
}

/// Returns the rank of an axis. The axis with the larger rank is vertical: heights before latitudes before all others.
fn upright(axis: &Axis) -> u8 {
    match axis.role {
        Role::Vertical => 2,
        Role::Latitude => 1,
        Role::Longitude | Role::Other => 0,
    }
}

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
