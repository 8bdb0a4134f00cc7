//! One request and what its answer is, before its body.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, LOCATION, RANGE};
use reqwest::{Client, Method, Response, StatusCode};

use super::address::{Address, Next, next};
use super::headers;
use super::learned::Learned;
use super::log::Record;
use crate::error::{Location, ServiceFailure, StoreError};
use crate::key::Key;
use crate::remote::{ContentRange, Failure, Limiter, RemoteOptions, is_unreached, tried};

/// How often a request may be sent on.
const MOST_HOPS: usize = 10;

/// Bytes of an unwanted body that are taken so that its connection can be used again.
const DRAINED: u64 = 64 << 10;

/// How long that may take.
const DRAINING: Duration = Duration::from_millis(500);

/// What the requests of a store share.
pub(super) struct Service {
    pub(super) address: Address,
    pub(super) client: Client,
    pub(super) limiter: Limiter,
    pub(super) options: RemoteOptions,
    pub(super) learned: Learned,
}

/// Bytes to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The whole object.
    All,
    /// From this offset on.
    From(u64),
    /// From the first to the last of these, both included.
    Closed(u64, u64),
    /// The last, this many.
    Suffix(u64),
}

/// What an answer is.
pub(super) enum Reply {
    /// There is no such object.
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
    /// The place of an object, for messages.
    pub(super) fn at(&self, key: Key<'_>) -> Location {
        Location::object(self.address.base(), key)
    }

    /// An error that another try would not change.
    pub(super) fn refused(&self, key: Key<'_>, reason: impl Into<String>) -> Failure {
        Failure::Final(StoreError::Service(Box::new(ServiceFailure {
            action: "read",
            at: self.at(key),
            tries: tried(1, Default::default()),
            reason: reason.into(),
            source: None,
        })))
    }

