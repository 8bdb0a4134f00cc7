//! How much is on its way at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::RemoteOptions;

/// Bytes are counted in pages, so that a number of 32 bits suffices.
const PAGE: u64 = 4096;

/// The room for an object of which nobody has told the length: the most that may be taken is often far above what
/// comes, and would keep all others from moving.
pub(crate) const ROOM_OF_UNKNOWN: u64 = 4 << 20;

/// Keeps the requests of a store within their number and their bytes.
///
/// A request first waits for its [`turn`](Self::turn), then, when it knows how many bytes will move, for
/// [room](Turn::room) for them; both give way in the order in which they were asked. Nothing that holds room waits for
/// anything but its own connection, therefore nobody waits for ever. An object above the limit waits until it is alone.
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
    pub(crate) async fn turn(&self) -> Turn {
        let request = Arc::clone(&self.requests).acquire_owned().await.ok();
        Turn { request, room: None, limiter: self.clone() }
    }

    /// A window for the requests of one `read_many`.
    pub(crate) fn window(&self) -> Window {
        Window { bytes: Some(Arc::new(Semaphore::new(self.pages as usize))), held: None }
    }

    fn pages_of(&self, len: u64) -> u32 {
        u32::try_from(len.div_ceil(PAGE)).unwrap_or(u32::MAX).clamp(1, self.pages)
    }
}

/// The right to have one request on its way, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    request: Option<OwnedSemaphorePermit>,
    room: Option<OwnedSemaphorePermit>,
    limiter: Limiter,
}

impl Turn {
    /// Waits until `len` more bytes may move. To be asked once the answer tells its length (or, where it does not,
    /// for the most that would be taken, up to [`ROOM_OF_UNKNOWN`]), before its body is read; for a write before it
    /// is sent.
    pub(crate) async fn room(&mut self, len: u64, window: &mut Window) {
        let pages = self.limiter.pages_of(len);
        self.room = None;
        window.held = None;
        if let Some(bytes) = &window.bytes {
            window.held = Arc::clone(bytes).try_acquire_many_owned(pages).ok();
            if window.held.is_none() {
                // What is ahead in the window waits for the caller's code, which may send requests itself.
                self.request = None;
                window.held = Arc::clone(bytes).acquire_many_owned(pages).await.ok();
            }
        }
        self.room = Arc::clone(&self.limiter.bytes).acquire_many_owned(pages).await.ok();
    }
}

/// The bytes that one `read_many` may have read, or be reading, ahead of its caller's code: as many as all requests
/// together may have on their way. [`Window::none`] bounds nothing.
#[derive(Debug)]
pub(crate) struct Window {
    bytes: Option<Arc<Semaphore>>,
    /// Given back when the caller's code has seen the bytes.
    held: Option<OwnedSemaphorePermit>,
}

impl Window {
    /// For a single request.
    pub(crate) fn none() -> Self {
        Self { bytes: None, held: None }
    }

    /// The same window for another request.
    pub(crate) fn share(&self) -> Self {
        Self { bytes: self.bytes.clone(), held: None }
    }
}
