//! Stores hold the bytes of a dataset by key: in memory, a directory, a zip archive, S3, or on an HTTP server.
//!
//! A [`Store`] keeps *objects* (metadata documents, chunks) under [`Key`]s. It knows nothing of
//! what the bytes mean. Three rules hold for every backend:
//!
//! * an object is replaced whole or not at all, for readers, after a crash and on a full disk;
//! * a content key is never a prefix of another one: where `a` is an object, `a/b` is refused;
//! * a read gives exactly the bytes that were asked for, or an error, or the answer that the object does not exist.
//!
//! [`MemoryStore`] keeps a dataset in memory, [`FileStore`] in a directory, [`ZipStore`] in a zip
//! archive. A new dataset on a disk is built under a hidden name beside its target and appears by one
//! rename; so does every change to an archive. [`ZMap`] shows any of them as netcdf-c's `zmap` does.
//!
//! ```
//! use ncz_store::{Key, MemoryStore, Store, StoreExt, WriteMode};
//!
//! let store = MemoryStore::new("example");
//! let key = Key::parse("temperature/0.0")?;
//! store.write(key, b"chunk", WriteMode::Replace)?;
//! assert_eq!(store.read_vec(key, 1 << 20)?, Some(b"chunk".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod file;
mod hidden_file;
#[cfg(feature = "http")]
pub mod http;
mod key;
mod listing;
mod memory;
mod new_file;
mod options;
mod parent_dir;
pub mod references;
#[cfg(any(feature = "http", feature = "s3"))]
pub mod remote;
mod remove_tree;
#[cfg(feature = "s3")]
pub mod s3;
mod secret;
mod store;
mod sys;
mod temp_names;
pub mod testing;
mod unlisted;
mod visited;
mod zip;
mod zmap;

pub use error::{ObjectLocation, ServiceError, StoreError};
pub use file::FileStore;
pub use key::{Key, KeyBuf, KeyError, Prefix};
pub use memory::MemoryStore;
pub use new_file::NewFile;
pub use options::{Access, CreateOptions, Durability, FilePermissions};
pub use secret::Secret;
pub use store::{
    Capabilities, Depth, DirectoryId, Entry, EntryKind, Leftover, Listing, ReadDone, ReadInto, ReadRange,
    ReadRequest, Stamp, Store, StoreExt, WriteMode,
};
pub use unlisted::Unlisted;
pub use visited::Visited;
pub use zip::{ZipLayout, ZipStore};
pub use zmap::{Clobber, ZMap};
