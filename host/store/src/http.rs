//! Datasets on an HTTP or HTTPS server, for reading.

mod address;
mod client;
mod config;
mod exchange;
mod headers;
mod log;
mod range;
mod read;
mod redact;
mod server_features;

use std::fmt;
use std::sync::Arc;

use self::address::Address;
pub use self::config::HttpConfig;
use self::exchange::Service;
use self::server_features::ServerFeatures;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::remote::{Engine, ReadAhead, SlicePart};
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, WriteMode,
};

/// A dataset on an HTTP or HTTPS server, for reading.
///
/// The object `a/b` is what `URL/a/b` gives. Any server of files will do; one without ranges makes reading parts of
/// objects slow, which [`capabilities`](Store::capabilities) says as soon as it is known. Answers that cannot be the
/// bytes of an object are errors: pages (`text/html`), compressed bodies, other ranges than those asked for.
///
/// * 404 and 410 mean that the object does not exist, and so does a redirection to the same name with a slash.
/// * Redirections are followed, but not from https to http; user, password and query go to no other server.
/// * Failures that may pass (no connection, 429, 5xx, a body that breaks off) are tried again, later and later.
/// * A server without ranges sends the whole object, of which the range is cut out; what would mean reading more than
///   64 MiB in vain is refused.
///
/// It has threads of its own from the first request on. It may be used and dropped on any thread; inside an
/// asynchronous program use it where waiting is allowed (`spawn_blocking`).
///
/// ```no_run
/// use ncz_store::http::{HttpConfig, HttpStore};
/// use ncz_store::{Key, StoreExt};
///
/// let store = HttpStore::open(HttpConfig::new("https://data.example/ocean.zarr"))?;
/// let metadata = store.read_vec(Key::parse(".zmetadata")?, 16 << 20)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HttpStore {
    service: Arc<Service>,
    engine: Engine,
}

impl HttpStore {
    /// Opens a dataset; nothing is asked of the server yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidOptions`] for what is not a URL of an HTTP server, not a proxy, or not a file of
    /// certificates.
    pub fn open(config: HttpConfig) -> Result<Self, StoreError> {
        let engine = Engine::new("ncz-http", &config.remote);
        let service = Service {
            address: Address::new(&config)?,
            client: client::client(&config)?,
            limiter: engine.limiter().clone(),
            options: config.remote,
            features: ServerFeatures::default(),
        };
        Ok(Self { service: Arc::new(service), engine })
    }

    fn read_only(&self, key: Key<'_>) -> StoreError {
        StoreError::ReadOnly { at: self.service.at(key) }
    }
}

impl fmt::Display for HttpStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.service.address.base())
    }
}

impl fmt::Debug for HttpStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpStore")
            .field("url", &self.service.address.base())
            .field("options", &self.service.options)
            .field("features", &self.service.features)
            .finish_non_exhaustive()
    }
}

impl Store for HttpStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ranges: self.service.features.ranges() != Some(false),
            in_flight: self.service.options.in_flight.max(1),
            ..Capabilities::default()
        }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        out.clear();
        let mut read_ahead = ReadAhead::none();
        self.engine
            .block_on(|| self.service.at(key), self.service.read(key, range, max_len, out, &mut read_ahead))
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let part = SlicePart::From(offset);
        self.engine.block_on(|| self.service.at(key), self.service.read_into(key, part, out))
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.engine.block_on(|| self.service.at(key), self.service.read_into(key, SlicePart::End, out))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.stamp(key)?.map(|stamp| stamp.length))
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.engine.block_on(|| self.service.at(key), self.service.stamp(key))
    }

    /// Keeps as many requests going as may be in flight; `done` is called on the calling thread.
    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let read = |mut job: crate::remote::Job| {
            let service = Arc::clone(&self.service);
            async move {
                let key = job.key.as_key();
                let found =
                    service.read(key, job.range, job.max_len, &mut job.out, &mut job.read_ahead).await;
                (job, found)
            }
        };
        self.engine.read_many(requests, || ObjectLocation::store(self), read, done);
    }

    fn write(&self, key: Key<'_>, _bytes: &[u8], _mode: WriteMode) -> Result<(), StoreError> {
        Err(self.read_only(key))
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        Err(self.read_only(key))
    }

    fn list(&self, _prefix: Prefix<'_>, _depth: Depth, _max_entries: usize) -> Result<Listing, StoreError> {
        Err(StoreError::Unsupported {
            location: self.to_string(),
            operation: "list what it holds",
            remedy: "an HTTP server gives no list of keys; the dataset must have consolidated metadata (.zmetadata), or NCZarr metadata, which name its parts. Otherwise copy it where it can be listed, or open it by S3 if the server speaks that".to_owned(),
        })
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
