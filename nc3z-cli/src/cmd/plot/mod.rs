//! `nc3z plot`: a quick look at a variable, as a map or a series, in the units of its coordinates.

mod axis;
mod colour;
mod draw;
mod field;
mod image;

use super::read::select;
use crate::args::PlotArgs;
use crate::exit::Exit;
use crate::output::text;
use anyhow::{Context, Result, bail};
use axis::Axis;
use field::Field;
use nc3z_reader::{Dataset, Variable};
use nc3z_writer::AtomicFile;
use std::io::Write;
use std::path::Path;

/// A picture's kind, told by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Svg,
}

/// What is drawn.
enum Picture {
    /// Values over one axis.
    Series { x: Axis, values: Vec<f64> },
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
}

/// Draws.
pub(crate) fn run(args: &PlotArgs) -> Result<Exit> {
    let kind = match args.output.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref()
    {
        Some("png") => Kind::Png,
        Some("svg") => Kind::Svg,
        _ => bail!("`{}` ends neither in .png nor in .svg, and so names no picture", args.output.display()),
    };
    let (dataset, variable, selection) = select(&args.file, &args.variable, &args.selection, &args.open)?;
    super::places::prepare(&args.output)?;
    let bytes = super::with_threads(args.threads, || -> Result<Vec<u8>> {
        let field = Field::read(&dataset, &variable, &selection)?;
        field.notes.iter().for_each(|note| note!("nc3z: {}: {note}", text::safe(&args.variable)));
        let words = Words {
            title: title(&variable),
            subtitle: field.fixed.join(", "),
            values: axis::label(&text::safe(&variable.name()), units(&variable).as_deref()),
        };
        let picture = picture(&dataset, field)?;
        match kind {
            Kind::Png => draw::png(&picture, &words, args),
            Kind::Svg => draw::svg(&picture, &words, args),
        }
    })??;
    let target = AtomicFile::create_with_mode(&args.output, args.force, 0o666)?;
    target.file().write_all(&bytes).with_context(|| format!("write `{}`", args.output.display()))?;
    target.commit(None)?;
    Ok(Exit::Done)
}

/// A series or a map, by the dimensions that are longer than one.
fn picture(dataset: &Dataset, field: Field) -> Result<Picture> {
    let mut axes = field.dims.iter().map(|d| Axis::of(dataset, d));
    Ok(match (axes.next().transpose()?, axes.next().transpose()?) {
        (Some(y), Some(x)) => Picture::Map { x, y, values: field.values },
        (Some(x), None) => Picture::Series { x, values: field.values },
        _ => bail!("one value is no picture; `nc3z read` prints it"),
    })
}

/// A text attribute.
fn attribute(variable: &Variable, name: &str) -> Option<String> {
    let a = variable.attribute(name).filter(|a| a.ty == nc3z_format::NcType::Char)?;
    let value = text::safe(String::from_utf8_lossy(&a.values).trim_end_matches(['\0', ' ', '\n']));
    (!value.is_empty()).then(|| short(&value))
}

/// No longer than a title may be.
fn short(words: &str) -> String {
    match words.char_indices().nth(80) {
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

/// A file's name as a title has it.
fn file_name(path: &Path) -> String {
    let name = super::url::shown(path);
    text::safe(name.rsplit('/').next().unwrap_or_default())
}
