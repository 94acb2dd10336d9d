//! `nc3z aggregate`: many files as one, from their metadata alone.

use super::offline::without_recalls;
use super::targets;
use crate::args::{Access, AggregateArgs, ConventionArg, IdentityArg, OpenArgs};
use crate::exit::Exit;
use crate::names;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::target::{Content, Target};
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_collections::build::{Identity, Input, Made, Rules, Tolerance, aggregate};
use nc3z_collections::tree::offline::is_netcdf_name;
use nc3z_collections::tree::specification;
use nc3z_collections::{Convention, OpenUrl, Options, Urls, open};
use nc3z_writer::{AtomicFile, CommitNote, WriterOptions, commit_file, lock_file};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn run(args: &AggregateArgs) -> Result<Exit> {
    super::outputs::check(Some(&args.output), args.out.parents)?;
    if super::stdin::is(&args.output) && (args.append || args.with_spec || *args.json) {
        refuse!(
            "`-` is standard output, to which --append adds nothing and beside which --with-spec and --json write nothing: name a file with -o"
        );
    }
    // Names of files are relative to the directory of the output.
    if !super::stdin::is(&args.output) {
        super::outputs::prepare_new(&args.output, args.out.force || args.append || args.check)?;
    }
    let files = files(args)?;
    // Of two runs that add files at the same time, the later one would undo what the other has done.
    let is_changed = args.append && !args.check && args.output.exists();
    let held = is_changed.then(|| locked(&args.output)).transpose()?;
    let has_urls = *args.threads == 0 && files.iter().any(|file| super::url::of(&file.path).is_some());
    let threads = if has_urls { super::url::REQUESTS } else { *args.threads };
    let made = super::with_threads(threads, || put_together(args, files))??;
    if !args.check {
        if args.append && super::open_input(&args.output, &OpenArgs::default())?.archive().is_some() {
            // A commit takes the lock itself.
            drop(held);
            commit(args, &made)?;
        } else {
            // The old aggregation was read. It is replaced when the new one is complete.
            let target = Target::create(&args.output, args.out.force || args.append, Content::Binary)?;
            write(target.file(), &made, &args.output)?;
            target.commit()?;
        }
        if args.with_spec {
            let beside = args.output.parent().unwrap_or(Path::new(""));
            specification::write(&beside.join(specification::DIRECTORY), args.out.force)?;
        }
    }
    if *args.json {
        let mut out = Stdout::results();
        writeln!(out, "{}", serde_json::to_string_pretty(&to_json(args, &made))?)?;
        out.flush()?;
    } else {
        tell(args, &made);
    }
    Ok(Exit::Done)
}

/// Opens the previous aggregation, and keeps other processes from changing it as long as the handle is open.
fn locked(output: &Path) -> Result<File> {
    let file = File::options().read(true).write(true).open(output);
    let file = file.with_context(|| format!("open `{}`", output.display()))?;
    lock_file(&file, output)?;
    Ok(file)
}

/// Writes the aggregation to a new file.
fn write(mut file: &File, made: &Made, output: &Path) -> Result<()> {
    file.write_all(&made.bytes).with_context(|| format!("write `{}`", output.display()))
}

/// Adds the aggregation as a version to the archive of the previous one. A classic file in its place would
/// lose its versions.
fn commit(args: &AggregateArgs, made: &Made) -> Result<()> {
    let mut name = args.output.as_os_str().to_owned();
    name.push(".appended");
    // A temporary file in the directory of the archive, which is deleted with its handle.
    let spool = AtomicFile::create(Path::new(&name), false)?;
    write(spool.file(), made, &args.output)?;
    let message = format!("{} added", count(made.report.files as u64, "file"));
    let note = CommitNote { message: Some(message), ..CommitNote::default() };
    // It is the same aggregation, even if its arrays have changed.
    let options = WriterOptions::default().with_registry(crate::registry::registry()).with_force(true);
    let progress = Progress::new(made.bytes.len() as u64, text::safe(&args.output.to_string_lossy()));
    let done = commit_file(&args.output, spool.temporary_path(), &note, &options, &progress)
        .with_context(|| format!("commit the aggregation to `{}`", args.output.display()))?;
    drop(progress);
    if !*args.json {
        super::versions::tell(&args.output, &done, false);
    }
    Ok(())
}

