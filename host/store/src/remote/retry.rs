//! Retries with increasing pauses.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

use super::attempts::describe_attempts;
use super::body::BodyError;
use super::options::RemoteOptions;
use crate::error::{ObjectLocation, ServiceError, StoreError};

/// The longest pause of our own choice.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// The most attempts to reach a service that never answered.
const TRIES_UNREACHED: u32 = 2;

/// The most attempts that may time out.
const TRIES_SILENT: u32 = 2;

/// The longest pause that a service may ask for.
const LONGEST_WISH: Duration = Duration::from_secs(60);

/// Why one attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another attempt would fail too.
    Final(StoreError),
    /// The service cannot be reached, and never answered before: at most one more attempt.
    Unreached {
        /// What happened, and the remedy where there is one.
        reason: String,
        /// What led to it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The request timed out: at most one more attempt, since each takes long.
    Silent {
        /// What happened.
        reason: String,
        /// What led to it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Another attempt may succeed.
    Again {
        /// What happened, and the remedy where there is one.
        reason: String,
        /// The pause that the service asks for (`Retry-After`).
        wish: Option<Duration>,
        /// What led to it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl Failure {
    /// A failure that may pass.
    pub(crate) fn again(reason: impl Into<String>) -> Self {
        Self::Again { reason: reason.into(), wish: None, source: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final(error) => error.fmt(f),
            Self::Unreached { reason, .. } | Self::Silent { reason, .. } | Self::Again { reason, .. } => {
                f.write_str(reason)
            }
        }
    }
}

impl From<BodyError> for Failure {
    fn from(fault: BodyError) -> Self {
        match fault {
            BodyError::Refused(error) => Self::Final(error),
            BodyError::Broken { reason } => Self::again(reason),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

/// The attempts of one request.
#[derive(Debug)]
pub(crate) struct Retry {
    most: u32,
    first_pause: Duration,
    begun: Instant,
    failed: u32,
    silent: u32,
}

impl Retry {
    pub(crate) fn new(options: &RemoteOptions) -> Self {
        Self {
            most: options.attempts.max(1),
            first_pause: options.first_pause,
            begun: Instant::now(),
            failed: 0,
            silent: 0,
        }
    }

    /// The number of the current attempt, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.failed + 1
    }

    /// Returns the pause before the next attempt, or the error if there is none.
    ///
    /// The pause is drawn evenly from nothing to a bound that doubles each time ("full jitter"), so that many clients
    /// that failed together do not retry together. If the service asks for a longer pause, it is at least that long;
    /// if it asks for more than a minute, this gives up.
    pub(crate) fn pause(
        &mut self,
        failure: Failure,
        action: &'static str,
        at: impl Fn() -> ObjectLocation,
    ) -> Result<Duration, StoreError> {
        let (most, mut reason, wish, source) = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Unreached { reason, source } => (self.most.min(TRIES_UNREACHED), reason, None, source),
            Failure::Silent { reason, source } => {
                self.silent += 1;
                let most = if self.silent < TRIES_SILENT { self.most } else { 0 };
                (most, reason, None, source)
            }
            Failure::Again { reason, wish, source } => (self.most, reason, wish, source),
        };
        self.failed += 1;
        let wish = wish.unwrap_or_default();
        if self.failed < most && wish <= LONGEST_WISH {
            return Ok(wish.saturating_add(drawn(self.bound())));
        }
        if wish > LONGEST_WISH {
            reason = format!("{reason}; the service asks to retry after {} s", wish.as_secs());
        }
        let attempts = describe_attempts(self.failed, self.begun.elapsed());
        Err(StoreError::Service(Box::new(ServiceError { action, at: at(), attempts, reason, source })))
    }

    fn bound(&self) -> Duration {
        let doubled = 1u32.checked_shl(self.failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_pause.saturating_mul(doubled).min(LONGEST_PAUSE)
    }
}

/// Whether the service cannot be reached: the connection was refused, or the host name has no address.
pub(crate) fn is_unreached(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        // hyper has no other sign for a name that was not found than these words
        if error.downcast_ref().is_some_and(refused) || error.to_string().starts_with("dns error") {
            return true;
        }
        next = error.source();
    }
    false
}

/// Evenly from zero to `bound`.
fn drawn(bound: Duration) -> Duration {
    // a new RandomState is random, which is all that is needed here
    let random = RandomState::new().hash_one(0u8) >> 11;
    bound.mul_f64(random as f64 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(attempts: u32) -> Retry {
        Retry::new(&RemoteOptions {
            attempts,
            first_pause: Duration::from_millis(100),
            ..RemoteOptions::default()
        })
    }

    #[test]
    fn pauses_lie_below_a_bound_that_doubles_and_use_all_of_it() {
        let at = || ObjectLocation::store("test");
        let mut longest = [Duration::ZERO; 12];
        for _ in 0..400 {
            let mut retry = retry(13);
            for (n, longest) in longest.iter_mut().enumerate() {
                let bound = Duration::from_millis(100 << n).min(LONGEST_PAUSE);
                let pause = retry.pause(Failure::again("no"), "read", at).unwrap();
                assert!(pause <= bound, "{n}: {pause:?}");
                *longest = pause.max(*longest);
            }
            assert!(retry.pause(Failure::again("no"), "read", at).is_err());
        }
        for (n, longest) in longest.into_iter().enumerate() {
            let bound = Duration::from_millis(100 << n).min(LONGEST_PAUSE);
            assert!(longest > bound.mul_f64(0.9), "{n}: {longest:?}");
        }
    }

    #[test]
    fn what_a_service_wishes_is_granted_up_to_a_minute() {
        let at = || ObjectLocation::store("test");
        let wish = |seconds| Failure::Again {
            reason: "503 Slow Down".to_owned(),
            wish: Some(Duration::from_secs(seconds)),
            source: None,
        };
        assert!(retry(2).pause(wish(60), "read", at).unwrap() >= Duration::from_secs(60));
        let error = retry(2).pause(wish(61), "read", at).unwrap_err().to_string();
        assert_eq!(
            error,
            "could not read test (tried once): 503 Slow Down; the service asks to retry after 61 s"
        );
    }

    #[test]
    fn a_service_that_is_not_there_is_looked_for_twice() {
        let at = || ObjectLocation::store("test");
        let unreached = || Failure::Unreached { reason: "refused".to_owned(), source: None };
        for (attempts, pauses) in [(1, 0), (2, 1), (5, 1)] {
            let mut retry = retry(attempts);
            for _ in 0..pauses {
                assert!(retry.pause(unreached(), "read", at).is_ok(), "{attempts}");
            }
            assert!(retry.pause(unreached(), "read", at).is_err(), "{attempts}");
        }
    }

    #[test]
    fn a_service_that_is_silent_is_asked_twice() {
        let at = || ObjectLocation::store("test");
        let silent = || Failure::Silent { reason: "silent".to_owned(), source: None };
        let mut retry = retry(5);
        assert!(retry.pause(silent(), "read", at).is_ok());
        assert!(retry.pause(Failure::again("no"), "read", at).is_ok());
        let error = retry.pause(silent(), "read", at).unwrap_err().to_string();
        assert!(error.contains("tried 3 times") && error.ends_with(": silent"), "{error}");
    }

    #[test]
    fn a_final_failure_is_final() {
        let at = || ObjectLocation::store("test");
        let error = retry(5).pause(StoreError::ReadOnly { at: at() }.into(), "read", at).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }));
    }
}
