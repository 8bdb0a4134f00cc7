use std::io::Write;
use std::ops;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, ALLOW, AUTHORIZATION, LOCATION, RANGE, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::http::response::Builder;
use hyper::{Method, Request, Response, StatusCode};

use crate::Refusal;
use crate::checksum::{base64, md5};
use crate::http::{Gzip, HttpOptions, Missing, Ranges, Shared};
use crate::listener::Backend;
use crate::operation::{Target, query};

/// What an application shows for every path.
const START_PAGE: &str = "<!doctype html>\n<html><head><title>Data portal</title></head><body><div id=\"app\"></div></body></html>\n";

/// Answers from files in memory.
pub(crate) struct Files(pub(crate) Shared);

impl Backend for Files {
    fn target(&self, parts: &Parts) -> Target {
        Target::of_file(parts)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Bytes> {
        let (parts, mut body) = request.into_parts();
        while let Some(Ok(_)) = body.frame().await {}
        let path = Target::of_file(&parts).key.unwrap_or_default();
        let (options, file) = {
            let shared = self.0.lock();
            (shared.options.clone(), shared.files.get(&path).cloned())
        };
        if let Some(refused) = refused(&parts, &path, &options) {
            return refused;
        }
        match file {
            Some(file) => content(&parts, &path, file, &options),
            None => missing(&path, options.missing),
        }
    }

    fn document(&self, refusal: &Refusal) -> Response<Bytes> {
        page(StatusCode::INTERNAL_SERVER_ERROR, &format!("{}: {}", refusal.code, refusal.message))
    }
}

/// The answer to a request that does not get as far as a file.
fn refused(parts: &Parts, path: &str, options: &HttpOptions) -> Option<Response<Bytes>> {
    if let Some((user, password)) = &options.basic_auth {
        let wanted = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        if parts.headers.get(AUTHORIZATION).is_none_or(|given| given.as_bytes() != wanted.as_bytes()) {
            let answer = html(StatusCode::UNAUTHORIZED).header(WWW_AUTHENTICATE, "Basic realm=\"data\"");
            return Some(finish(answer, "Unauthorized".into()));
        }
    }
    if let Some((name, value)) = &options.token
        && query(parts, name).as_ref() != Some(value)
    {
        return Some(page(StatusCode::FORBIDDEN, "Forbidden"));
    }
    if let Some((from, to)) = &options.redirect
        && let Some(rest) = path.strip_prefix(from)
    {
        let answer = html(StatusCode::FOUND).header(LOCATION, format!("{to}{rest}"));
        return Some(finish(answer, "Found".into()));
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        let answer = html(StatusCode::METHOD_NOT_ALLOWED).header(ALLOW, "GET, HEAD");
        return Some(finish(answer, "Method Not Allowed".into()));
    }
    None
}

fn missing(path: &str, missing: Missing) -> Response<Bytes> {
    match missing {
        Missing::NotFound => page(StatusCode::NOT_FOUND, &format!("Not Found: {path}")),
        Missing::Forbidden => page(StatusCode::FORBIDDEN, "Forbidden"),
        Missing::Gone => page(StatusCode::GONE, "Gone"),
        Missing::Page => finish(html(StatusCode::OK), START_PAGE.into()),
    }
}

fn content(parts: &Parts, path: &str, file: Bytes, options: &HttpOptions) -> Response<Bytes> {
    let etag = format!("\"{}\"", md5(&file));
    let given = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if given("if-none-match").is_some_and(|condition| condition == "*" || condition == etag) {
        return finish(
            Response::builder().status(StatusCode::NOT_MODIFIED).header("etag", etag),
            Bytes::new(),
        );
    }
    if given("if-match").is_some_and(|condition| condition != "*" && condition != etag) {
        return page(StatusCode::PRECONDITION_FAILED, "Precondition Failed");
    }
    let accepts = given(ACCEPT_ENCODING.as_str()).is_some_and(|encodings| encodings.contains("gzip"));
    let gzip = options.gzip == Gzip::Always || options.gzip == Gzip::Accepted && accepts;
    // as web servers do that compress on the way: no parts, and an ETag of its own
    if gzip {
        let answer = Response::builder()
            .header("content-type", content_type(path))
            .header("content-encoding", "gzip")
            .header("vary", "accept-encoding")
            .header("etag", format!("W/{etag}"));
        return finish(answer, compressed(&file));
    }
    let answer = Response::builder().header("content-type", content_type(path)).header("etag", etag);
    let answer = match options.ranges {
        Ranges::Ignored => answer,
        Ranges::Declined => answer.header("accept-ranges", "none"),
        _ => answer.header("accept-ranges", "bytes"),
    };
    let asked = given(RANGE.as_str()).and_then(|range| asked(range, file.len(), options.ranges));
    match asked {
        None => finish(answer, file),
        Some(None) => {
            let total = format!("bytes */{}", file.len());
            finish(
                answer.status(StatusCode::RANGE_NOT_SATISFIABLE).header("content-range", total),
                Bytes::new(),
            )
        }
        Some(Some(range)) => {
            let shift = usize::from(options.ranges == Ranges::WrongContentRange);
            let named = format!("bytes {}-{}/{}", range.start + shift, range.end - 1 + shift, file.len());
            let answer = answer.status(StatusCode::PARTIAL_CONTENT);
            let answer = if options.ranges == Ranges::NoContentRange {
                answer
            } else {
                answer.header("content-range", named)
            };
            finish(answer, file.slice(range))
        }
    }
}

/// Returns the part that a `Range` header requests: `None` if the whole file is given, `Some(None)` if there is no such
/// part.
fn asked(range: &str, length: usize, ranges: Ranges) -> Option<Option<ops::Range<usize>>> {
    if matches!(ranges, Ranges::Ignored | Ranges::Declined) {
        return None;
    }
    // what is not one range in bytes is ignored (RFC 9110, section 14.2)
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let suffix: usize = last.parse().ok()?;
        let none = suffix == 0 || length == 0 || ranges == Ranges::NoSuffix;
        return Some((!none).then(|| length.saturating_sub(suffix)..length));
    }
    let first: usize = first.parse().ok()?;
    let last: usize = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
    if last < first {
        return None;
    }
    Some((first < length).then(|| first..last.saturating_add(1).min(length)))
}

