//! What the requests of a store share: where, as whom, how often.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use super::client::{Connection, region_of};
use super::config::S3Config;
use super::failure::{Failure, Kind};
use crate::error::{Location, ServiceFailure, StoreError};
use crate::key::{Key, Prefix};
use crate::remote::{self, Limiter, Retry};

/// The longest key in S3, in bytes.
const MAX_NAME: usize = 1024;

/// How often the service may point to another region in one request.
const MOST_MOVES: u32 = 3;

/// Below this many bytes in a second a connection that takes a body counts as lost.
const SLOWEST: u64 = 256 << 10;

/// As many bytes as are waited for as long as for an answer that may take the service five minutes.
pub(super) const LONG: u64 = 300 * SLOWEST;

pub(super) struct Shared {
    /// The place that messages name.
    pub(super) config: S3Config,
    /// What the names of the objects begin with: the prefix of the place, or one beside it.
    pub(super) prefix: String,
    pub(super) connection: Arc<Connection>,
    pub(super) limiter: Limiter,
}

impl Shared {
    /// The same service and bucket with another prefix.
    pub(super) fn beside(&self, prefix: String) -> Self {
        let (config, connection) = (self.config.clone(), Arc::clone(&self.connection));
        Self { config, prefix, connection, limiter: self.limiter.clone() }
    }

    /// The name of an object in the bucket.
    pub(super) fn name(&self, key: Key<'_>) -> Result<String, StoreError> {
        let name = self.below(key.as_str());
        if name.len() > MAX_NAME {
            let at = Location::object(self, key);
            return Err(StoreError::KeyTooLong { at, len: name.len(), most: MAX_NAME });
        }
        Ok(name)
    }

    /// The name in the bucket of what is called so in the dataset.
    pub(super) fn below(&self, text: &str) -> String {
        if self.prefix.is_empty() { text.to_owned() } else { format!("{}/{text}", self.prefix) }
    }

    /// What the names of all objects below a prefix begin with.
    pub(super) fn start(&self, prefix: Prefix<'_>) -> String {
        match (self.prefix.as_str(), prefix.as_str()) {
            ("", "") => String::new(),
            ("", below) | (below, "") => format!("{below}/"),
            (above, below) => format!("{above}/{below}/"),
        }
    }

    pub(super) fn at(&self, key: Key<'_>) -> Location {
        Location::object(self, key)
    }

    /// Begins the tries of a request.
    pub(super) fn tries<'a>(&'a self, what: What<'a>) -> Tries<'a> {
        let retry = Retry::new(&self.config.remote);
        Tries {
            shared: self,
            what,
            retry,
            begun: Instant::now(),
            region: String::new(),
            moves: 0,
            maybe_done: false,
        }
    }

    /// The error to end with.
    fn error(&self, action: &'static str, at: Location, failure: Failure) -> StoreError {
        if let Some(refused) = failure.refused {
            return *refused;
        }
        let text = failure.text;
        let denied = |at, reason| StoreError::Denied { at, reason };
        let service = |at, reason| {
            let tries = remote::tried(1, Duration::ZERO);
            StoreError::Service(Box::new(ServiceFailure { action, at, tries, reason, source: None }))
        };
        match failure.kind {
            Kind::Exists => StoreError::AlreadyExists { at },
            Kind::NoBucket => {
                let S3Config { bucket, endpoint, .. } = &self.config;
                let whose = endpoint.as_deref().unwrap_or("Amazon S3");
                service(
                    at,
                    format!(
                        "there is no bucket {bucket:?} at {whose} ({text}): check its name and the endpoint, or create it"
                    ),
                )
            }
            Kind::NoCredentials => denied(at, text),
            Kind::Skewed => denied(at, format!("{text}: set the clock of this machine")),
            Kind::Denied => {
                let remedy = self.remedy(failure.code.as_deref());
                denied(at, format!("{text}: {remedy}"))
            }
            Kind::Elsewhere => {
                let here = self.connection.region();
                let remedy = match failure.region {
                    Some(region) if region != here => {
                        format!("the bucket is in the region {region:?}, not {here:?}: give that")
                    }
                    _ => format!(
                        "the bucket is not in the region {here:?}, or not at this endpoint: give its region and endpoint"
                    ),
                };
                denied(at, format!("{text}: {remedy}"))
            }
            _ => service(at, text),
        }
    }

