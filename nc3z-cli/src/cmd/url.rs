//! Files that are named by a URL.

use crate::args::RemoteArgs;
use anyhow::Result;
use nc3z_reader::source::SharedSource;
use std::borrow::Cow;
use std::path::Path;

/// Returns the URL, if the name is one.
pub(crate) fn of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_url(text))
}

/// Returns a name for messages: a URL without its secrets.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    of(path).map_or_else(|| path.to_string_lossy(), |url| without_secrets(url).into())
}

/// Returns scheme, host and path of a URL, without query and fragment.
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

    /// Opens the object of a URL.
    pub(crate) fn open(url: &str, args: &RemoteArgs) -> Result<SharedSource> {
        Ok(nc3z_remote::open(url, &options(args))?)
    }

    /// Opens the object of a URL for work that reads all of it.
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

    /// Reports that this is not supported.
    pub(crate) fn open(url: &str, _: &RemoteArgs) -> Result<SharedSource> {
        anyhow::bail!("`{}` is a URL, and this build of nc3z reads no URLs", without_secrets(url))
    }

    /// Reports that this is not supported.
    pub(crate) use open as open_forward;
}

use with::{is_url, without_secrets};
pub(crate) use with::{open, open_forward};