fn compressed(file: &Bytes) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // a vector takes everything
    let written = encoder.write_all(file).and_then(|()| encoder.finish());
    Bytes::from(written.unwrap_or_default())
}

fn content_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let json = name.ends_with(".json") || name.starts_with(".z");
    if json { "application/json" } else { "application/octet-stream" }
}

fn page(status: StatusCode, text: &str) -> Response<Bytes> {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    finish(html(status), format!("<!doctype html>\n<html><body><h1>{text}</h1></body></html>\n").into())
}

fn html(status: StatusCode) -> Builder {
    Response::builder().status(status).header("content-type", "text/html; charset=utf-8")
}

fn finish(builder: Builder, body: Bytes) -> Response<Bytes> {
    // a header that cannot be sent (a redirect to a target with control characters) is an error of the test
    builder.body(body).unwrap_or_else(|error| {
        let mut answer = Response::new(Bytes::from(error.to_string()));
        *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        answer
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        let served = |range| asked(range, 10, Ranges::Served);
        assert_eq!(served("bytes=2-4"), Some(Some(2..5)));
        assert_eq!(served("bytes=2-"), Some(Some(2..10)));
        assert_eq!(served("bytes=2-99"), Some(Some(2..10)));
        assert_eq!(served("bytes=-3"), Some(Some(7..10)));
        assert_eq!(served("bytes=-99"), Some(Some(0..10)));
        assert_eq!(served("bytes=10-"), Some(None));
        assert_eq!(served("bytes=-0"), Some(None));
        assert_eq!(served("bytes=4-2"), None);
        assert_eq!(served("lines=1-2"), None);
        assert_eq!(asked("bytes=-3", 10, Ranges::NoSuffix), Some(None));
        assert_eq!(asked("bytes=2-4", 10, Ranges::Ignored), None);
    }
}
