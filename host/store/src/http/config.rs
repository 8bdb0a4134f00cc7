//! The configuration of a dataset on an HTTP server.

use std::fmt;

use super::redact::redact;
use crate::remote::RemoteOptions;
use crate::secret::Secret;

/// A dataset on an HTTP or HTTPS server. `Display` and `Debug` name it without secrets.
///
/// ```
/// use ncz_store::http::HttpConfig;
///
/// let config = HttpConfig::new("https://me:secret@data.example/ocean.zarr?token=abc");
/// assert_eq!(config.to_string(), "https://data.example/ocean.zarr");
/// assert!(!format!("{config:?}").contains("abc"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL of the dataset, without `#` and what follows; a query (`?token=..`) goes with every request and is a
    /// secret, as is `user:password@`.
    pub url: String,
    /// User and password, if the URL has none.
    pub user: Option<(String, Secret)>,
    /// `http[s]://[user:password@]host[:port]` of a proxy; empty: none; `None`: that of the environment.
    pub proxy: Option<String>,
    /// Timeouts, attempts and limits.
    pub remote: RemoteOptions,
}

impl HttpConfig {
    /// A dataset at this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), user: None, proxy: None, remote: RemoteOptions::default() }
    }
}

impl fmt::Display for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(&self.url))
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("url", &redact(&self.url))
            .field("user", &self.user)
            .field("proxy", &self.proxy.as_deref().map(redact))
            .field("remote", &self.remote)
            .finish()
    }
}
