//! `nc3z bundle`: puts many files into one, in which each can be read directly, or extracts them.

mod inputs;

use super::tree::Other;
use crate::args::BundleArgs;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::target::{Content, Target};
use crate::output::{failure, set_level, text};
use anyhow::{Context, Result, bail};
use inputs::Inputs;
use nc3z_collections::Error;
use nc3z_collections::bundle::{Append, Bundle, BundleOptions, Bundled, Written, write_bundle, write_zip};
use nc3z_collections::pack::PackOptions;
use nc3z_collections::tree::manifest::bag::is_specification;
use nc3z_collections::tree::shard;
use nc3z_collections::tree::specification;
use nc3z_reader::source;
use nc3z_writer::{Preset, WriterOptions};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) fn run(args: &BundleArgs) -> Result<Exit> {
    set_level(&args.tell);
    if args.extract {
        return super::unbundle::run(args);
    }
    if !args.remote.settings.is_empty() {
        refuse!("--storage-option is for --extract: a bundle is made of files");
    }
    if !args.pack && !args.append && args.preset.is_some() {
        refuse!("--preset is for bundles that are made with --pack: others copy what there is");
    }
    let is_zip = args.output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
    if is_zip && !args.zip {
        refuse!(
            "`{}`: a bundle is an nc3z archive: name it NAME.bundle.nc3z, or write a plain ZIP with --zip",
            crate::cmd::shown(&args.output)
        );
    }
    super::with_threads(*args.threads, || write(args))?
}

