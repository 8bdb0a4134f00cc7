//! Stores of the servers in this process, by clients with little patience.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ncz::model::{DataError, Pool, Session};
use ncz::registry::Registry;
use ncz::store::Secret;
use ncz::store::http::{HttpConfig, HttpStore};
use ncz::store::remote::RemoteOptions;
use ncz::store::s3::{Credentials, S3Config, S3Store};
use ncz::store::{
    Access, CreateOptions, Depth, EntryKind, Key, MemoryStore, Prefix, Store, StoreError, StoreExt, WriteMode,
};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_test_servers::{HttpOptions, HttpServer, S3Server};

/// The bucket of [`server`].
pub const BUCKET: &str = "data";

/// The tries of [`impatient`].
pub const TRIES: u32 = 4;

/// An S3 service with the empty bucket [`BUCKET`].
#[must_use]
pub fn server() -> S3Server {
    S3Server::start_with(BUCKET).expect("a port of this machine can be listened on")
}

/// A file server with the objects of [`BUCKET`] under the same names.
#[must_use]
pub fn file_server(of: &S3Server) -> HttpServer {
    HttpServer::with(of.objects(BUCKET), HttpOptions::default())
        .expect("a port of this machine can be listened on")
}

/// Options of a client that tries again at once, and not often.
#[must_use]
pub fn impatient() -> RemoteOptions {
    let mut options = RemoteOptions::default();
    options.attempts = TRIES;
    options.first_pause = Duration::from_millis(1);
    options.connect_timeout = Duration::from_secs(5);
    options.idle_timeout = Duration::from_secs(5);
    options
}

/// Credentials that the server takes.
#[must_use]
pub fn keys(of: &S3Server) -> Credentials {
    let known = of.credentials();
    Credentials::Keys {
        id: known.key.clone(),
        secret: Secret::new(known.secret.clone()),
        token: known.token.clone().map(Secret::new),
    }
}

/// How to reach a prefix of [`BUCKET`].
#[must_use]
pub fn config(server: &S3Server, prefix: &str) -> S3Config {
    let mut config =
        S3Config::new(BUCKET, prefix).with_endpoint(server.endpoint()).with_credentials(keys(server));
    config.region = Some("us-east-1".to_owned());
    config.remote = impatient();
    config
}

/// The dataset at a prefix of [`BUCKET`], for reading and writing.
///
/// # Panics
///
/// If the options make no sense.
#[must_use]
pub fn store(server: &S3Server, prefix: &str) -> Arc<dyn Store> {
    Arc::new(S3Store::open(config(server, prefix), Access::ReadWrite).expect("good options"))
}

/// A new dataset at a prefix of [`BUCKET`].
///
/// # Errors
///
/// As [`S3Store::create`].
pub fn new_store(server: &S3Server, prefix: &str, overwrite: bool) -> Result<Arc<dyn Store>, StoreError> {
    create(config(server, prefix), overwrite)
}

/// A new dataset, or with `overwrite` one that replaces another.
///
/// # Errors
///
/// As [`S3Store::create`].
pub fn create(config: S3Config, overwrite: bool) -> Result<Arc<dyn Store>, StoreError> {
    let mut options = CreateOptions::new();
    if overwrite {
        options = options.replace_if(ncz::location::is_dataset);
    }
    Ok(Arc::new(S3Store::create(config, options)?))
}

/// The dataset at a path of a file server.
///
/// # Panics
///
/// If the URL makes no sense.
#[must_use]
pub fn http_store(server: &HttpServer, path: &str) -> Arc<dyn Store> {
    let mut config = HttpConfig::new(server.url(path));
    config.remote = impatient();
    Arc::new(HttpStore::open(config).expect("a good URL"))
}

/// The codecs of this program, and two threads.
///
/// # Panics
///
/// If the system has no threads left.
#[must_use]
pub fn session() -> Session {
    let registry = Registry::builder().no_plugins(true).build();
    Session::new(Arc::new(registry), Pool::with_threads(2).expect("two threads"))
}

/// Opens a dataset for reading as [`DatasetUrl::open`](ncz::location::DatasetUrl::open) does for remote locations.
///
/// # Errors
///
/// As [`Dataset::open`].
pub fn open(store: Arc<dyn Store>) -> Result<Dataset, DataError> {
    open_with(store, ConsolidatedPolicy::Prefer)
}

/// Opens a dataset by all of its documents, as a program that changes it has to.
///
/// # Errors
///
/// As [`Dataset::open`].
pub fn open_to_change(store: Arc<dyn Store>) -> Result<Dataset, DataError> {
    open_with(store, ConsolidatedPolicy::Compare)
}

fn open_with(store: Arc<dyn Store>, consolidated: ConsolidatedPolicy) -> Result<Dataset, DataError> {
    Dataset::open(store, session(), &ReadOptions { consolidated, ..ReadOptions::default() })
}

/// What an S3 store puts into a dataset that is being made.
const MARKER: &str = ".ncz-unfinished";

/// What lies below a prefix of [`BUCKET`], as a store that no fault reaches.
///
/// # Panics
///
/// If an object's name is not a key.
#[must_use]
pub fn seen(server: &S3Server, prefix: &str) -> Arc<MemoryStore> {
    let memory = Arc::new(MemoryStore::new(prefix));
    let below = format!("{prefix}/");
    for (name, bytes) in server.objects(BUCKET) {
        let is_kept = |key: &&str| ![MARKER, Key::JOURNAL.as_str()].contains(key);
        if let Some(key) = name.strip_prefix(&below).filter(is_kept) {
            let key = Key::parse(key).unwrap_or_else(|error| panic!("{name}: {error}"));
            memory.write(key, &bytes, WriteMode::Replace).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    memory
}

/// Puts all objects of a store below a prefix of [`BUCKET`].
///
/// # Panics
///
/// If the store cannot be read.
pub fn put_all(server: &S3Server, prefix: &str, from: &dyn Store) {
    for entry in from.list(Prefix::ROOT, Depth::All, 100_000).expect("a list").entries {
        if entry.kind == EntryKind::Object {
            let bytes = from.read_vec(entry.key.as_key(), 1 << 30).expect("an object that can be read");
            let bytes = Bytes::from(bytes.expect("an object that is there"));
            server.put(BUCKET, &format!("{prefix}/{}", entry.key.as_key()), bytes);
        }
    }
}
