//! `nc3z bundle`: puts many files into one, in which each can be read directly.

use super::{patterns, targets};
use crate::args::BundleArgs;
use crate::exit::Exit;
use crate::output::progress::{Progress, interrupted};
use crate::output::table::count;
use crate::output::text;
use crate::specification;
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::{Bundled, write_bundle};
use nc3z_reader::Monitor;
use nc3z_writer::AtomicFile;
use std::path::Path;

/// Writes a bundle.
pub(crate) fn run(args: &BundleArgs) -> Result<Exit> {
    super::places::prepare(&args.output)?;
    let output = args.output.canonicalize().ok();
    let mut files = Vec::new();
    for patterns::Named { path: input, root } in patterns::expand(&args.inputs)? {
        let (found, own) = if input.is_dir() {
            (targets::netcdf_files(&input)?, input.as_path())
        } else {
            (vec![input.clone()], input.parent().unwrap_or(Path::new("")))
        };
        // A file found by a pattern keeps its directories after the first wildcard.
        let root = root.as_deref().unwrap_or(own);
        for path in found {
            if output.is_some() && path.canonicalize().ok() == output {
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let name =
                inside.to_str().with_context(|| format!("the name `{}` is no UTF-8", path.display()))?;
            files.push(Bundled { name: name.to_owned(), path });
        }
    }
    if files.is_empty() {
        bail!("none of the named files is an archive or a classic file");
    }
    // Written to a temporary directory, from which the bundle copies them.
    let specification =
        args.with_spec.then(tempfile::tempdir).transpose().context("create a temporary directory")?;
    if let Some(directory) = &specification {
        specification::write(directory.path(), false)?;
        let names = specification::collection()?.into_iter().map(|file| file.name);
        files.extend(names.map(|name| Bundled {
            path: directory.path().join(&name),
            name: format!("{}/{name}", specification::DIRECTORY),
        }));
    }
    let total = files.iter().filter_map(|f| f.path.metadata().ok()).map(|m| m.len()).sum();
    let target = AtomicFile::create_with_mode(&args.output, args.force, 0o666)?;
    let progress = Progress::new(total, crate::cmd::shown(&args.output));
    let mut out = target.file().try_clone().context("write the bundle")?;
    write_bundle(&files, &mut out, &|bytes| {
        progress.advance(bytes);
        !interrupted()
    })?;
    let len = out.metadata().context("write the bundle")?.len();
    drop(progress);
    target.commit(None)?;
    let name = crate::cmd::shown(&args.output);
    note!("{} -> {name}  {}", count(files.len() as u64, "file"), text::size(len));
    Ok(Exit::Done)
}
