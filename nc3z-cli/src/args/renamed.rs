//! Names of development builds before 1.0, with what replaced them. They are not accepted; the message says the new name.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Former commands.
const COMMANDS: [(&str, &str); 12] = [
    ("att", "nc3z attr"),
    ("check", "nc3z cite --check"),
    ("explain", "nc3z read --explain"),
    ("gc", "nc3z prune"),
    ("index", "nc3z catalog"),
    ("layout", "nc3z info --layout"),
    ("manifest", "nc3z hash --manifest"),
    ("plugin", "nc3z netcdf-plugin"),
    ("report", "nc3z list --html"),
    ("run", "nc3z netcdf-plugin run"),
    ("shadow", "nc3z catalog"),
    ("unbundle", "nc3z bundle --extract"),
];

/// Former options.
const OPTIONS: [(&str, &str); 6] = [
    ("--block-size", "--tile-size"),
    ("--chunk", "--tile"),
    ("--generation", "NAME@VERSION"),
    ("--offline", "--on-tape"),
    ("--others", "--passed-over"),
    ("--shadow", "--catalog"),
];

/// Returns the message for a usage error that is a former name.
pub(crate) fn message(e: &Error) -> Option<String> {
    let word = |kind| match e.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let (what, word, table) = match e.kind() {
        ErrorKind::InvalidSubcommand => ("command", word(ContextKind::InvalidSubcommand)?, &COMMANDS[..]),
        ErrorKind::UnknownArgument => {
            ("option", word(ContextKind::InvalidArg)?.split('=').next()?, &OPTIONS[..])
        }
        _ => return None,
    };
    let (_, now) = table.iter().find(|(old, _)| *old == word)?;
    Some(format!("error: the {what} `{word}` is now `{now}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_names_say_the_new_ones() {
        for (old, now) in COMMANDS {
            let e = crate::args::command().try_get_matches_from(["nc3z", old]).unwrap_err();
            let words = message(&e).unwrap_or_else(|| panic!("`{old}` is still a command"));
            assert_eq!(words, format!("error: the command `{old}` is now `{now}`"));
            let new: Vec<&str> = now.split(' ').take(2).chain(["--help"]).collect();
            let e = crate::args::command().try_get_matches_from(new).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::DisplayHelp, "{now}");
        }
        let e =
            crate::args::command().try_get_matches_from(["nc3z", "archive", "--shadow=x", "a"]).unwrap_err();
        assert_eq!(message(&e).unwrap(), "error: the option `--shadow` is now `--catalog`");
        let e = crate::args::command().try_get_matches_from(["nc3z", "frobnicate"]).unwrap_err();
        assert!(message(&e).is_none());
    }
}
