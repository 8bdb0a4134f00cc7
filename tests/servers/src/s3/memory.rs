use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use s3s::dto::{Checksum, ETag, Metadata};

/// All buckets. Clones are views of the same.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Buckets>>);

/// The buckets by name, and what is decided about all of them.
#[derive(Default)]
pub(crate) struct Buckets {
    pub(crate) buckets: BTreeMap<String, Bucket>,
    pub(crate) page_size: Option<usize>,
    pub(crate) hide_missing: bool,
    pub(crate) limits: Limits,
    pub(crate) uploads_made: u64,
}

/// The sizes from which S3 refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest object that one PUT may bring.
    pub put: u64,
    /// The largest object that one copy may make.
    pub copy: u64,
    /// The smallest part of an upload, the last one excepted.
    pub part: u64,
}

impl Default for Limits {
    /// Those of S3: 5 GiB, 5 GiB, 5 MiB.
    fn default() -> Self {
        Self { put: 5 << 30, copy: 5 << 30, part: 5 << 20 }
    }
}

#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Object>,
    pub(crate) uploads: BTreeMap<String, Upload>,
    pub(crate) public: bool,
}

/// An object of a bucket.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    pub(crate) etag: String,
    pub(crate) modified: SystemTime,
    pub(crate) headers: Headers,
    pub(crate) checksum: Checksum,
}

/// What a client says of an object, and gets back.
#[derive(Clone, Default)]
pub(crate) struct Headers {
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) metadata: Option<Metadata>,
}

/// An upload in parts that is neither completed nor aborted.
pub(crate) struct Upload {
    pub(crate) key: String,
    pub(crate) headers: Headers,
    pub(crate) parts: BTreeMap<i32, Object>,
}

impl Memory {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object {
    pub(crate) fn new(etag: String, bytes: Bytes, headers: Headers, checksum: Checksum) -> Self {
        Self { bytes, etag, modified: SystemTime::now(), headers, checksum }
    }

    pub(crate) fn etag(&self) -> ETag {
        ETag::Strong(self.etag.clone())
    }
}
