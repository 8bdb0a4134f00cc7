//! The URL of a dataset on an HTTP server.

use std::fmt;

use super::Secret;
use super::url::Url;

/// A dataset on an HTTP or HTTPS server. `Display` gives its URL without user, password and query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLocation {
    /// `http[s]://host[:port]/path`, without a slash at its end.
    pub url: String,
    /// User and password.
    pub user: Option<(String, Secret)>,
    /// The query after `?`, which is sent with every request.
    pub query: Option<Secret>,
}

impl HttpLocation {
    pub(super) fn of(url: Url) -> Self {
        let mut text = url.origin(&url.host);
        let path = url.path.trim_end_matches('/');
        if !path.is_empty() {
            text.push('/');
            text.push_str(path);
        }
        Self { url: text, user: url.user, query: url.query }
    }

    /// The location of the folder around it, and its name there; `None` for a server without a path.
    #[cfg(feature = "http")]
    pub(super) fn split(&self) -> Option<(Self, String)> {
        let (folder, _) = self.url.rsplit_once('/').filter(|(folder, _)| folder.contains("://"))?;
        Some((Self { url: folder.to_owned(), ..self.clone() }, self.name()))
    }

    /// The last part of its path, else its host.
    pub(super) fn name(&self) -> String {
        let (_, rest) = self.url.split_once("://").unwrap_or_default();
        let name = rest.rsplit('/').next().unwrap_or(rest);
        super::url::decoded(name).unwrap_or_else(|_| name.to_owned())
    }
}

impl fmt::Display for HttpLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}
