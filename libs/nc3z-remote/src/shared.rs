//! Stores that objects share. A store has the connections to its server and the certificates of authorities: making one takes
//! milliseconds, and its first request a connection.

use crate::PerProcess;
use crate::headers::HEADERS_VARIABLE;
use crate::options::RemoteOptions;
use crate::store::{self, Store};
use std::ffi::OsString;
use std::io;
use std::sync::{Mutex, PoisonError};
use url::Url;

/// The number of stores that are kept when no object needs them.
const KEPT: usize = 16;

/// Stores in the order of their last use.
type Stores = Mutex<Vec<(Key, Store)>>;

static STORES: PerProcess<Stores> = PerProcess::empty();

/// Everything that a store is made of.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    server: Url,
    options: RemoteOptions,
    environment: Vec<(OsString, OsString)>,
}

impl Key {
    fn new(url: &Url, options: &RemoteOptions) -> Self {
        let environment = std::env::vars_os().filter(|(name, _)| is_setting(&name.to_string_lossy()));
        Key { server: store::server(url), options: options.clone(), environment: environment.collect() }
    }
}

/// Returns whether stores and their connections depend on an environment variable.
fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let prefixes = ["AWS_", "AZURE_", "GOOGLE_", "SSL_CERT_"];
    name == HEADERS_VARIABLE || name.ends_with("_PROXY") || prefixes.iter().any(|p| name.starts_with(p))
}

/// Returns the store of a URL: one that is there already for the same server, options and environment, otherwise a new one.
///
/// # Errors
/// As [`store::build`].
pub(crate) fn store(url: &Url, options: &RemoteOptions) -> io::Result<Store> {
    let stores = STORES.get(|_| Ok::<_, io::Error>(Stores::default()))?;
    let mut stores = stores.lock().unwrap_or_else(PoisonError::into_inner);
    let key = Key::new(url, options);
    let known = stores.iter().position(|(k, _)| *k == key);
    let (key, store) = match known {
        Some(at) => stores.remove(at),
        None => (key, store::build(url, options)?),
    };
    stores.push((key, store.clone()));
    let most = stores.len().saturating_sub(KEPT);
    stores.drain(..most);
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStore;
    use std::sync::Arc;

    fn of(url: &str, options: &RemoteOptions) -> Arc<dyn ObjectStore> {
        store(&Url::parse(url).unwrap(), options).unwrap().objects
    }

    #[test]
    fn objects_of_a_server_share_a_store() {
        let options = RemoteOptions::default();
        let one = of("http://shared.test/a.nc", &options);
        assert!(Arc::ptr_eq(&one, &of("http://shared.test/b/c.nc#part", &options)));
        let token = options.clone().with_setting("bearer_token", "x");
        for (url, options) in [
            ("http://shared.test:81/a.nc", &options),
            ("https://shared.test/a.nc", &options),
            ("http://me:word@shared.test/a.nc", &options),
            ("http://shared.test/a.nc?signature=x", &options),
            ("http://shared.test/a.nc", &token),
            ("http://shared.test/a.nc", &RemoteOptions::default().with_retries(0, std::time::Duration::ZERO)),
        ] {
            assert!(!Arc::ptr_eq(&one, &of(url, options)), "{url} {options:?}");
        }
        let buckets = ["s3://one/a", "s3://one/b", "s3://two/a"];
        let options = options.with_setting("region", "here");
        let [a, b, c] = buckets.map(|url| of(url, &options));
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
    }

    #[test]
    fn few_stores_are_kept() {
        let options = RemoteOptions::default();
        let first = of("http://kept.test/", &options);
        (0..KEPT).for_each(|n| drop(of(&format!("http://kept{n}.test/"), &options)));
        assert!(!Arc::ptr_eq(&first, &of("http://kept.test/", &options)));
        assert!(is_setting("https_proxy") && is_setting("AWS_REGION") && !is_setting("PATH"));
    }
}
