//! `nc3z refs`: writes references into an archive, with which Zarr's readers read it without nc3z.

use crate::args::{RefsArgs, RefsFormat};
use crate::cmd::named::{self, Opens as _};
use crate::exit::Exit;
use crate::output::target::{Content, Target};
use anyhow::{Context, Result};
use nc3z_reader::Archive;
use nc3z_zarr::Arrays;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Writes the references of one archive.
pub(crate) fn run(args: &RefsArgs) -> Result<Exit> {
    super::in_file(&args.archive, refs(args))
}

fn refs(args: &RefsArgs) -> Result<Exit> {
    super::outputs::check(args.output.as_deref(), args.out.parents)?;
    if let Some(output) = args.output.as_deref().filter(|output| !super::stdin::is(output)) {
        super::outputs::refuse_among([&args.archive], output)?;
        super::outputs::prepare_new(output, args.out.force)?;
    }
    let named = named::of(&args.archive)?;
    named::refuse_bundle(&args.archive, &args.open)?;
    let archive = named.open_archive(&args.open)?;
    // Readers support files and offsets in them, but no members of a bundle.
    let (file, offset) = match named.member() {
        Some(name) => {
            let offset = super::member::open(named.file(), &args.open)?.offset(name)?;
            (named.file(), offset.context("the bundle has lost the member")?)
        }
        None => (named.file(), 0),
    };
    let url = match (&args.url, super::url::of(file)) {
        (Some(url), _) => url.clone(),
        (None, Some(url)) => {
            // The references are for other users: the secrets used to open the archive are not included.
            let shown = super::url::shown(file).into_owned();
            if shown != url {
                note!(
                    "nc3z: note: the references name `{shown}`, without user, password and query; --url names another address"
                );
            }
            shown
        }
        (None, None) => {
            let path = std::path::absolute(file).context("make the archive's name absolute")?;
            path.into_os_string()
                .into_string()
                .ok()
                .context("references hold UTF-8 names only; give --url")?
        }
    };
    let arrays = Arrays::new(&archive)?.at(offset);
    let references = match args.format {
        RefsFormat::Kerchunk => arrays.kerchunk(&url)?,
        RefsFormat::Icechunk => arrays.icechunk(&url, &checksum(&archive, args, file)?)?,
    };
    let text = serde_json::to_string(&references)?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let target = Target::create(output, args.out.force, Content::Text)?;
    writeln!(target.file(), "{text}").with_context(|| format!("write `{}`", output.display()))?;
    target.commit()?;
    Ok(Exit::Done)
}

/// Returns the identity of the archive's content, if readers use the object that was opened here: its tag, or
/// the second after its last change.
fn checksum(archive: &Archive, args: &RefsArgs, file: &Path) -> Result<Value> {
    if let Some(tag) = archive.identity().filter(|tag| tag.starts_with('"')) {
        return Ok(json!({"etag": tag}));
    }
    if args.url.is_some() || super::url::of(file).is_some() {
        return Ok(Value::Null);
    }
    let modified =
        file.metadata().and_then(|m| m.modified()).context("read the archive's modification time")?;
    let seconds = modified.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() + 1);
    Ok(json!({"last_modified": seconds}))
}
