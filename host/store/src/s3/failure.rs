//! Failures of requests, in the kinds that this store distinguishes.

use std::error::Error;
use std::time::Duration;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::error::StoreError;
use crate::remote::{BodyError, ContentRange, is_unreached};

/// The failure of one request.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    /// The error code of the service, such as `NoSuchKey`.
    pub(super) code: Option<String>,
    pub(super) status: Option<u16>,
    /// The message of the service or of the network.
    pub(super) text: String,
    /// The region of the bucket, if the service gave it.
    pub(super) region: Option<String>,
    /// The length of the object, if a range lies outside it and the service gave it.
    pub(super) object_len: Option<u64>,
    /// The pause that the service asks for.
    pub(super) wish: Option<Duration>,
    /// The error of this store, if it refused the response itself.
    pub(super) refused: Option<Box<StoreError>>,
}

/// The kinds of failures, by how this store reacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// There is no such object.
    Missing,
    /// A 404 without words. Of HEAD, whose answers have none, a missing object; else of something on the way, such as
    /// a gateway whose service is away.
    NotFound,
    NoBucket,
    /// The upload in parts is not known, or no longer.
    NoUpload,
    /// The object is there, and was not to be.
    Exists,
    /// Another request on the same object was in the way.
    Conflict,
    OutOfRange,
    Denied,
    /// The clocks differ.
    Skewed,
    /// The bucket is in another region.
    OtherRegion,
    /// The service asks to slow down; nothing was done.
    Busy,
    /// No service is there: the connection was refused, or no address is known of the host. Nothing was done.
    Unreached,
    /// The service or the network failed; what was asked may have been done.
    Broken,
    /// Nothing came until the time was up; what was asked may have been done.
    Silent,
    /// The answer came, but not whole or not as it was sent.
    Damaged,
    /// There are credentials, but they cannot be had.
    NoCredentials,
    /// Nothing was sent, nor would it be a second time: a certificate that is not trusted.
    NotSent,
    /// The service does not want this request, and would not a second time.
    Refused,
}

impl Kind {
    /// Whether it may be better the next time.
    pub(super) fn is_passing(self) -> bool {
        matches!(
            self,
            Self::NotFound
                | Self::Conflict
                | Self::Busy
                | Self::Unreached
                | Self::Broken
                | Self::Silent
                | Self::Damaged
        )
    }
}

