//! Archives from standard input, to standard output, or both.

use super::console::report;
use crate::args::ArchiveArgs;
use crate::exit::Exit;
use crate::output::progress::Progress;
use crate::output::signals::while_blocked;
use crate::output::streams::Stdout;
use anyhow::{Context, Result, bail};
use nc3z_reader::source::open_regular;
use nc3z_writer::{WriterOptions, archive_open_file};
use std::fs::File;
use std::path::Path;

/// Archives from standard input, to standard output, or both. Data are copied to disk first, since the length
/// is needed at the beginning and verification reads them again.
pub(super) fn run(args: &ArchiveArgs, options: &WriterOptions) -> Result<Exit> {
    let [input] = &args.inputs[..] else { bail!("`-` must be the only input, with a single output") };
    if args.remove_source {
        refuse!("--remove-source needs files on both sides");
    }
    let run = &args.run;
    let ignored = [
        ("--recursive", args.recursive),
        ("--files-from", run.files_from.is_some()),
        ("--unit", run.unit.is_some()),
        ("--shard", run.shard.is_some()),
        ("--skip-existing", run.skip_existing.is_some()),
        ("--log", run.log.is_some()),
        ("--resume", run.resume.is_some()),
        ("--max-errors", run.max_errors.is_some()),
        ("--stop-after", run.stop_after.is_some()),
        ("--max-rate", run.max_rate.is_some()),
        ("--dry-run", run.dry_run),
    ];
    if let Some((name, _)) = ignored.iter().find(|(_, is_given)| *is_given) {
        refuse!("{name} has no effect where `-` is the input or the output; name files");
    }
    let from_stdin = input.as_os_str() == "-";
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let source = if from_stdin {
        let mut spool = tempfile::tempfile().context("create a temporary file for standard input")?;
        while_blocked(|| std::io::copy(&mut std::io::stdin().lock(), &mut spool))
            .context("read standard input")?;
        spool
    } else {
        open_regular(input).with_context(|| format!("open `{}`", input.display()))?
    };
    if output.as_os_str() == "-" && Stdout::results().is_terminal() && !args.to_terminal {
        bail!(
            "an archive is not for a terminal; name a file with -o, send it through a pipe, or write it there with --to-terminal"
        );
    }
    let progress = Progress::with_passes(source.metadata().map_or(0, |m| m.len()), 2, "archive".to_owned());
    let name = if from_stdin { Path::new("standard input") } else { input };
    let named = || crate::cmd::shown(name);
    if output.as_os_str() != "-" {
        crate::cmd::outputs::prepare(output)?;
        let done = archive_open_file(source, name, output, options, &progress).with_context(named)?;
        drop(progress);
        report(name, output, &done);
        return Ok(Exit::Done);
    }
    let dir = tempfile::tempdir().context("create a temporary directory for the archive")?;
    let spool = dir.path().join("archive.nc3z");
    archive_open_file(source, name, &spool, options, &progress).with_context(named)?;
    let mut spooled = File::open(&spool).context("read the spooled archive")?;
    // The temporary files are removed now: the reader of the pipe may block us until we are killed.
    dir.close().context("remove the temporary directory")?;
    while_blocked(|| std::io::copy(&mut spooled, &mut Stdout::results()))
        .context("write to standard output")?;
    Ok(Exit::Done)
}
