//! `nc3z filters`: lists the filters and codecs for chains.

use crate::args::FiltersArgs;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::{Side, Table};
use crate::output::text;
use crate::registry;
use anyhow::Result;
use nc3z_filters::{BuiltIn, Exports, Library, NotationError, Row, Use, built_in, translate};
use nc3z_format::codec::hdf5_filter_name;
use nc3z_look::dump::hdf5_text;
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use std::path::Path;

pub(crate) fn run(args: &FiltersArgs) -> Result<Exit> {
    if let Some(chain) = &args.translate {
        let both = translate(chain, registry::loaded(), &registry::registry()).map_err(|e| match e {
            NotationError::NoJson(e) => anyhow::Error::from(e).context(format!("`{chain}` is not JSON")),
            NotationError::Format(e) => e.into(),
            e => e.into(),
        })?;
        let hdf5 = hdf5_text(&both.hdf5);
        let mut out = Stdout::results();
        if *args.json {
            writeln!(out, "{:#}", json!({"hdf5": hdf5, "numcodecs": both.numcodecs}))?;
        } else if both.from_json {
            writeln!(out, "{}", text::safe(&hdf5))?;
        } else {
            writeln!(out, "{}", text::safe(&both.numcodecs.to_string()))?;
        }
        return Ok(Exit::Done);
    }
    let built_in = built_in();
    let (rows, libraries) = registry::loaded().map_or((&[][..], &[][..]), |p| (p.rows(), p.libraries()));
    let mut out = BufWriter::new(Stdout::results());
    if *args.json {
        let plugins: Vec<_> = rows.iter().map(row_json).collect();
        let libraries: Vec<_> = libraries.iter().map(library_json).collect();
        let built_in: Vec<_> = built_in.iter().map(BuiltIn::to_json).collect();
        let all = json!({"built_in": built_in, "plugins": plugins, "libraries": libraries});
        writeln!(out, "{all:#}")?;
    } else {
        write_text(&built_in, rows, libraries, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn path(path: &Path) -> String {
    crate::cmd::shown(path)
}

fn exported(exports: &Exports) -> String {
    let names = [
        (exports.filter.is_some(), "HDF5 filter"),
        (exports.codec.is_some(), "codec"),
        (!exports.defaults.is_empty(), "default codecs"),
    ];
    let names: Vec<_> = names.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
    names.join(" + ")
}

const fn words(usable: Use) -> &'static str {
    match usable {
        Use::Both => "number and JSON",
        Use::Number => "number",
        Use::Nothing => "nothing: its filter is missing",
    }
}

fn write_text(built_in: &[BuiltIn], rows: &[Row], libraries: &[Library], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "built in")?;
    let mut table = Table::new(&[("id", Side::Right), ("HDF5's name", Side::Left), ("JSON", Side::Left)]);
    for filter in built_in {
        let number = filter.number.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let name = filter.number.and_then(hdf5_filter_name).unwrap_or("-").to_owned();
        let lossy = if filter.rounds { "  (rounds)" } else { "" };
        table.push(vec![number, name, format!("{}{lossy}", filter.example)]);
    }
    table.print(out, "  ")?;
    if registry::loaded().is_none() {
        return Ok(());
    }
    writeln!(out, "plug-ins")?;
    let columns = [
        ("id", Side::Right),
        ("name", Side::Left),
        ("JSON id", Side::Left),
        ("filter", Side::Left),
        ("codec", Side::Left),
        ("usable by", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let dash = || "-".to_owned();
        let (id, codec) = row.codec.as_ref().map_or_else(
            || (dash(), dash()),
            |(id, library)| {
                let default = if row.is_default { " (default)" } else { "" };
                (text::safe(id), format!("{}{default}", path(library)))
            },
        );
        let name = row.name.as_deref().map_or_else(dash, text::safe);
        let filter = row.filter.as_deref().map_or_else(dash, path);
        table.push(vec![row.id.to_string(), name, id, filter, codec, words(row.usable).to_owned()]);
    }
    table.print(out, "  ")?;
    writeln!(out, "libraries")?;
    let mut table = Table::new(&[("", Side::Left), ("", Side::Left)]);
    for library in libraries {
        let what = match &library.exports {
            Ok(exports) => exported(exports),
            Err(why) => format!("not usable: {}", text::safe(why)),
        };
        table.push(vec![path(&library.path), what]);
    }
    Ok(table.print(out, "  ")?)
}

fn row_json(row: &Row) -> Value {
    let usable = match row.usable {
        Use::Both => "number and json",
        Use::Number => "number",
        Use::Nothing => "nothing",
    };
    json!({
        "hdf5_id": row.id, "name": row.name.as_deref().map(text::safe), "filter": row.filter.as_deref().map(path),
        "id": row.codec.as_ref().map(|(id, _)| text::safe(id)), "codec": row.codec.as_ref().map(|(_, at)| path(at)),
        "default_codec": row.is_default, "usable": usable,
    })
}

fn library_json(library: &Library) -> Value {
    let (exports, error) = match &library.exports {
        Ok(exports) => (Some(exported(exports)), None),
        Err(why) => (None, Some(text::safe(why))),
    };
    json!({"path": path(&library.path), "exports": exports, "error": error})
}