    fn remedy(&self, code: Option<&str>) -> String {
        let who = self.connection.who();
        match code {
            Some("ExpiredToken" | "TokenRefreshRequired") => {
                format!("the credentials have expired; get new ones and try again. It was asked {who}")
            }
            Some("InvalidToken") => {
                format!("the session token is none of this service's. It was asked {who}")
            }
            Some("InvalidAccessKeyId") => {
                format!(
                    "the service does not know the access key: check it, and the endpoint. It was asked {who}"
                )
            }
            Some("SignatureDoesNotMatch") => format!(
                "the secret access key is not that of the access key, or something on the way changes requests. It was asked {who}"
            ),
            _ => format!(
                "it was asked {who}. To who may not list the bucket (s3:ListBucket) S3 says the same of an object that is missing"
            ),
        }
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

/// A request, for messages and traces.
#[derive(Clone)]
pub(super) struct What<'a> {
    pub(super) method: &'static str,
    /// As a verb.
    pub(super) action: &'static str,
    /// The name in the bucket.
    pub(super) name: &'a str,
    pub(super) range: Option<&'a str>,
    pub(super) at: Location,
}

/// The tries of one request.
pub(super) struct Tries<'a> {
    shared: &'a Shared,
    what: What<'a>,
    retry: Retry,
    begun: Instant,
    /// The region in which this try asks.
    region: String,
    moves: u32,
    /// A try before has failed. That leaves open whether the service did what was asked, whatever the answer was: it
    /// may be that of something in between.
    pub(super) maybe_done: bool,
}

impl Tries<'_> {
    /// The client for the next try, of which the time runs from now on.
    pub(super) async fn client(&mut self) -> Result<Client, StoreError> {
        let client = self.shared.connection.client(&self.shared.config).await;
        self.begun = Instant::now();
        let client =
            client.map_err(|failure| self.shared.error(self.what.action, self.what.at.clone(), failure))?;
        self.region = region_of(&client);
        Ok(client)
    }

    /// Sends a request of `len` bytes and waits for the beginning of its answer.
    pub(super) async fn send<T, E>(
        &mut self,
        len: u64,
        request: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, Failure>
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let patience =
            self.shared.config.remote.idle_timeout.saturating_add(Duration::from_secs(len / SLOWEST));
        match tokio::time::timeout(patience, request).await {
            Ok(answer) => {
                let answer = answer.map_err(Failure::of);
                if answer.as_ref().err().is_none_or(|failure| failure.status.is_some()) {
                    self.shared.connection.has_answered();
                }
                answer
            }
            Err(_) => Err(Failure::new(Kind::Silent, format!("no answer in {} s", patience.as_secs_f32()))),
        }
    }

    /// Tells of a try that succeeded.
    pub(super) fn succeeded(&self, bytes: u64) {
        let What { method, name, range, .. } = &self.what;
        let ms = self.begun.elapsed().as_millis() as u64;
        let attempt = self.retry.number();
        tracing::debug!(target: "ncz_store::s3", method = *method, key = *name, range = *range, bytes, ms, attempt, "done");
    }

    /// Tells of a try that failed for good and for a reason that is no error, such as a missing object.
    pub(super) fn ended(&self, failure: &Failure) {
        let What { method, name, range, .. } = &self.what;
        let ms = self.begun.elapsed().as_millis() as u64;
        let (attempt, status) = (self.retry.number(), failure.status);
        tracing::debug!(target: "ncz_store::s3", method = *method, key = *name, range = *range, status, ms, attempt, "{}", failure.text);
    }

    /// After a try that failed: waits before the next one, or gives the error if there is to be none.
    pub(super) async fn again(&mut self, failure: Failure) -> Result<(), StoreError> {
        self.ended(&failure);
        if failure.kind == Kind::Elsewhere
            && self.moves < MOST_MOVES
            && self.shared.connection.follow(&self.region, failure.region.as_deref())
        {
            let (bucket, region) = (&self.shared.config.bucket, self.shared.connection.region());
            tracing::info!(target: "ncz_store::s3", "the bucket {bucket:?} is in the region {region:?}");
            self.moves += 1;
            return Ok(());
        }
        self.maybe_done = true;
        let action = self.what.action;
        if !failure.kind.is_passing() || failure.refused.is_some() {
            return Err(self.shared.error(action, self.what.at.clone(), failure));
        }
        let reason = failure.text.clone();
        // one that has answered is there, and may only be away for a moment
        let again = if failure.kind == Kind::Unreached && !self.shared.connection.answered() {
            remote::Failure::Unreached { reason, source: None }
        } else if failure.kind == Kind::Silent {
            remote::Failure::Silent { reason, source: None }
        } else {
            remote::Failure::Again { reason, wish: failure.wish, source: None }
        };
        let pause = self.retry.pause(again, action, || self.what.at.clone())?;
        let What { method, name, .. } = &self.what;
        let (attempt, ms) = (self.retry.number(), pause.as_millis() as u64);
        if failure.kind == Kind::Silent {
            // It took long, and may take as long again.
            tracing::warn!(target: "ncz_store::s3", "{}: {}; trying once more", self.what.at, failure.text);
        }
        tracing::info!(target: "ncz_store::s3", method = *method, key = *name, attempt, "{}: again in {ms} ms", failure.text);
        tokio::time::sleep(pause).await;
        Ok(())
    }
}
