//! The arguments of `Variable.picture`.

use nc3z_plot::{Colours, Options, PictureFormat};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// The keywords of `Variable.picture`.
pub(crate) struct Request<'a> {
    pub(crate) kind: &'a str,
    pub(crate) width: u32,
    pub(crate) size: Option<(u32, u32)>,
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) colours: Option<&'a str>,
    pub(crate) diverging: bool,
    pub(crate) coastline: bool,
}

impl Request<'_> {
    /// Checks the arguments. Returns the options of the drawing, without the file's name.
    pub(crate) fn checked(&self) -> PyResult<(PictureFormat, Options)> {
        let kind = match self.kind {
            "png" => PictureFormat::Png,
            "svg" => PictureFormat::Svg,
            "pdf" => PictureFormat::Pdf,
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown kind {other:?}; expected 'png', 'svg' or 'pdf'"
                )));
            }
        };
        if self.range.is_some_and(|(low, high)| !low.is_finite() || !high.is_finite() || low >= high) {
            return Err(PyValueError::new_err("range must be two numbers, the smaller one first"));
        }
        let (width, height) = self.size.map_or((self.width, None), |(width, height)| (width, Some(height)));
        let (widths, heights) = (Options::WIDTHS, Options::HEIGHTS);
        if !widths.contains(&width) || height.is_some_and(|height| !heights.contains(&height)) {
            let [widths, heights] = [widths, heights].map(|r| format!("{} to {}", r.start(), r.end()));
            let asked = height.map_or_else(|| width.to_string(), |height| format!("{width} x {height}"));
            let message = format!(
                "a picture of {asked} pixels is out of range; expected {widths} wide and {heights} high"
            );
            return Err(PyValueError::new_err(message));
        }
        let colours = self.colours.map(colours).transpose()?;
        let (range, diverging, coastline) = (self.range, self.diverging, self.coastline);
        let options = Options { width, height, range, colours, diverging, coastline, ..Options::default() };
        Ok((kind, options))
    }
}

/// Returns the map of colours with this name.
fn colours(name: &str) -> PyResult<Colours> {
    Colours::named(name).ok_or_else(|| {
        let names: Vec<&str> = Colours::names().collect();
        let names = names.join(", ");
        PyValueError::new_err(format!(
            "unknown colours {name:?}; expected {names}, or one of these with _r appended"
        ))
    })
}
