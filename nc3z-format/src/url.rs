//! URLs as names of files: recognized by their scheme, and shown and stored without secrets. User, password and query
//! are secrets; a query may be a signature. Everything that prints or stores a name uses this module.

/// The schemes of object URLs.
const SCHEMES: [&str; 10] = ["http", "https", "s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"];

/// Returns whether `text` is the URL of an object, by its scheme.
///
/// ```
/// use nc3z_format::url::is_url;
/// assert!(is_url("s3://bucket/tas.nc.nc3z"));
/// assert!(!is_url("C:/data/tas.nc") && !is_url("a://b"));
/// ```
pub fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Returns whether the name of an output is meant as a URL: it begins with any `scheme://`, or with the scheme of objects
/// and one slash, as `Path` shortens it. The letter of a drive is not a scheme.
///
/// ```
/// use nc3z_format::url::is_meant_as_url;
/// assert!(is_meant_as_url("s3://bucket/a.nc3z") && is_meant_as_url("s3:/bucket") && is_meant_as_url("ftp://host/a"));
/// assert!(!is_meant_as_url("./s3:/bucket") && !is_meant_as_url("C://data") && !is_meant_as_url("12:/30.nc"));
/// ```
pub fn is_meant_as_url(name: &str) -> bool {
    let Some((scheme, rest)) = name.split_once(":/") else { return false };
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_any = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_letter)
        && rest.starts_with('/');
    is_any || is_scheme(scheme)
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Returns a name without user, password, query and fragment if it is a URL. Another name is unchanged.
///
/// ```
/// use nc3z_format::url::shown;
/// assert_eq!(shown("https://me:word@host/a.nc3z?signature=x"), "https://host/a.nc3z");
/// assert_eq!(shown("data/what?.nc"), "data/what?.nc");
/// ```
pub fn shown(name: &str) -> String {
    if is_url(name) { cut(name) } else { name.to_owned() }
}

/// Returns a URL of any scheme, which need not be valid, without its secrets.
pub fn cut(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    // `Path` makes one slash of two.
    let Some((scheme, rest)) = url.split_once(":/") else { return url.to_owned() };
    let address = rest.trim_start_matches('/');
    let slashes = &rest[..rest.len() - address.len()];
    let host = address.split('/').next().unwrap_or_default();
    format!("{scheme}:/{slashes}{}", &address[host.rfind('@').map_or(0, |at| at + 1)..])
}

/// Returns a text in which no URL has secrets. URLs end at white space and at quotes.
///
/// ```
/// use nc3z_format::url::hidden_in;
/// assert_eq!(hidden_in("open `s3://me:word@b/a?x=1`: not found"), "open `s3://b/a`: not found");
/// ```
pub fn hidden_in(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(":/") {
        let scheme = rest[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |before| before + rest[before..].chars().next().map_or(1, char::len_utf8));
        // A text with another scheme is a URL for sure only if it has both slashes.
        let is_other = scheme < at && rest[at..].starts_with("://");
        if !is_scheme(&rest[scheme..at]) && !is_other {
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')');
        let end = rest[at..].find(ends).map_or(rest.len(), |len| at + len);
        out.push_str(&rest[..scheme]);
        out.push_str(&cut(&rest[scheme..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        assert_eq!(cut("https://me:secret@host/a/b.nc3z?signature=abc#x"), "https://host/a/b.nc3z");
        assert_eq!(cut("http://me:sec ret@host:x/a@b?c=d, e"), "http://host:x/a@b");
        assert_eq!((cut("me:word?c"), cut("")), ("me:word".to_owned(), String::new()));
        assert_eq!(shown("http:/x?"), "http:/x?");
    }

    #[test]
    fn texts_lose_the_secrets_of_each_url() {
        let text = "`http://me:secret@host:x/a@b?c=d` and (gs://c), é:/ü a:/b?c";
        assert_eq!(hidden_in(text), "`http://host:x/a@b` and (gs://c), é:/ü a:/b?c");
        assert_eq!(hidden_in("/work/http:/me:secret@host/a?b=c"), "/work/http:/host/a");
        assert_eq!(hidden_in("shttp:/a@b ähttp://a@b"), "shttp:/a@b ähttp://b");
        assert_eq!(hidden_in("ftp://me:secret@host/a?b=c, ://a@b"), "ftp://host/a ://a@b");
        assert_eq!(hidden_in("http://"), "http://");
    }
}
