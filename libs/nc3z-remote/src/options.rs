//! The options of access to a store.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The options of access to a store: settings by name, time-outs, retries.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteOptions {
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) request_time: Duration,
    pub(crate) connect_time: Duration,
    pub(crate) retries: usize,
    pub(crate) retry_time: Duration,
}

/// Without the values of settings, which may be secret.
impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.settings.keys().collect();
        f.debug_struct("RemoteOptions")
            .field("settings", &names)
            .field("request_time", &self.request_time)
            .field("connect_time", &self.connect_time)
            .field("retries", &self.retries)
            .field("retry_time", &self.retry_time)
            .finish()
    }
}

impl Default for RemoteOptions {
    fn default() -> Self {
        RemoteOptions {
            settings: BTreeMap::new(),
            request_time: Duration::from_secs(60),
            connect_time: Duration::from_secs(10),
            retries: 6,
            retry_time: Duration::from_secs(120),
        }
    }
}

impl RemoteOptions {
    /// Sets a setting of the store, such as `region`, `endpoint`, `skip_signature` or `access_key_id`; the
    /// crate `object_store` lists them. Settings replace those of the environment (`AWS_*`, `GOOGLE_*`,
    /// `AZURE_*`). HTTP servers have `bearer_token` and `header.NAME`, which replace those of
    /// [`crate::HEADERS_VARIABLE`].
    #[must_use]
    pub fn with_setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Values that must not appear in messages.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let environment = std::env::var(crate::HEADERS_VARIABLE).unwrap_or_default();
        let headers = environment.lines().filter_map(|line| Some(line.split_once(':')?.1.trim().to_owned()));
        self.settings.values().cloned().chain(headers).collect()
    }

    /// Sets the time limits for the next bytes of an answer, and for making a connection.
    #[must_use]
    pub fn with_timeouts(mut self, request: Duration, connect: Duration) -> Self {
        (self.request_time, self.connect_time) = (request, connect);
        self
    }

    /// Sets how often a request is repeated after the server was too busy or the connection broke, and the
    /// total time for that.
    #[must_use]
    pub fn with_retries(mut self, retries: usize, within: Duration) -> Self {
        (self.retries, self.retry_time) = (retries, within);
        self
    }
}
