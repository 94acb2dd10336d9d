//! Fragments on servers: those in the directory of an aggregation that is on a server itself, and others
//! where the caller trusts it.

use crate::bundle::inside;
use crate::error::{Error, Result};
use crate::fragments::OpenFragment;
use nc3z_reader::source::SharedSource;
use nc3z_writer::Advice;
use std::sync::Arc;

/// Opens a URL, or returns the reason why it cannot.
pub type OpenUrl = Arc<dyn Fn(&str) -> nc3z_reader::Result<SharedSource> + Send + Sync>;

/// Opens fragments by URL.
pub struct Urls {
    /// The scheme and host, and the directory of the aggregation. None where the aggregation is on disk.
    base: Option<(String, String)>,
    outside: bool,
    open: OpenUrl,
}

impl Urls {
    /// Opens fragments for an aggregation at the URL `address`, or on disk. The query and fragment part of
    /// that URL are not used for the URLs of fragments. Where `outside` is true, fragments may be anywhere.
    pub fn beside(address: Option<&str>, outside: bool, open: OpenUrl) -> Self {
        let base = address.and_then(|url| {
            let (scheme, rest) = url.split(['?', '#']).next()?.split_once("://")?;
            let (host, path) = rest.split_once('/')?;
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            Some((format!("{scheme}://{host}"), directory.to_owned()))
        });
        Urls { base, outside, open }
    }
}

impl OpenFragment for Urls {
    fn open_fragment(&self, uri: &str) -> Result<Option<SharedSource>> {
        let wrong = |what: &str| Error::fragment(uri, what);
        let is_file = uri.starts_with("file://");
        // A server would read it as `..`.
        if uri.to_ascii_lowercase().contains("%2e") && (self.base.is_some() || uri.contains("://")) {
            return Err(wrong("its name has an encoded dot"));
        }
        let url = if uri.contains("://") && !is_file {
            let beside = self.base.as_ref().is_some_and(|(host, directory)| {
                let rest = uri.strip_prefix(host.as_str()).and_then(|rest| rest.strip_prefix('/'));
                rest.is_some_and(|rest| below(directory, rest) && !rest.contains(".."))
            });
            if !self.outside && !beside {
                let e = wrong("it is on a server, outside the directory of the aggregation");
                return Err(e.advised(Advice::TrustOutside));
            }
            uri.to_owned()
        } else {
            let Some((host, directory)) = &self.base else { return Ok(None) };
            if is_file || uri.starts_with('/') {
                return Err(wrong("an aggregation on a server names a file on this machine"));
            }
            // A URL has `/` in the place of `\`, and the server may read `%2F` as `/`.
            let escaped = uri.to_ascii_lowercase();
            let is_parent = uri.contains("..") && (escaped.contains("%2f") || escaped.contains("%5c"));
            if !self.outside && (is_parent || uri.contains('\\')) {
                let e = wrong("its name has a backslash, or an encoded slash and `..`");
                return Err(e.advised(Advice::TrustOutside));
            }
            let name = inside(directory, uri).ok_or_else(|| wrong("it is outside the server's tree"))?;
            if !self.outside && !below(directory, &name) {
                return Err(
                    wrong("it is outside the directory of the aggregation").advised(Advice::TrustOutside)
                );
            }
            format!("{host}/{name}")
        };
        // As on disk, the file may have been archived after the aggregation was made.
        let is_absent = |e: &nc3z_reader::Error| e.code() == "input.missing";
        let opened = (self.open)(&url).or_else(|e| match (self.open)(&format!("{url}.nc3z")) {
            // It is not known whether there is an archive.
            Err(other) if is_absent(&e) && !is_absent(&other) => Err(other),
            archived => archived.map_err(|_| e),
        });
        opened.map(Some).map_err(|e| match e.with_causes() {
            what if is_absent(&e) => Error::Absent { file: uri.to_owned(), what },
            what => wrong(&what),
        })
    }
}

/// Returns whether a name is inside a directory. Every name is inside the root.
fn below(directory: &str, name: &str) -> bool {
    directory.is_empty() || name.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::source::MemorySource;
    use std::sync::Mutex;

    /// Returns the URL that is requested, or the error message.
    fn asked(address: Option<&str>, outside: bool, uri: &str) -> std::result::Result<Option<String>, String> {
        let last = Arc::new(Mutex::new(None));
        let note = last.clone();
        let open: OpenUrl = Arc::new(move |url| {
            *note.lock().unwrap() = Some(url.to_owned());
            Ok(Arc::new(MemorySource::new(vec![])))
        });
        let found = Urls::beside(address, outside, open).open_fragment(uri).map_err(|e| e.to_string())?;
        let url = last.lock().unwrap().clone();
        assert_eq!(found.is_some(), url.is_some());
        Ok(url)
    }

    #[test]
    fn names_count_from_the_aggregation_on_its_server() {
        let at = Some("https://host/data/agg.nc?signature=1");
        assert_eq!(asked(at, false, "a.nc"), Ok(Some("https://host/data/a.nc".into())));
        assert_eq!(asked(at, false, "sub/../b.nc"), Ok(Some("https://host/data/b.nc".into())));
        assert_eq!(asked(at, false, "https://host/data/c.nc"), Ok(Some("https://host/data/c.nc".into())));
        assert_eq!(asked(at, true, "../x.nc"), Ok(Some("https://host/x.nc".into())));
        for uri in [
            "../x.nc",
            "../../x.nc",
            "/etc/passwd",
            "file:///etc/passwd",
            "%2e%2e/x.nc",
            "https://host/data/../x.nc",
            "https://host/database/x.nc",
            "https://other/data/a.nc",
        ] {
            assert!(asked(at, false, uri).is_err(), "{uri}");
        }
        // No file of this machine, even for a caller that trusts other servers.
        assert!(asked(at, true, "file:///etc/passwd").is_err());
    }

    #[test]
    fn a_file_that_was_archived_later_is_found() {
        let open: OpenUrl = Arc::new(|url| match url {
            "https://host/a.nc.nc3z" => Ok(Arc::new(MemorySource::new(vec![1]))),
            _ => Err(nc3z_reader::Error::other(format!("{url} is not there"))),
        });
        let urls = Urls::beside(Some("https://host/agg.nc"), false, open);
        assert!(urls.open_fragment("a.nc").unwrap().is_some());
        let error = urls.open_fragment("b.nc").err().unwrap().to_string();
        assert!(error.contains("https://host/b.nc is not there"), "{error}");
    }

    #[test]
    fn an_aggregation_on_disk_names_servers_only_where_it_is_trusted() {
        assert_eq!(asked(None, false, "a.nc"), Ok(None));
        assert_eq!(asked(None, false, "file:///a.nc"), Ok(None));
        assert!(asked(None, false, "s3://bucket/a.nc").is_err());
        assert_eq!(asked(None, true, "s3://bucket/a.nc"), Ok(Some("s3://bucket/a.nc".into())));
    }
}
