//! `nc3z cite`: writes a slice with its proof, and records that cite it. `nc3z cite --check`: checks the
//! proof without the dataset.

mod slice;

use super::named::{self, Opens as _};
use super::subset::history;
use super::{outputs, shown};
use crate::args::{CiteArgs, OpenArgs, RecordArg, RootArgs};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_cite::{Format, Proof, Slice, SliceForm, Statements, check as check_slice, make};
use nc3z_collections::is_aggregation;
use nc3z_format::digest::Root;
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Dataset, DigestRequest, TreeFile};
use nc3z_writer::AtomicFile;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a slice, its proof, and a record.
pub(crate) fn run(args: &CiteArgs) -> Result<Exit> {
    if let Some(root) = args.root.as_ref().filter(|_| args.check) {
        return check(args, root);
    }
    if args.variable.is_some() && args.output.is_none() {
        refuse!("a slice needs a file to write: name it with --output, such as -o slice.nc");
    }
    if args.variable.is_none() && args.format.is_none() {
        refuse!("nothing to write: name a variable and --output, or a record by --format");
    }
    outputs::check_file(args.output.as_deref(), args.out.parents)?;
    if let Some(output) = &args.output {
        outputs::prepare_new(output, args.out.force)?;
        outputs::prepare_new(&proof_path(output), args.out.force)?;
    }
    super::with_threads(*args.threads, || super::in_file(&args.file, cite(args)))??;
    Ok(Exit::Done)
}

fn cite(args: &CiteArgs) -> Result<()> {
    let dataset = open(&args.file, &args.open)?;
    let (root, written) = match (&args.variable, &args.output) {
        (Some(variable), Some(output)) => {
            let tree = tree(&dataset, &args.file, args.tree.as_deref(), &args.open)?;
            (*tree.root(), Some(with_proof(args, &dataset, &tree, variable.clone(), output)?))
        }
        _ => (root_of(&dataset, &args.file)?, None),
    };
    let Some(form) = args.format else { return Ok(()) };
    let citation = statements(args).cite(&dataset, root, written)?;
    let mut out = Stdout::results();
    out.write_all(citation.render(form.into()).as_bytes())?;
    Ok(out.flush()?)
}

/// Returns what the arguments state about the dataset.
fn statements(args: &CiteArgs) -> Statements {
    Statements {
        title: args.title.clone(),
        creators: args.creators.clone(),
        publisher: args.publisher.clone(),
        year: args.year,
        doi: args.doi.clone(),
        url: args.url.clone(),
        source: super::url::shown(&args.file).into_owned(),
        tool: nc3z_format::SOFTWARE.to_owned(),
        command: history::command(),
    }
}

impl From<RecordArg> for Format {
    fn from(form: RecordArg) -> Self {
        match form {
            RecordArg::Bibtex => Format::BibTex,
            RecordArg::Datacite => Format::DataCite,
            RecordArg::RoCrate => Format::RoCrate,
            RecordArg::Prov => Format::Prov,
        }
    }
}

/// Opens a file that can be cited.
fn open(file: &Path, args: &OpenArgs) -> Result<Dataset> {
    let mut args = args.clone();
    // As stored, a bundle would be the dataset of its table.
    args.fragments.as_stored = false;
    let dataset = named::of(file)?.open_stored(&args)?;
    if is_aggregation(&dataset) {
        bail!(
            "it is an aggregation, whose root is over its fragments: name the fragment that has the values"
        );
    }
    Ok(dataset)
}

/// Returns the recorded root, or computes it.
fn root_of(dataset: &Dataset, file: &Path) -> Result<Root> {
    let wanted = DigestRequest { content: true, sha256: false, tree: false };
    let recorded = dataset.archive().and_then(|archive| archive.digests_on_record(wanted, false));
    let digests = if let Some(digests) = recorded {
        digests
    } else {
        if dataset.archive().is_some() {
            note!("nc3z: note: {}: no root is stored; it is computed from the values", shown(file));
        }
        dataset.digests(wanted, &Progress::new(dataset.original_len(), "hash".to_owned()))?
    };
    digests.root().context("the root was wanted")
}

