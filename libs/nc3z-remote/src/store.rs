//! Makes a store from a URL, and the object's path in it.

use crate::credentials::{self, Credentials};
use crate::headers;
use crate::names;
use crate::options::RemoteOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use std::io;
use std::sync::{Arc, Once};
use url::Url;

fn wrong(e: impl Into<object_store::Error>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, e.into())
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Returns the path of a URL's object in its store.
///
/// # Errors
/// A path or a scheme that no store has.
pub(crate) fn path(url: &Url) -> io::Result<Path> {
    if is_http(url) {
        return Ok(path_as_given(url).unwrap_or_default());
    }
    Ok(ObjectStoreScheme::parse(url).map_err(wrong)?.1)
}

/// Returns what a URL says of its store: everything but the object's path.
pub(crate) fn server(url: &Url) -> Url {
    // The query stays in the server's address: it may be a signature.
    let mut server = url.clone();
    if !is_http(url) || path_as_given(url).is_some() {
        server.set_path("");
    }
    server.set_fragment(None);
    server
}

/// Returns the path of a URL's object, if the store requests it as the URL has it. With `%2F` or `%2B`, an empty part, or a `/` at the end
/// it would request another one: the address of such a store contains the path.
fn path_as_given(url: &Url) -> Option<Path> {
    let path = Path::from_url_path(url.path()).ok()?;
    let mut asked = url.clone();
    asked.set_path("");
    asked.path_segments_mut().ok()?.extend(path.parts());
    (asked.path() == url.path()).then_some(path)
}

/// A store, with the credentials that it signs requests with.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// None for a store whose requests are not signed.
    pub(crate) credentials: Option<Arc<Credentials>>,
}

/// Makes the store of a URL.
///
/// # Errors
/// A setting or a scheme that does not exist, or a value that is not valid; credentials that are incomplete or cannot be read.
pub(crate) fn build(url: &Url, options: &RemoteOptions) -> io::Result<Store> {
    static PROVIDER: Once = Once::new();
    let environment = std::env::var(headers::HEADERS_VARIABLE).ok();
    // A provider that the program has already installed is kept.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let client = ClientOptions::new()
        // Not for the whole answer: the requests that run at once share the speed of a slow connection.
        .with_timeout_disabled()
        .with_read_timeout(options.request_time)
        .with_connect_timeout(options.connect_time)
        .with_allow_http(true);
    let retry = RetryConfig {
        max_retries: options.retries,
        retry_timeout: options.retry_time,
        ..RetryConfig::default()
    };
    macro_rules! cloud {
        ($builder:expr, $key:ty, $names:ident, $rules:ident) => {{
            let mut builder = $builder.with_url(url.as_str()).with_client_options(client).with_retry(retry);
            for (name, value) in &options.settings {
                if let Some((known, value)) = names::$names(name, value) {
                    builder = builder.with_config(key::<$key>(&known, name)?, value);
                }
            }
            let get = |name: &str| builder.get_config_value(&name.parse::<$key>().ok()?);
            credentials::$rules.check(url, get)?;
            let signs = !get("skip_signature").is_some_and(|text| credentials::is_true(&text));
            let store = Arc::new(builder.build().map_err(wrong)?);
            let provider = Arc::clone(store.credentials());
            let obtain = Box::new(move || {
                let provider = Arc::clone(&provider);
                Box::pin(async move { provider.get_credential().await.map(drop) }) as _
            });
            let credentials = signs.then(|| Arc::new(Credentials { obtain, rules: &credentials::$rules }));
            Ok(Store { objects: store, credentials })
        }};
    }
    if is_http(url) {
        let client =
            client.with_default_headers(headers::of(url, &options.settings, environment.as_deref())?);
        let mut base = server(url);
        // These are sent as a header. URLs for which this is an error have none.
        let _ = (base.set_username(""), base.set_password(None));
        let store = HttpBuilder::new().with_url(base.as_str()).with_client_options(client).with_retry(retry);
        return Ok(Store { objects: Arc::new(store.build().map_err(wrong)?), credentials: None });
    }
    match ObjectStoreScheme::parse(url).map_err(wrong)?.0 {
        ObjectStoreScheme::AmazonS3 => cloud!(AmazonS3Builder::from_env(), AmazonS3ConfigKey, s3, S3),
        ObjectStoreScheme::GoogleCloudStorage => {
            cloud!(GoogleCloudStorageBuilder::from_env(), GoogleConfigKey, google, GOOGLE)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            cloud!(MicrosoftAzureBuilder::from_env(), AzureConfigKey, azure, AZURE)
        }
        _ => {
            let words = format!("unknown URL scheme `{}`", url.scheme());
            Err(io::Error::new(io::ErrorKind::InvalidInput, words))
        }
    }
}

/// Returns the key for a name that `object_store` knows. `given` is the name before its translation.
fn key<K: std::str::FromStr>(name: &str, given: &str) -> io::Result<K> {
    let unknown =
        |_| io::Error::new(io::ErrorKind::InvalidInput, format!("the store has no setting `{given}`"));
    name.to_ascii_lowercase().parse().map_err(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_store() {
        let url = Url::parse("s3://bucket/key").unwrap();
        let options = RemoteOptions::default().with_setting("region", "here");
        assert_eq!(path(&url).unwrap().as_ref(), "key");
        assert!(build(&url, &options).is_ok());
        let of_fsspec = ["key", "secret", "client_kwargs.region_name", "endpoint_url"];
        let options = of_fsspec.iter().fold(options, |o, name| o.with_setting(*name, "http://here"));
        assert!(build(&url, &options).is_ok());
        let error = build(&url, &options.clone().with_setting("client_kwargs.x", "y")).err().unwrap();
        assert_eq!(error.to_string(), "the store has no setting `client_kwargs.x`");
        let error = build(&url, &options.with_setting("colour", "red")).err().unwrap();
        assert_eq!(error.to_string(), "the store has no setting `colour`");
        let http = Url::parse("http://host/a%20b").unwrap();
        assert_eq!(path(&http).unwrap().as_ref(), "a b");
        let error = build(&http, &RemoteOptions::default().with_setting("region", "x")).err().unwrap();
        assert!(error.to_string().starts_with("HTTP servers have no setting `region`"), "{error}");
    }
}
