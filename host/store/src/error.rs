//! The errors of stores.

use std::fmt;
use std::io;

use crate::key::{Key, KeyError, Prefix};

/// A store, or one object in it; errors say what they are about with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLocation {
    /// The store, as its `Display` names it; for a directory its path.
    pub store: String,
    /// The key of the object; `None` for the whole store.
    pub key: Option<String>,
}

impl ObjectLocation {
    /// The whole store.
    #[must_use]
    pub fn store(store: impl fmt::Display) -> Self {
        Self { store: store.to_string(), key: None }
    }

    /// The objects below a prefix; for the root the whole store.
    #[must_use]
    pub fn below(store: impl fmt::Display, prefix: Prefix<'_>) -> Self {
        let key = (!prefix.is_root()).then(|| prefix.as_str().to_owned());
        Self { store: store.to_string(), key }
    }

    /// One object.
    #[must_use]
    pub fn object(store: impl fmt::Display, key: Key<'_>) -> Self {
        Self { store: store.to_string(), key: Some(key.as_str().to_owned()) }
    }
}

impl fmt::Display for ObjectLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key:?} of {}", self.store),
            None => f.write_str(&self.store),
        }
    }
}

/// A service that could not be reached, or failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {at} ({attempts}): {reason}")]
pub struct ServiceError {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// What it was tried on.
    pub at: ObjectLocation,
    /// The number of attempts, in words: `tried once`, `tried 5 times in 12 s`.
    pub attempts: String,
    /// What happened last, and the remedy where there is one.
    pub reason: String,
    /// What led to it.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// An operation on a store that was not done.
///
/// Whatever the variant, the previous content is intact, except where the variant says that the new
/// dataset has replaced it ([`NotDurable`](Self::NotDurable), [`NotRemoved`](Self::NotRemoved)). That an
/// object does not exist is not an error: reads return `None` or `false`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Nothing exists at the location that was to be opened, or the directory to create it in does not exist.
    #[error("{location} does not exist: check the path")]
    NotFound {
        /// The location.
        location: String,
    },
    /// What was to be created exists.
    #[error("{at} exists already: choose another name, or ask to overwrite it")]
    AlreadyExists {
        /// What exists.
        at: ObjectLocation,
    },
    /// What exists at the location is not a dataset, so it is neither opened nor overwritten.
    #[error("{location} {reason}: it is left as it is; give the path of a dataset, or remove it yourself")]
    NotADataset {
        /// The location.
        location: String,
        /// What is wrong with it, as the rest of a sentence.
        reason: &'static str,
    },
    /// An object has changed since references to it were written.
    #[error(
        "{location} refers to {object}, which has changed since: {change}; write the references \
         anew, or read them as they are with #mode=stale-ok"
    )]
    Stale {
        /// The references.
        location: String,
        /// The URL of the object.
        object: String,
        /// Its length and time when the references were written, and now.
        change: String,
    },
    /// The dataset was removed, moved or replaced by another program while it was open.
    #[error("the dataset {store} was removed, moved or replaced while it was open: open it again")]
    Gone {
        /// The store.
        store: String,
    },
    /// The system denies access.
    #[error("no permission for {at}: check its owner and mode, and those of the directories above it")]
    PermissionDenied {
        /// What was to be accessed.
        at: ObjectLocation,
        /// What the system said.
        source: io::Error,
    },
    /// The store was opened for reading, or lies on a read-only file system.
    #[error("{at} cannot be written: the store is read-only")]
    ReadOnly {
        /// What was to be written.
        at: ObjectLocation,
    },
    /// The disk, or the user's share of it, is full.
    #[error(
        "the disk is full, could not write {at}: free some space or choose another disk; the previous content is intact"
    )]
    NoSpace {
        /// What was to be written.
        at: ObjectLocation,
        /// What the system said.
        source: io::Error,
    },
    /// More bytes than the caller's limit.
    #[error(
        "{at} has {len} bytes to read, more than the limit of {limit}: it is damaged, or the limit is too low"
    )]
    TooLarge {
        /// The object.
        at: ObjectLocation,
        /// The bytes that the read would have given.
        len: u64,
        /// The limit.
        limit: u64,
    },
    /// There is not enough memory for an object.
    #[error("not enough memory for the {len} bytes of {at}")]
    OutOfMemory {
        /// The object.
        at: ObjectLocation,
        /// Its bytes.
        len: u64,
    },
    /// The object does not hold the bytes that were asked for.
    #[error("{at} has {object_len} bytes, not enough for {range}: it is truncated")]
    OutOfRange {
        /// The object.
        at: ObjectLocation,
        /// The bytes that it has.
        object_len: u64,
        /// What was asked for, in words.
        range: String,
    },
    /// The object changed its length while it was being read.
    #[error(
        "{at} changed while it was being read: another program writes in place; try again when it is done"
    )]
    Changed {
        /// The object.
        at: ObjectLocation,
    },
    /// An archive cannot be read as a whole.
    #[error(
        "{location} cannot be read as a zip archive: {}{reason}",
        entry.as_ref().map(|entry| format!("entry {entry:?} ")).unwrap_or_default()
    )]
    BadArchive {
        /// The path of the archive.
        location: String,
        /// The entry that it is about.
        entry: Option<String>,
        /// What is wrong, as the rest of a sentence.
        reason: String,
    },
    /// An archive has no entries at all, hence no dataset.
    #[error("the archive {location} is empty: there is no dataset in it")]
    EmptyArchive {
        /// The path of the archive.
        location: String,
    },
    /// References to the objects of a dataset cannot be read.
    #[error("{location} cannot be read as references: {reason}")]
    BadReferences {
        /// The references.
        location: String,
        /// What is wrong, as the rest of a sentence.
        reason: String,
    },
    /// Several datasets lie side by side in an archive.
    #[error(
        "{location} holds {one:?} and {other:?} side by side: name one of them as the prefix, or open the archive flat"
    )]
    AmbiguousPrefix {
        /// The path of the archive.
        location: String,
        /// A prefix that holds a dataset.
        one: String,
        /// Another one.
        other: String,
    },
    /// One entry of an archive cannot be read.
    #[error("{at} {reason}")]
    BadEntry {
        /// The object.
        at: ObjectLocation,
        /// What is wrong, as the rest of a sentence.
        reason: &'static str,
    },
    /// The bytes of an object are not those that were written.
    #[error("{at} is damaged: its CRC-32 is {found:08x}, not {expected:08x}")]
    Checksum {
        /// The object.
        at: ObjectLocation,
        /// The checksum that it should have.
        expected: u32,
        /// The checksum that it has.
        found: u32,
    },
    /// The key has other keys below it and no content of its own.
    #[error("{at} has no content of its own, only keys below it")]
    NoContent {
        /// The key.
        at: ObjectLocation,
    },
    /// The object does not exist, and the operation needs it.
    #[error("{at} does not exist")]
    NoObject {
        /// The object.
        at: ObjectLocation,
    },
    /// The key is a prefix of another content key, or another content key is a prefix of it.
    #[error(
        "{at} cannot be an object: {other:?} is there already, and no content key may be a prefix of another"
    )]
    KeyConflict {
        /// The object that was to be written.
        at: ObjectLocation,
        /// The key that is in conflict with it.
        other: String,
    },
    /// What the key names is not a regular file: a device, or a broken symbolic link.
    #[error(
        "{at} is not a regular file: if it is a broken symbolic link, fetch its target; otherwise remove it"
    )]
    NotAnObject {
        /// The object.
        at: ObjectLocation,
    },
    /// More entries than the caller's limit.
    #[error("{at} has more than {limit} entries: raise the limit, or list a smaller part")]
    TooManyEntries {
        /// What was listed.
        at: ObjectLocation,
        /// The limit.
        limit: usize,
    },
    /// The new dataset is published, but the old one, set aside, could not be removed.
    #[error("the new dataset is published, but a leftover could not be removed: remove {location}")]
    NotRemoved {
        /// The path of the leftover.
        location: String,
        /// What the system said.
        source: io::Error,
    },
    /// The new dataset is published, but it is not certain that a power failure leaves it so.
    #[error(
        "{at} is complete and in place, but a power failure may undo that, since its directory could not be flushed{}",
        old.as_ref().map(|old| format!("; the dataset that it replaces is kept as {old}: remove that when the disk is sound")).unwrap_or_default()
    )]
    NotDurable {
        /// The new dataset.
        at: ObjectLocation,
        /// The path of the replaced dataset, if there was one.
        old: Option<String>,
        /// What the system said.
        source: io::Error,
    },
    /// The old dataset was renamed to make way for the new one, and neither could be given the name after that.
    #[error(
        "the new dataset could not be published, and the old one could not be renamed back: it is intact as {location}, rename it to {target}"
    )]
    SetAside {
        /// The path of the old dataset.
        location: String,
        /// Its name before.
        target: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory contains itself through symbolic links.
    #[error("a loop of symbolic links: {at} leads back to {target}, which contains it; remove the link")]
    LinkLoop {
        /// The path at which the directory is reached again.
        at: ObjectLocation,
        /// The directory above it that it is.
        target: String,
    },
    /// Symbolic links lead to the same directories again and again.
    #[error(
        "{at}: symbolic links lead to directories that are reached by other paths too, more than {limit} times; remove links"
    )]
    TooManyLinks {
        /// The directory at which the limit was exceeded.
        at: ObjectLocation,
        /// The most that are followed.
        limit: usize,
    },
    /// An environment variable does not give usable permissions for files or directories.
    #[error(
        "{variable}={value:?} gives no usable permissions: netcdf-c reads it as a decimal number, from {least} (0{least:o}) to 511 (0777), which must give the owner 0{least:o}"
    )]
    InvalidPermissions {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The permissions that the owner needs.
        least: u32,
    },
    /// A service denied access: credentials are missing, wrong or expired, or do not permit the operation.
    #[error("access to {at} is denied: {reason}")]
    Denied {
        /// What was to be accessed.
        at: ObjectLocation,
        /// What the service said, and the remedy.
        reason: String,
    },
    /// A service could not be reached, or failed, in every attempt.
    #[error(transparent)]
    Service(Box<ServiceError>),
    /// The service failed while a dataset in S3 was being replaced, after the first object of the old one was deleted.
    #[error(
        "the old dataset at {location} is partly deleted, the new one is complete at {new_dataset}: copy it from there to {location}, replacing what is left"
    )]
    PartlyReplaced {
        /// The location of the old dataset, where the new one was to go.
        location: String,
        /// The location of the new dataset, which is complete.
        new_dataset: String,
        /// What failed.
        source: Box<StoreError>,
    },
    /// The store does not support the operation: an HTTP server gives no list of keys.
    #[error("{location} cannot {operation}: {remedy}")]
    Unsupported {
        /// The store.
        location: String,
        /// The operation, as a verb.
        operation: &'static str,
        /// What to do instead.
        remedy: String,
    },
    /// The key is longer than the store allows.
    #[error(
        "the key of {at} has {len} bytes with the prefix of the dataset, the limit is {most}: choose a shorter location or shorter names"
    )]
    KeyTooLong {
        /// The object.
        at: ObjectLocation,
        /// The bytes of the whole key.
        len: usize,
        /// The limit of the store.
        most: usize,
    },
    /// The configuration of a store is not valid.
    #[error("{location}: {reason}")]
    InvalidOptions {
        /// The location.
        location: String,
        /// What is wrong, and what can be given instead.
        reason: String,
    },
    /// A text is not a key.
    #[error("invalid key")]
    InvalidKey(#[from] KeyError),
    /// Any other failure of the system.
    #[error("could not {action} {at}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// What it was tried on.
        at: ObjectLocation,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The number that netcdf-c gives for an object that does not exist: `NC_EEMPTY`.
    pub const MISSING_OBJECT_CODE: i32 = -139;

    /// The error number of netcdf-c (`netcdf.h`) that comes nearest.
    ///
    /// ```
    /// use ncz_store::StoreError;
    /// let error = StoreError::NotFound { location: "/nowhere".to_owned() };
    /// assert_eq!(error.netcdf_code(), -141); // NC_ENOOBJECT
    /// ```
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::InvalidKey(_)
            | Self::InvalidPermissions { .. }
            | Self::InvalidOptions { .. }
            | Self::KeyTooLong { .. }
            | Self::Unsupported { .. } => -36, // NC_EINVAL
            Self::ReadOnly { .. } => -37,                           // NC_EPERM
            Self::Service(_) | Self::PartlyReplaced { .. } => -138, // NC_ES3
            Self::OutOfRange { .. } => -57,                         // NC_EEDGE
            Self::OutOfMemory { .. } => -61,                        // NC_ENOMEM
            Self::NoSpace { .. }
            | Self::Changed { .. }
            | Self::NotAnObject { .. }
            | Self::Checksum { .. }
            | Self::NotDurable { .. }
            | Self::Io { .. } => -68, // NC_EIO
            Self::PermissionDenied { .. } | Self::Denied { .. } => -78, // NC_EAUTH
            Self::NotRemoved { .. } | Self::SetAside { .. } => -91, // NC_ECANTREMOVE
            Self::TooLarge { .. }
            | Self::TooManyEntries { .. }
            | Self::LinkLoop { .. }
            | Self::TooManyLinks { .. }
            | Self::BadArchive { .. }
            | Self::BadReferences { .. }
            | Self::AmbiguousPrefix { .. }
            | Self::BadEntry { .. } => -137, // NC_ENCZARR
            Self::EmptyArchive { .. } | Self::NoContent { .. } => -139, // NC_EEMPTY
            Self::AlreadyExists { .. } | Self::KeyConflict { .. } => -140, // NC_EOBJECT
            Self::NotFound { .. } | Self::Gone { .. } | Self::Stale { .. } | Self::NoObject { .. } => -141, // NC_ENOOBJECT
            Self::NotADataset { .. } => -143, // NC_ENOTZARR
        }
    }

    /// Sorts what the system said about `at` into the variants.
    pub(crate) fn from_io(action: &'static str, at: ObjectLocation, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match source.kind() {
            Kind::PermissionDenied => Self::PermissionDenied { at, source },
            Kind::ReadOnlyFilesystem => Self::ReadOnly { at },
            Kind::StorageFull | Kind::QuotaExceeded => Self::NoSpace { at, source },
            _ => Self::Io { action, at, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_path_and_remedy() {
        let at = ObjectLocation { store: "/data/x.zarr".to_owned(), key: Some("t/0.0".to_owned()) };
        let error = StoreError::from_io("write", at, io::Error::from(rustix::io::Errno::NOSPC));
        assert_eq!(
            error.to_string(),
            "the disk is full, could not write \"t/0.0\" of /data/x.zarr: free some space or choose another disk; the previous content is intact"
        );
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(error.netcdf_code(), -68);
    }

    #[test]
    fn a_result_of_a_read_stays_small() {
        assert!(size_of::<Result<bool, StoreError>>() <= 96);
    }
}
