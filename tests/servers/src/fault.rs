use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Operation;

/// The fault of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This answer is given; the request is not carried out.
    Answer(Refusal),
    /// The request is not carried out, and the answer has status 200 with an error document inside, as S3 does for
    /// copies and completed uploads.
    ErrorInside(Refusal),
    /// The connection is reset; the request is not carried out.
    Reset,
    /// The request is carried out, then the connection is reset before a byte of the answer.
    LoseAnswer,
    /// The request is carried out, and the connection is reset after this many bytes of the answer's body.
    ResetInBody {
        /// How many bytes of the body are sent, at most all but one.
        after: usize,
    },
    /// The request is carried out, and the connection ends in good order this many bytes before `Content-Length`.
    ShortBody {
        /// How many bytes are missing.
        missing: usize,
    },
    /// The body of the answer is sent piece by piece.
    Trickle {
        /// The size of a piece.
        bytes: usize,
        /// The pause after each piece.
        every: Duration,
    },
    /// One bit in the middle of the answer's body is turned; headers stay (ETag and checksums name the true body).
    CorruptBody,
    /// The answer's ETag is that of something else.
    WrongETag,
    /// A header of the answer is set to this value, or removed if it is `None`.
    Header(String, Option<String>),
    /// The answer is this much later than others.
    Delay(Duration),
    /// The request is not carried out, and there is never an answer.
    Hang,
}

impl Fault {
    /// An answer with this status and code; [`Refusal::new`].
    #[must_use]
    pub fn answer(status: u16, code: &str, message: &str) -> Self {
        Self::Answer(Refusal::new(status, code, message))
    }

    /// 500 InternalError.
    #[must_use]
    pub fn internal_error() -> Self {
        Self::answer(500, "InternalError", "We encountered an internal error. Please try again.")
    }

    /// 503 SlowDown.
    #[must_use]
    pub fn slow_down() -> Self {
        Self::answer(503, "SlowDown", "Please reduce your request rate.")
    }

    /// 503 ServiceUnavailable.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::answer(503, "ServiceUnavailable", "Service is unable to handle request.")
    }

    /// 400 ExpiredToken.
    #[must_use]
    pub fn expired_token() -> Self {
        Self::answer(400, "ExpiredToken", "The provided token has expired.")
    }

    /// 403 InvalidAccessKeyId.
    #[must_use]
    pub fn invalid_access_key() -> Self {
        let message = "The AWS Access Key Id you provided does not exist in our records.";
        Self::answer(403, "InvalidAccessKeyId", message)
    }

    /// 403 SignatureDoesNotMatch.
    #[must_use]
    pub fn signature_does_not_match() -> Self {
        let message = "The request signature we calculated does not match the signature you provided.";
        Self::answer(403, "SignatureDoesNotMatch", message)
    }

    /// 403 AccessDenied.
    #[must_use]
    pub fn access_denied() -> Self {
        Self::answer(403, "AccessDenied", "Access Denied")
    }

    /// 404 NoSuchBucket.
    #[must_use]
    pub fn no_such_bucket() -> Self {
        Self::answer(404, "NoSuchBucket", "The specified bucket does not exist")
    }

    /// 409 ConditionalRequestConflict, which S3 gives to writers that race for one key.
    #[must_use]
    pub fn conflict() -> Self {
        let message =
            "The conditional request cannot succeed due to a conflicting operation against this resource.";
        Self::answer(409, "ConditionalRequestConflict", message)
    }

    /// 301 PermanentRedirect: the bucket is in `region`.
    #[must_use]
    pub fn moved_to(region: &str) -> Self {
        let message =
            "The bucket you are attempting to access must be addressed using the specified endpoint.";
        let refusal = Refusal::new(301, "PermanentRedirect", message)
            .element("Endpoint", &format!("s3.{region}.amazonaws.com"))
            .header("x-amz-bucket-region", region);
        Self::Answer(refusal)
    }

    /// 400 AuthorizationHeaderMalformed: signed for another region than `region`.
    #[must_use]
    pub fn signed_for_wrong_region(region: &str) -> Self {
        Self::Answer(Refusal::wrong_region(region))
    }

    /// 200 with an InternalError inside.
    #[must_use]
    pub fn error_inside() -> Self {
        let message = "We encountered an internal error. Please try again.";
        Self::ErrorInside(Refusal::new(500, "InternalError", message))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(refusal) => write!(f, "{} {}", refusal.status, refusal.code),
            Self::ErrorInside(refusal) => write!(f, "200 with {} inside", refusal.code),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

/// An answer that refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) elements: Vec<(String, String)>,
}

impl Refusal {
    /// A refusal with this status, and with code and message in its document.
    #[must_use]
    pub fn new(status: u16, code: &str, message: &str) -> Self {
        Self { status, code: code.into(), message: message.into(), headers: Vec::new(), elements: Vec::new() }
    }

