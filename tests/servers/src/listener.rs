use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, ETAG, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::body::{End, Outgoing};
use crate::connection::{Answering, Connection};
use crate::control::{Control, Tracker};
use crate::operation::Target;
use crate::{Fault, Refusal};

/// Answers the requests of one kind of server; [`Listener`] does all that the kinds share.
pub(crate) trait Backend: Send + Sync + 'static {
    fn target(&self, parts: &Parts) -> Target;

    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Bytes>> + Send;

    /// The document of a refusal, with its type; [`refused`] adds the rest.
    fn document(&self, refusal: &Refusal) -> Response<Bytes>;
}

/// A port of this machine, and the threads that serve it until this is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Listener {
    /// Listens on 127.0.0.1; port 0 takes a free one.
    pub(crate) fn start<B: Backend>(
        port: u16,
        tls: Option<TlsAcceptor>,
        control: Control,
        backend: B,
    ) -> io::Result<Self> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(format!("test-server-{}", address.port()))
            .enable_all()
            .build()?;
        let socket = {
            let _context = runtime.enter();
            TcpListener::from_std(socket)?
        };
        runtime.spawn(accept(socket, tls, control, Arc::new(backend)));
        Ok(Self { address, runtime: Some(runtime) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // does not wait: a test may drop the server inside of another runtime
            runtime.shutdown_background();
        }
    }
}

async fn accept<B: Backend>(
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
    control: Control,
    backend: Arc<B>,
) {
    loop {
        let stream = match socket.accept().await {
            Ok((stream, _)) => stream,
            // such as too many open files: others may end
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        tokio::spawn(connect(stream, tls.clone(), control.clone(), Arc::clone(&backend)));
    }
}

async fn connect<B: Backend>(stream: TcpStream, tls: Option<TlsAcceptor>, control: Control, backend: Arc<B>) {
    let _ = stream.set_nodelay(true);
    let connection = Arc::new(Connection::default());
    let service = service_fn({
        let connection = Arc::clone(&connection);
        move |request| -> Answering<Response<Outgoing>> {
            let (control, backend, connection) =
                (control.clone(), Arc::clone(&backend), Arc::clone(&connection));
            Box::pin(
                async move { Ok::<_, Infallible>(handle(request, &control, &*backend, connection).await) },
            )
        }
    });
    match tls {
        None => connection.serve(stream, service).await,
        // a client that does not trust the certificate has left
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                connection.serve(stream, service).await;
            }
        }
    }
}

/// One request from its arrival to its answer, with what befalls it on the way.
async fn handle<B: Backend>(
    request: Request<Incoming>,
    control: &Control,
    backend: &B,
    connection: Arc<Connection>,
) -> Response<Outgoing> {
    let (parts, body) = request.into_parts();
    let target = backend.target(&parts);
    let head = parts.method == Method::HEAD;
    let arrival = control.arrive(&target, &parts);
    let tracker = arrival.tracker;
    if !arrival.latency.is_zero() {
        tokio::time::sleep(arrival.latency).await;
    }
    let request = Request::from_parts(parts, body);
    let answer = match &arrival.fault {
        Some(Fault::Reset) => return lost(&connection).await,
        Some(Fault::Hang) => return std::future::pending().await,
        Some(Fault::Answer(refusal)) => refuse(backend, request, refusal).await,
        Some(Fault::ErrorInside(refusal)) => {
            let mut answer = refuse(backend, request, refusal).await;
            *answer.status_mut() = StatusCode::OK;
            answer
        }
        Some(Fault::LoseAnswer) => {
            backend.answer(request).await;
            return lost(&connection).await;
        }
        Some(Fault::Delay(delay)) => {
            tokio::time::sleep(*delay).await;
            backend.answer(request).await
        }
        _ => backend.answer(request).await,
    };
    outgoing(answer, head, arrival.fault.as_ref(), connection, tracker)
}

async fn lost(connection: &Connection) -> Response<Outgoing> {
    connection.lose(true);
    std::future::pending().await
}

/// Refuses a request after all of it was read: a client that still writes would see a reset, not the answer.
async fn refuse<B: Backend>(backend: &B, request: Request<Incoming>, refusal: &Refusal) -> Response<Bytes> {
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    refused(backend, refusal)
}

/// A refusal with its status, headers and document.
pub(crate) fn refused<B: Backend>(backend: &B, refusal: &Refusal) -> Response<Bytes> {
    let mut answer = backend.document(refusal);
    *answer.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &refusal.headers {
        set(answer.headers_mut(), name, Some(value));
    }
    answer
}

fn outgoing(
    answer: Response<Bytes>,
    head: bool,
    fault: Option<&Fault>,
    connection: Arc<Connection>,
    tracker: Tracker,
) -> Response<Outgoing> {
    let (mut parts, mut bytes) = answer.into_parts();
    tracker.answered(parts.status.as_u16());
    let bodiless = parts.status == StatusCode::NO_CONTENT || parts.status == StatusCode::NOT_MODIFIED;
    if bodiless {
        bytes = Bytes::new();
        parts.headers.remove(CONTENT_LENGTH);
    } else if !(head && parts.headers.contains_key(CONTENT_LENGTH)) {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    }
    if head {
        bytes = Bytes::new();
    }
    match fault {
        Some(Fault::WrongETag) => {
            set(&mut parts.headers, ETAG.as_str(), Some("\"0123456789abcdef0123456789abcdef\""))
        }
        Some(Fault::Header(name, value)) => set(&mut parts.headers, name, value.as_deref()),
        Some(Fault::CorruptBody) => bytes = corrupted(&bytes),
        _ => {}
    }
    let length = bytes.len();
    let body = Outgoing::new(bytes, connection, tracker);
    let body = match fault {
        Some(Fault::ResetInBody { after }) => body.cut((*after).min(length.saturating_sub(1)), End::Reset),
        Some(Fault::ShortBody { missing }) => body.cut(length.saturating_sub(*missing), End::Close),
        Some(Fault::Trickle { bytes, every }) => body.slow(*bytes, *every),
        _ => body,
    };
    Response::from_parts(parts, body)
}

fn corrupted(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    Bytes::from(bytes)
}

fn set(headers: &mut HeaderMap, name: &str, value: Option<&str>) {
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { return };
    match value.map(HeaderValue::from_str) {
        Some(Ok(value)) => {
            headers.insert(name, value);
        }
        _ => {
            headers.remove(name);
        }
    }
}
