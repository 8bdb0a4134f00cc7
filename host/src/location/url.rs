//! The parts of a URL.

use percent_encoding::percent_decode_str;

use super::Secret;

/// A URL without the part after `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// In lower case.
    pub(super) scheme: String,
    /// Before `@`, percent-encoding taken away.
    pub(super) user: Option<(String, Secret)>,
    /// As written; IPv6 in its brackets.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// As written, without the slash that ends the host.
    pub(super) path: String,
    /// After `?`.
    pub(super) query: Option<Secret>,
}

impl Url {
    /// Parses what follows `scheme://`. Reasons contain no part that may be secret.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self, String> {
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(Secret::new(query))),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => {
                let (name, password) = user.split_once(':').unwrap_or((user, ""));
                (Some((decoded(name)?, Secret::new(decoded(password)?))), authority)
            }
            None => (None, authority),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let number = port.parse().ok().filter(|port| *port > 0);
                let wrong = "expected a port from 1 to 65535 after the host and :; \
                             in a password write %3A for :, %2F for /, %40 for @";
                (host, Some(number.ok_or(wrong)?))
            }
            _ => (authority, None),
        };
        let ip = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = match ip {
            Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')),
        };
        if !is_name || host.split('.').any(str::is_empty) {
            return Err(
                "the host is missing or not valid; expected letters, digits, dots and hyphens".to_owned()
            );
        }
        if rest.chars().any(char::is_control) {
            return Err("the URL has control characters; write them as %XX".to_owned());
        }
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            user,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
            query,
        })
    }

    /// `scheme://host[:port]`, as it is sent.
    pub(super) fn origin(&self, host: &str) -> String {
        let host = host.to_ascii_lowercase();
        match self.port {
            Some(port) if port != default_port(&self.scheme) => format!("{}://{host}:{port}", self.scheme),
            _ => format!("{}://{host}", self.scheme),
        }
    }
}

/// The port that a scheme means without saying so.
pub(super) fn default_port(scheme: &str) -> u16 {
    if scheme == "http" { 80 } else { 443 }
}

/// The text without percent-encoding.
pub(super) fn decoded(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('%') {
        let digits = bytes.get(at + 1..at + 3).unwrap_or_default();
        if digits.len() < 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err("expected two hexadecimal digits after %; write %25 for %".to_owned());
        }
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| "its percent-encoding is not valid UTF-8".to_owned())
}
