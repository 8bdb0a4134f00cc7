use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::connection::Connection;
use crate::control::Tracker;

/// The pause before a connection is lost, so that what was sent before arrives.
const FLUSH: Duration = Duration::from_millis(20);

/// The body of an answer: all of it, or as much and as slowly as a fault wants.
pub(crate) struct Outgoing {
    left: Bytes,
    piece: usize,
    pause: Option<Duration>,
    end: End,
    sleep: Option<Pin<Box<Sleep>>>,
    connection: Arc<Connection>,
    tracker: Tracker,
}

/// What happens after the last byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    Reset,
    Close,
}

impl Outgoing {
    pub(crate) fn new(bytes: Bytes, connection: Arc<Connection>, mut tracker: Tracker) -> Self {
        if bytes.is_empty() {
            tracker.end();
        }
        Self {
            left: bytes,
            piece: usize::MAX,
            pause: None,
            end: End::Whole,
            sleep: None,
            connection,
            tracker,
        }
    }

    /// Sends the first `length` bytes only, then ends so.
    pub(crate) fn cut(mut self, length: usize, end: End) -> Self {
        self.left.truncate(length);
        self.end = end;
        if self.left.is_empty() {
            self.sleep = Some(Box::pin(tokio::time::sleep(FLUSH)));
        }
        self
    }

    /// Sends pieces of this size with a pause after each.
    pub(crate) fn slow(mut self, piece: usize, pause: Duration) -> Self {
        self.piece = piece.max(1);
        self.pause = Some(pause);
        self
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(sleep) = &mut self.sleep {
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        if self.left.is_empty() {
            if self.end == End::Whole {
                return Poll::Ready(None);
            }
            self.connection.lose(self.end == End::Reset);
            return Poll::Pending;
        }
        let length = self.piece.min(self.left.len());
        let piece = self.left.split_to(length);
        self.tracker.sent(length);
        let pause = if !self.left.is_empty() {
            self.pause
        } else if self.end == End::Whole {
            self.tracker.end();
            None
        } else {
            Some(FLUSH)
        };
        self.sleep = pause.map(|pause| Box::pin(tokio::time::sleep(pause)));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.end == End::Whole
    }

    fn size_hint(&self) -> SizeHint {
        // an answer that is cut names its length in a header
        if self.end == End::Whole {
            SizeHint::with_exact(self.left.len() as u64)
        } else {
            SizeHint::default()
        }
    }
}