    /// The same with a header, such as `Retry-After`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same with an element in the S3 error document, such as `Region`.
    #[must_use]
    pub fn element(mut self, name: &str, text: &str) -> Self {
        self.elements.push((name.into(), text.into()));
        self
    }

    pub(crate) fn wrong_region(region: &str) -> Self {
        let message =
            format!("The authorization header is malformed; the region is wrong; expecting '{region}'");
        Self::new(400, "AuthorizationHeaderMalformed", &message)
            .element("Region", region)
            .header("x-amz-bucket-region", region)
    }
}

/// Which requests a fault befalls: of those that match operation and key, all, or some by their number.
///
/// ```
/// use ncz_test_servers::{Fault, Operation, Rule};
///
/// let rule = Rule::new(Fault::slow_down()).operation(Operation::GetObject).keys(|key| key.ends_with("/0.0")).first(2);
/// ```
#[derive(Clone)]
pub struct Rule {
    fault: Fault,
    operations: Vec<Operation>,
    key: Option<Arc<KeyTest>>,
    numbers: Numbers,
    seen: u64,
}

type KeyTest = dyn Fn(&str) -> bool + Send + Sync;

#[derive(Debug, Clone, Copy)]
enum Numbers {
    Every,
    Nth(u64),
    From(u64),
    First(u64),
    EveryNth(u64),
}

impl Rule {
    /// The fault befalls every request until it is narrowed.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self { fault, operations: Vec::new(), key: None, numbers: Numbers::Every, seen: 0 }
    }

    /// Only this operation; called again, that one too.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operations.push(operation);
        self
    }

    /// Only this key (of a file server: the path without the leading slash).
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        let key = key.to_owned();
        self.keys(move |other| other == key)
    }

    /// Only keys for which `matches` holds.
    #[must_use]
    pub fn keys(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.key = Some(Arc::new(matches));
        self
    }

    /// Only the `n`-th request (from 1) that matches, counted from when the rule was added.
    #[must_use]
    pub fn nth(self, n: u64) -> Self {
        Self { numbers: Numbers::Nth(n), ..self }
    }

    /// The `n`-th request (from 1) that matches and all later ones.
    #[must_use]
    pub fn from(self, n: u64) -> Self {
        Self { numbers: Numbers::From(n), ..self }
    }

    /// The next `k` requests that match.
    #[must_use]
    pub fn first(self, k: u64) -> Self {
        Self { numbers: Numbers::First(k), ..self }
    }

    /// Every `n`-th request that matches: the `n`-th, the `2n`-th and so on.
    #[must_use]
    pub fn every_nth(self, n: u64) -> Self {
        Self { numbers: Numbers::EveryNth(n.max(1)), ..self }
    }

    /// Counts a request that matches, and gives the fault if it befalls this one.
    pub(crate) fn fault(&mut self, operation: Operation, key: Option<&str>) -> Option<&Fault> {
        if !self.operations.is_empty() && !self.operations.contains(&operation) {
            return None;
        }
        if let Some(matches) = &self.key
            && !key.is_some_and(|key| matches(key))
        {
            return None;
        }
        self.seen += 1;
        let befalls = match self.numbers {
            Numbers::Every => true,
            Numbers::Nth(n) => self.seen == n,
            Numbers::From(n) => self.seen >= n,
            Numbers::First(k) => self.seen <= k,
            Numbers::EveryNth(n) => self.seen.is_multiple_of(n),
        };
        befalls.then_some(&self.fault)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule")
            .field("fault", &self.fault)
            .field("operations", &self.operations)
            .field("numbers", &self.numbers)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_counts_only_what_it_matches() {
        let mut rule = Rule::new(Fault::Reset).operation(Operation::GetObject).key("a").nth(2);
        assert_eq!(rule.fault(Operation::GetObject, Some("a")), None);
        assert_eq!(rule.fault(Operation::PutObject, Some("a")), None);
        assert_eq!(rule.fault(Operation::GetObject, Some("b")), None);
        assert_eq!(rule.fault(Operation::GetObject, Some("a")), Some(&Fault::Reset));
        assert_eq!(rule.fault(Operation::GetObject, Some("a")), None);
    }

    #[test]
    fn numbers_choose_among_the_requests() {
        let hits = |mut rule: Rule| -> Vec<u64> {
            (1..=6).filter(|_| rule.fault(Operation::Get, None).is_some()).collect()
        };
        assert_eq!(hits(Rule::new(Fault::Reset)), [1, 2, 3, 4, 5, 6]);
        assert_eq!(hits(Rule::new(Fault::Reset).from(5)), [5, 6]);
        assert_eq!(hits(Rule::new(Fault::Reset).first(2)), [1, 2]);
        assert_eq!(hits(Rule::new(Fault::Reset).every_nth(3)), [3, 6]);
    }
}
