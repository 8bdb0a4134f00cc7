//! The URL of a dataset, with its secrets apart, and the rules for redirections.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

use super::config::HttpConfig;
use super::redact::redact;
use crate::error::StoreError;
use crate::key::Key;
use crate::secret::Secret;

/// All but what never needs it: a server that decodes `+` as a blank, or takes `;` for its own, gets neither.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URL of a dataset, taken apart.
#[derive(Debug)]
pub(super) struct Address {
    /// The URL without user, query and final slash.
    base: String,
    query: Option<Secret>,
    user: Option<(String, Secret)>,
}

impl Address {
    /// Takes the URL of a configuration apart.
    pub(super) fn new(config: &HttpConfig) -> Result<Self, StoreError> {
        let invalid = |reason: &str| StoreError::InvalidOptions {
            location: redact(&config.url),
            reason: reason.to_owned(),
        };
        let mut url = Url::parse(&config.url).map_err(|error| {
            invalid(&format!("this is not a URL ({error}): give http[s]://host[:port]/path"))
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(invalid("this is not a URL of an HTTP server: give http[s]://host[:port]/path"));
        }
        if url.fragment().is_some() {
            return Err(invalid("a server does not see the part after #: give the URL without it"));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = match (url.username(), url.password()) {
            ("", None) => config.user.clone(),
            (user, password) => Some((decoded(user), Secret::new(decoded(password.unwrap_or_default())))),
        };
        let query = url.query().filter(|query| !query.is_empty()).map(Secret::new);
        // neither fails on a URL with a host
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        Ok(Self { base: url.as_str().trim_end_matches('/').to_owned(), query, user })
    }

    /// The URL for messages.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// User name and password.
    pub(super) fn user(&self) -> Option<&(String, Secret)> {
        self.user.as_ref()
    }

    /// The URL of an object, with the query that goes with every request.
    pub(super) fn of(&self, key: Key<'_>) -> Result<Url, StoreError> {
        let mut text = self.base.clone();
        for segment in key.segments() {
            text.push('/');
            text.extend(utf8_percent_encode(segment, ENCODED));
        }
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(query.reveal());
        }
        Url::parse(&text).map_err(|error| StoreError::InvalidOptions {
            location: self.base.clone(),
            reason: format!("the key {:?} makes no URL here ({error})", key.as_str()),
        })
    }
}

/// What to do with a redirection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Follow it, with or without the credentials.
    Follow {
        /// The new address.
        url: Url,
        /// The credentials may go there.
        trusted: bool,
    },
    /// It leads to the same path with a slash: a directory, which a file server shows as a page.
    Directory,
    /// Do not follow it, for this reason.
    Refused(String),
}

