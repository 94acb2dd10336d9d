//! `nc3z refs`: references into an archive, by which Zarr's readers read it without nc3z.

mod array;
mod codecs;
mod zarr2;

use crate::args::RefsArgs;
use crate::cmd::named::Named;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use nc3z_reader::Archive;
use nc3z_writer::AtomicFile;
use serde_json::{Map, Value, json};
use std::io::{BufWriter, Write};

/// Writes the references of one archive.
pub(crate) fn run(args: &RefsArgs) -> Result<Exit> {
    super::in_file(&args.archive, refs(args))
}

fn refs(args: &RefsArgs) -> Result<Exit> {
    let named = Named::of(&args.archive)?;
    let archive = named.open_archive(&args.open)?;
    let url = match (&args.url, super::url::of(&named.file)) {
        (Some(url), _) => url.clone(),
        (None, Some(url)) => url.to_owned(),
        (None, None) => {
            let path = std::path::absolute(&named.file).context("make the archive's name absolute")?;
            path.into_os_string()
                .into_string()
                .ok()
                .context("references hold UTF-8 names only; give --url")?
        }
    };
    let text = serde_json::to_string(&json!({"version": 1, "refs": references(&archive, &url)?}))?;
    let Some(output) = &args.output else {
        let mut out = BufWriter::new(Stdout::results());
        writeln!(out, "{text}")?;
        out.flush()?;
        return Ok(Exit::Done);
    };
    super::places::prepare(output)?;
    let target = AtomicFile::create_with_mode(output, args.force, 0o666)?;
    writeln!(target.file(), "{text}").with_context(|| format!("write `{}`", output.display()))?;
    target.commit(None)?;
    Ok(Exit::Done)
}

/// All keys of a Zarr 2 group: documents as text, chunks as places in the archive or, where they have none, as their own bytes.
fn references(archive: &Archive, url: &str) -> Result<Map<String, Value>> {
    let mut refs = Map::new();
    refs.insert(".zgroup".to_owned(), json!({"zarr_format": 2}).to_string().into());
    refs.insert(
        ".zattrs".to_owned(),
        Value::from(zarr2::attributes(&archive.header().attributes, None)).to_string().into(),
    );
    for (id, variable) in archive.header().variables() {
        let name = variable.name_lossy();
        if name.contains('/') || matches!(&*name, "." | "..") || refs.contains_key(&format!("{name}/.zarray"))
        {
            bail!("variable `{name}`: Zarr has no array of that name, or two of them");
        }
        array::add(archive, id, &name, url, &mut refs).with_context(|| format!("variable `{name}`"))?;
    }
    Ok(refs)
}
