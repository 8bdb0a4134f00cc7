use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use s3s::service::{S3Service, S3ServiceBuilder};

use crate::checksum::{crc64, md5};
use crate::control::Control;
use crate::listener::{Backend, Listener, refused};
use crate::operation::Target;
use crate::s3::gate::{Gate, Hosts, Keys};
use crate::s3::memory::{Bucket, Headers, Memory, Object};
use crate::s3::service::Service;
use crate::{Authority, Refusal, folder};

mod gate;
mod listing;
mod memory;
mod service;

pub use memory::Limits;

/// What a client has to know.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The access key id.
    pub key: String,
    /// The secret access key.
    pub secret: String,
    /// The session token; without one, requests that bring one are refused.
    pub token: Option<String>,
}

impl Credentials {
    /// A key and its secret, without a session token.
    #[must_use]
    pub fn new(key: &str, secret: &str) -> Self {
        Self { key: key.into(), secret: secret.into(), token: None }
    }
}

impl Default for Credentials {
    /// `test` and `testtest`.
    fn default() -> Self {
        Self::new("test", "testtest")
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("key", &self.key).finish_non_exhaustive()
    }
}

/// How a [`S3Server`] is started.
#[derive(Debug, Clone, Default)]
pub struct S3Options {
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Who may do everything.
    pub credentials: Credentials,
    /// The region for which requests must be signed; `None` takes every region.
    pub region: Option<String>,
    /// Buckets that exist from the start.
    pub buckets: Vec<String>,
    /// The sizes from which requests are refused.
    pub limits: Limits,
    /// ETags are not MD5 (as those of encrypted objects of S3), which would take longer than all else that the service
    /// does: for benchmarks.
    pub quick_etags: bool,
    /// Serves https with a certificate of this authority instead of http.
    pub authority: Option<Authority>,
}

/// An S3 service in this process, with its buckets in memory.
///
/// It checks signatures (version 4), knows path style and virtual-host style (`<bucket>.localhost`), and lets tests
/// look into its buckets; what it counts and how it fails is in [`Control`].
///
/// ```
/// use ncz_test_servers::{Fault, Rule, S3Server};
///
/// let server = S3Server::start_with("air")?;
/// server.put("air", "a/.zgroup", "{}");
/// server.fail(Rule::new(Fault::slow_down()).key("a/.zgroup").first(1));
/// assert!(server.endpoint().starts_with("http://127.0.0.1:"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct S3Server {
    listener: Listener,
    control: Control,
    memory: Memory,
    options: S3Options,
}

impl S3Server {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// If the port is taken or threads cannot be started.
    pub fn start(options: S3Options) -> io::Result<Self> {
        let memory = Memory::default();
        let control = Control::new();
        memory.lock().limits = options.limits;
        for name in &options.buckets {
            memory.lock().buckets.insert(name.clone(), Bucket::default());
        }
        let etags = if options.quick_etags { crc64 } else { md5 };
        let mut builder = S3ServiceBuilder::new(Service { memory: memory.clone(), etags });
        builder.set_auth(Keys(options.credentials.clone()));
        builder.set_access(Gate { credentials: options.credentials.clone(), memory: memory.clone() });
        builder.set_host(Hosts);
        let backend = S3Backend { service: builder.build(), region: options.region.clone() };
        let hosts: Vec<String> = options.buckets.iter().map(|bucket| format!("{bucket}.localhost")).collect();
        let tls = options.authority.as_ref().map(|authority| authority.acceptor(&hosts)).transpose()?;
        let listener = Listener::start(options.port, tls, control.clone(), backend)?;
        Ok(Self { listener, control, memory, options })
    }

    /// Starts a server with default options and one bucket.
    ///
    /// # Errors
    ///
    /// As [`S3Server::start`].
    pub fn start_with(bucket: &str) -> io::Result<Self> {
        Self::start(S3Options { buckets: vec![bucket.to_owned()], ..S3Options::default() })
    }

