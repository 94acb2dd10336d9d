//! `nc3z bundle`: puts many files into one, in which each can be read directly.

mod inputs;

use crate::args::BundleArgs;
use crate::exit::Exit;
use crate::output::progress::{Progress, interrupted};
use crate::output::table::count;
use crate::output::target::{Content, Target};
use crate::output::text;
use anyhow::{Context, Result, bail};
use nc3z_aggregate::bundle::{Bundled, write_bundle};
use nc3z_aggregate::pack::{PackOptions, Packed, append_packed, write_packed};
use nc3z_reader::Monitor;
use nc3z_tree::shard;
use nc3z_tree::specification;
use nc3z_writer::{Preset, WriterOptions};
use std::fs::File;
use std::path::Path;

/// Writes a bundle.
pub(crate) fn run(args: &BundleArgs) -> Result<Exit> {
    if !args.pack && !args.append && (args.preset.is_some() || args.parity.is_some()) {
        bail!("--preset and --parity are for bundles that are made with --pack: others copy what there is");
    }
    super::with_threads(args.threads, || write(args))?
}

fn write(args: &BundleArgs) -> Result<Exit> {
    if args.append || args.target_size.is_some() {
        super::places::check_file(Some(&args.output), args.place.parents)?;
    } else {
        super::places::check(Some(&args.output), args.place.parents)?;
    }
    let files = inputs::files(args)?;
    let len = |file: &Bundled| file.path.metadata().map_or(0, |m| m.len());
    let Some(target) = args.target_size else {
        let Some(shard) = args.shard else { return write_one(files, &args.output, args) };
        let lens: Vec<u64> = files.iter().map(len).collect();
        let part = shard::run_of(&lens, shard);
        if part.is_empty() {
            note!("nc3z: this part of the inputs has no file; no bundle is written");
            return Ok(Exit::Done);
        }
        return write_one(files[part].to_vec(), &args.output, args);
    };
    let lens: Vec<(String, u64)> = files.iter().map(|f| (f.name.clone(), len(f))).collect();
    let parts = shard::parts(&lens, target);
    let bytes: Vec<u64> =
        parts.iter().map(|part| lens[part.clone()].iter().map(|(_, len)| len).sum()).collect();
    let own = args.shard.map(|shard| shard::share_of(&bytes, shard));
    for (n, part) in parts.into_iter().enumerate() {
        if own.as_ref().is_none_or(|own| own.contains(&n)) {
            write_one(files[part].to_vec(), &shard::numbered(&args.output, n), args)?;
        }
    }
    Ok(Exit::Done)
}

/// Writes one bundle of these files.
fn write_one(mut files: Vec<Bundled>, output: &Path, args: &BundleArgs) -> Result<Exit> {
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
    let progress = Progress::new(total, crate::cmd::shown(output));
    let tell = |bytes| {
        progress.advance(bytes);
        !interrupted()
    };
    let name = crate::cmd::shown(output);
    if args.append {
        let done = append(&files, args, &tell)?;
        drop(progress);
        note!("{} -> {name}  {}", packed_words(&done), text::size(done.len));
        return Ok(Exit::Done);
    }
    let target = Target::create(output, args.force, Content::Binary)?;
    let mut out = target.file().try_clone().context("write the bundle")?;
    if args.pack {
        let scratch = scratch(args)?;
        let done = write_packed(&files, &mut out, output, &options(args, scratch.path()), &tell)?;
        drop(progress);
        target.commit()?;
        note!("{} -> {name}  {}", packed_words(&done), text::size(done.len));
        return Ok(Exit::Done);
    }
    write_bundle(&files, &mut out, &tell)?;
    let len = out.metadata().context("write the bundle")?.len();
    drop(progress);
    target.commit()?;
    note!("{} -> {name}  {}", count(files.len() as u64, "file"), text::size(len));
    Ok(Exit::Done)
}

/// Adds files to a bundle that is there.
fn append(files: &[Bundled], args: &BundleArgs, tell: &dyn Fn(u64) -> bool) -> Result<Packed> {
    let place = || format!("`{}`", args.output.display());
    let mut file = File::options().read(true).write(true).open(&args.output).with_context(|| {
        format!(
            "open `{}`, to which files are to be added (--pack makes a new bundle)",
            args.output.display()
        )
    })?;
    let scratch = scratch(args)?;
    append_packed(files, &mut file, &args.output, &options(args, scratch.path()), tell).with_context(place)
}

/// A directory beside the bundle, for archives on their way into it.
fn scratch(args: &BundleArgs) -> Result<tempfile::TempDir> {
    if super::stdin::is(&args.output) {
        return tempfile::tempdir().context("create a temporary directory");
    }
    let beside = args.output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".nc3z-").tempdir_in(beside).context("create a temporary directory")
}

fn options(args: &BundleArgs, scratch: &Path) -> PackOptions {
    let preset = args.preset.map_or(Preset::Default, super::estimate::preset);
    let mut writer = WriterOptions::default().with_preset(preset);
    if let Some(share) = args.parity {
        writer = writer.with_parity(share);
    }
    PackOptions { writer, scratch: scratch.to_owned() }
}

fn packed_words(done: &Packed) -> String {
    let (files, groups) = (count(done.members, "file"), count(done.groups, "group"));
    format!("{files}, {} of them packed in {groups},", done.packed)
}
