//! Where a dataset is on a server, and as whom to ask for it.

use std::fmt;

use super::address::shown;
use crate::remote::RemoteOptions;
use crate::secret::Secret;

/// A dataset behind an HTTP or HTTPS server. `Display` and `Debug` name it without secrets.
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
    /// `http[s]://[user:password@]host[:port]` of a proxy; empty: none; `None`: what the environment says.
    pub proxy: Option<String>,
    /// How patiently, and how much at a time.
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
        f.write_str(&shown(&self.url))
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("url", &shown(&self.url))
            .field("user", &self.user)
            .field("proxy", &self.proxy.as_deref().map(shown))
            .field("remote", &self.remote)
            .finish()
    }
}
