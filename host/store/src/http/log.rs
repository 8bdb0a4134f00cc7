//! Trace events of requests.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};

use super::range::RequestedRange;
use crate::key::Key;
use crate::remote::Failure;

/// Emits one trace event for each request, without secrets; the last one when it is dropped.
pub(super) struct RequestLog<'a> {
    store: &'a str,
    key: Key<'a>,
    attempt: u32,
    pending: Option<Pending>,
}

struct Pending {
    method: Method,
    wanted: RequestedRange,
    begun: Instant,
    status: Option<u16>,
    bytes: u64,
    error: Option<String>,
}

impl<'a> RequestLog<'a> {
    pub(super) fn new(store: &'a str, key: Key<'a>, attempt: u32) -> Self {
        Self { store, key, attempt, pending: None }
    }

    /// Notes that a request is sent; the one before it is complete.
    pub(super) fn begin(&mut self, method: &Method, wanted: RequestedRange) {
        self.emit();
        self.pending = Some(Pending {
            method: method.clone(),
            wanted,
            begun: Instant::now(),
            status: None,
            bytes: 0,
            error: None,
        });
    }

    /// Notes that the response has begun.
    pub(super) fn answered(&mut self, status: StatusCode) {
        if let Some(pending) = &mut self.pending {
            pending.status = Some(status.as_u16());
        }
    }

    /// Counts bytes of the body.
    pub(super) fn received(&mut self, bytes: usize) {
        if let Some(pending) = &mut self.pending {
            pending.bytes += bytes as u64;
        }
    }

    /// Notes that the attempt failed.
    pub(super) fn failed(&mut self, failure: &Failure) {
        if let Some(pending) = &mut self.pending {
            pending.error = Some(failure.to_string());
        }
    }

    /// Reports that another attempt follows.
    pub(super) fn retried(store: &str, key: Key<'_>, attempt: u32, pause: Duration, why: &str) {
        let pause_ms = pause.as_millis() as u64;
        tracing::info!(target: "ncz_store::http", store, key = key.as_str(), attempt, pause_ms, why, "trying again");
    }

    fn emit(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        tracing::debug!(
            target: "ncz_store::http",
            method = pending.method.as_str(),
            store = self.store,
            key = self.key.as_str(),
            range = %pending.wanted,
            status = pending.status,
            bytes = pending.bytes,
            ms = pending.begun.elapsed().as_millis() as u64,
            attempt = self.attempt,
            error = pending.error,
            "request"
        );
    }
}

impl Drop for RequestLog<'_> {
    fn drop(&mut self) {
        self.emit();
    }
}