impl Failure {
    /// A failure without a response of the service.
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            code: None,
            status: None,
            text: text.into(),
            region: None,
            object_len: None,
            wish: None,
            refused: None,
        }
    }

    /// Classifies an error of the SDK.
    pub(super) fn of<E>(error: SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        match &error {
            SdkError::ConstructionFailure(_) => Self::new(Kind::NotSent, chain(&error)),
            SdkError::TimeoutError(_) => Self::new(Kind::Broken, "no answer in time"),
            SdkError::DispatchFailure(failure) => {
                let text = chain(&error);
                let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
                if says(&["certificate", "UnknownIssuer"]) {
                    let remedy = "give the file with the certificate of its authority, or SSL_CERT_FILE";
                    return Self::new(Kind::NotSent, format!("{text}: {remedy}"));
                }
                if !failure.is_io() && !failure.is_timeout() && says(&["credentials", "identity"]) {
                    return Self::new(Kind::NoCredentials, text);
                }
                let kind = match failure.is_user() {
                    true => Kind::NotSent,
                    false if is_unreached(&error) => Kind::Unreached,
                    false => Kind::Broken,
                };
                Self::new(kind, text)
            }
            SdkError::ResponseError(answer) => Self::of_answer(answer.raw(), None, None, &error),
            SdkError::ServiceError(answer) => {
                Self::of_answer(answer.raw(), answer.err().code(), answer.err().message(), &error)
            }
            _ => Self::new(Kind::Refused, chain(&error)),
        }
    }

    fn of_answer(
        answer: &HttpResponse,
        code: Option<&str>,
        message: Option<&str>,
        error: &(dyn Error + 'static),
    ) -> Self {
        let status = answer.status().as_u16();
        let body =
            answer.body().bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        let element = |name: &str| element(body, name).map(str::to_owned);
        let code = code.map(str::to_owned).or_else(|| element("Code"));
        let kind = kind(status, code.as_deref(), body.is_empty());
        let region =
            answer.headers().get("x-amz-bucket-region").map(str::to_owned).or_else(|| element("Region"));
        let object_len = answer
            .headers()
            .get("content-range")
            .and_then(|range| ContentRange::parse(range)?.total)
            .or_else(|| element("ActualObjectSize")?.parse().ok());
        let message = message.map(str::to_owned).or_else(|| element("Message"));
        let text = match (&code, message) {
            // the SDK gives it a code of its own making
            _ if kind == Kind::NotFound => {
                format!(
                    "an empty answer {status}, which is none of S3's: is the endpoint that of an S3 service?"
                )
            }
            (Some(code), Some(message)) => format!("{code} ({status}): {}", message.trim_end_matches('.')),
            (Some(code), None) => format!("{code} ({status})"),
            (None, _) if (200..300).contains(&status) => {
                format!("an answer {status} that is none of S3's: {}", chain(error))
            }
            (None, Some(message)) => format!("answer {status}: {}", message.trim_end_matches('.')),
            (None, None) => format!("answer {status}"),
        };
        let wish =
            answer.headers().get("retry-after").and_then(|wish| wish.parse().ok()).map(Duration::from_secs);
        Self { kind, code, status: Some(status), text, region, object_len, wish, refused: None }
    }
}

impl From<StoreError> for Failure {
    /// What this store itself refuses, whatever the service may say.
    fn from(error: StoreError) -> Self {
        Self { refused: Some(Box::new(error)), ..Self::new(Kind::Refused, "") }
    }
}

impl From<BodyError> for Failure {
    fn from(fault: BodyError) -> Self {
        match fault {
            BodyError::Refused(error) => error.into(),
            BodyError::Broken { reason } => Self::new(Kind::Damaged, reason),
        }
    }
}

fn kind(status: u16, code: Option<&str>, empty: bool) -> Kind {
    match code {
        Some("NoSuchKey") => return Kind::Missing,
        Some("NoSuchBucket") => return Kind::NoBucket,
        Some("NoSuchUpload") => return Kind::NoUpload,
        Some("PreconditionFailed") => return Kind::Exists,
        Some("ConditionalRequestConflict" | "OperationAborted") => return Kind::Conflict,
        Some("InvalidRange") => return Kind::OutOfRange,
        Some("RequestTimeTooSkewed") => return Kind::Skewed,
        Some("AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect" | "Redirect") => {
            return Kind::OtherRegion;
        }
        Some(
            "SlowDown" | "Throttling" | "ThrottlingException" | "TooManyRequests" | "RequestLimitExceeded",
        ) => {
            return Kind::Busy;
        }
        Some("InternalError" | "RequestTimeout" | "IncompleteBody" | "BadDigest") => return Kind::Broken,
        Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => return Kind::Denied,
        _ => {}
    }
    match status {
        // one in other words than S3's comes from something else
        404 if empty => Kind::NotFound,
        301 | 302 | 307 | 308 => Kind::OtherRegion,
        401 | 403 => Kind::Denied,
        408 => Kind::Broken,
        412 => Kind::Exists,
        416 => Kind::OutOfRange,
        429 | 503 => Kind::Busy,
        501 | 505 => Kind::Refused,
        500.. => Kind::Broken,
        200..=299 => Kind::Damaged,
        _ => Kind::Refused,
    }
}

/// The text of an XML element; the SDK does not hand on those that only some errors have.
fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0.trim()).filter(|text| !text.is_empty())
}

/// An error with what led to it, without repetitions.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}
