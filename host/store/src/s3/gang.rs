//! Requests side by side.

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::error::StoreError;

/// Runs so many requests at a time; the first failure ends them all.
pub(super) struct Gang<F> {
    running: FuturesUnordered<F>,
    at_most: usize,
}

impl<T, F: Future<Output = Result<T, StoreError>>> Gang<F> {
    pub(super) fn new(at_most: usize) -> Self {
        Self { running: FuturesUnordered::new(), at_most: at_most.max(1) }
    }

    /// Begins one more, when there is room; gives the answer of the one that made room.
    pub(super) async fn add(&mut self, request: F) -> Result<Option<T>, StoreError> {
        let answer = if self.running.len() >= self.at_most { self.running.next().await } else { None };
        self.running.push(request);
        answer.transpose()
    }

    /// Waits for the others.
    pub(super) async fn rest(mut self) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::with_capacity(self.running.len());
        while let Some(answer) = self.running.next().await {
            all.push(answer?);
        }
        Ok(all)
    }
}
