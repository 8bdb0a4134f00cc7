//! Trying again, later and later.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{Duration, Instant};

use super::body::BodyFault;
use super::options::RemoteOptions;
use super::tries::tried;
use crate::error::{Location, ServiceFailure, StoreError};

/// The longest pause of our own choice.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// How often a service is looked for that is not there.
const TRIES_UNREACHED: u32 = 2;

/// How often a service is asked that says nothing until the time is up.
const TRIES_SILENT: u32 = 2;

/// The longest pause that a service may ask for.
const LONGEST_WISH: Duration = Duration::from_secs(60);

/// Why one try gave nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another one would not either.
    Final(StoreError),
    /// Nobody is there, nor was before: more than another one is a waste of time.
    Unreached {
        /// What happened, and the remedy where there is one.
        reason: String,
        /// What led to it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Nothing came for the whole time that a request is waited for: more than one other try takes minutes.
    Silent {
        /// What happened.
        reason: String,
        /// What led to it.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Another one may.
    Again {
        /// What happened, and the remedy where there is one.
        reason: String,
        /// How long the service wants to be left alone.
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

impl From<BodyFault> for Failure {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::Refused(error) => Self::Final(error),
            BodyFault::Broken { reason } => Self::again(reason),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

/// The tries of one request.
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
            most: options.tries.max(1),
            first_pause: options.first_pause,
            begun: Instant::now(),
            failed: 0,
            silent: 0,
        }
    }

    /// The number of the try that is under way, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.failed + 1
    }

    /// After a try that failed: the pause before the next, or the error if there is to be none.
    ///
    /// The pause is drawn evenly from nothing to a bound that doubles each time ("full jitter"), so that many clients
    /// that failed together do not come back together. A service that wants to be left alone for longer is left alone
    /// for at least that long; if it wants more than a minute, this gives up.
    pub(crate) fn pause(
        &mut self,
        failure: Failure,
        action: &'static str,
        at: impl Fn() -> Location,
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
            reason = format!("{reason}; the service wants to be left alone for {} s", wish.as_secs());
        }
        let tries = tried(self.failed, self.begun.elapsed());
        Err(StoreError::Service(Box::new(ServiceFailure { action, at: at(), tries, reason, source })))
    }

    fn bound(&self) -> Duration {
        let doubled = 1u32.checked_shl(self.failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_pause.saturating_mul(doubled).min(LONGEST_PAUSE)
    }
}

/// Whether nobody is there: the connection was refused, or no address is known of the host.
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

    fn retry(tries: u32) -> Retry {
        Retry::new(&RemoteOptions {
            tries,
            first_pause: Duration::from_millis(100),
            ..RemoteOptions::default()
        })
    }

    #[test]
    fn pauses_lie_below_a_bound_that_doubles_and_use_all_of_it() {
        let at = || Location::store("test");
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
        let at = || Location::store("test");
        let wish = |seconds| Failure::Again {
            reason: "503 Slow Down".to_owned(),
            wish: Some(Duration::from_secs(seconds)),
            source: None,
        };
        assert!(retry(2).pause(wish(60), "read", at).unwrap() >= Duration::from_secs(60));
        let error = retry(2).pause(wish(61), "read", at).unwrap_err().to_string();
        assert_eq!(
            error,
            "could not read test (tried once): 503 Slow Down; the service wants to be left alone for 61 s"
        );
    }

    #[test]
    fn a_service_that_is_not_there_is_looked_for_twice() {
        let at = || Location::store("test");
        let unreached = || Failure::Unreached { reason: "refused".to_owned(), source: None };
        for (tries, pauses) in [(1, 0), (2, 1), (5, 1)] {
            let mut retry = retry(tries);
            for _ in 0..pauses {
                assert!(retry.pause(unreached(), "read", at).is_ok(), "{tries}");
            }
            assert!(retry.pause(unreached(), "read", at).is_err(), "{tries}");
        }
    }

    #[test]
    fn a_service_that_is_silent_is_asked_twice() {
        let at = || Location::store("test");
        let silent = || Failure::Silent { reason: "silent".to_owned(), source: None };
        let mut retry = retry(5);
        assert!(retry.pause(silent(), "read", at).is_ok());
        assert!(retry.pause(Failure::again("no"), "read", at).is_ok());
        let error = retry.pause(silent(), "read", at).unwrap_err().to_string();
        assert!(error.contains("tried 3 times") && error.ends_with(": silent"), "{error}");
    }

    #[test]
    fn a_final_failure_is_final() {
        let at = || Location::store("test");
        let error = retry(5).pause(StoreError::ReadOnly { at: at() }.into(), "read", at).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }));
    }
}
