//! `nc3z hash --root`: the root of a file's content, or of the members of a collection.

use super::name;
use crate::args::{HashArgs, OpenArgs};
use crate::cmd::named::Named;
use crate::cmd::{aggregated, places, shown};
use crate::exit::Exit;
use crate::output::progress::{Progress, interrupted};
use crate::output::streams::Stdout;
use crate::output::text;
use crate::specification;
use anyhow::{Context, Result, anyhow, bail};
use nc3z_aggregate::bundle::Bundle;
use nc3z_aggregate::{Aggregation, FileRef, as_aggregation, is_aggregation};
use nc3z_format::digest::{Hash, Root, collection_root};
use nc3z_reader::{Dataset, Digests, Wanted};
use nc3z_writer::AtomicFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// A root, and its parts.
struct Rooted {
    root: Root,
    /// The variables with their digests, or the members with their roots.
    parts: Vec<(String, Hash)>,
    is_collection: bool,
    is_computed: bool,
}

/// Prints a line for each file.
pub(super) fn run(args: &HashArgs) -> Result<Exit> {
    if args.tree.is_some() && args.files.len() > 1 {
        bail!("--tree writes the tree of one file, and {} are named", args.files.len());
    }
    let mut out = Stdout::results();
    let mut rows = Vec::new();
    let progress = Progress::new(0, "hash".to_owned());
    for path in &args.files {
        let rooted = crate::cmd::in_file(path, rooted(path, args, &progress))?;
        if rooted.is_computed && !rooted.is_collection && args.tree.is_none() && !args.recompute {
            note!("nc3z: note: {}: no root is stored; it is computed from the values", shown(path));
        }
        if args.json {
            rows.push(rooted.json(path));
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
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

impl Rooted {
    fn json(&self, path: &Path) -> Value {
        let parts = self.parts.iter().map(|(name, hash)| json!({"name": name, "digest": text::hex(hash)}));
        json!({
            "file": shown(path), "root": self.root.to_string(), "computed": self.is_computed,
            (if self.is_collection { "members" } else { "variables" }): parts.collect::<Vec<_>>(),
        })
    }
}

fn rooted(path: &Path, args: &HashArgs, progress: &Progress) -> Result<Rooted> {
    if path.is_dir() {
        bail!("a directory has no root; `nc3z bundle` makes one file of it");
    }
    let named = Named::of(path)?;
    let source = named.source(&args.open)?;
    if named.version.is_none() && Bundle::is_bundle(&source)? {
        return of_bundle(&Bundle::open(source)?, args, progress);
    }
    let dataset = open(&named, &args.open)?;
    if !args.open.fragments.as_stored && is_aggregation(&dataset) {
        let wrapped = aggregated::present(dataset.clone(), path, &args.open)?;
        let aggregation = as_aggregation(&wrapped).context("an aggregation was opened")?;
        return of_aggregation(&dataset, aggregation, args, progress);
    }
    of_dataset(&dataset, args, progress)
}

fn open(named: &Named, args: &OpenArgs) -> Result<Dataset> {
    let mut args = args.clone();
    args.fragments.as_stored = true;
    named.open_dataset(&args)
}

fn of_dataset(dataset: &Dataset, args: &HashArgs, progress: &Progress) -> Result<Rooted> {
    let (digests, is_computed) = digests(dataset, args, progress)?;
    if let (Some(path), Some(tree)) = (&args.tree, &digests.tree) {
        places::prepare(path)?;
        let target = AtomicFile::create_with_mode(path, args.force, 0o666)?;
        target.file().write_all(tree).with_context(|| format!("write `{}`", path.display()))?;
        target.commit(None)?;
    }
    let root = digests.root().context("the root was wanted")?;
    let names = dataset.header().variables.iter().map(|v| text::name(&v.name));
    let parts = names.zip(digests.variables).collect();
    Ok(Rooted { root, parts, is_collection: false, is_computed })
}

/// Returns the digests of a file, stored or computed.
fn digests(dataset: &Dataset, args: &HashArgs, progress: &Progress) -> Result<(Digests, bool)> {
    if interrupted() {
        return Err(nc3z_reader::Error::interrupted().into());
    }
    let wanted = Wanted { content: true, sha256: false, tree: args.tree.is_some() };
    if let Some(archive) = dataset.archive() {
        let with_variables = args.variables || args.json;
        let recorded = archive.digests_on_record(wanted, with_variables).filter(|_| !args.recompute);
        if let Some(digests) = recorded {
            return Ok((digests, false));
        }
        progress.extend(archive.original_len());
        return Ok((archive.digests(wanted, progress)?, true));
    }
    let classic = dataset.classic().context("a file is an archive or a classic file")?;
    progress.extend(classic.layout().file_len);
    // A classic file never has stored digests.
    Ok((classic.digests(wanted, progress)?, false))
}

fn of_bundle(bundle: &Bundle, args: &HashArgs, progress: &Progress) -> Result<Rooted> {
    let mut members = BTreeMap::new();
    for member in bundle.names().iter().filter(|member| !specification::is_part(member)) {
        let source = bundle.member(member)?.ok_or_else(|| anyhow!("`{member}` is not there"))?;
        let dataset = Dataset::from_source(source, &args.open.options());
        let dataset = dataset.with_context(|| format!("member `{member}`"))?;
        let (digests, _) = digests(&dataset, args, progress).with_context(|| format!("member `{member}`"))?;
        put(&mut members, member, digests.root().context("the root was wanted")?)?;
    }
    collection(members, args)
}

fn of_aggregation(
    own: &Dataset,
    aggregation: &Aggregation,
    args: &HashArgs,
    progress: &Progress,
) -> Result<Rooted> {
    let mut fragments = BTreeMap::new();
    for (_, _, master) in aggregation.masters() {
        for n in 0..master.partitions.len() {
            let partition = master.partitions.get(n)?;
            let Some(sub) = partition.sub_array() else { continue };
            if let FileRef::Uri(uri) = &sub.file {
                fragments.insert(uri.clone(), sub.fingerprint.clone());
            }
        }
    }
    let mut members = BTreeMap::new();
    // The file itself describes how the fragments are joined.
    put(&mut members, "", digests(own, args, progress)?.0.root().context("the root was wanted")?)?;
    for (uri, fingerprint) in fragments {
        let dataset = aggregation.fragments().open(&FileRef::Uri(uri.clone()), fingerprint.as_deref())?;
        let dataset = dataset.ok_or_else(|| anyhow!("fragment `{uri}` is not there"))?;
        let digests = digests(&dataset, args, progress).with_context(|| format!("fragment `{uri}`"))?;
        put(&mut members, &uri, digests.0.root().context("the root was wanted")?)?;
    }
    collection(members, args)
}

/// Adds a member under the name of its original.
fn put(members: &mut BTreeMap<String, Root>, name: &str, root: Root) -> Result<()> {
    let name = name.strip_suffix(".nc3z").unwrap_or(name);
    if members.insert(name.to_owned(), root).is_some() {
        bail!("two members are `{name}`: a collection's root needs names that differ without .nc3z");
    }
    Ok(())
}

fn collection(members: BTreeMap<String, Root>, args: &HashArgs) -> Result<Rooted> {
    if args.tree.is_some() {
        bail!("--tree writes the tree of one file, and this is a collection");
    }
    let root = collection_root(members.iter().map(|(name, root)| (name.as_bytes(), *root)));
    let parts = members.into_iter().map(|(name, root)| (text::safe(&name), root.0)).collect();
    Ok(Rooted { root, parts, is_collection: true, is_computed: true })
}