fn put_together(args: &AggregateArgs, files: Vec<Input>) -> Result<Made> {
    let open_args = OpenArgs { remote: args.remote.clone(), access: Access::Paged, ..OpenArgs::default() };
    // The user names the files, and therefore trusts them.
    let mut options = Options::default();
    (options.open, options.outside) = (open_args.options(), true);
    let opener = super::named::opener(Path::new(""), &open_args);
    let object: OpenUrl = Arc::new(move |url| opener.object(url));
    options.opener = Some(Arc::new(Urls::beside(None, true, object)));
    let existing = if args.append {
        if !args.output.exists() {
            bail!("`{}` does not exist, so nothing can be added to it", args.output.display());
        }
        Some(open(&args.output, &options).in_file(&args.output)?)
    } else {
        None
    };
    let rules = Rules {
        convention: args.convention.map(|c| match c {
            ConventionArg::Cf => Convention::Cf,
            ConventionArg::Nca => Convention::Nca,
        }),
        identity: match args.identity {
            IdentityArg::Auto => Identity::Auto,
            IdentityArg::Name => Identity::Name,
            IdentityArg::Meaning => Identity::Meaning,
        },
        variables: args.variables.iter().flat_map(|list| names::list(list)).collect(),
        along: args.along.clone(),
        new_dimension: args.new_dim.clone(),
        skip_misfits: args.skip_misfits,
        tolerance: Tolerance { absolute: args.atol, relative: args.rtol },
        contiguous: args.contiguous,
        absolute: args.absolute,
        fingerprints: !args.no_fingerprints,
        verify: !args.no_verify,
        history: (!args.no_history).then(super::subset::history::line),
        options,
    };
    let progress = Progress::counting(files.len(), "aggregate");
    Ok(aggregate(files, &args.output, existing.as_ref(), &rules, &progress)?)
}

/// Returns all named files, each once, without the output.
fn files(args: &AggregateArgs) -> Result<Vec<Input>> {
    let mut named = targets::expand(&args.files)?;
    if let Some(list) = &args.files_from {
        let names = targets::read_names(list, false)?;
        named.extend(
            names.into_iter().map(|path| nc3z_collections::tree::patterns::Named { path, root: None }),
        );
    }
    let output = args.output.canonicalize().ok();
    let is_output = |f: &PathBuf| output.is_some() && f.canonicalize().ok() == output;
    let mut out = Vec::new();
    super::url::check_credentials(&args.files, &args.remote)?;
    for named in named {
        if super::url::is_prefix(&named.path) {
            let found = super::url::objects(&named.path, &args.remote, &is_netcdf_name)?;
            out.extend(found.into_iter().map(|path| Input { path, found: true }));
        } else if super::url::shown(&named.path) != named.path.to_string_lossy() {
            bail!(
                "`{}` has secrets, and the aggregation would name them: use a URL without them, and `--storage-option` or the environment",
                super::url::shown(&named.path)
            );
        } else if named.path.is_dir() {
            let found = targets::netcdf_files(&named.path)?;
            let found = found.into_iter().filter(|f| !is_output(f));
            out.extend(found.map(|path| Input { path, found: true }));
        } else if named.root.is_none() || !is_output(&named.path) {
            out.push(Input { path: named.path, found: named.root.is_some() });
        }
    }
    let out = without_recalls(out, |input| &input.path, &args.tape)?;
    if out.is_empty() {
        bail!("none of the named files is an archive or a classic file");
    }
    Ok(out)
}

fn tell(args: &AggregateArgs, made: &Made) {
    let (report, len) = (&made.report, made.bytes.len());
    for a in &report.arrays {
        let dims: Vec<String> =
            a.dimensions.iter().zip(&a.shape).map(|(d, n)| format!("{}={n}", text::safe(d))).collect();
        let cuts: Vec<String> = a.fragments.iter().map(ToString::to_string).collect();
        note!("{}({})  {} fragments", text::safe(&a.name), dims.join(", "), cuts.join(" x "));
    }
    for what in &report.notes {
        note!("nc3z: note: {}", text::safe(what));
    }
    for (file, why) in &report.skipped {
        note!("nc3z: left out `{}`: {}", text::safe(file), text::safe(why));
    }
    let known = if report.known > 0 { format!(" and {} that it had", report.known) } else { String::new() };
    let name = crate::cmd::shown(&args.output);
    if args.check {
        note!(
            "{} can be joined; {name} would have {}",
            count(report.files as u64, "file"),
            text::size(len as u64)
        );
    } else {
        note!("{}{known} -> {name}  {}", count(report.files as u64, "file"), text::size(len as u64));
    }
}

fn to_json(args: &AggregateArgs, made: &Made) -> Value {
    let (report, len) = (&made.report, made.bytes.len());
    let skipped =
        report.skipped.iter().map(|(file, why)| json!({"file": text::safe(file), "reason": text::safe(why)}));
    let arrays = report.arrays.iter().map(|a| {
        json!({"name": text::safe(&a.name), "dimensions": a.dimensions, "shape": a.shape, "fragments": a.fragments})
    });
    json!({
        "output": crate::cmd::shown(&args.output), "written": !args.check, "bytes": len, "files": report.files,
        "known": report.known, "skipped": skipped.collect::<Vec<_>>(),
        "convention": if made.convention == Convention::Cf { "CF-1.13" } else { "NCA-0.1" }, "variables": arrays.collect::<Vec<_>>(),
        "notes": report.notes.iter().map(|n| text::safe(n)).collect::<Vec<_>>(),
    })
}
