//! One HTTP request and the meaning of its response, up to the body.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, LOCATION, RANGE};
use reqwest::{Client, Method, Response, StatusCode};

use super::address::{Address, Redirect, redirect};
use super::headers;
use super::log::RequestLog;
use super::range::RequestedRange;
use super::server_features::ServerFeatures;
use crate::error::{ObjectLocation, ServiceError, StoreError};
use crate::key::Key;
use crate::remote::{ContentRange, Failure, Limiter, RemoteOptions, describe_attempts, is_unreached};
use crate::store::Stamp;

/// The most redirections that are followed for one request.
const MOST_HOPS: usize = 10;

/// The most bytes of an unwanted body that are read so that its connection can be used again.
const DRAINED: u64 = 64 << 10;

/// How long that may take.
const DRAINING: Duration = Duration::from_millis(500);

/// What all requests of a store share.
pub(super) struct Service {
    pub(super) address: Address,
    pub(super) client: Client,
    pub(super) limiter: Limiter,
    pub(super) options: RemoteOptions,
    pub(super) features: ServerFeatures,
}

/// The meaning of a response.
pub(super) enum Reply {
    /// The object does not exist.
    Missing,
    /// The object does not have the bytes; it has this many, where the server says so.
    Unsatisfiable(Option<u64>),
    /// The range that was asked for, as far as the object goes.
    Part(Part),
    /// The whole object, asked for or not; its length, where the server says so.
    Whole(Response, Option<u64>),
}

/// A range of an object.
pub(super) struct Part {
    /// Its bytes.
    pub(super) response: Response,
    /// How many they are.
    pub(super) len: u64,
    /// The length of the object, where the server says so.
    pub(super) total: Option<u64>,
}

impl Service {
    /// The location of an object, for messages.
    pub(super) fn at(&self, key: Key<'_>) -> ObjectLocation {
        ObjectLocation::object(self.address.base(), key)
    }

    /// An error that another try would not change.
    pub(super) fn refused(&self, key: Key<'_>, reason: impl Into<String>) -> Failure {
        Failure::Final(StoreError::Service(Box::new(ServiceError {
            action: "read",
            at: self.at(key),
            attempts: describe_attempts(1, Default::default()),
            reason: reason.into(),
            source: None,
        })))
    }

