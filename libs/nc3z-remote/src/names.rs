//! Names of settings. Besides the names of the crate `object_store`, those of fsspec's stores (`s3fs`, `gcsfs`, `adlfs`, its HTTP
//! store) are understood. A setting of a dict in a dict has the names of both: `client_kwargs.region_name`.

/// The dict of a store of fsspec for the client below it.
const OF_CLIENT: &str = "client_kwargs.";

type Setting = Option<(String, String)>;

/// Returns the name of a setting without that of the client's dict.
pub(crate) fn plain(name: &str) -> &str {
    name.strip_prefix(OF_CLIENT).unwrap_or(name)
}

#[expect(clippy::unnecessary_wraps, reason = "of the type of those who call it")]
fn setting(name: &str, value: &str) -> Setting {
    Some((name.to_owned(), value.to_owned()))
}

/// Returns a setting of an S3 store by `object_store`'s name. None if it changes nothing.
pub(crate) fn s3(name: &str, value: &str) -> Setting {
    let is_path = value == "path";
    match plain(name) {
        "key" => setting("access_key_id", value),
        "secret" => setting("secret_access_key", value),
        "anon" => setting("skip_signature", value),
        "region_name" => setting("region", value),
        "requester_pays" => setting("request_payer", value),
        "verify" if value == "true" => None,
        "verify" if value == "false" => setting("allow_invalid_certificates", "true"),
        "config_kwargs.s3.addressing_style" if is_path || value == "virtual" => {
            setting("virtual_hosted_style_request", if is_path { "false" } else { "true" })
        }
        // The scheme of the endpoint decides.
        "use_ssl" => None,
        other => setting(other, value),
    }
}

/// Returns a setting of Google's store by `object_store`'s name. None if it changes nothing.
pub(crate) fn google(name: &str, value: &str) -> Setting {
    match plain(name) {
        "anon" => setting("skip_signature", value),
        "token" if value == "anon" => setting("skip_signature", "true"),
        "token" if matches!(value, "google_default" | "cloud") => None,
        "token" => setting("application_credentials", value),
        "endpoint_url" => setting("base_url", value),
        // It is billed, and is not part of a request to read.
        "project" => None,
        other => setting(other, value),
    }
}

/// Returns a setting of an Azure store by `object_store`'s name. None if it changes nothing.
pub(crate) fn azure(name: &str, value: &str) -> Setting {
    match plain(name) {
        "anon" => setting("skip_signature", value),
        other => setting(other, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fsspec_become_those_of_object_store() {
        for (given, expected) in [
            (s3("key", "k"), setting("access_key_id", "k")),
            (s3("client_kwargs.endpoint_url", "http://h"), setting("endpoint_url", "http://h")),
            (s3("anon", "true"), setting("skip_signature", "true")),
            (
                s3("config_kwargs.s3.addressing_style", "virtual"),
                setting("virtual_hosted_style_request", "true"),
            ),
            (s3("use_ssl", "false"), None),
            (s3("region", "here"), setting("region", "here")),
            (google("token", "anon"), setting("skip_signature", "true")),
            (google("token", "k.json"), setting("application_credentials", "k.json")),
            (azure("account_name", "me"), setting("account_name", "me")),
        ] {
            assert_eq!(given, expected);
        }
        assert_eq!(plain("client_kwargs.headers.X"), "headers.X");
    }
}
