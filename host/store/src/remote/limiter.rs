//! Limits on the requests and bytes in flight.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::RemoteOptions;

/// Bytes are counted in pages, so that a number of 32 bits suffices.
const PAGE: u64 = 4096;

/// The bytes reserved for an object of unknown length: the caller's limit is often far above its length, and would
/// block all other requests.
pub(crate) const UNKNOWN_LEN_RESERVE: u64 = 4 << 20;

/// Limits the number of requests in flight of a store, and their bytes.
///
/// A request first waits for a [permit](Self::permit), then, when it knows its number of bytes,
/// [reserves](Permit::reserve) them; both are granted in the order of the calls. A request with reserved bytes waits only
/// for its own connection, so there is no deadlock. An object above the limit waits until nothing else is in flight.
#[derive(Debug, Clone)]
pub(crate) struct Limiter {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    pages: u32,
}

impl Limiter {
    pub(crate) fn new(options: &RemoteOptions) -> Self {
        let pages = u32::try_from(options.bytes_in_flight / PAGE).unwrap_or(u32::MAX).max(1);
        // a semaphore counts a little less far than its number goes
        let pages = pages.min(u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        Self {
            requests: Arc::new(Semaphore::new(options.in_flight.clamp(1, Semaphore::MAX_PERMITS))),
            bytes: Arc::new(Semaphore::new(pages as usize)),
            pages,
        }
    }

    /// Waits until one more request may be sent.
    pub(crate) async fn permit(&self) -> Permit {
        let request = Arc::clone(&self.requests).acquire_owned().await.ok();
        Permit { request, room: None, limiter: self.clone() }
    }

    /// The budget for the requests of one `read_many`.
    pub(crate) fn read_ahead(&self) -> ReadAhead {
        ReadAhead { bytes: Some(Arc::new(Semaphore::new(self.pages as usize))), held: None }
    }

    fn pages_of(&self, len: u64) -> u32 {
        u32::try_from(len.div_ceil(PAGE)).unwrap_or(u32::MAX).clamp(1, self.pages)
    }
}

/// The permission to have one request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    request: Option<OwnedSemaphorePermit>,
    room: Option<OwnedSemaphorePermit>,
    limiter: Limiter,
}

impl Permit {
    /// Waits until `len` more bytes may be in flight. A read calls it when the length of the response is known, before
    /// its body is read; without a length for the caller's limit, at most [`UNKNOWN_LEN_RESERVE`]. A write calls it
    /// before it is sent.
    pub(crate) async fn reserve(&mut self, len: u64, read_ahead: &mut ReadAhead) {
        let pages = self.limiter.pages_of(len);
        self.room = None;
        read_ahead.held = None;
        if let Some(bytes) = &read_ahead.bytes {
            read_ahead.held = Arc::clone(bytes).try_acquire_many_owned(pages).ok();
            if read_ahead.held.is_none() {
                // The bytes that are ahead wait for the caller's code, which may send requests itself.
                self.request = None;
                read_ahead.held = Arc::clone(bytes).acquire_many_owned(pages).await.ok();
            }
        }
        self.room = Arc::clone(&self.limiter.bytes).acquire_many_owned(pages).await.ok();
    }
}

/// The budget of bytes that one `read_many` may read ahead of its caller's code: as many as all requests together may
/// have in flight. [`ReadAhead::none`] has no limit.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    bytes: Option<Arc<Semaphore>>,
    /// Released when the caller's code has seen the bytes.
    held: Option<OwnedSemaphorePermit>,
}

impl ReadAhead {
    /// For a single request.
    pub(crate) fn none() -> Self {
        Self { bytes: None, held: None }
    }

    /// The same budget for another request.
    pub(crate) fn share(&self) -> Self {
        Self { bytes: self.bytes.clone(), held: None }
    }
}