    /// Asks for bytes of an object and looks at the answer.
    pub(super) async fn get(
        &self,
        key: Key<'_>,
        wanted: RequestedRange,
        record: &mut RequestLog<'_>,
    ) -> Result<Reply, Failure> {
        let Some(response) = self.send(Method::GET, key, wanted, record).await? else {
            return Ok(Reply::Missing);
        };
        let headers = response.headers();
        match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE if wanted != RequestedRange::All => {
                let total = headers::content_range(headers).filter(|range| range.bytes.is_none());
                drain(response).await;
                Ok(Reply::Unsatisfiable(total.and_then(|range| range.total)))
            }
            StatusCode::PARTIAL_CONTENT if wanted == RequestedRange::All => {
                Err(self
                    .refused(key, "the server gave a part of the object (206), but all of it was requested"))
            }
            StatusCode::PARTIAL_CONTENT => self.part(key, wanted, response),
            StatusCode::OK => {
                let len = headers::content_length(headers);
                if headers::accepts_ranges(headers) == Some(false) {
                    self.features.note_no_ranges();
                }
                Ok(Reply::Whole(response, len))
            }
            StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED
                if matches!(wanted, RequestedRange::Suffix(_)) =>
            {
                drain(response).await;
                Ok(Reply::Unsatisfiable(None))
            }
            status => Err(self.status(key, status, response).await),
        }
    }

    /// Sends HEAD and returns the length and ETag of the object; `Err(None)`: this server does not support HEAD.
    pub(super) async fn head(
        &self,
        key: Key<'_>,
        record: &mut RequestLog<'_>,
    ) -> Result<Option<Stamp>, Option<Failure>> {
        let Some(response) = self.send(Method::HEAD, key, RequestedRange::All, record).await.map_err(Some)?
        else {
            return Ok(None);
        };
        match response.status() {
            StatusCode::OK => {
                if headers::accepts_ranges(response.headers()) == Some(false) {
                    self.features.note_no_ranges();
                }
                let length = headers::content_length(response.headers()).ok_or(None)?;
                let etag = headers::etag(response.headers());
                Ok(Some(Stamp { length, etag, ..Stamp::default() }))
            }
            // what a signed URL for GET answers is among these
            StatusCode::BAD_REQUEST
            | StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Err(None),
            status => Err(Some(self.status(key, status, response).await)),
        }
    }

    /// Sends a request, follows redirections, and returns the response, or `None` if the object does not exist.
    async fn send(
        &self,
        method: Method,
        key: Key<'_>,
        wanted: RequestedRange,
        record: &mut RequestLog<'_>,
    ) -> Result<Option<Response>, Failure> {
        let mut url = self.address.of(key)?;
        let mut trusted = true;
        for _ in 0..=MOST_HOPS {
            let mut request =
                self.client.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            if let Some((user, password)) = self.address.user().filter(|_| trusted) {
                request = request.basic_auth(user, Some(password.reveal()));
            }
            if wanted != RequestedRange::All {
                request = request.header(RANGE, wanted.to_string());
            }
            record.begin(&method, wanted);
            let response = request.send().await.map_err(|error| self.broken(key, error))?;
            let status = response.status();
            record.answered(status);
            self.features.note_answer();
            if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
                drain(response).await;
                return Ok(None);
            }
            if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                self.check_content(key, &response)?;
                return Ok(Some(response));
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location else {
                return Err(
                    self.refused(key, format!("the server redirects without a target ({})", status.as_u16()))
                );
            };
            let onward = redirect(&url, location);
            drain(response).await;
            match onward {
                Redirect::Directory => return Ok(None),
                Redirect::Refused(why) => return Err(self.refused(key, why)),
                Redirect::Follow { url: onward, trusted: still } => {
                    url = onward;
                    trusted &= still;
                }
            }
        }
        Err(self.refused(key, format!("the server redirects more than {MOST_HOPS} times")))
    }

    /// Refuses a response whose body cannot be the bytes of the object.
    fn check_content(&self, key: Key<'_>, response: &Response) -> Result<(), Failure> {
        if !response.status().is_success() {
            return Ok(());
        }
        let headers = response.headers();
        if let Some(of) = headers::page(headers)
            && ![".html", ".htm", ".xhtml"].iter().any(|end| key.as_str().ends_with(end))
        {
            let reason = format!(
                "the server answers with a web page (content type {of:?}), not with an object: the dataset is not at this URL, or the server answers every path this way"
            );
            return Err(self.refused(key, reason));
        }
        if let Some(coding) = headers::coding(headers) {
            let reason = format!(
                "the server sends it compressed (content encoding {coding:?}) though the request excludes that: disable compression on the server"
            );
            return Err(self.refused(key, reason));
        }
        Ok(())
    }

    /// Checks that a partial response holds the range that was asked for.
    fn part(&self, key: Key<'_>, wanted: RequestedRange, response: Response) -> Result<Reply, Failure> {
        let headers = response.headers();
        let Some(ContentRange { bytes: Some(bytes), total }) = headers::content_range(headers) else {
            let reason =
                "the server gave a part of the object (206) and does not say which (no sound Content-Range)";
            return Err(self.refused(key, reason));
        };
        let (first, last, len) = (bytes.start, bytes.end - 1, bytes.end - bytes.start);
        if headers::content_length(headers).is_some_and(|announced| announced != len) {
            return Err(
                self.refused(key, "Content-Length and Content-Range of the answer contradict each other")
            );
        }
        self.features.note_ranges();
        let end = total.map(|total| total - 1);
        let right = match wanted {
            RequestedRange::All => false,
            RequestedRange::From(want) => first == want && end.is_none_or(|end| last == end),
            RequestedRange::Closed(want, most) => {
                first == want && last <= most && (last == most || end.is_none_or(|end| last == end))
            }
            // a shorter object comes as a whole
            RequestedRange::Suffix(want) => {
                end.is_some_and(|end| last == end) && (len == want || (len < want && first == 0))
            }
        };
        if right {
            return Ok(Reply::Part(Part { response, len, total }));
        }
        if matches!(wanted, RequestedRange::Suffix(_)) {
            self.features.note_no_suffixes();
            return Ok(Reply::Unsatisfiable(total));
        }
        let object_len = total.map_or_else(|| "*".to_owned(), |total| total.to_string());
        let reason = format!("expected bytes {wanted}, got {first}-{last}/{object_len}");
        Err(self.refused(key, reason))
    }

    /// The failure for a status that is not a valid response to a read.
    async fn status(&self, key: Key<'_>, status: StatusCode, response: Response) -> Failure {
        let wish = headers::retry_after(response.headers());
        drain(response).await;
        let code = status.as_u16();
        let denied =
            |reason: &str| Failure::Final(StoreError::Denied { at: self.at(key), reason: reason.to_owned() });
        match code {
            401 if self.address.user().is_none() => {
                denied("the server requires credentials (401): give user and password")
            }
            401 => denied("the server does not accept the credentials (401): check user and password"),
            403 => denied(
                "the server answers 403: check the credentials, or the query of the URL, which may have expired. Some servers answer 403 for an object that does not exist if listing is not allowed: then a missing chunk cannot be distinguished from a denied one",
            ),
            407 => denied(
                "the proxy requires credentials (407): give http://user:password@host:port as the proxy",
            ),
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 507..=599 => {
                Failure::Again { reason: named(status), wish, source: None }
            }
            _ => self.refused(key, named(status)),
        }
    }

    /// Classifies a transport error. The URL, with its secrets, is removed from it.
    pub(super) fn broken(&self, key: Key<'_>, error: reqwest::Error) -> Failure {
        let error = error.without_url();
        if distrusted(&error) {
            let reason = "the server's certificate is not trusted: if it is the right server, give a file with the certificate of its authority";
            return Failure::Final(StoreError::Service(Box::new(ServiceError {
                action: "read",
                at: self.at(key),
                attempts: describe_attempts(1, Default::default()),
                reason: reason.to_owned(),
                source: Some(Box::new(error)),
            })));
        }
        let is_silent = error.is_timeout() && !error.is_connect();
        let reason = if error.is_timeout() && error.is_connect() {
            "no connection was made in time"
        } else if error.is_timeout() {
            "the server stopped responding"
        } else if error.is_connect() {
            "no connection to the server: check host, port and network"
        } else if error.is_body() || error.is_decode() {
            "the connection broke off within the answer"
        } else {
            "the connection broke off before the answer"
        };
        let reason = reason.to_owned();
        if is_unreached(&error) && !self.features.has_answered() {
            return Failure::Unreached { reason, source: Some(Box::new(error)) };
        }
        let source = Some(Box::new(error) as _);
        match is_silent {
            true => Failure::Silent { reason, source },
            false => Failure::Again { reason, wish: None, source },
        }
    }
}

/// Whether the server's certificate was the cause, which rustls reports only as text.
fn distrusted(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.to_string().contains("invalid peer certificate") {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Reads and drops a small unwanted body, so that its connection is free for the next request.
pub(super) async fn drain(mut response: Response) {
    let mut left = DRAINED;
    let all = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let Some(less) = left.checked_sub(bytes.len() as u64) else { return };
            left = less;
        }
    };
    // one that takes longer costs a new connection
    let _ = tokio::time::timeout(DRAINING, all).await;
}

fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(name) => format!("the server answers {} {name}", status.as_u16()),
        None => format!("the server answers {}", status.as_u16()),
    }
}
