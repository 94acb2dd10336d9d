//! Files that are named by a URL.

use crate::args::{Access, OpenArgs, RemoteArgs};
use anyhow::Result;
use nc3z_format::url::is_url;
use nc3z_reader::source::SharedSource;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The number of objects of a store that are read at the same time, if the number of threads is not given.
pub(crate) const REQUESTS: usize = 16;

/// Returns the URL, if the name is one.
pub(crate) fn of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// Returns a name for messages, and to be stored: a URL without its secrets.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    of(path).map_or_else(|| path.to_string_lossy(), |url| nc3z_format::url::shown(url).into())
}

/// Refuses a URL, for commands that need files.
pub(crate) fn refuse(path: &Path) -> Result<()> {
    if of(path).is_none() {
        return Ok(());
    }
    anyhow::bail!(
        "`{}` is a URL, and this command needs a file on this machine: fetch it first, for instance with `curl -O`",
        shown(path)
    )
}

/// Checks, before long work, that there are credentials for the stores of all inputs that are URLs. With one input, opening it is
/// the check.
///
/// # Errors
/// Credentials are incomplete or cannot be read, or there are none.
pub(crate) fn check_credentials(inputs: &[PathBuf], args: &RemoteArgs) -> Result<()> {
    let args = OpenArgs { remote: args.clone(), ..OpenArgs::default() };
    let urls = inputs.iter().filter_map(|input| of(input));
    Ok(super::named::opener(Path::new(""), &args).check_credentials(urls.filter(|_| inputs.len() > 1))?)
}

/// Returns whether a name is a URL that ends in `/`: that of all objects below it.
pub(crate) fn is_prefix(path: &Path) -> bool {
    of(path).is_some_and(|url| address(url).ends_with('/'))
}

/// Returns the URLs of the objects below a prefix whose names `wanted` accepts.
///
/// # Errors
/// The store cannot be read, or has no such object.
pub(crate) fn objects(
    prefix: &Path,
    args: &RemoteArgs,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    let args = OpenArgs { remote: args.clone(), ..OpenArgs::default() };
    let found = super::named::opener(prefix, &args).objects(of(prefix).unwrap_or_default())?;
    let found: Vec<PathBuf> =
        found.into_iter().filter(|url| wanted(Path::new(address(url)))).map(PathBuf::from).collect();
    if found.is_empty() {
        anyhow::bail!("`{}` has no archive and no classic file, by their names", shown(prefix));
    }
    Ok(found)
}

/// Replaces each prefix by the objects below it whose names `wanted` accepts. Other names stay.
///
/// # Errors
/// As [`objects`]. There are no credentials for a store.
pub(crate) fn expand(
    inputs: &[PathBuf],
    args: &RemoteArgs,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    check_credentials(inputs, args)?;
    let mut out = Vec::new();
    for input in inputs {
        if is_prefix(input) {
            out.extend(objects(input, args, wanted)?);
        } else {
            out.push(input.clone());
        }
    }
    Ok(out)
}

/// Returns a text without the secrets of URLs: of those on the command line, whatever characters they have, and of
/// all others.
pub(crate) fn hidden_in(text: &str) -> String {
    // Most lines have no URL.
    if !text.contains(":/") {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        if is_url(&word) {
            text = text.replace(&*word, &nc3z_format::url::shown(&word));
        }
    }
    nc3z_format::url::hidden_in(&text)
}

/// Returns scheme, host and path of a URL, without query and fragment.
pub(crate) fn address(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Opens the object of a URL for work that reads all of it.
pub(crate) fn open_forward(url: &str, args: &RemoteArgs) -> Result<SharedSource> {
    let args = OpenArgs { remote: args.clone(), access: Access::Forward, ..OpenArgs::default() };
    Ok(super::named::opener(Path::new(url), &args).object(url)?)
}
