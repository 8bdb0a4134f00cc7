//! URLs for messages.

use url::Url;

/// Returns a URL without user, password, query and fragment, whether or not it can be parsed.
pub(super) fn redact(url: &str) -> String {
    if let Ok(mut url) = Url::parse(url)
        && url.has_host()
    {
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        return url.as_str().trim_end_matches('/').to_owned();
    }
    // a password with a sign that it should not hold may be why it is not a URL
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_has_no_secrets() {
        for (url, want) in [
            ("https://u:p@h:1/a/b?q=1#f", "https://h:1/a/b"),
            ("http://u:p@x@h", "http://h"),
            ("u:p@h/x?q", "h/x"),
            ("http://u:p/4@h/x?q@1", "http://1"),
            ("http://u:p?4@h/x", "http://h/x"),
            ("http://u:p#4@h:port/x", "http://h:port/x"),
            ("http://h/a@b", "http://h/a@b"),
        ] {
            assert_eq!(redact(url), want);
        }
    }
}
