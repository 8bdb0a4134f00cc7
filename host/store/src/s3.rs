//! Datasets in S3 and S3-compatible services.
//!
//! The object `a/b` of a dataset is the object `<prefix>/a/b` of a bucket. Each is replaced whole or not at all, as
//! S3 does it; one above the size of a part is a multipart upload, which is aborted if a part cannot be written.
//!
//! A new dataset:
//!
//! * **If the prefix is empty**, it is written there. The object `.ncz-unfinished` in it keeps out other writers of this
//!   program, and is deleted by [`publish`](crate::Store::publish). Callers write the documents of the root last, so that
//!   an incomplete dataset is not taken for a dataset. A store that is dropped unpublished deletes what it wrote.
//!   If another writer has taken over the marker meanwhile, `publish` returns [`StoreError::Gone`].
//! * **If it replaces another one** ([`CreateOptions::replace_if`]), it is written below `<prefix>.ncz-new-<random>`.
//!   Publishing copies it to its prefix, inside the service: the root documents of the old dataset are deleted first,
//!   those of the new one are copied last. At every moment the complete old or the complete new dataset is at one of the
//!   two prefixes. A failure before the first deletion leaves the old one unchanged. A later one is
//!   [`StoreError::PartlyReplaced`], which names the prefix of the new one.

mod answer_limit;
mod client;
mod concurrent;
mod config;
mod copy;
mod credentials;
mod failure;
mod list;
mod read;
mod remove;
mod shared;
mod stage;
mod write;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use self::client::Connection;
pub use self::config::{Addressing, Checksums, Credentials, S3Config};
use self::shared::Shared;
use self::stage::Stage;
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::options::{Access, CreateOptions};
use crate::remote::{Engine, ReadAhead, SlicePart};
use crate::store::{
    Capabilities, Depth, Listing, ReadDone, ReadInto, ReadRange, ReadRequest, Stamp, Store, WriteMode,
};

/// A dataset in S3.
///
/// ```no_run
/// use ncz_store::s3::{S3Config, S3Store};
/// use ncz_store::{Access, Key, StoreExt};
///
/// let config = S3Config::new("bucket", "ocean/2024.zarr").with_endpoint("http://127.0.0.1:9000");
/// let store = S3Store::open(config, Access::Read)?;
/// let document = store.read_vec(Key::parse("zarr.json")?, 1 << 20)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct S3Store {
    /// The prefix that it reads and writes; the target's once a replacement is published.
    shared: RwLock<Arc<Shared>>,
    engine: Engine,
    access: Access,
    /// The state of a dataset that is not published.
    stage: Mutex<Option<Stage>>,
}

impl S3Store {
    /// Opens a dataset, without a request: that it exists is not checked.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidOptions`].
    pub fn open(config: S3Config, access: Access) -> Result<Self, StoreError> {
        let engine = Engine::new("ncz-s3", &config.remote);
        let connection = Arc::new(Connection::new(&config)?);
        let prefix = config.prefix.clone();
        let shared = Arc::new(Shared { config, prefix, connection, limiter: engine.limiter().clone() });
        Ok(Self { shared: RwLock::new(shared), engine, access, stage: Mutex::new(None) })
    }

    /// Begins a new dataset; [the module](self) describes how it is published.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] if anything lies below the prefix and replacing was not asked for;
    /// [`StoreError::NotADataset`] if it was and that is not a dataset; [`StoreError::InvalidOptions`], and failures of the service.
    pub fn create(config: S3Config, options: CreateOptions) -> Result<Self, StoreError> {
        stage::create(config, options)
    }

    /// Begins a new dataset that several programs write together, and which `token` names: each opens it by
    /// [`open_shared`](Self::open_shared). Other writers are kept out until one of these publishes it. It is never given
    /// up: what was written stays when a store is dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] if anything lies below the prefix, [`StoreError::Unsupported`] for a whole bucket,
    /// and failures of the service.
    pub fn begin_shared(config: S3Config, token: &str) -> Result<(), StoreError> {
        stage::begin_shared(config, token)
    }

    /// Opens a dataset that [`begin_shared`](Self::begin_shared) began with this token, for writing;
    /// [`Store::publish`] ends it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] if no dataset with this token is being written there, and failures of the service.
    pub fn open_shared(config: S3Config, token: &str) -> Result<Self, StoreError> {
        stage::open_shared(config, token)
    }

    fn block_on<T: Send>(
        &self,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.engine.block_on(|| ObjectLocation::store(self), request)
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn move_to(&self, shared: Arc<Shared>) {
        *self.shared.write().unwrap_or_else(PoisonError::into_inner) = shared;
    }

    fn writable(&self, key: Key<'_>) -> Result<(), StoreError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::Read => Err(StoreError::ReadOnly { at: self.shared().at(key) }),
        }
    }
}

impl fmt::Display for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared().fmt(f)
    }
}

impl fmt::Debug for S3Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.shared();
        f.debug_struct("S3Store")
            .field("config", &shared.config)
            .field("prefix", &shared.prefix)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl Store for S3Store {
    fn capabilities(&self) -> Capabilities {
        let writable = self.access == Access::ReadWrite;
        Capabilities {
            writable,
            create_new: writable,
            list: true,
            ranges: true,
            atomic_publish: false,
            deferred_writes: false,
            local: false,
            key_conflicts: false,
            in_flight: self.shared().config.remote.in_flight,
        }
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.block_on(read::read(&self.shared(), key, range, max_len, out, &mut ReadAhead::none()))
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.block_on(read::read_into(&self.shared(), key, SlicePart::From(offset), out))
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.block_on(read::read_into(&self.shared(), key, SlicePart::End, out))
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.stamp(key)?.map(|stamp| stamp.length))
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        self.block_on(read::stamp(&self.shared(), key))
    }

    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let read = |mut job: crate::remote::Job| {
            let shared = self.shared();
            async move {
                let key = job.key.as_key();
                let found =
                    read::read(&shared, key, job.range, job.max_len, &mut job.out, &mut job.read_ahead).await;
                (job, found)
            }
        };
        self.engine.read_many(requests, || ObjectLocation::store(self), read, done);
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        self.writable(key)?;
        let name = self.shared().name(key)?;
        if let Some(stage) = &mut *self.stage.lock().unwrap_or_else(PoisonError::into_inner) {
            stage.touches(key);
        }
        self.block_on(write::write(&self.shared(), &name, self.shared().at(key), bytes, mode))
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        self.writable(key)?;
        let name = self.shared().name(key)?;
        self.block_on(async {
            // by a GET: the answer to a HEAD has no words that tell a missing object from a missing bucket
            if read::read_into(&self.shared(), key, SlicePart::From(0), &mut [0]).await?.is_none() {
                return Ok(false);
            }
            remove::one(&self.shared(), &name, self.shared().at(key)).await?;
            Ok(true)
        })
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.block_on(list::list(&self.shared(), prefix, depth, max_entries))
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        stage::publish(self)
    }
}

impl Drop for S3Store {
    fn drop(&mut self) {
        stage::abandon(self);
    }
}
