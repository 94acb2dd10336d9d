//! Removes secrets from messages: user, password and query of a URL. A query may be a signature.

use nc3z_format::url::hidden_in;
use std::borrow::Cow;
use url::Url;

/// The replacement for a removed part.
const HIDDEN: &str = "...";

/// Shorter secrets are removed only from URLs, because they occur in other words and in numbers.
const SHORTEST_SECRET: usize = 6;

/// Returns the URL without its secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // URLs for which this is an error have no user.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}

/// Removes secrets from a message about requests to `url`: those of this URL, and those of other URLs in the
/// message, for example after a redirect. Servers repeat the query or single values of it in error texts.
/// `more` are other secrets that were sent.
pub(crate) fn hidden(message: &str, url: &Url, more: &[String]) -> String {
    let mut message = message.to_owned();
    let query = url.query().unwrap_or_default();
    if !query.is_empty() {
        message = message.replace(&format!("?{query}"), &format!("?{HIDDEN}"));
    }
    message = hidden_in(&message);
    let raw = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.into());
    let values = url.query_pairs().map(|(_, value)| value).chain(raw);
    // The whole query is replaced before its parts.
    let secrets = [query.into(), url.password().unwrap_or_default().into()].into_iter().chain(values);
    let secrets = secrets.chain(more.iter().map(|secret| secret.as_str().into()));
    for secret in secrets.filter(|secret: &Cow<str>| secret.len() >= SHORTEST_SECRET) {
        message = message.replace(&*secret, HIDDEN);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        let url = Url::parse("https://me:secret@host/a/b.nc3z?signature=abc#x").unwrap();
        assert_eq!(shown(&url), "https://host/a/b.nc3z");
    }

    #[test]
    fn messages_tell_no_secret_however_it_is_repeated() {
        let url = Url::parse("https://me:word@host/a.nc3z?sig=ab%2Fcd%2Bef12&v=1").unwrap();
        for repeated in [
            "error for url (https://host/a.nc3z?sig=ab%2Fcd%2Bef12&v=1): closed",
            "redirected to https://me:word@elsewhere/b?token=other, which is gone",
            "403: <p>GET /a.nc3z?sig=ab%2Fcd%2Bef12&v=1</p>",
            "<SignatureProvided>ab/cd+ef12</SignatureProvided>, v 1",
            "X-Signature:ab%2Fcd%2Bef12",
        ] {
            let words = hidden(repeated, &url, &[]);
            let secrets = ["ab/cd", "ab%2F", "ef12", "word", "other", "sig="];
            assert!(!secrets.iter().any(|secret| words.contains(secret)), "{words}");
        }
        let sent = ["Bearer token".to_owned()];
        assert_eq!(hidden("401: Bearer token is old", &url, &sent), "401: ... is old");
        assert_eq!(hidden("no answer of https://host/a.nc3z", &url, &[]), "no answer of https://host/a.nc3z");
    }
}
