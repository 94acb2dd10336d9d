//! Credentials of cloud stores, checked before the first request: that they are complete, that their files can be read, and that the
//! store's own service gives some where the user gives none.

use crate::object::{failure, parsed, wait};
use crate::options::RemoteOptions;
use crate::{shared, store};
use futures_util::future::BoxFuture;
use nc3z_format::error::with_causes;
use nc3z_reader::Result;
use std::fs::File;
use std::io;
use std::time::Duration;
use url::Url;

/// The time for obtaining credentials. A machine outside of a cloud has no service that gives some, and gets no answer.
const LIMIT: Duration = Duration::from_secs(10);

/// A setting of a store, and the environment variable for it.
type Setting = (&'static str, &'static str);

/// The settings that one kind of store needs.
pub(crate) struct Rules {
    /// Settings without which the store has no address.
    required: &'static [Setting],
    /// Settings of which each needs all others of its group. The store uses the first complete group.
    groups: &'static [&'static [Setting]],
    /// Settings that are names of files.
    files: &'static [Setting],
    /// Words that say how a user gives credentials.
    advice: &'static str,
}

pub(crate) const S3: Rules = Rules {
    required: &[],
    groups: &[
        &[("access_key_id", "AWS_ACCESS_KEY_ID"), ("secret_access_key", "AWS_SECRET_ACCESS_KEY")],
        &[("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE"), ("role_arn", "AWS_ROLE_ARN")],
    ],
    files: &[
        ("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        ("container_authorization_token_file", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    ],
    advice: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the setting `skip_signature=true` for a public bucket",
};

pub(crate) const GOOGLE: Rules = Rules {
    required: &[],
    groups: &[],
    files: &[
        ("service_account", "GOOGLE_SERVICE_ACCOUNT"),
        ("application_credentials", "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
    advice: "set GOOGLE_APPLICATION_CREDENTIALS to the file with the key, or the setting `skip_signature=true` for a public bucket",
};

pub(crate) const AZURE: Rules = Rules {
    required: &[("account_name", "AZURE_STORAGE_ACCOUNT_NAME")],
    groups: &[],
    files: &[("federated_token_file", "AZURE_FEDERATED_TOKEN_FILE")],
    advice: "set AZURE_STORAGE_ACCOUNT_KEY, or the setting `skip_signature=true` for a public container",
};

/// Obtains the credentials of a store once more. They are cached until they expire.
pub(crate) struct Credentials {
    pub(crate) obtain: Box<dyn Fn() -> BoxFuture<'static, object_store::Result<()>> + Send + Sync>,
    pub(crate) rules: &'static Rules,
}

impl Rules {
    /// Checks settings for a URL, which `get` returns by name.
    ///
    /// # Errors
    /// A part is missing, or a file cannot be read. The error names the environment variable and the setting.
    pub(crate) fn check(&self, url: &Url, get: impl Fn(&str) -> Option<String>) -> io::Result<()> {
        let is_set = |(name, _): &&Setting| get(name).is_some_and(|value| !value.is_empty());
        let wrong = |words| Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        let is_on = |name: &str| get(name).is_some_and(|text| is_true(&text));
        // `abfss://container@account.host` names the account, and the emulator has its own.
        let has_account = !url.username().is_empty() || is_on("use_emulator");
        let missing = self.required.iter().find(|setting| !is_set(setting));
        if let Some((name, variable)) = missing.filter(|_| !has_account) {
            return wrong(format!("{variable} is not set; set it, or give the setting `{name}`"));
        }
        if is_on("skip_signature") {
            return Ok(());
        }
        for group in self.groups {
            let Some((name, variable)) = group.iter().find(|setting| !is_set(setting)) else { break };
            if let Some((_, given)) = group.iter().find(is_set) {
                return wrong(format!(
                    "the credentials are incomplete: {given} is set, and {variable} is not; set it, or give the setting `{name}`"
                ));
            }
        }
        for (name, variable) in self.files {
            let Some(file) = get(name).filter(|file| !file.is_empty()) else { continue };
            if let Err(e) = File::open(&file) {
                let words = format!(
                    "the credentials in `{file}` cannot be read, which {variable} or the setting `{name}` names: {e}"
                );
                return Err(io::Error::new(e.kind(), words));
            }
        }
        Ok(())
    }
}

/// Returns whether the text of a setting means yes.
pub(crate) fn is_true(text: &str) -> bool {
    matches!(&*text.to_lowercase(), "true" | "1" | "on" | "yes" | "y")
}

impl Credentials {
    /// Obtains the credentials.
    async fn check(&self) -> io::Result<()> {
        let why = match tokio::time::timeout(LIMIT, (self.obtain)()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(e)) => with_causes(&e),
            Err(_) => format!("no answer within {} s", LIMIT.as_secs()),
        };
        let words = format!("the store gives no credentials to this machine; {} ({why})", self.rules.advice);
        Err(io::Error::new(io::ErrorKind::PermissionDenied, words))
    }
}

/// Checks, before long work, that there are credentials for all stores of these URLs. Each store is checked once.
///
/// # Errors
/// Credentials are incomplete or cannot be read, or there are none; a setting is not valid.
pub fn check<'u>(urls: impl IntoIterator<Item = &'u str>, options: &RemoteOptions) -> Result<()> {
    let mut servers: Vec<Url> = Vec::new();
    for url in urls {
        let url = parsed(url)?;
        let server = store::server(&url);
        if !servers.contains(&server) {
            of_store(&url, options).map_err(|e| failure("open", &e, &url, options))?;
            servers.push(server);
        }
    }
    Ok(())
}

/// Checks the credentials of the store of one URL.
pub(crate) fn of_store(url: &Url, options: &RemoteOptions) -> io::Result<()> {
    match shared::store(url, options)?.credentials {
        Some(credentials) => wait(async move { credentials.check().await }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(rules: &Rules, given: &[(&str, &str)]) -> String {
        words_of("az://container/a", rules, given)
    }

    fn words_of(url: &str, rules: &Rules, given: &[(&str, &str)]) -> String {
        let get = |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        rules.check(&Url::parse(url).unwrap(), get).map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn incomplete_credentials_are_named() {
        assert_eq!(
            words(&S3, &[("access_key_id", "a")]),
            "the credentials are incomplete: AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not; set it, or give the setting \
             `secret_access_key`"
        );
        assert!(words(&S3, &[("secret_access_key", "a")]).contains("AWS_ACCESS_KEY_ID is not"));
        assert!(words(&S3, &[("role_arn", "a")]).contains("AWS_WEB_IDENTITY_TOKEN_FILE is not"));
        assert_eq!(words(&S3, &[("access_key_id", "a"), ("secret_access_key", "b")]), "");
        assert_eq!(words(&S3, &[]), "");
        let role = ("role_arn", "c");
        assert_eq!(words(&S3, &[("access_key_id", "a"), ("secret_access_key", "b"), role]), "");
        assert_eq!(words(&S3, &[("skip_signature", "true"), role]), "");
        assert_eq!(words(&AZURE, &[("use_emulator", "true")]), "");
        assert_eq!(words_of("abfss://container@account.dfs.core.windows.net/a", &AZURE, &[]), "");
        assert_eq!(
            words(&AZURE, &[]),
            "AZURE_STORAGE_ACCOUNT_NAME is not set; set it, or give the setting `account_name`"
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let words = words(&GOOGLE, &[("application_credentials", "/nowhere/key.json")]);
        assert!(words.starts_with("the credentials in `/nowhere/key.json` cannot be read"), "{words}");
        assert!(words.contains("GOOGLE_APPLICATION_CREDENTIALS or the setting `application_credentials`"));
    }
}
