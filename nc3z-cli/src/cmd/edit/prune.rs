//! `nc3z prune`.

use crate::args::PruneArgs;
use crate::cmd::parity::carried;
use crate::cmd::{outputs, stdin, with_threads};
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::table::count;
use crate::output::target::{Content, Target};
use crate::output::text;
use anyhow::{Context, Result};
use nc3z_writer::{Keep, WriterOptions, collect_file};
use std::fs::File;

pub(crate) fn prune(args: &PruneArgs) -> Result<Exit> {
    let path = &args.archive;
    crate::cmd::named::need_archive_file(path)?;
    outputs::check(args.output.as_deref(), args.out.parents)?;
    let mut output = args.output.clone();
    let mut spool = None;
    match &args.output {
        // The new archive is read again before it is complete, so it is written to disk first.
        Some(name) if stdin::is(name) && !args.dry_run => {
            let stream = Target::create(name, args.out.force, Content::Binary)?;
            let directory = tempfile::tempdir().context("create a temporary directory for the archive")?;
            output = Some(directory.path().join("archive.nc3z"));
            spool = Some((stream, directory));
        }
        Some(name) if !stdin::is(name) => outputs::prepare_new(name, args.out.force || args.dry_run)?,
        _ => {}
    }
    let options = WriterOptions::default()
        .with_registry(crate::registry::registry())
        .with_memory(args.memory)
        .with_dry_run(args.dry_run)
        .with_parity_renewed(!args.no_parity)
        .with_force(args.out.force);
    let keep = Keep { versions: &args.keep, tagged: !args.drop_tagged };
    let done = with_threads(*args.threads, || {
        let progress = Progress::new(0, text::safe(&path.to_string_lossy()));
        collect_file(path, output.as_deref(), &keep, &options, &progress)
    })?;
    let done = done.with_context(|| format!("drop versions of `{}`", path.display()))?;
    let (before, after) = done.stored_len;
    let name = text::safe(&path.to_string_lossy());
    let (kept, dropped) = (count(done.kept.len() as u64, "version"), done.dropped.len());
    let (before, after) = (text::size(before), text::size(after));
    if args.dry_run {
        note!(
            "{name}: {kept} would be kept, {dropped} dropped{}, {before} -> {after}; nothing was changed",
            numbers(&done.dropped)
        );
    } else {
        note!("{name}: {kept} kept, {dropped} dropped, {before} -> {after}");
    }
    if !done.dropped_tags.is_empty() {
        let tags = text::safe(&done.dropped_tags.join(", "));
        if args.dry_run {
            note!("  tags that would go with dropped versions: {tags}");
        } else {
            note!("  tags that named dropped versions are gone: {tags}");
        }
    }
    if let (Some((stream, directory)), Some(written)) = (spool, &output) {
        let mut written = File::open(written).context("read the new archive")?;
        std::io::copy(&mut written, &mut stream.file()).context("copy the new archive")?;
        directory.close().context("remove the temporary directory")?;
        stream.commit()?;
    }
    if let Some(words) = carried(done.parity_before, done.parity) {
        note!("  {words}");
    }
    Ok(Exit::Done)
}

/// Formats the first versions of a list, in brackets.
fn numbers(versions: &[u64]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = versions.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if versions.len() > SHOWN { ", ..." } else { "" };
    if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
}
