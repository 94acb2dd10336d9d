//! `nc3z plot`: draws a quick look at a variable, as a map or a series, in the units of its coordinates.

use super::read::select;
use crate::args::PlotArgs;
use crate::exit::Exit;
use crate::output::progress::while_working;
use crate::output::target::{Content, Target};
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_format::NcType;
use nc3z_plot::{Error, Note, Options, PictureFormat, draw};
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &PlotArgs) -> Result<Exit> {
    let output = &args.output.clone().unwrap_or_else(|| default_output(args));
    super::outputs::check(Some(output), args.out.parents)?;
    let kind = match output.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("png") => PictureFormat::Png,
        Some("svg") => PictureFormat::Svg,
        Some("pdf") => PictureFormat::Pdf,
        _ if super::stdin::is(output) => PictureFormat::Png,
        _ => bail!(
            "unknown picture format `{}`; expected a name that ends in .png, .svg or .pdf",
            output.display()
        ),
    };
    let (dataset, variable, selection) = select(&args.file, &args.variable, &args.selection, &args.open)?;
    let options = Options {
        file: file_name(&args.file),
        width: args.size.map_or(args.width, |(width, _)| width),
        height: args.size.map(|(_, height)| height),
        range: args.range,
        colours: args.colours,
        diverging: args.diverging,
        coastline: args.coastline || !args.no_coastline,
        title: args.title.clone(),
        log: args.log,
        x: args.x.clone(),
        y: args.y.clone(),
    };
    let draw = || draw(&dataset, &variable, &selection, kind, &options);
    let drawn = super::with_threads(*args.threads, || while_working("plot", draw))?;
    let drawn = match drawn {
        Err(Error::NoPicture { .. }) if selection.elements() == 1 && variable.ty() != NcType::Char => {
            bail!("one value cannot be drawn; `nc3z read` prints it");
        }
        other => other?,
    };
    for note in &drawn.notes {
        let how = match note {
            Note::First { dimension, .. } => format!("; -d {dimension},N takes another"),
            Note::Thinned { .. } | Note::Beyond { .. } | Note::NotPositive { .. } => String::new(),
        };
        note!("nc3z: {}: {note}{how}", text::safe(&args.variable));
    }
    let target = Target::create(output, args.out.force, Content::Binary)?;
    target.file().write_all(&drawn.bytes).with_context(|| format!("write `{}`", output.display()))?;
    target.commit()?;
    if args.output.is_none() {
        note!("{} -> {}", text::safe(&super::url::shown(&args.file)), crate::cmd::shown(output));
    }
    Ok(Exit::Done)
}

/// Returns the name of a picture: that of the file without its endings, and the variable.
fn default_output(args: &PlotArgs) -> PathBuf {
    let file = file_name(&args.file);
    let stem = file.split_once(".nc").map_or(&file[..], |(stem, _)| stem);
    let name = format!("{stem}-{}", args.variable);
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    PathBuf::from(format!("{}.png", plain.trim_start_matches(['.', '-'])))
}

/// Returns a file's name for a title.
fn file_name(path: &Path) -> String {
    let name = super::url::shown(path);
    name.rsplit('/').next().unwrap_or_default().to_owned()
}
