//! Where a file that was opened is an aggregation, its variables are presented with the data of its fragments.

use super::{member, url};
use crate::args::{FragmentArgs, OpenArgs, RemoteArgs};
use anyhow::Result;
use nc3z_aggregate::bundle::{Members, inside};
use nc3z_aggregate::{Error, Missing, OpenFragment, Options, is_aggregation, wrap};
use nc3z_reader::Dataset;
use nc3z_reader::source::SharedSource;
use std::path::Path;
use std::sync::Arc;

/// The dataset as commands read it; `path` is the name it was opened by.
pub(crate) fn present(dataset: Dataset, path: &Path, args: &OpenArgs) -> Result<Dataset> {
    if args.fragments.as_stored || !is_aggregation(&dataset) {
        return Ok(dataset);
    }
    let mut options = options(&args.fragments, args);
    let name = url::shown(path);
    // Beside it: in its bundle, on its server, or in its directory.
    if let Some((bundle, member)) = member::of(path) {
        let bundle = Arc::new(member::open(&bundle, args)?);
        options.opener = Some(Arc::new(Members::beside(bundle, &member)));
        return Ok(wrap(dataset, &name, None, &options)?);
    }
    let base = if url::of(path).is_some() { None } else { path.parent() };
    options.opener = Some(Arc::new(Urls::beside(path, &args.fragments, &args.remote)));
    Ok(wrap(dataset, &name, base, &options)?)
}

/// How fragments are opened.
pub(crate) fn options(fragments: &FragmentArgs, args: &OpenArgs) -> Options {
    let mut options = Options::default();
    options.open = args.options();
    options.missing = if fragments.fill_missing { Missing::Fill } else { Missing::Refuse };
    options.outside = fragments.outside;
    options
}

/// Opens fragments on servers: those beside an aggregation on a server, and others where that is allowed.
struct Urls {
    /// Scheme and host, and the directory of the aggregation; none where it is on disk.
    base: Option<(String, String)>,
    outside: bool,
    remote: RemoteArgs,
}

impl Urls {
    fn beside(path: &Path, fragments: &FragmentArgs, remote: &RemoteArgs) -> Self {
        let base = url::of(path).and_then(|url| {
            let (scheme, rest) = url::address(url).split_once("://")?;
            let (host, path) = rest.split_once('/')?;
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            Some((format!("{scheme}://{host}"), directory.to_owned()))
        });
        let remote = RemoteArgs { settings: remote.settings.clone() };
        Urls { base, outside: fragments.outside, remote }
    }
}

impl OpenFragment for Urls {
    fn open_fragment(&self, uri: &str) -> nc3z_aggregate::Result<Option<SharedSource>> {
        let wrong = |what: String| Error::Fragment { file: uri.to_owned(), what };
        let is_file = uri.starts_with("file://");
        // A server would read it as `..`.
        if uri.to_ascii_lowercase().contains("%2e") && (self.base.is_some() || uri.contains("://")) {
            return Err(wrong("its name has an encoded dot".into()));
        }
        let url = if uri.contains("://") && !is_file {
            let beside = self.base.as_ref().is_some_and(|(host, directory)| {
                let rest = uri.strip_prefix(host.as_str()).and_then(|rest| rest.strip_prefix('/'));
                rest.is_some_and(|rest| below(directory, rest) && !rest.contains(".."))
            });
            if !self.outside && !beside {
                return Err(wrong(
                    "it is on a server, outside the directory of the aggregation; whoever trusts the aggregation can allow that".into(),
                ));
            }
            uri.to_owned()
        } else {
            let Some((host, directory)) = &self.base else { return Ok(None) };
            if is_file || uri.starts_with('/') {
                return Err(wrong("an aggregation on a server names a file on this machine".into()));
            }
            let name =
                inside(directory, uri).ok_or_else(|| wrong("it is outside the server's tree".into()))?;
            if !self.outside && !below(directory, &name) {
                return Err(wrong("it is outside the directory of the aggregation".into()));
            }
            format!("{host}/{name}")
        };
        let opened = url::open(&url, &self.remote).map_err(|e| wrong(crate::output::chain(&e)))?;
        Ok(Some(opened))
    }
}

/// Whether a name lies in a directory; all lie in the root.
fn below(directory: &str, name: &str) -> bool {
    directory.is_empty() || name.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