/// Decides what to do with a redirection. Credentials and the query's secrets never go to another server, nor does anything
/// go from https to http.
pub(super) fn redirect(from: &Url, location: &str) -> Redirect {
    let Ok(mut url) = from.join(location) else {
        return Redirect::Refused("the server redirects to something that is not a URL".to_owned());
    };
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let to = redact(url.as_str());
    if !matches!(url.scheme(), "http" | "https") {
        return Redirect::Refused(format!("the server redirects to {to}, which is not an HTTP server"));
    }
    if from.scheme() == "https" && url.scheme() == "http" {
        return Redirect::Refused(format!(
            "the server redirects from https to {to}, which is not encrypted: not followed"
        ));
    }
    let same_host = from.host() == url.host();
    if same_host && url.path().strip_suffix('/') == Some(from.path()) {
        return Redirect::Directory;
    }
    let same_port = from.port_or_known_default() == url.port_or_known_default();
    let upgraded =
        from.scheme() == "http" && url.scheme() == "https" && from.port().is_none() && url.port().is_none();
    let trusted = same_host && ((same_port && from.scheme() == url.scheme()) || upgraded);
    if !trusted {
        let secret = |pair: &(_, std::borrow::Cow<'_, str>)| {
            from.query_pairs().any(|ours| ours == *pair && !ours.1.is_empty())
        };
        let bare = from.query().is_some_and(|ours| !ours.is_empty() && url.query() == Some(ours));
        if bare || url.query_pairs().any(|pair| secret(&pair)) {
            return Redirect::Refused(format!(
                "the server redirects to another server, {to}, with the secrets of the URL: if that is intended, give that server's URL itself"
            ));
        }
    }
    Redirect::Follow { url, trusted }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address, StoreError> {
        Address::new(&HttpConfig::new(url))
    }

    fn key(text: &str) -> Key<'_> {
        Key::parse(text).unwrap()
    }

    #[test]
    fn a_key_becomes_the_path_of_a_url_and_the_query_stays() {
        let at = address("http://me:s%40crt@host:81/a%20b/x.zarr/?token=1%2F2").unwrap();
        assert_eq!(at.base(), "http://host:81/a%20b/x.zarr");
        assert_eq!(at.user().unwrap().0, "me");
        assert_eq!(at.user().unwrap().1.reveal(), "s@crt");
        assert_eq!(at.of(key("t/0.0")).unwrap().as_str(), "http://host:81/a%20b/x.zarr/t/0.0?token=1%2F2");
        let at = address("https://host").unwrap();
        assert_eq!(at.of(key(".zgroup")).unwrap().as_str(), "https://host/.zgroup");
        assert_eq!(
            at.of(key("é a/50%/x+y/?#/%2e%2e/[1]")).unwrap().as_str(),
            "https://host/%C3%A9%20a/50%25/x%2By/%3F%23/%252e%252e/%5B1%5D"
        );
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused_without_its_secrets() {
        for url in [
            "",
            "data.zarr",
            "s3://b/k",
            "ftp://u:pass@h/x?pass",
            "http://",
            "http://me:pass@:80?pass",
            "http://h/x#mode=pass",
        ] {
            let error = address(url).unwrap_err();
            assert!(matches!(error, StoreError::InvalidOptions { .. }), "{url}: {error}");
            assert!(!format!("{error} {error:?}").contains("pass"), "{url}: {error}");
        }
    }

    #[test]
    fn redirections_keep_secrets_at_home() {
        let follow = |from: &str, location: &str| redirect(&Url::parse(from).unwrap(), location);
        let trusted = |from, location, url: &str, trusted| {
            assert_eq!(follow(from, location), Redirect::Follow { url: Url::parse(url).unwrap(), trusted });
        };
        trusted("http://h/a/b", "/c", "http://h/c", true);
        trusted("http://h/a/b", "http://h:80/c", "http://h/c", true);
        trusted("http://h/a/b", "https://h/a/b", "https://h/a/b", true);
        trusted("http://h:8080/a", "https://h/a", "https://h/a", false);
        trusted("http://h/a", "http://h:81/a", "http://h:81/a", false);
        trusted("https://h/a", "https://h2/a", "https://h2/a", false);
        trusted("https://h/a?token=1", "https://h2/a?sig=2", "https://h2/a?sig=2", false);
        trusted("https://h/a?token=1", "https://h/b?token=1", "https://h/b?token=1", true);
        trusted("https://h/a", "https://me:pw@h2/a", "https://h2/a", false);
        for (from, location) in [
            ("https://h/a", "http://h/a"),
            ("https://h/a?token=1", "https://h2/a?x=2&token=1"),
            ("https://h/a?secret", "//h2/a?secret"),
            ("http://h/a", "ftp://h/a"),
            ("http://h/a", "http://"),
        ] {
            assert!(matches!(follow(from, location), Redirect::Refused(_)), "{from} {location}");
        }
        assert_eq!(follow("http://h/a?x=1", "/a/"), Redirect::Directory);
        assert_eq!(follow("http://h/a", "http://h/a/?x=1"), Redirect::Directory);
    }
}
