//! Files that are named by a URL.

use crate::args::RemoteArgs;
use anyhow::Result;
use nc3z_reader::source::SharedSource;
use std::borrow::Cow;
use std::path::Path;

/// The URL that a name is, if it is one.
pub(crate) fn of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// A name as messages show it: a URL without its secrets.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    of(path).map_or_else(|| path.to_string_lossy(), |url| without_secrets(url).into())
}

/// Scheme, host and path of a URL: neither query nor fragment.
pub(crate) fn address(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(feature = "remote")]
mod with {
    use super::{RemoteArgs, Result, SharedSource};
    use nc3z_remote::RemoteOptions;
    pub(super) use nc3z_remote::{is_url, shown as without_secrets};
    use std::sync::Arc;

    fn options(args: &RemoteArgs) -> RemoteOptions {
        let settings = args.settings.iter();
        settings.fold(RemoteOptions::default(), |options, (name, value)| options.with_setting(name, value))
    }

    /// The object of a URL.
    pub(crate) fn open(url: &str, args: &RemoteArgs) -> Result<SharedSource> {
        Ok(nc3z_remote::open(url, &options(args))?)
    }

    /// The same for work that goes through all of it.
    pub(crate) fn open_forward(url: &str, args: &RemoteArgs) -> Result<SharedSource> {
        Ok(Arc::new(nc3z_remote::ForwardSource::new(open(url, args)?)))
    }
}

#[cfg(not(feature = "remote"))]
mod with {
    use super::{RemoteArgs, Result, SharedSource};

    pub(super) fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric()))
    }

    pub(super) fn without_secrets(url: &str) -> String {
        super::address(url).to_owned()
    }

    /// Says that this cannot be had.
    pub(crate) fn open(url: &str, _: &RemoteArgs) -> Result<SharedSource> {
        anyhow::bail!("`{}` is a URL, and this build of nc3z reads no URLs", without_secrets(url))
    }

    /// The same.
    pub(crate) use open as open_forward;
}

use with::{is_url, without_secrets};
pub(crate) use with::{open, open_forward};
