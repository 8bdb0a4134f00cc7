//! Concurrent requests.

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::error::StoreError;

/// Runs at most `at_most` requests at a time; the first failure cancels them all.
pub(super) struct ConcurrentRequests<F> {
    running: FuturesUnordered<F>,
    at_most: usize,
}

impl<T, F: Future<Output = Result<T, StoreError>>> ConcurrentRequests<F> {
    pub(super) fn new(at_most: usize) -> Self {
        Self { running: FuturesUnordered::new(), at_most: at_most.max(1) }
    }

    /// Starts one more as soon as fewer than `at_most` are running; returns the result of the one that ended for it.
    pub(super) async fn add(&mut self, request: F) -> Result<Option<T>, StoreError> {
        let answer = if self.running.len() >= self.at_most { self.running.next().await } else { None };
        self.running.push(request);
        answer.transpose()
    }

    /// Waits for all that are running.
    pub(super) async fn finish(mut self) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::with_capacity(self.running.len());
        while let Some(answer) = self.running.next().await {
            all.push(answer?);
        }
        Ok(all)
    }
}
