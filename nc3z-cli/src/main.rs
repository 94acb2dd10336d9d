//! `nc3z`: exact, small, randomly readable archives of classic netCDF files.

#[macro_use]
mod output;

mod args;
mod cmd;
mod exit;
mod heap;
mod registry;
mod selection;

pub(crate) use nc3z_format::names;

use args::{Cli, Command};
use clap::{ArgMatches, FromArgMatches};
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = habits(std::env::args_os()).collect();
    let is_all = args::help::take_all(&mut words);
    // Not dropped: the system frees its thousands of parts sooner.
    let command = Box::leak(Box::new(args::command_for(&words)));
    let matches = command.try_get_matches_from_mut(&words).unwrap_or_else(|e| {
        if e.kind() == clap::error::ErrorKind::DisplayHelp {
            args::help::print(&words, is_all);
            std::process::exit(0);
        }
        output::exit_by(&e, args::asks_for_json(&words))
    });
    if args::is_json(&matches) {
        output::failure::set_json();
    }
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    output::set_color(cli.color);
    if matches!(cli.command, Command::FilterWorker) {
        return if nc3z_filters::worker_main().is_ok() { Exit::Done } else { Exit::Failed }.into();
    }
    output::signals::catch_signals();
    if !cli.command.may_be_short() {
        output::signals::end_after_grace();
    }
    let exit = start(&cli, &matches).and_then(|()| run(&cli));
    let exit = exit.unwrap_or_else(|e| {
        if output::streams::is_reader_gone(&e) {
            return Exit::Done;
        }
        output::report_error(None, &e);
        exit::of_error(&e)
    });
    output::status_line::end();
    cmd::named::tell_notes();
    registry::end();
    if exit != Exit::Done {
        output::failure::print_first();
        cmd::outputs::remove_empty();
    }
    cmd::outputs::finish();
    exit.into()
}

/// Prepares what all commands need.
fn start(cli: &Cli, matches: &ArgMatches) -> anyhow::Result<()> {
    registry::set_up(cli)?;
    args::set_residency(matches)?;
    if cli.command.has_end() {
        output::status_line::start(&args::command_words(matches))?;
    }
    Ok(())
}

/// Translates `nc3z -t`, `-d` and `-l`, which have the same meaning as in gzip.
fn habits(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    args.enumerate().map(|(n, arg)| match arg.to_str() {
        Some("-t" | "--test") if n == 1 => "verify".into(),
        Some("-d" | "--decompress") if n == 1 => "restore".into(),
        Some("-l" | "--list") if n == 1 => "list".into(),
        _ => arg,
    })
}

fn run(cli: &Cli) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Archive(args) => cmd::archive::run(args),
        Command::Recompress(args) => cmd::recompress::run(args),
        Command::Restore(args) => cmd::restore::run(args),
        Command::Hash(args) => cmd::hash::run(args),
        Command::Cite(args) => cmd::cite::run(args),
        Command::Estimate(args) => cmd::estimate::run(args),
        Command::Commit(args) => cmd::versions::commit(args),
        Command::Attr(args) => cmd::edit::attr(args),
        Command::Set(args) => cmd::edit::set(args),
        Command::Append(args) => cmd::edit::append(args),
        Command::Rename(args) => cmd::edit::rename(args),
        Command::Prune(args) => cmd::edit::prune(args),
        Command::Revert(args) => cmd::versions::revert(args),
        Command::Log(args) => cmd::versions::log(args),
        Command::Tag(args) => cmd::versions::tag(args),
        Command::Diff(args) => cmd::diff::run(args),
        Command::Info(args) => cmd::info::run(args),
        Command::Read(args) => cmd::read::run(args),
        Command::Verify(args) => cmd::verify::run(args),
        Command::Repair(args) => cmd::repair::run(args),
        Command::Dump(args) => cmd::dump::run(args),
        Command::Refs(args) => cmd::refs::run(args),
        Command::Subset(args) => cmd::subset::run(args),
        Command::Aggregate(args) => cmd::aggregate::run(args),
        Command::Bundle(args) => cmd::bundle::run(args),
        Command::List(args) => cmd::list::run(args),
        Command::Find(args) => cmd::find::run(args),
        Command::Catalog(args) => cmd::catalog::write_catalog(args),
        Command::Stats(args) => cmd::stats::stats(args),
        Command::Completions(args) => cmd::shell::completions(args),
        Command::Man(args) => cmd::shell::man(args),
        Command::Spec(args) => cmd::spec::run(args),
        #[cfg(feature = "mount")]
        Command::Mount(args) => cmd::mount::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => cmd::serve::run(args),
        Command::NetcdfPlugin(command) => cmd::netcdf_plugin::run(command),
        #[cfg(feature = "plot")]
        Command::Plot(args) => cmd::plot::run(args),
        Command::Plan(args) => cmd::campaign::plan(args),
        Command::Status(args) => cmd::campaign::status(args),
        Command::Retire(args) => cmd::retire::retire(args),
        Command::Reconcile(args) => cmd::retire::reconcile(args),
        Command::Parity(command) => cmd::parity::run(command),
        Command::Filters(args) => cmd::filters::run(args),
        Command::FilterWorker => Ok(Exit::Done),
    }
}
