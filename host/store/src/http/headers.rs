//! What headers of an answer say.

use std::time::{Duration, SystemTime};

use reqwest::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, RETRY_AFTER,
};

use crate::remote::{ContentRange, number};

/// Which bytes of the object the answer holds, if it says so and that makes sense.
pub(super) fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    ContentRange::parse(text(headers, &CONTENT_RANGE)?)
}

/// The length of the body, or of what a GET would give.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    number(text(headers, &CONTENT_LENGTH)?.trim())
}

/// The entity tag of the object.
pub(super) fn etag(headers: &HeaderMap) -> Option<String> {
    text(headers, &ETAG).map(str::to_owned)
}

/// Whether the server says that it has, or has not, ranges of bytes.
pub(super) fn accepts_ranges(headers: &HeaderMap) -> Option<bool> {
    match text(headers, &ACCEPT_RANGES)?.trim() {
        "bytes" => Some(true),
        "none" => Some(false),
        _ => None,
    }
}

/// The type of an answer that is a page for people.
pub(super) fn page(headers: &HeaderMap) -> Option<&str> {
    let of = text(headers, &CONTENT_TYPE)?;
    let name = of.split(';').next().unwrap_or_default().trim();
    (name.eq_ignore_ascii_case("text/html") || name.eq_ignore_ascii_case("application/xhtml+xml"))
        .then_some(of)
}

/// The coding that is between the bytes of the body and those of the object.
pub(super) fn coding(headers: &HeaderMap) -> Option<String> {
    let all: Vec<_> = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    let all = all.join(", ");
    let identity = all.split(',').all(|one| matches!(one.trim(), "" | "identity"));
    (!identity).then_some(all)
}

/// How long the server asks clients to wait: a number of seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, &RETRY_AFTER)?.trim();
    if let Some(seconds) = number(value) {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn one(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn pages_and_codings_are_recognised() {
        assert_eq!(page(&one(CONTENT_TYPE, "Text/HTML; charset=utf-8")), Some("Text/HTML; charset=utf-8"));
        assert_eq!(page(&one(CONTENT_TYPE, "application/json")), None);
        assert_eq!(coding(&one(CONTENT_ENCODING, "gzip")).as_deref(), Some("gzip"));
        assert_eq!(coding(&one(CONTENT_ENCODING, "identity, br")).as_deref(), Some("identity, br"));
        assert_eq!(coding(&one(CONTENT_ENCODING, "identity")), None);
        assert_eq!(coding(&HeaderMap::new()), None);
    }

    #[test]
    fn a_wish_is_seconds_or_a_date() {
        assert_eq!(retry_after(&one(RETRY_AFTER, "120")), Some(Duration::from_secs(120)));
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(50));
        let wish = retry_after(&one(RETRY_AFTER, &date)).unwrap();
        assert!(wish > Duration::from_secs(45) && wish <= Duration::from_secs(50), "{wish:?}");
        assert_eq!(retry_after(&one(RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT")), Some(Duration::ZERO));
        assert_eq!(retry_after(&one(RETRY_AFTER, "soon")), None);
    }
}
