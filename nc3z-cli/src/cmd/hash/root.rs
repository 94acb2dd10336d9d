//! `nc3z hash --root`: the root of a file's content, or of the members of a collection.

use super::name;
use crate::args::HashArgs;
use crate::cmd::named::{self, Opens as _};
use crate::cmd::{outputs, shown};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_collections::tree::hash::{Rooted, Rooting};
use nc3z_collections::{as_aggregation, is_aggregation};
use nc3z_writer::AtomicFile;
use std::io::Write;
use std::path::Path;

/// Prints a line for each file.
pub(super) fn run(args: &HashArgs) -> Result<Exit> {
    if args.tree.is_some() && args.files.len() > 1 {
        refuse!("--tree writes the tree of one file, and {} are named", args.files.len());
    }
    outputs::check_file(args.tree.as_deref(), args.parents)?;
    if let Some(tree) = &args.tree {
        outputs::refuse_among(&args.files, tree)?;
        outputs::prepare_new(tree, args.force)?;
    }
    let mut out = Stdout::results();
    let mut rows = Vec::new();
    let progress = Progress::new(0, "hash".to_owned());
    for path in &args.files {
        let rooted = crate::cmd::in_file(path, rooted(path, args, &progress))?;
        if rooted.is_computed && !rooted.is_collection && args.tree.is_none() && !args.recompute {
            note!("nc3z: note: {}: no root is stored; it is computed from the values", shown(path));
        }
        if *args.json {
            rows.push(rooted.to_json(&shown(path)));
            continue;
        }
        match args.files.len() {
            1 => writeln!(out, "{}", rooted.root)?,
            _ => writeln!(out, "{}  {}", rooted.root, text::safe(&name(path).to_string_lossy()))?,
        }
        for (part, hash) in rooted.parts.iter().filter(|_| args.variables) {
            writeln!(out, "{}  {part}", text::hex(hash))?;
        }
    }
    drop(progress);
    if *args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn rooted(path: &Path, args: &HashArgs, progress: &Progress) -> Result<Rooted> {
    if path.is_dir() {
        bail!("a directory has no root; `nc3z bundle` makes one file of it");
    }
    let named = named::of(path)?;
    let options = args.open.options();
    let rooting = Rooting {
        tree: args.tree.is_some(),
        variables: args.variables || *args.json,
        recompute: args.recompute,
        open: &options,
        begin: &|len| progress.extend(len),
        monitor: progress,
    };
    if named.member().is_none() && crate::cmd::unbundle::is_bundle(path) {
        return Ok(rooting.of_bundle(&*crate::cmd::member::open(path, &args.open)?)?);
    }
    let dataset = named.open_stored(&args.open)?;
    if !args.open.fragments.as_stored && is_aggregation(&dataset) {
        let wrapped = named::present(dataset.clone(), path, &args.open)?;
        let aggregation = as_aggregation(&wrapped).context("an aggregation was opened")?;
        return Ok(rooting.of_aggregation(&dataset, aggregation)?);
    }
    let rooted = rooting.of_dataset(&dataset)?;
    if let (Some(path), Some(tree)) = (&args.tree, &rooted.tree) {
        outputs::prepare(path)?;
        let target = AtomicFile::create_with_mode(path, args.force, 0o666)?;
        target.file().write_all(tree).with_context(|| format!("write `{}`", path.display()))?;
        target.commit(None)?;
    }
    Ok(rooted)
}