fn write(args: &BundleArgs) -> Result<Exit> {
    if args.json && super::stdin::is(&args.output) {
        refuse!("--json reports on standard output, where -o - writes the bundle; name a file with -o");
    }
    if args.skip_existing && super::stdin::is(&args.output) {
        refuse!("--skip-existing keeps a file, and -o - writes to standard output");
    }
    if args.append || args.target_size.is_some() {
        super::outputs::check_file(Some(&args.output), args.out.parents)?;
    } else {
        super::outputs::check(Some(&args.output), args.out.parents)?;
        super::outputs::refuse_among(&args.inputs, &args.output)?;
    }
    let Inputs { files, others, failures } = inputs::find(args)?;
    let mut written = Vec::new();
    if !files.is_empty() {
        write_parts(files, args, &mut written)?;
    }
    let exit = failures.worst().max(super::tree::judge(&others, args.passed_over));
    if args.json {
        let report = json!({
            "bundles": written, "passed_over": Other::to_json(&others), "failed": failures.count(), "errors": failure::reported(),
        });
        writeln!(Stdout::results(), "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(exit);
    }
    let failed = Some(failures.count()).filter(|n| *n > 0).map(|n| format!("{n} failed"));
    let words: Vec<String> = failed.into_iter().chain(Other::words(&others)).collect();
    if !words.is_empty() {
        note!("nc3z: {}", words.join(", "));
    }
    Ok(exit)
}

/// Writes the bundle of these files, or the bundles, or the part of the run. Adds a report of each to `written`.
fn write_parts(files: Vec<Bundled>, args: &BundleArgs, written: &mut Vec<Value>) -> Result<()> {
    let len = |file: &Bundled| file.path.metadata().map_or(0, |m| m.len());
    let Some(target) = args.target_size else {
        let Some(shard) = args.shard else {
            written.push(write_one(files, &args.output, args)?);
            return Ok(());
        };
        let lens: Vec<u64> = files.iter().map(len).collect();
        let part = shard::run_of(&lens, shard);
        if part.is_empty() {
            note!("nc3z: this part of the inputs has no file; no bundle is written");
            return Ok(());
        }
        written.push(write_one(files[part].to_vec(), &args.output, args)?);
        return Ok(());
    };
    let lens: Vec<(String, u64)> = files.iter().map(|f| (f.name.clone(), len(f))).collect();
    let parts = shard::parts(&lens, target);
    let bytes: Vec<u64> =
        parts.iter().map(|part| lens[part.clone()].iter().map(|(_, len)| len).sum()).collect();
    let own = args.shard.map(|shard| shard::share_of(&bytes, shard));
    for (n, part) in parts.into_iter().enumerate() {
        if own.as_ref().is_none_or(|own| own.contains(&n)) {
            written.push(write_one(files[part].to_vec(), &shard::numbered(&args.output, n), args)?);
        }
    }
    Ok(())
}

/// Writes one bundle of these files, if it is not there. Returns a report.
fn write_one(mut files: Vec<Bundled>, output: &Path, args: &BundleArgs) -> Result<Value> {
    if args.skip_existing && output.exists() && !super::stdin::is(output) {
        return kept(&files, output, args);
    }
    // Written to a temporary directory, from which the bundle copies them.
    let specification =
        args.with_spec.then(tempfile::tempdir).transpose().context("create a temporary directory")?;
    if let Some(directory) = &specification {
        specification::write(directory.path(), false)?;
        for file in specification::collection()? {
            let path = directory.path().join(&file.name);
            // With one time, the same files give the same bytes.
            let date = File::options().write(true).open(&path).and_then(|file| file.set_modified(UNIX_EPOCH));
            date.with_context(|| format!("set the time of `{}`", path.display()))?;
            files.push(Bundled { path, name: format!("{}/{}", specification::DIRECTORY, file.name) });
        }
    }
    let total: u64 = files.iter().filter_map(|f| f.path.metadata().ok()).map(|m| m.len()).sum();
    // The bytes are read to describe the files, and to copy them.
    let passes = if args.zip { 1 } else { 2 };
    let progress = Progress::new(total.saturating_mul(passes), crate::cmd::shown(output));
    let name = crate::cmd::shown(output);
    if args.append {
        let done = append(&files, args, &progress)?;
        drop(progress);
        tell!("{} -> {name}@{}  {}", words(&done), done.version, text::size(done.len));
        return Ok(to_json(&name, &done));
    }
    if args.pack && !super::stdin::is(output) {
        super::outputs::warn_of_space(output, total);
    } else if !super::stdin::is(output) {
        super::outputs::check_space(output, total, || total)?;
    }
    let target = Target::create(output, args.out.force, Content::Binary)?;
    if args.zip {
        let len =
            write_zip(&files, target.file(), output, &progress).map_err(super::unbundle::of_aggregate)?;
        drop(progress);
        target.commit()?;
        tell!("{} -> {name}  {}", count(files.len() as u64, "file"), text::size(len));
        return Ok(json!({"file": name, "files": files.len(), "file_bytes": len}));
    }
    let done = write_bundle(&files, target.file(), output, &options(args, args.pack), &progress)
        .map_err(super::unbundle::of_aggregate)?;
    drop(progress);
    target.commit()?;
    tell!("{} -> {name}  {}", words(&done), text::size(done.len));
    if done.classic > 0 {
        note!("nc3z: note: {}", stored_words(done.classic));
    }
    Ok(to_json(&name, &done))
}

fn stored_words(classic: u64) -> String {
    match classic {
        1 => "1 classic file is stored as it is, uncompressed; --pack compresses it".to_owned(),
        n => format!("{n} classic files are stored as they are, uncompressed; --pack compresses them"),
    }
}

fn to_json(name: &str, done: &Written) -> Value {
    json!({
        "file": name, "file_bytes": done.len, "files": done.members, "packed": done.packed, "groups": done.groups,
        "uncompressed": done.classic, "version": done.version,
    })
}

/// Keeps a bundle of an earlier run, if it is one of these files.
fn kept(files: &[Bundled], output: &Path, args: &BundleArgs) -> Result<Value> {
    let name = crate::cmd::shown(output);
    let place = || format!("`{}`", output.display());
    let written = output.metadata().and_then(|m| m.modified()).ok();
    let differs = source::open(output, false).map_err(Error::from).and_then(|source| {
        let bundle = Bundle::open(source)?;
        if (bundle.kind() == "zip") != args.zip {
            let how = if args.zip { "it is not a ZIP" } else { "it is a plain ZIP" };
            return Ok(Some(how.to_owned()));
        }
        if bundle.is_packed()? && !args.pack {
            return Ok(Some("it is packed".to_owned()));
        }
        bundle.differs(files, written, &|member| is_specification(member))
    });
    match differs.map_err(super::unbundle::of_aggregate).with_context(place)? {
        None => {
            tell!("{name}: kept, with {}", count(files.len() as u64, "file"));
            Ok(json!({"file": name, "files": files.len(), "kept": true}))
        }
        Some(what) => bail!(
            "`{name}` exists, and is not the bundle of these files: {what}. Move it away, or replace it and all others with --force"
        ),
    }
}

/// Adds files to a bundle that is there.
fn append(files: &[Bundled], args: &BundleArgs, progress: &Progress) -> Result<Written> {
    let place = || format!("`{}`", args.output.display());
    if !args.output.exists() {
        bail!("{} does not exist: leave out --append to write it", place());
    }
    super::outputs::prepare(&args.output)?;
    let append = Append::open(&args.output).map_err(super::unbundle::of_aggregate).with_context(place)?;
    let options = options(args, args.pack || append.is_packed());
    append.add(files, &options, progress).map_err(super::unbundle::of_aggregate).with_context(place)
}

/// The directory of the bundle, for long archives on their way into it.
fn scratch(args: &BundleArgs) -> PathBuf {
    if super::stdin::is(&args.output) {
        return std::env::temp_dir();
    }
    let beside = args.output.parent().filter(|p| !p.as_os_str().is_empty());
    beside.unwrap_or(Path::new(".")).to_owned()
}

fn options(args: &BundleArgs, is_packed: bool) -> BundleOptions {
    let preset = args.preset.map_or(Preset::Default, super::estimate::preset);
    let writer = WriterOptions::default().with_preset(preset);
    BundleOptions {
        pack: is_packed.then(|| PackOptions { writer, scratch: scratch(args) }),
        statistics: args.statistics,
        parity: args.parity,
        threads: *args.threads,
    }
}

fn words(done: &Written) -> String {
    let files = count(done.members, "file");
    if done.groups == 0 {
        return files;
    }
    format!("{files}, {} of them packed in {},", done.packed, count(done.groups, "group"))
}
