//! Removes secrets from URLs and messages before they are shown.
//!
//! ```
//! use ncz::location::redacted;
//!
//! let typed = "https://me:pass@example.org/a.zarr?X-Amz-Signature=0123#mode=zarr&aws.secret_access_key=abc";
//! assert_eq!(redacted(typed), "https://***@example.org/a.zarr?***#mode=zarr&aws.secret_access_key=***");
//! ```

use std::fmt;
use std::ops::Range;

/// What replaces a secret.
const STARS: &str = "***";

/// A shorter text is not hidden: hiding every `me` would spoil the message and protect nothing.
const MIN_LEN: usize = 4;

/// A shorter value of a query is not hidden either: `version=2`.
const MIN_VALUE_LEN: usize = 8;

/// The keys after `#` whose values are not secret. A mistyped key is not in this list.
const HARMLESS: [&str; 13] = [
    "addressing",
    "awsprofile",
    "checksums",
    "config_file",
    "consolidated",
    "default_region",
    "endpoint",
    "log",
    "mode",
    "profile",
    "region",
    "show",
    "style",
];

/// A key whose name contains one of these has a secret value, anywhere in a message.
const SECRET: [&str; 9] = [
    "access_key",
    "accesskey",
    "api_key",
    "apikey",
    "credential",
    "password",
    "secret",
    "signature",
    "token",
];

/// Returns a path or URL, as a user typed it, without its secrets: user and password, the query, and the values after
/// `#` that are not known to be harmless.
#[must_use]
pub fn redacted(typed: &str) -> String {
    starred(typed, secrets_of_url(typed))
}

