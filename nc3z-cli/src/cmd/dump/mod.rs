//! `nc3z dump`: prints CDL, like ncdump for the original.

use crate::args::{DumpArgs, Language};
use crate::cmd::named::{self, Opens as _};
use crate::exit::Exit;
use crate::output::signals::while_blocked;
use crate::output::streams::Stdout;
use crate::output::text;
use crate::selection::noted;
use anyhow::{Context, Result};
use nc3z_format::cdl::{self, Cdl, Dates, Indices, Style};
use nc3z_format::classic::VarId;
use nc3z_look::dump::{Feed, specials};
use nc3z_look::selection::named_variables;
use nc3z_reader::Dataset;
use std::io::Write;
use std::path::Path;

/// The approximate length of the pieces in which text is written.
const TEXT_LEN: usize = 64 << 10;

pub(crate) fn run(args: &DumpArgs) -> Result<Exit> {
    // Disks then hold no incomplete file: a signal may end the process anywhere.
    super::in_file(&args.file, while_blocked(|| dump(args)))
}

fn dump(args: &DumpArgs) -> Result<Exit> {
    let input = named::of(&args.file)?;
    let dataset = input.open_dataset(&args.open)?;
    let header = dataset.header();
    let mut out = Out::new();
    if args.kind {
        out.text.extend_from_slice(cdl::kind(header.version).as_bytes());
        out.text.push(b'\n');
        out.flush()?;
        return Ok(Exit::Done);
    }
    let as_stored = args.open.fragments.as_stored;
    named::refuse_lists_of_catalog(&dataset, &args.variables, Some(as_stored))?;
    let named = noted(|_| named_variables(&args.variables, header))?;
    let style = style(args);
    let mut cdl = Cdl::new(header, dataset.records(), &style);
    if let (true, Some(archive)) = (args.special, dataset.archive()) {
        cdl = cdl.with_specials(specials(archive)?);
    }
    let file = input.without_version();
    let name = match &args.name {
        Some(name) => name.as_encoded_bytes(),
        None => dataset_name(&file, dataset.archive().is_some()),
    };
    cdl.begin(name, &mut out.text);
    if !args.header {
        cdl.begin_data(&mut out.text);
        for (id, _) in header.variables() {
            let wanted = named.as_ref().is_none_or(|names| names.contains(&id));
            if wanted && (!args.coordinates || cdl.is_coordinate(id)) {
                variable(&dataset, &cdl, id, &mut out)?;
            }
        }
    }
    cdl.end(&mut out.text);
    out.flush()?;
    Ok(Exit::Done)
}

/// Prints the values of one variable, in pieces.
fn variable(dataset: &Dataset, cdl: &Cdl<'_>, id: VarId, out: &mut Out) -> Result<()> {
    let Some(mut values) = cdl.values(id, &mut out.text) else { return Ok(()) };
    let mut feed = Feed::new(dataset, id)?;
    if feed.missing() > 0 {
        let name = text::name(&dataset.header().variables[id.index()].name);
        let (missing, all) = (feed.missing(), feed.value_count());
        note!(
            "nc3z: warning: `{name}`: {missing} of {all} values are beyond the end of the file; printed as zeros"
        );
    }
    while let Some(piece) = feed.next_piece()? {
        let mut rest = piece;
        while !rest.is_empty() {
            rest = values.push(rest, &mut out.text);
            out.write_if_long()?;
        }
    }
    Ok(values.finish()?)
}

fn style(args: &DumpArgs) -> Style {
    // As in ncdump, both kinds of comments use the same language.
    let fortran = [args.brief, args.full].contains(&Some(Language::F));
    Style {
        float_digits: args.precision.and_then(|p| p.float),
        double_digits: args.precision.and_then(|p| p.double),
        line_len: args.line_length,
        brief: args.brief.is_some(),
        full: args.full.is_some(),
        indices: if fortran { Indices::Fortran } else { Indices::C },
        special: args.special,
        dates: match (args.iso, args.time) {
            (true, _) => Some(Dates::Iso),
            (false, true) => Some(Dates::Blank),
            (false, false) => None,
        },
    }
}

/// Returns the name of a data set: the file's name without the text from the last dot on. An archive's name
/// loses `.nc3z` first.
fn dataset_name(path: &Path, is_archive: bool) -> &[u8] {
    let name = super::url::of(path)
        .map_or(path.as_os_str().as_encoded_bytes(), |url| super::url::address(url).as_bytes());
    let name = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
    let name = name.strip_suffix(b".nc3z").filter(|_| is_archive).unwrap_or(name);
    name.iter().rposition(|&b| b == b'.').map_or(name, |dot| &name[..dot])
}

/// Text on its way to standard output.
struct Out {
    text: Vec<u8>,
    stdout: Stdout,
}

impl Out {
    fn new() -> Self {
        Out { text: Vec::with_capacity(2 * TEXT_LEN), stdout: Stdout::results() }
    }

    fn write_if_long(&mut self) -> Result<()> {
        if self.text.len() >= TEXT_LEN { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.stdout.write_all(&self.text).context("write to standard output")?;
        self.text.clear();
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.write()?;
        self.stdout.flush().context("write to standard output")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sets_are_named_after_the_original() {
        for (path, is_archive, name) in [
            ("a/x.nc", false, "x"),
            ("x.y.nc", false, "x.y"),
            ("x", false, "x"),
            ("x.nc.nc3z", true, "x"),
            ("x.nc3z", true, "x"),
            ("x.nc.nc3z", false, "x.nc"),
            ("a.b/.nc", false, ""),
            ("s3://a.b/x.nc.nc3z", true, "x"),
            ("https://a.b/x.nc?sig=a/b.c", false, "x"),
        ] {
            assert_eq!(dataset_name(Path::new(path), is_archive), name.as_bytes(), "{path}");
        }
    }
}
