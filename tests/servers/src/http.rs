use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::control::Control;
use crate::http::files::Files;
use crate::listener::Listener;
use crate::{Authority, folder};

mod files;

/// How a [`HttpServer`] is started, and how it behaves; [`HttpServer::configure`] changes the latter at any time.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Serves https with a certificate of this authority instead of http.
    pub authority: Option<Authority>,
    /// What requests for parts get.
    pub ranges: Ranges,
    /// What requests for files that do not exist get.
    pub missing: Missing,
    /// User name and password that every request has to bring (basic authentication); otherwise 401.
    pub basic_auth: Option<(String, String)>,
    /// Name and value that the query of every request has to hold; otherwise 403.
    pub token: Option<(String, String)>,
    /// Redirects every request whose path (without the leading slash) starts with the first to the second and the
    /// rest of the path: `("old/", "/new/")`, or the URL of another server. The query is not passed on.
    pub redirect: Option<(String, String)>,
    /// Compresses every body with gzip for clients that accept that, with `Content-Encoding: gzip`.
    pub gzip: Gzip,
}

/// What requests for parts of a file get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ranges {
    /// The part: status 206, or 416.
    #[default]
    Served,
    /// The whole file, status 200, and no word of ranges.
    Ignored,
    /// The whole file, status 200, with `Accept-Ranges: none`.
    Declined,
    /// The part, but `Content-Range` names one that begins a byte later.
    WrongContentRange,
    /// The part with status 206, without `Content-Range`.
    NoContentRange,
    /// Parts with a beginning; a suffix of at least this many bytes of a file is refused with 416, as some servers do.
    NoSuffix,
}

/// What requests for files that do not exist get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// Status 404 with a page.
    #[default]
    NotFound,
    /// Status 403, as of a bucket served by a web server.
    Forbidden,
    /// Status 410.
    Gone,
    /// Status 200 and the start page of an application, which then says in the browser that there is nothing.
    Page,
}

/// Whether bodies are compressed on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gzip {
    /// Never.
    #[default]
    Never,
    /// For clients whose `Accept-Encoding` names gzip.
    Accepted,
    /// Always, whether the client accepts it or not.
    Always,
}

/// A file server in this process, over files in memory.
///
/// It knows GET and HEAD, sends ETag and Last-Modified, and lists no folders; what it counts and how it fails is in
/// [`Control`].
///
/// ```
/// use ncz_test_servers::{HttpOptions, HttpServer, Ranges};
///
/// let server = HttpServer::empty(HttpOptions { ranges: Ranges::Ignored, ..HttpOptions::default() })?;
/// server.put("air.zarr/.zgroup", "{}");
/// assert!(server.url("air.zarr").starts_with("http://127.0.0.1:"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct HttpServer {
    listener: Listener,
    control: Control,
    shared: Shared,
    scheme: &'static str,
}

/// What the server and its backend both see.
#[derive(Clone)]
struct Shared(Arc<Mutex<Inner>>);

struct Inner {
    files: BTreeMap<String, Bytes>,
    options: HttpOptions,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpServer {
    /// Starts a server that has the files below `folder`, as they are now.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read, the port is taken or threads cannot be started.
    pub fn start(folder: &Path, options: HttpOptions) -> io::Result<Self> {
        Self::with(folder::read(folder)?, options)
    }

    /// Starts a server without files.
    ///
    /// # Errors
    ///
    /// If the port is taken or threads cannot be started.
    pub fn empty(options: HttpOptions) -> io::Result<Self> {
        Self::with(BTreeMap::new(), options)
    }

    /// Starts a server with these files, such as the objects of a bucket ([`S3Server::objects`](crate::S3Server::objects)).
    ///
    /// # Errors
    ///
    /// If the port is taken or threads cannot be started.
    pub fn with(files: BTreeMap<String, Bytes>, options: HttpOptions) -> io::Result<Self> {
        let tls = options.authority.as_ref().map(|authority| authority.acceptor(&[])).transpose()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let port = options.port;
        let control = Control::new();
        let shared = Shared(Arc::new(Mutex::new(Inner { files, options })));
        let listener = Listener::start(port, tls, control.clone(), Files(shared.clone()))?;
        Ok(Self { listener, control, shared, scheme })
    }

    /// The URL of the server without a slash at the end: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address())
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.endpoint())
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Changes how it behaves from now on; port and authority stay.
    pub fn configure(&self, change: impl FnOnce(&mut HttpOptions)) {
        change(&mut self.shared.lock().options);
    }

    /// The files by their path.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Bytes> {
        self.shared.lock().files.clone()
    }

    /// Puts a file.
    pub fn put(&self, path: &str, bytes: impl Into<Bytes>) {
        self.shared.lock().files.insert(path.to_owned(), bytes.into());
    }

    /// Removes a file; returns whether there was one.
    pub fn remove(&self, path: &str) -> bool {
        self.shared.lock().files.remove(path).is_some()
    }
}

impl Deref for HttpServer {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}