/// Opens a tree file, or computes the tree of a dataset, for which all of it is read.
fn tree_source(dataset: &Dataset, file: &Path, tree: Option<&Path>, args: &OpenArgs) -> Result<SharedSource> {
    if let Some(tree) = tree {
        return super::in_file(tree, nc3z::Name::whole(tree).source(args));
    }
    note!("nc3z: note: {}: without --tree all of it is read to compute its tree", shown(file));
    let progress = Progress::new(dataset.original_len(), "hash".to_owned());
    let tree = dataset.digests(DigestRequest { content: true, sha256: false, tree: true }, &progress)?.tree;
    Ok(Arc::new(MemorySource::new(tree.context("the tree was wanted")?)))
}

fn tree(dataset: &Dataset, file: &Path, tree: Option<&Path>, args: &OpenArgs) -> Result<TreeFile> {
    let source = tree_source(dataset, file, tree, args)?;
    Ok(TreeFile::open(source, dataset.header(), dataset.layout())?)
}

/// Opens a file for reading. If a root is given, every value is checked against it.
pub(super) fn open_verified(file: &Path, root: &RootArgs, args: &OpenArgs) -> Result<Dataset> {
    let Some(expected) = &root.root else { return named::of(file)?.open_dataset(args) };
    let dataset = open(file, args)?;
    let tree = tree_source(&dataset, file, root.tree.as_deref(), args)?;
    Ok(dataset.verified(expected, Some(tree), &())?)
}

/// Writes the slice and its proof. Returns the statements for records.
fn with_proof(
    args: &CiteArgs,
    dataset: &Dataset,
    tree: &TreeFile,
    variables: std::ffi::OsString,
    output: &Path,
) -> Result<(String, Vec<String>)> {
    named::refuse_lists_of_catalog(dataset, [&variables], None)?;
    let slice = slice::planned(args, dataset, variables, output)?;
    let mut proof = make(dataset, tree, slice.parts(), slice.form() == SliceForm::Classic)?;
    let name = output.file_name().unwrap_or(output.as_os_str()).to_string_lossy().into_owned();
    let citation = statements(args).cite(dataset, *tree.root(), None)?;
    proof.about = citation.about();
    slice::write_slice(args, dataset, &slice, output)?;
    // The written slice is checked in the same way as by its readers.
    let bytes = std::fs::read(output).with_context(|| format!("read `{}`", output.display()))?;
    let proven = check_slice(&Slice::parse(&bytes)?, &proof, tree.root())?;
    let path = proof_path(output);
    outputs::prepare(&path)?;
    let text = proof.to_json();
    let target = AtomicFile::create_with_mode(&path, args.out.force, 0o666)?;
    target.file().write_all(text.as_bytes()).with_context(|| format!("write `{}`", path.display()))?;
    target.commit(None)?;
    note!(
        "{} -> {} ({}), {} ({}), {}",
        text::safe(&super::url::shown(&args.file)),
        shown(output),
        text::size(bytes.len() as u64),
        shown(&path),
        text::size(text.len() as u64),
        tree.root()
    );
    Ok((name, proven.variables.iter().map(ToString::to_string).collect()))
}

fn proof_path(slice: &Path) -> PathBuf {
    let mut path = slice.as_os_str().to_owned();
    path.push(".proof");
    path.into()
}

/// Checks a slice against its proof and a root.
fn check(args: &CiteArgs, root: &Root) -> Result<Exit> {
    let path = args.variable.as_ref().map_or_else(|| proof_path(&args.file), PathBuf::from);
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("read `{}`", path.display()));
    let (bytes, proof) = (read(&args.file)?, read(&path)?);
    let proof = super::in_file(&path, Proof::from_json(&proof).map_err(Into::into))?;
    let proven = Slice::parse(&bytes).and_then(|slice| check_slice(&slice, &proof, root));
    let proven = super::in_file(&args.file, proven.map_err(Into::into))?;
    let mut out = Stdout::verdicts();
    if args.json {
        let report = proven.to_json(&shown(&args.file), proof.about);
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "{}: proven, a part of {}", shown(&args.file), proven.root)?;
        for variable in &proven.variables {
            writeln!(out, "  {}", text::safe(&variable.to_string()))?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}