    /// The URL of the service for path style, without a slash at the end: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme(), self.address())
    }

    /// The URL of the service for virtual-host style: `http://localhost:<port>`. Few systems resolve
    /// `<bucket>.localhost`, so clients need a resolver of their own or `NAME=127.0.0.1` from their options.
    #[must_use]
    pub fn localhost_endpoint(&self) -> String {
        format!("{}://localhost:{}", self.scheme(), self.address().port())
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Who may do everything.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.options.credentials
    }

    /// Makes an empty bucket, unless there is one of this name.
    pub fn create_bucket(&self, bucket: &str) {
        self.memory.lock().buckets.entry(bucket.to_owned()).or_default();
    }

    /// Lets everybody list and read a bucket, without credentials.
    pub fn make_public(&self, bucket: &str) {
        self.memory.lock().buckets.entry(bucket.to_owned()).or_default().public = true;
    }

    /// The objects of a bucket by key; empty if there is no such bucket.
    #[must_use]
    pub fn objects(&self, bucket: &str) -> BTreeMap<String, Bytes> {
        let all = self.memory.lock();
        let objects = all.buckets.get(bucket).map(|bucket| bucket.objects.iter());
        objects.into_iter().flatten().map(|(key, object)| (key.clone(), object.bytes.clone())).collect()
    }

    /// The bytes of one object.
    #[must_use]
    pub fn object(&self, bucket: &str, key: &str) -> Option<Bytes> {
        Some(self.memory.lock().buckets.get(bucket)?.objects.get(key)?.bytes.clone())
    }

    /// Puts an object, as by the hand of somebody else and without a checksum; makes the bucket if need be.
    pub fn put(&self, bucket: &str, key: &str, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        let object = Object::new(md5(&bytes), bytes, Headers::default(), Default::default());
        let mut all = self.memory.lock();
        all.buckets.entry(bucket.to_owned()).or_default().objects.insert(key.to_owned(), object);
    }

    /// Removes an object; returns whether there was one.
    pub fn remove(&self, bucket: &str, key: &str) -> bool {
        let mut all = self.memory.lock();
        all.buckets.get_mut(bucket).is_some_and(|bucket| bucket.objects.remove(key).is_some())
    }

    /// The keys for which an upload in parts was begun and neither completed nor aborted.
    #[must_use]
    pub fn uploads(&self, bucket: &str) -> Vec<String> {
        let all = self.memory.lock();
        let uploads = all.buckets.get(bucket).map(|bucket| bucket.uploads.values());
        uploads.into_iter().flatten().map(|upload| upload.key.clone()).collect()
    }

    /// Gives at most this many entries in a page of a listing; `None`: 1000, as S3.
    pub fn set_page_size(&self, entries: Option<usize>) {
        self.memory.lock().page_size = entries.map(|entries| entries.max(1));
    }

    /// Answers 403 AccessDenied instead of 404 for keys that are missing, as S3 does without permission to list.
    pub fn hide_missing(&self, hide: bool) {
        self.memory.lock().hide_missing = hide;
    }

    /// Puts every file below `from` under `prefix` (such as `data/` or nothing).
    ///
    /// # Errors
    ///
    /// If the folder cannot be read, or a name is not UTF-8.
    pub fn import(&self, from: &Path, bucket: &str, prefix: &str) -> io::Result<()> {
        self.create_bucket(bucket);
        for (path, bytes) in folder::read(from)? {
            self.put(bucket, &format!("{prefix}{path}"), bytes);
        }
        Ok(())
    }

    fn scheme(&self) -> &'static str {
        if self.options.authority.is_some() { "https" } else { "http" }
    }
}

impl Deref for S3Server {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl fmt::Debug for S3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Server").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}

struct S3Backend {
    service: S3Service,
    region: Option<String>,
}

impl Backend for S3Backend {
    fn target(&self, parts: &Parts) -> Target {
        Target::of_s3(parts)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        if let (Some(region), Some(signed)) = (&self.region, signed_region(&parts))
            && signed != region
        {
            return refused(self, &Refusal::wrong_region(region));
        }
        let answer = self.service.call(Request::from_parts(parts, s3s::Body::from(body))).await;
        let collected = match answer {
            Ok(answer) => {
                let (parts, body) = answer.into_parts();
                body.collect().await.map(|body| Response::from_parts(parts, body.to_bytes()))
            }
            Err(error) => Err(s3s::StdError::from(error)),
        };
        collected
            .unwrap_or_else(|error| refused(self, &Refusal::new(500, "InternalError", &error.to_string())))
    }

    fn document(&self, refusal: &Refusal) -> Response<Bytes> {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>");
        let elements = [("Code", refusal.code.as_str()), ("Message", refusal.message.as_str())];
        let more = refusal.elements.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in elements.into_iter().chain(more) {
            let value = value.replace('&', "&amp;").replace('<', "&lt;");
            text.push_str(&format!("<{name}>{value}</{name}>"));
        }
        text.push_str("</Error>");
        let mut answer = Response::new(Bytes::from(text));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        answer
    }
}

/// The region in `Credential=<key>/<date>/<region>/s3/aws4_request` of a signed request.
fn signed_region(parts: &Parts) -> Option<&str> {
    let header = parts.headers.get("authorization")?.to_str().ok()?;
    header.split_once("Credential=")?.1.split('/').nth(2)
}
