//! Arguments that are described to clap only if their command is the given one: describing those of all
//! commands would take a fifth of the time of a short run.

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use std::ops::Deref;

/// The arguments of a command.
#[derive(Debug)]
pub(crate) struct LazyArgs<T>(T);

impl<T> Deref for LazyArgs<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Adds the arguments or commands. The command's own description is kept.
fn described(command: Command, add: impl FnOnce(Command) -> Command) -> Command {
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    let command = add(command);
    let command = if let Some(about) = about { command.about(about) } else { command };
    if let Some(long_about) = long_about { command.long_about(long_about) } else { command }
}

impl<T: Args> Args for LazyArgs<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_args))
    }
}

impl<T: Subcommand> Subcommand for LazyArgs<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| described(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

impl<T: FromArgMatches> FromArgMatches for LazyArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(LazyArgs)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(LazyArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
