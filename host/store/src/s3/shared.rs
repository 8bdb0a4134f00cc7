//! What the requests of a store share: location, client, limits, and the attempts of a request.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use super::client::{Connection, region_of};
use super::config::S3Config;
use super::failure::{Failure, Kind};
use crate::error::{ObjectLocation, ServiceError, StoreError};
use crate::key::{Key, Prefix};
use crate::remote::{self, Limiter, Retry};

/// The longest key in S3, in bytes.
const MAX_NAME: usize = 1024;

/// The most changes of the region in one request.
const MOST_MOVES: u32 = 3;

/// Below this many bytes in a second a connection that takes a body counts as lost.
const SLOWEST: u64 = 256 << 10;

/// As many bytes as are waited for as long as for an answer that may take the service five minutes.
pub(super) const LONG: u64 = 300 * SLOWEST;

pub(super) struct Shared {
    /// The configuration; it names the dataset in messages.
    pub(super) config: S3Config,
    /// The prefix of object names: that of the configuration, or that of a dataset that is to replace it.
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
            let at = ObjectLocation::object(self, key);
            return Err(StoreError::KeyTooLong { at, len: name.len(), most: MAX_NAME });
        }
        Ok(name)
    }

    /// The name in the bucket for a name in the dataset.
    pub(super) fn below(&self, text: &str) -> String {
        if self.prefix.is_empty() { text.to_owned() } else { format!("{}/{text}", self.prefix) }
    }

    /// The beginning of the names of all objects below a prefix.
    pub(super) fn start(&self, prefix: Prefix<'_>) -> String {
        match (self.prefix.as_str(), prefix.as_str()) {
            ("", "") => String::new(),
            ("", below) | (below, "") => format!("{below}/"),
            (above, below) => format!("{above}/{below}/"),
        }
    }

    pub(super) fn at(&self, key: Key<'_>) -> ObjectLocation {
        ObjectLocation::object(self, key)
    }

    /// Begins the attempts of a request.
    pub(super) fn attempts<'a>(&'a self, operation: Operation<'a>) -> Attempts<'a> {
        let retry = Retry::new(&self.config.remote);
        Attempts {
            shared: self,
            operation,
            retry,
            begun: Instant::now(),
            region: String::new(),
            moves: 0,
            maybe_done: false,
        }
    }

    /// The error that is returned for a failure.
    fn error(&self, action: &'static str, at: ObjectLocation, failure: Failure) -> StoreError {
        if let Some(refused) = failure.refused {
            return *refused;
        }
        let text = failure.text;
        let denied = |at, reason| StoreError::Denied { at, reason };
        let service = |at, reason| {
            let attempts = remote::describe_attempts(1, Duration::ZERO);
            StoreError::Service(Box::new(ServiceError { action, at, attempts, reason, source: None }))
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
            Kind::OtherRegion => {
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
        let reason = match code {
            Some("ExpiredToken" | "TokenRefreshRequired") => {
                format!(
                    "the credentials have expired; get new ones and try again. The request was sent {who}"
                )
            }
            Some("InvalidToken") => {
                format!("the session token is not one of this service. The request was sent {who}")
            }
            Some("InvalidAccessKeyId") => {
                format!(
                    "the service does not know the access key: check it, and the endpoint. The request was sent {who}"
                )
            }
            Some("SignatureDoesNotMatch") => format!(
                "the secret access key is not that of the access key, or a proxy changes requests. The request was sent {who}"
            ),
            _ => format!(
                "the request was sent {who}. Without the permission to list the bucket (s3:ListBucket) S3 gives the same answer for an object that does not exist"
            ),
        };
        match who.starts_with("anonymously") {
            true => reason,
            // Some servers refuse every request that is signed.
            false => format!("{reason}. Public data can be read anonymously (#aws.profile=no)"),
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
pub(super) struct Operation<'a> {
    pub(super) method: &'static str,
    /// As a verb.
    pub(super) action: &'static str,
    /// The name in the bucket.
    pub(super) name: &'a str,
    pub(super) range: Option<&'a str>,
    pub(super) at: ObjectLocation,
}

/// The attempts of one request.
pub(super) struct Attempts<'a> {
    shared: &'a Shared,
    operation: Operation<'a>,
    retry: Retry,
    begun: Instant,
    /// The region of this attempt.
    region: String,
    moves: u32,
    /// A try before has failed. That leaves open whether the service did what was asked, whatever the answer was: it
    /// may be that of something in between.
    pub(super) maybe_done: bool,
}

impl Attempts<'_> {
    /// Returns the client for the next attempt, whose time starts now.
    pub(super) async fn client(&mut self) -> Result<Client, StoreError> {
        let client = self.shared.connection.client(&self.shared.config).await;
        self.begun = Instant::now();
        let client = client.map_err(|failure| {
            self.shared.error(self.operation.action, self.operation.at.clone(), failure)
        })?;
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
                    self.shared.connection.note_answer();
                }
                answer
            }
            Err(_) => Err(Failure::new(Kind::Silent, format!("no answer in {} s", patience.as_secs_f32()))),
        }
    }

    /// Reports an attempt that succeeded.
    pub(super) fn succeeded(&self, bytes: u64) {
        let Operation { method, name, range, .. } = &self.operation;
        let ms = self.begun.elapsed().as_millis() as u64;
        let attempt = self.retry.number();
        tracing::debug!(target: "ncz_store::s3", method = *method, key = *name, range = *range, bytes, ms, attempt, "done");
    }

    /// Reports an attempt with a final result that is not an error, such as a missing object.
    pub(super) fn ended(&self, failure: &Failure) {
        let Operation { method, name, range, .. } = &self.operation;
        let ms = self.begun.elapsed().as_millis() as u64;
        let (attempt, status) = (self.retry.number(), failure.status);
        tracing::debug!(target: "ncz_store::s3", method = *method, key = *name, range = *range, status, ms, attempt, "{}", failure.text);
    }

    /// Waits before the next attempt, or returns the error if there is none.
    pub(super) async fn again(&mut self, failure: Failure) -> Result<(), StoreError> {
        self.ended(&failure);
        if failure.kind == Kind::OtherRegion
            && self.moves < MOST_MOVES
            && self.shared.connection.follow(&self.region, failure.region.as_deref())
        {
            let (bucket, region) = (&self.shared.config.bucket, self.shared.connection.region());
            tracing::info!(target: "ncz_store::s3", "the bucket {bucket:?} is in the region {region:?}");
            self.moves += 1;
            return Ok(());
        }
        self.maybe_done = true;
        let action = self.operation.action;
        if !failure.kind.is_passing() || failure.refused.is_some() {
            return Err(self.shared.error(action, self.operation.at.clone(), failure));
        }
        let reason = failure.text.clone();
        // a service that has answered before is probably unavailable only for a moment
        let again = if failure.kind == Kind::Unreached && !self.shared.connection.has_answered() {
            remote::Failure::Unreached { reason, source: None }
        } else if failure.kind == Kind::Silent {
            remote::Failure::Silent { reason, source: None }
        } else {
            remote::Failure::Again { reason, wish: failure.wish, source: None }
        };
        let pause = self.retry.pause(again, action, || self.operation.at.clone())?;
        let Operation { method, name, .. } = &self.operation;
        let (attempt, ms) = (self.retry.number(), pause.as_millis() as u64);
        if failure.kind == Kind::Silent {
            // It took long, and may take as long again.
            tracing::warn!(target: "ncz_store::s3", "{}: {}; trying once more", self.operation.at, failure.text);
        }
        tracing::info!(target: "ncz_store::s3", method = *method, key = *name, attempt, "{}: again in {ms} ms", failure.text);
        tokio::time::sleep(pause).await;
        Ok(())
    }
}