    /// Asks for bytes of an object and looks at the answer.
    pub(super) async fn get(
        &self,
        key: Key<'_>,
        wanted: Wanted,
        record: &mut Record<'_>,
    ) -> Result<Reply, Failure> {
        let Some(response) = self.send(Method::GET, key, wanted, record).await? else {
            return Ok(Reply::Missing);
        };
        let headers = response.headers();
        match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE if wanted != Wanted::All => {
                let total = headers::content_range(headers).filter(|range| range.bytes.is_none());
                drain(response).await;
                Ok(Reply::Unsatisfiable(total.and_then(|range| range.total)))
            }
            StatusCode::PARTIAL_CONTENT if wanted == Wanted::All => {
                Err(self.refused(key, "the server gave a part of the object (206) where all was asked for"))
            }
            StatusCode::PARTIAL_CONTENT => self.part(key, wanted, response),
            StatusCode::OK => {
                let len = headers::content_length(headers);
                if headers::accepts_ranges(headers) == Some(false) {
                    self.learned.has_no_ranges();
                }
                Ok(Reply::Whole(response, len))
            }
            StatusCode::BAD_REQUEST | StatusCode::NOT_IMPLEMENTED if matches!(wanted, Wanted::Suffix(_)) => {
                drain(response).await;
                Ok(Reply::Unsatisfiable(None))
            }
            status => Err(self.status(key, status, response).await),
        }
    }

    /// Asks for the headers of an object alone; `Err(None)`: HEAD is of no use here.
    pub(super) async fn head(
        &self,
        key: Key<'_>,
        record: &mut Record<'_>,
    ) -> Result<Option<u64>, Option<Failure>> {
        let Some(response) = self.send(Method::HEAD, key, Wanted::All, record).await.map_err(Some)? else {
            return Ok(None);
        };
        match response.status() {
            StatusCode::OK => {
                if headers::accepts_ranges(response.headers()) == Some(false) {
                    self.learned.has_no_ranges();
                }
                headers::content_length(response.headers()).map(Some).ok_or(None)
            }
            // what a signed URL for GET answers is among these
            StatusCode::BAD_REQUEST
            | StatusCode::FORBIDDEN
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Err(None),
            status => Err(Some(self.status(key, status, response).await)),
        }
    }

    /// Sends a request, on to where it is sent, and gives the answer unless the object is missing.
    async fn send(
        &self,
        method: Method,
        key: Key<'_>,
        wanted: Wanted,
        record: &mut Record<'_>,
    ) -> Result<Option<Response>, Failure> {
        let mut url = self.address.of(key)?;
        let mut trusted = true;
        for _ in 0..=MOST_HOPS {
            let mut request =
                self.client.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            if let Some((user, password)) = self.address.user().filter(|_| trusted) {
                request = request.basic_auth(user, Some(password.reveal()));
            }
            if wanted != Wanted::All {
                request = request.header(RANGE, wanted.to_string());
            }
            record.begin(&method, wanted);
            let response = request.send().await.map_err(|error| self.broken(key, error))?;
            let status = response.status();
            record.answered(status);
            self.learned.has_answered();
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
                return Err(self.refused(
                    key,
                    format!("the server sends the request on to nowhere ({})", status.as_u16()),
                ));
            };
            let onward = next(&url, location);
            drain(response).await;
            match onward {
                Next::Directory => return Ok(None),
                Next::Refused(why) => return Err(self.refused(key, why)),
                Next::Follow { url: onward, trusted: still } => {
                    url = onward;
                    trusted &= still;
                }
            }
        }
        Err(self.refused(key, format!("the server sends the request on more than {MOST_HOPS} times")))
    }

    /// Refuses what cannot be the bytes of the object.
    fn check_content(&self, key: Key<'_>, response: &Response) -> Result<(), Failure> {
        if !response.status().is_success() {
            return Ok(());
        }
        let headers = response.headers();
        if let Some(of) = headers::page(headers)
            && ![".html", ".htm", ".xhtml"].iter().any(|end| key.as_str().ends_with(end))
        {
            let reason = format!(
                "the server answers with a page (content type {of:?}), not with an object: this is not where the dataset is, or the server answers every path so and cannot hold one"
            );
            return Err(self.refused(key, reason));
        }
        if let Some(coding) = headers::coding(headers) {
            let reason = format!(
                "the server sends it compressed (content encoding {coding:?}) though that was ruled out: switch that off on the server, for these are not the object's own bytes"
            );
            return Err(self.refused(key, reason));
        }
        Ok(())
    }

    /// A part is the one that was asked for, or none.
    fn part(&self, key: Key<'_>, wanted: Wanted, response: Response) -> Result<Reply, Failure> {
        let headers = response.headers();
        let Some(ContentRange { bytes: Some(bytes), total }) = headers::content_range(headers) else {
            let reason =
                "the server gave a part of the object (206) and does not say which (no sound Content-Range)";
            return Err(self.refused(key, reason));
        };
        let (first, last, len) = (bytes.start, bytes.end - 1, bytes.end - bytes.start);
        if headers::content_length(headers).is_some_and(|told| told != len) {
            return Err(
                self.refused(key, "Content-Length and Content-Range of the answer contradict each other")
            );
        }
        self.learned.has_ranges();
        let end = total.map(|total| total - 1);
        let right = match wanted {
            Wanted::All => false,
            Wanted::From(want) => first == want && end.is_none_or(|end| last == end),
            Wanted::Closed(want, most) => {
                first == want && last <= most && (last == most || end.is_none_or(|end| last == end))
            }
            // a shorter object comes as a whole
            Wanted::Suffix(want) => {
                end.is_some_and(|end| last == end) && (len == want || (len < want && first == 0))
            }
        };
        if right {
            return Ok(Reply::Part(Part { response, len, total }));
        }
        if matches!(wanted, Wanted::Suffix(_)) {
            self.learned.has_no_suffixes();
            return Ok(Reply::Unsatisfiable(total));
        }
        let told = total.map_or_else(|| "*".to_owned(), |total| total.to_string());
        let reason =
            format!("the server gave other bytes than those asked for: {first}-{last}/{told} for {wanted}");
        Err(self.refused(key, reason))
    }

    /// What a status means that is no answer to a read.
    async fn status(&self, key: Key<'_>, status: StatusCode, response: Response) -> Failure {
        let wish = headers::retry_after(response.headers());
        drain(response).await;
        let code = status.as_u16();
        let denied =
            |reason: &str| Failure::Final(StoreError::Denied { at: self.at(key), reason: reason.to_owned() });
        match code {
            401 if self.address.user().is_none() => {
                denied("the server wants credentials (401): give user and password")
            }
            401 => denied("the server does not accept the credentials (401): check user and password"),
            403 => denied(
                "the server says so (403): check the credentials, or the query of the URL, which may have expired. Some storage servers answer so for an object that does not exist, when the keys may not be listed: then a missing chunk cannot be told from a denied one",
            ),
            407 => {
                denied("the proxy wants credentials (407): give http://user:password@host:port as the proxy")
            }
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 507..=599 => {
                Failure::Again { reason: named(status), wish, source: None }
            }
            _ => self.refused(key, named(status)),
        }
    }

    /// What a failure on the way means. The URL, with its secrets, is taken out of it.
    pub(super) fn broken(&self, key: Key<'_>, error: reqwest::Error) -> Failure {
        let error = error.without_url();
        if distrusted(&error) {
            let reason = "the server's certificate is not trusted: if it is the right server, name a file with the certificate of its authority";
            return Failure::Final(StoreError::Service(Box::new(ServiceFailure {
                action: "read",
                at: self.at(key),
                tries: tried(1, Default::default()),
                reason: reason.to_owned(),
                source: Some(Box::new(error)),
            })));
        }
        let is_silent = error.is_timeout() && !error.is_connect();
        let reason = if error.is_timeout() && error.is_connect() {
            "no connection came about in time"
        } else if error.is_timeout() {
            "the server fell silent"
        } else if error.is_connect() {
            "no connection to the server: check host, port and network"
        } else if error.is_body() || error.is_decode() {
            "the connection broke off within the answer"
        } else {
            "the connection broke off before the answer"
        };
        let reason = reason.to_owned();
        if is_unreached(&error) && !self.learned.answered() {
            return Failure::Unreached { reason, source: Some(Box::new(error)) };
        }
        let source = Some(Box::new(error) as _);
        match is_silent {
            true => Failure::Silent { reason, source },
            false => Failure::Again { reason, wish: None, source },
        }
    }
}

/// Whether it failed for the server's certificate, which rustls says in words.
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

/// Takes a small body that nobody wants, so that its connection is free for the next request.
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

impl fmt::Display for Wanted {
    /// As the header `Range` has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::From(first) => write!(f, "bytes={first}-"),
            Self::Closed(first, last) => write!(f, "bytes={first}-{last}"),
            Self::Suffix(len) => write!(f, "bytes=-{len}"),
        }
    }
}
