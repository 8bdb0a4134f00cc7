//! Where a dataset is on a server, and as whom to ask for it.

use crate::remote::{RemoteOptions, Secret};

/// A dataset behind an HTTP or HTTPS server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpConfig {
    /// The URL of the dataset, without `#` and what follows; a query (`?token=..`) goes with every request and is a
    /// secret, as is `user:password@`.
    pub url: String,
    /// User and password, if the URL has none.
    pub user: Option<(String, Secret)>,
    /// `http[s]://host[:port]` of a proxy; `None`: what the environment says.
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
