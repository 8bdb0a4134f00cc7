//! What can go wrong with a store, in variants that a caller can act on.

use std::fmt;
use std::io;

use crate::key::{Key, KeyError, Prefix};

/// What an error is about: a whole store, or one object of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The store, as its `Display` names it; for a directory its path.
    pub store: String,
    /// The object, where it is about one.
    pub key: Option<String>,
}

impl Location {
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

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key:?} of {}", self.store),
            None => f.write_str(&self.store),
        }
    }
}

/// A service that could not be reached, or failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} {at} ({tries}): {reason}")]
pub struct ServiceFailure {
    /// What was tried, as a verb.
    pub action: &'static str,
    /// What it was tried on.
    pub at: Location,
    /// How often, in words: `tried once`, `tried 5 times in 12 s`.
    pub tries: String,
    /// What happened last, and the remedy where there is one.
    pub reason: String,
    /// What led to it.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// An operation on a store that was not done.
///
/// Whatever the variant, what was there before is whole, except where the variant says that the new
/// dataset has replaced it ([`NotDurable`](Self::NotDurable), [`NotRemoved`](Self::NotRemoved)). That an
/// object does not exist is not an error; reads then answer with "missing".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is nothing at the place that was to be opened, or no directory to create it in.
    #[error("there is nothing at {place}: check the path")]
    NotFound {
        /// The place that was looked at.
        place: String,
    },
    /// What was to be created exists.
    #[error("{at} exists already: choose another name, or ask to overwrite it")]
    AlreadyExists {
        /// What exists.
        at: Location,
    },
    /// What is at the place is not a dataset, so it is neither opened nor overwritten.
    #[error("{place} {reason}: it is left as it is; give the path of a dataset, or remove it yourself")]
    NotADataset {
        /// The place.
        place: String,
        /// What is wrong with it, as the rest of a sentence.
        reason: &'static str,
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
        at: Location,
        /// What the system said.
        source: io::Error,
    },
    /// The store was opened for reading, or lies on a read-only file system.
    #[error("{at} cannot be written: the store is read-only")]
    ReadOnly {
        /// What was to be written.
        at: Location,
    },
    /// The disk, or the user's share of it, is full.
    #[error(
        "the disk is full, could not write {at}: free some space or choose a place on another disk; what was there before is whole"
    )]
    NoSpace {
        /// What was to be written.
        at: Location,
        /// What the system said.
        source: io::Error,
    },
    /// More bytes than the caller's limit.
    #[error(
        "{at} has {len} bytes to read, more than the limit of {limit}: it is damaged, or the limit is too low"
    )]
    TooLarge {
        /// The object.
        at: Location,
        /// The bytes that the read would have given.
        len: u64,
        /// The limit.
        limit: u64,
    },
    /// There is not enough memory for an object.
    #[error("not enough memory for the {len} bytes of {at}")]
    OutOfMemory {
        /// The object.
        at: Location,
        /// Its bytes.
        len: u64,
    },
    /// The object does not hold the bytes that were asked for.
    #[error("{at} has {object_len} bytes, not enough for {range}: it is truncated")]
    OutOfRange {
        /// The object.
        at: Location,
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
        at: Location,
    },
    /// An archive cannot be read as a whole.
    #[error(
        "{place} cannot be read as a zip archive: {}{reason}",
        entry.as_ref().map(|entry| format!("entry {entry:?} ")).unwrap_or_default()
    )]
    BadArchive {
        /// The path of the archive.
        place: String,
        /// The entry that it is about.
        entry: Option<String>,
        /// What is wrong, as the rest of a sentence.
        reason: String,
    },
    /// An archive has no entries at all, hence no dataset.
    #[error("the archive {place} is empty: there is no dataset in it")]
    EmptyArchive {
        /// The path of the archive.
        place: String,
    },
    /// Several datasets lie side by side in an archive.
    #[error(
        "{place} holds {one:?} and {other:?} side by side: name one of them as the prefix, or open the archive flat"
    )]
    AmbiguousPrefix {
        /// The path of the archive.
        place: String,
        /// A prefix that holds a dataset.
        one: String,
        /// Another one.
        other: String,
    },
    /// One entry of an archive cannot be read.
    #[error("{at} {reason}")]
    BadEntry {
        /// The object.
        at: Location,
        /// What is wrong, as the rest of a sentence.
        reason: &'static str,
    },
    /// The bytes of an object are not those that were written.
    #[error("{at} is damaged: its CRC-32 is {found:08x}, not {expected:08x}")]
    Checksum {
        /// The object.
        at: Location,
        /// The checksum that it should have.
        expected: u32,
        /// The checksum that it has.
        found: u32,
    },
    /// A key that leads to other keys and has no content of its own.
    #[error("{at} has no content of its own, it only leads to other keys")]
    NoContent {
        /// The key.
        at: Location,
    },
    /// There is no object, where one is required.
    #[error("there is no {at}")]
    NoObject {
        /// The object.
        at: Location,
    },
    /// The key is a prefix of another content key, or another content key is a prefix of it.
    #[error(
        "{at} cannot be an object: {other:?} is there already, and no content key may be a prefix of another"
    )]
    KeyConflict {
        /// The object that was to be written.
        at: Location,
        /// A key that stands against it.
        other: String,
    },
    /// Under a key there is something that has no bytes to read, such as a device, or a link to a file that is not there.
    #[error(
        "{at} is not a regular file: if it is a link to nowhere, fetch what it stands for; else remove it"
    )]
    NotAnObject {
        /// The object.
        at: Location,
    },
    /// More entries than the caller's limit.
    #[error("{at} has more than {limit} entries: raise the limit, or list a smaller part")]
    TooManyEntries {
        /// What was listed.
        at: Location,
        /// The limit.
        limit: usize,
    },
    /// The new dataset is published, but the old one, set aside, could not be removed.
    #[error("the new dataset is in place, but something beside it could not be removed: remove {place}")]
    NotRemoved {
        /// Where the rest of the old dataset is.
        place: String,
        /// What the system said.
        source: io::Error,
    },
    /// The new dataset is published, but it is not certain that a power failure leaves it so.
    #[error(
        "{at} is complete and in place, but may not survive a power failure, since its directory could not be flushed{}",
        old.as_ref().map(|old| format!("; the dataset that it replaces is kept as {old}: remove that when the disk is sound")).unwrap_or_default()
    )]
    NotDurable {
        /// The new dataset.
        at: Location,
        /// Where the dataset is that it replaces, if there was one.
        old: Option<String>,
        /// What the system said.
        source: io::Error,
    },
    /// The old dataset was renamed to make way for the new one, and neither got the name after that.
    #[error(
        "the new dataset is not in place, and the old one could not be renamed back: it is whole as {place}, rename it to {target}"
    )]
    SetAside {
        /// Where the old dataset is.
        place: String,
        /// Its name before.
        target: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory contains itself through symbolic links.
    #[error("a loop of symbolic links: {at} leads back to {target}, which contains it; remove the link")]
    LinkLoop {
        /// The path at which the directory is reached again.
        at: Location,
        /// The directory above it that it is.
        target: String,
    },
    /// Symbolic links lead to the same directories again and again.
    #[error(
        "{at}: symbolic links lead to directories that are reached by other paths too, more than {limit} times; remove links"
    )]
    TooManyLinks {
        /// Where it was one too many.
        at: Location,
        /// The most that are followed.
        limit: usize,
    },
    /// An environment variable does not give the permissions of files or directories.
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
    /// A service refuses whoever asks: no credentials, wrong ones, expired ones, or no right to do this.
    #[error("access to {at} is denied: {reason}")]
    Denied {
        /// What was to be accessed.
        at: Location,
        /// What the service said, and the remedy.
        reason: String,
    },
    /// A service could not be reached, or failed, as often as it was tried.
    #[error(transparent)]
    Service(Box<ServiceFailure>),
    /// A dataset was to be replaced in S3, and the service failed when the old one was no longer whole.
    #[error(
        "the old dataset at {place} is gone in part, the new one is whole at {beside}: `ncz copy '{beside}' '{place}' --overwrite` moves it in"
    )]
    Beside {
        /// Where the datasets are to change places.
        place: String,
        /// Where the new one is.
        beside: String,
        /// What failed.
        source: Box<StoreError>,
    },
    /// A place that cannot do this at all, such as an HTTP server that is asked for a list.
    #[error("{place} cannot {what}: {remedy}")]
    Unsupported {
        /// The store.
        place: String,
        /// What it cannot, as a verb.
        what: &'static str,
        /// What to do instead.
        remedy: String,
    },
    /// Too long a key for the place.
    #[error(
        "the key of {at} has {len} bytes with the prefix of the dataset, {most} are the most there: choose a shorter place or shorter names"
    )]
    KeyTooLong {
        /// The object.
        at: Location,
        /// The bytes of the whole key.
        len: usize,
        /// The most that the place takes.
        most: usize,
    },
    /// How a place is to be reached makes no sense.
    #[error("{place}: {reason}")]
    InvalidOptions {
        /// The place.
        place: String,
        /// What is wrong, and what can be given instead.
        reason: String,
    },
    /// A text is no key.
    #[error("invalid key")]
    InvalidKey(#[from] KeyError),
    /// Any other failure of the system.
    #[error("could not {action} {at}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// What it was tried on.
        at: Location,
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
    /// let error = StoreError::NotFound { place: "/nowhere".to_owned() };
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
            Self::ReadOnly { .. } => -37,                   // NC_EPERM
            Self::Service(_) | Self::Beside { .. } => -138, // NC_ES3
            Self::OutOfRange { .. } => -57,                 // NC_EEDGE
            Self::OutOfMemory { .. } => -61,                // NC_ENOMEM
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
            | Self::AmbiguousPrefix { .. }
            | Self::BadEntry { .. } => -137, // NC_ENCZARR
            Self::EmptyArchive { .. } | Self::NoContent { .. } => -139, // NC_EEMPTY
            Self::AlreadyExists { .. } | Self::KeyConflict { .. } => -140, // NC_EOBJECT
            Self::NotFound { .. } | Self::Gone { .. } | Self::NoObject { .. } => -141, // NC_ENOOBJECT
            Self::NotADataset { .. } => -143,               // NC_ENOTZARR
        }
    }

    /// Sorts what the system said about `at` into the variants.
    pub(crate) fn from_io(action: &'static str, at: Location, source: io::Error) -> Self {
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
        let at = Location { store: "/data/x.zarr".to_owned(), key: Some("t/0.0".to_owned()) };
        let error = StoreError::from_io("write", at, io::Error::from(rustix::io::Errno::NOSPC));
        assert_eq!(
            error.to_string(),
            "the disk is full, could not write \"t/0.0\" of /data/x.zarr: free some space or choose a place on another disk; what was there before is whole"
        );
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(error.netcdf_code(), -68);
    }

    #[test]
    fn a_result_of_a_read_stays_small() {
        assert!(size_of::<Result<bool, StoreError>>() <= 96);
    }
}
