//! Headers that HTTP servers require: tokens of data centres, keys of gateways.

use crate::names;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::io;
use url::Url;

/// The environment variable with headers for all HTTP servers, one in each line: `Name: value`.
pub const HEADERS_VARIABLE: &str = "NC3Z_HTTP_HEADERS";

/// Settings with this prefix are headers: `header.X-Api-Key`.
const HEADER_PREFIX: &str = "header.";

/// The prefix of fsspec's dict of headers.
const HEADERS_PREFIX: &str = "headers.";

/// The setting that is sent as `Authorization: Bearer ...`.
const TOKEN: &str = "bearer_token";

/// Returns the headers: user and password of a URL as HTTP's Basic authentication, the headers of the
/// environment, and those of the settings. Later ones replace earlier ones with the same name.
///
/// # Errors
/// A setting that HTTP servers do not have; a name or value that is not valid in a header. No value is
/// repeated in the message.
pub(crate) fn of(
    url: &Url,
    settings: &BTreeMap<String, String>,
    environment: Option<&str>,
) -> io::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    if !url.username().is_empty() || url.password().is_some() {
        let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
        let both =
            [decoded(url.username()), vec![b':'], decoded(url.password().unwrap_or_default())].concat();
        insert(&mut headers, AUTHORIZATION.as_str(), &format!("Basic {}", STANDARD.encode(both)))?;
    }
    let lines = environment.unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
    for (number, line) in (1..).zip(lines) {
        let Some((name, value)) = line.split_once(':') else {
            return Err(wrong(format!("line {number} of {HEADERS_VARIABLE} is not `Name: value`")));
        };
        insert(&mut headers, name.trim(), value.trim())?;
    }
    for (name, value) in settings {
        let name = names::plain(name);
        if let Some(header) = [HEADER_PREFIX, HEADERS_PREFIX].iter().find_map(|p| name.strip_prefix(p)) {
            insert(&mut headers, header, value)?;
        } else if name == TOKEN {
            insert(&mut headers, AUTHORIZATION.as_str(), &format!("Bearer {value}"))?;
        } else {
            return Err(wrong(format!(
                "HTTP servers have no setting `{name}`; expected `{TOKEN}` or `{HEADER_PREFIX}NAME`"
            )));
        }
    }
    Ok(headers)
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> io::Result<()> {
    let header = HeaderName::from_bytes(name.as_bytes());
    let header = header.map_err(|_| wrong(format!("`{name}` is not the name of a header")))?;
    let value = HeaderValue::from_str(value);
    let mut value = value.map_err(|_| {
        wrong(format!("the value of the header `{name}` has characters that a header may not have"))
    })?;
    // Debug output of the client does not show it.
    value.set_sensitive(true);
    headers.insert(header, value);
    Ok(())
}

fn wrong(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_replace_what_the_environment_names() {
        let settings = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let environment = Some("X-Api-Key: one\n\n authorization : Basic abc \n");
        let plain = Url::parse("http://host/a").unwrap();
        let headers =
            of(&plain, &settings(&[("header.x-api-key", "two"), ("bearer_token", "word")]), environment)
                .unwrap();
        assert_eq!(
            (&headers["x-api-key"], &headers["authorization"]),
            (&"two".parse().unwrap(), &"Bearer word".parse().unwrap())
        );
        assert!(headers["authorization"].is_sensitive());
        assert_eq!(of(&plain, &settings(&[]), environment).unwrap()["authorization"], "Basic abc");
        let of_fsspec = settings(&[("headers.X-Key", "three"), ("client_kwargs.headers.X-Other", "four")]);
        let headers = of(&plain, &of_fsspec, None).unwrap();
        assert_eq!(
            (&headers["x-key"], &headers["x-other"]),
            (&"three".parse().unwrap(), &"four".parse().unwrap())
        );
        // `me:p@ss`, as in RFC 7617.
        let signed = Url::parse("http://me:p%40ss@host/a").unwrap();
        assert_eq!(of(&signed, &settings(&[]), None).unwrap()["authorization"], "Basic bWU6cEBzcw==");
        for (pairs, environment, expected) in [
            (settings(&[("region", "x")]), None, "HTTP servers have no setting `region`"),
            (settings(&[("header.a b", "x")]), None, "`a b` is not the name of a header"),
            (settings(&[("bearer_token", "hush\n")]), None, "the value of the header `authorization`"),
            (settings(&[]), Some("\nhush"), "line 1 of NC3Z_HTTP_HEADERS is not `Name: value`"),
        ] {
            let words = of(&plain, &pairs, environment).unwrap_err().to_string();
            assert!(words.starts_with(expected) && !words.contains("hush"), "{words}");
        }
    }
}
