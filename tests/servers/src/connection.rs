use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::server::TlsStream;

use crate::body::Outgoing;

/// One connection, for those who want to lose it.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    lost: Notify,
    reset: AtomicBool,
}

impl Connection {
    /// Ends the connection without another byte: by a reset, or in good order.
    pub(crate) fn lose(&self, reset: bool) {
        self.reset.store(reset, Ordering::Release);
        self.lost.notify_one();
    }

    /// Serves requests until the client leaves or the connection is lost.
    pub(crate) async fn serve<I, S>(&self, io: I, service: S)
    where
        I: Transport,
        S: HttpService<Incoming, ResBody = Outgoing, Error = Infallible> + Unpin,
        S::Future: Unpin,
    {
        let mut connection =
            http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(io), service);
        tokio::select! {
            biased;
            // clients leave as they like: in the middle of a body, too
            _left = Pin::new(&mut connection) => {}
            () = self.lost.notified() => {
                let io = connection.into_parts().io.into_inner();
                if self.reset.load(Ordering::Acquire) {
                    io.reset_when_dropped();
                }
            }
        }
    }
}

/// What a connection runs over.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Makes closing it a reset (RST) instead of an orderly end (FIN).
    fn reset_when_dropped(&self);
}

impl Transport for TcpStream {
    fn reset_when_dropped(&self) {
        // a socket that refuses is gone already
        let _ = self.set_zero_linger();
    }
}

impl Transport for TlsStream<TcpStream> {
    fn reset_when_dropped(&self) {
        self.get_ref().0.reset_when_dropped();
    }
}

/// A future that hyper may move.
pub(crate) type Answering<T> = Pin<Box<dyn Future<Output = Result<T, Infallible>> + Send>>;
