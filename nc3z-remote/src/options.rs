//! How to reach a store.

use std::collections::BTreeMap;
use std::time::Duration;

/// How to reach a store: settings of the store by name, time-outs, retries.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) request_time: Duration,
    pub(crate) connect_time: Duration,
    pub(crate) retries: usize,
    pub(crate) retry_time: Duration,
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
    /// A setting of the store, such as `region`, `endpoint`, `skip_signature` or `access_key_id`; the crate `object_store` lists them. They
    /// go before the environment's (`AWS_*`, `GOOGLE_*`, `AZURE_*`).
    #[must_use]
    pub fn with_setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// How long one request may take, its answer included; and how long a connection.
    #[must_use]
    pub fn with_timeouts(mut self, request: Duration, connect: Duration) -> Self {
        (self.request_time, self.connect_time) = (request, connect);
        self
    }

    /// How often a request is repeated that the server was too busy for or that broke off, and for how long in all.
    #[must_use]
    pub fn with_retries(mut self, retries: usize, within: Duration) -> Self {
        (self.retries, self.retry_time) = (retries, within);
        self
    }
}