/// Secrets that no message may contain. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets in a path or URL as a user typed it.
    #[must_use]
    pub fn in_url(typed: &str) -> Self {
        let mut secrets = Self::default();
        secrets.add_url(typed);
        secrets
    }

    /// Adds the secrets in a path or URL as a user typed it.
    pub fn add_url(&mut self, typed: &str) {
        for range in secrets_of_url(typed) {
            let secret = &typed[range];
            self.add(secret);
            // Messages may contain a part: the password, what a parser took for the path, one value of the query.
            secret.split([':', '/', '?', '#', '@']).for_each(|part| self.add(part));
            if let Some((_, password)) = secret.split_once(':') {
                self.add(password);
            }
            let values = secret.split('&').filter_map(|item| item.split_once('='));
            values.filter(|(_, value)| value.len() >= MIN_VALUE_LEN).for_each(|(_, value)| self.add(value));
        }
    }

    /// Adds a secret. Texts of less than four bytes and mode words are too common to hide, and are ignored.
    pub fn add(&mut self, secret: &str) {
        let is_word = super::mode::KNOWN.split(", ").any(|word| word.eq_ignore_ascii_case(secret));
        if secret.len() >= MIN_LEN && !is_word && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
            // Of two secrets of which one holds the other, the longer one is hidden whole.
            self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    /// A message without these secrets, and without those of any URL and any `..secret..=VALUE` in it.
    #[must_use]
    pub fn hide(&self, message: &str) -> String {
        let mut text = message.to_owned();
        for secret in self.0.iter().filter(|secret| message.contains(secret.as_str())) {
            text = text.replace(secret, STARS);
        }
        let found = secrets_of_message(&text);
        starred(&text, found)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// `text` with stars for what was found.
fn starred(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for range in found.into_iter().filter(|range| !range.is_empty()) {
        if range.start >= done {
            out.push_str(&text[done..range.start]);
            out.push_str(STARS);
        }
        done = done.max(range.end);
    }
    out.push_str(&text[done..]);
    out
}

/// Returns the ranges of the secrets in a URL.
fn secrets_of_url(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let scheme_end = text.find("://");
    // The old form of DAP, `[key=value][key=value]url`.
    let front = text[..scheme_end.unwrap_or(0)].rfind(']').filter(|_| text.starts_with('['));
    if let Some(end) = front {
        for option in parts(text, 1..end, &['[', ']', '&']) {
            value(text, option, false, &mut found);
        }
    }
    match scheme_end {
        Some(at) => url(text, front.map_or(0, |end| end + 1), at, text.len(), &mut found),
        // A file may have a `#` in its name, and what follows need not be hidden.
        None => found.extend(pairs(text, "#&")),
    }
    found
}

/// Returns the ranges of the secrets in a message.
fn secrets_of_message(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
        let start = text[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
        let end = text[at..].find(ends).map_or(text.len(), |len| at + len);
        url(text, start, at, end, &mut found);
    }
    found.extend(pairs(text, "&,;]\"'"));
    found
}

/// The secrets of the URL at `start..end`, whose `://` is at `colon`.
fn url(text: &str, start: usize, colon: usize, end: usize, found: &mut Vec<Range<usize>>) {
    let is_file = text[start..colon].eq_ignore_ascii_case("file");
    let mut at = colon + 3;
    let until = |from: usize, ends: &[char]| text[from..end].find(ends).map_or(end, |len| from + len);
    if !is_file {
        let authority = until(at, &['/', '?', '#']);
        // A password may hold a character that ends the host; then what follows the colon is not a port.
        let port = text[at..authority].rsplit_once(':').map_or("", |(_, port)| port);
        let is_host = port.bytes().all(|byte| byte.is_ascii_digit()) || text[at..authority].ends_with(']');
        let within = if is_host { authority } else { end };
        if let Some(len) = text[at..within].rfind('@') {
            found.push(at..at + len);
            at += len + 1;
        }
    }
    let mut hash = until(at, &['#']);
    let query = until(at, &['?', '#']);
    if !is_file && query < hash {
        // A `#` in a query is part of it unless known words follow.
        hash = text[query..end].rfind('#').map_or(end, |len| query + len);
        found.push(query + 1..hash);
    }
    let mut hid = false;
    for item in parts(text, (hash + 1).min(end)..end, &['&', '#']) {
        hid = value(text, item, hid, found);
    }
}

/// Hides the value of `key=value` unless it is harmless, and a text that is not a word; returns whether it did. After a
/// hidden value (`after_hidden`) a word without `=` may be the rest of it.
fn value(text: &str, item: Range<usize>, after_hidden: bool, found: &mut Vec<Range<usize>>) -> bool {
    let word = &text[item.clone()];
    let hidden = match word.split_once('=') {
        Some((key, value)) => {
            let last = key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase();
            let is_harmless = HARMLESS.contains(&last.as_str()) && !value.contains(['@', '?']);
            (!is_harmless).then_some(item.start + key.len() + 1..item.end)
        }
        None => {
            let is_word = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.,/\\".contains(&byte));
            (after_hidden || !is_word).then_some(item)
        }
    };
    let hid = hidden.is_some();
    found.extend(hidden);
    hid
}

/// The pieces of a range between some characters.
fn parts(text: &str, range: Range<usize>, between: &[char]) -> Vec<Range<usize>> {
    let mut start = range.start;
    let pieces = text[range].split(between).map(|piece| {
        let piece = start..start + piece.len();
        // All of `between` are one byte long.
        start = piece.end + 1;
        piece
    });
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// The values of all `key=value` whose key sounds like a secret's; a value ends at white space or one of `ends`.
fn pairs(text: &str, ends: &str) -> Vec<Range<usize>> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let of = |(at, _): (usize, &str)| {
        let key = text[..at].rsplit(|c| !is_key(c)).next()?.to_ascii_lowercase().replace('-', "_");
        SECRET.iter().find(|part| key.contains(**part))?;
        let quoted = text[at + 1..].starts_with('"');
        let start = at + 1 + usize::from(quoted);
        let is_end = |c: char| if quoted { c == '"' } else { c.is_whitespace() || ends.contains(c) };
        let len = text[start..].find(is_end).unwrap_or(text.len() - start);
        Some(start..start + len)
    };
    text.match_indices('=').filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        for (typed, want) in [
            ("https://me:s3cr3t@host/a", "https://***@host/a"),
            ("https://token1234@host:9000/a@v1", "https://***@host:9000/a@v1"),
            ("http://host:9000/a@v1", "http://host:9000/a@v1"),
            ("http://[::1]:9000/a@v1", "http://[::1]:9000/a@v1"),
            ("http://[::1]/a@v1", "http://[::1]/a@v1"),
            // A password that should have been percent-encoded.
            ("https://me:s3/cr#3t@host/a", "https://***@host/a"),
            ("https://me:p@ss:word@host/a", "https://***@host/a"),
            ("s3://b/a?X-Amz-Signature=abc&x=1#mode=s3,zarr", "s3://b/a?***#mode=s3,zarr"),
            ("https://h/a?sig=ab#cd#mode=zarr", "https://h/a?***#mode=zarr"),
            (
                "s3://b/a#mode=zarr&aws.secret_access_key=ab=/+",
                "s3://b/a#mode=zarr&aws.secret_access_key=***",
            ),
            ("s3://b/a#AWS.SCERET=abc&AWS.REGION=eu", "s3://b/a#AWS.SCERET=***&AWS.REGION=eu"),
            ("s3://b/a#AWS.SECRET=ab&cd&mode=s3", "s3://b/a#AWS.SECRET=***&***&mode=s3"),
            ("[aws.secret_access_key=ab,c][mode=s3]s3://b/a", "[aws.secret_access_key=***][mode=s3]s3://b/a"),
            ("dir#mode=s3&aws.secret_access_key=ab/+c,d", "dir#mode=s3&aws.secret_access_key=***"),
            ("file://me@home/a?b#mode=nczarr,file", "file://me@home/a?b#mode=nczarr,file"),
            ("s3://b/ä?ö#mode=s3", "s3://b/ä?***#mode=s3"),
            ("s3://b/a#endpoint=http://a:b@h&region=eu", "s3://b/a#endpoint=***&region=eu"),
            ("dir/a?b=c#d", "dir/a?b=c#d"),
            ("", ""),
            ("://@?#", "://@?#"),
        ] {
            assert_eq!(redacted(typed), want, "{typed}");
            assert_eq!(redacted(want), want, "what is hidden stays so: {typed}");
        }
    }

    #[test]
    fn a_message_is_shown_without_the_secrets_of_the_url() {
        let secrets = Secrets::in_url("https://me:s3cr3t@host/a?X-Amz-Signature=0123456789&v=12");
        assert_eq!(secrets.hide("no \"s3cr3t\" in 0123456789 of v=12, me"), "no \"***\" in *** of v=12, me");
        assert!(!format!("{secrets:?}").contains("s3cr3t"));
        let odd = Secrets::in_url("https://me:pa/ss#word@host/a");
        assert_eq!(
            odd.hide("mode word \"word@host/a\" is not known"),
            "mode *** \"***@host/a\" is not known"
        );
        let mistyped = Secrets::in_url("s3://b/x#moed=zarr");
        assert_eq!(mistyped.hide("known: nczarr, zarr"), "known: nczarr, zarr");
        let none = Secrets::default();
        for (message, want) in [
            ("GET \"http://a:b@h/x?y=z\" failed", "GET \"http://***@h/x?***\" failed"),
            ("see http://h/x#mode=v2 or s3://b/x#mode=v3", "see http://h/x#mode=v2 or s3://b/x#mode=v3"),
            ("X-Amz-Security-Token=ab%2F, x", "X-Amz-Security-Token=***, x"),
            ("Config { secret_access_key=\"a b\" }", "Config { secret_access_key=\"***\" }"),
            ("cd_values=[4] token: none", "cd_values=[4] token: none"),
            ("„http://a:b@h“ ist da", "„http://***@h“ ist da"),
        ] {
            assert_eq!(none.hide(message), want);
            assert_eq!(none.hide(want), want);
        }
    }
}
