//! The trait [`Store`], which every backend implements, and its types.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};

/// Holds the objects of one dataset, as bytes by key.
///
/// A store is shared between threads as `Arc<dyn Store>`. `Display` names it for messages: the
/// path of a directory, the URL of a bucket. See the [crate](crate) for the rules that hold on
/// every backend.
pub trait Store: Send + Sync + fmt::Debug + fmt::Display {
    /// Returns what this store can do.
    fn capabilities(&self) -> Capabilities;

    /// Reads `range` of an object into `out` and says whether the object exists.
    ///
    /// `out` is cleared first and holds exactly the bytes of the range afterwards; nothing if the
    /// object is missing or the read failed. No memory is taken where its capacity suffices, and
    /// never more than for `max_len` bytes, whatever the object claims to be.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] for more than `max_len` bytes, [`StoreError::OutOfRange`] where
    /// the object does not have them all, and I/O errors.
    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError>;

    /// Reads an object from `offset` straight into `out`, as far as both go.
    ///
    /// The result holds the true length of the object, so that one copy suffices for an
    /// uncompressed chunk and a wrong length is noticed. `None`: the object does not exist.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError>;

    /// Reads the end of an object straight into `out`: its last bytes, as many as `out` has room for.
    ///
    /// The result holds the true length of the object; one that is shorter than `out` fills only its
    /// start. The default implementation asks for the length first, and fills nothing if the object is
    /// replaced repeatedly meanwhile. Remote stores do both in one request, by a suffix range.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        let mut object_len = 0;
        for _ in 0..2 {
            let Some(len) = self.len(key)? else { return Ok(None) };
            let read = self.read_into(key, len.saturating_sub(out.len() as u64), out)?;
            match read {
                Some(read) if read.object_len != len => object_len = read.object_len,
                _ => return Ok(read),
            }
        }
        Ok(Some(ReadInto { filled: 0, object_len }))
    }

    /// Returns the length of an object in bytes; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError>;

    /// Returns what distinguishes an object from later versions of it; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        Ok(self.len(key)?.map(|length| Stamp { length, ..Stamp::default() }))
    }

    /// Returns the [`stamp`](Store::stamp) of each of many objects, in their order.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn stamps(&self, keys: &[Key<'_>]) -> Result<Vec<Option<Stamp>>, StoreError> {
        keys.iter().map(|key| self.stamp(*key)).collect()
    }

    /// Reads many objects, and calls `done` on the calling thread with the index of a request and its
    /// bytes (`None`: the object does not exist) as each completes, in any order.
    ///
    /// It returns when every request was answered, or after `done` has answered `Break`; requests
    /// that were not yet begun are then dropped. The default implementation reads one after the other.
    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        let mut buffer = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let answer = self
                .read(request.key, request.range, request.max_len, &mut buffer)
                .map(|found| found.then_some(buffer.as_slice()));
            if done(index, answer).is_break() {
                return;
            }
        }
    }

    /// Writes an object as a whole: a reader sees the old or the new one, also after a crash or a failure.
    ///
    /// When it returns, all readers of this store see the new object; other programs do too, unless
    /// it has to be [published](Store::publish). After a power failure the object is the old or the
    /// new one; it is the new one once [`sync`](Store::sync), or for a dataset to be published `publish`, has returned.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] for [`WriteMode::CreateNew`] on an object that exists,
    /// [`StoreError::KeyConflict`], [`StoreError::NoSpace`], and I/O errors.
    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError>;

    /// Removes an object and says whether there was one.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError>;

    /// Lists what is below `prefix`, sorted by the bytes of the keys. A prefix that does not exist is empty.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooManyEntries`] for more than `max_entries`; with [`Depth::All`] [`StoreError::LinkLoop`] and
    /// [`StoreError::TooManyLinks`]; and I/O errors.
    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError>;

    /// Returns the files that writers left in or beside the dataset when they were killed or lost power. Files of a running
    /// writer, and what cannot be read, are left out.
    fn leftovers(&self) -> Vec<Leftover> {
        Vec::new()
    }

    /// Identifies the directory of a prefix, in a store where symbolic links can make one directory reachable by several
    /// paths; `None` in other stores, and if the directory does not exist. [`Visited`](crate::Visited) finds
    /// loops with it.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        let _ = prefix;
        Ok(None)
    }

    /// Makes durable what was written so far, before anything that is written later. A dataset that
    /// is to be published becomes durable only by publishing.
    ///
    /// # Errors
    ///
    /// I/O errors.
    fn sync(&self) -> Result<(), StoreError>;

    /// Makes a new dataset visible as a whole, and where [writes are deferred](Capabilities::deferred_writes)
    /// also the changes to an existing one. Does nothing where writes are visible at once, or when
    /// called again. A new dataset that is never published disappears when its store is dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] or [`StoreError::NotADataset`] if something else has appeared
    /// at the target, [`StoreError::Gone`] if what was to be changed is no longer what was opened, and I/O errors. The dataset *is* published after [`StoreError::NotRemoved`], where the one that it replaces could not
    /// be removed, and after [`StoreError::NotDurable`], where a power failure may still undo it.
    fn publish(&self) -> Result<(), StoreError>;
}

/// Distinguishes an object from later versions of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
pub struct Stamp {
    /// The length in bytes.
    pub length: u64,
    /// The time of the last change, in seconds since 1970 with nine decimals; `None` if the store does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// The entity tag of S3 and HTTP; `None` if the store does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl Stamp {
    /// Whether an object with the other stamp may be the same version: what both say agrees.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        let agree = |one: &Option<String>, other: &Option<String>| {
            one.as_ref().zip(other.as_ref()).is_none_or(|(one, other)| one == other)
        };
        self.length == other.length
            && agree(&self.modified, &other.modified)
            && agree(&self.etag, &other.etag)
    }
}

/// Identifies a directory of a file system, by whatever path it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryId {
    pub(crate) device: i128,
    pub(crate) inode: i128,
}

/// The function that [`Store::read_many`] calls for each request.
pub type ReadDone<'a> = dyn Fn(usize, Result<Option<&[u8]>, StoreError>) -> ControlFlow<()> + Sync + 'a;

/// Conveniences on every [`Store`].
pub trait StoreExt: Store {
    /// Reads a whole object of at most `max_len` bytes into new memory; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    fn read_vec(&self, key: Key<'_>, max_len: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let mut out = Vec::new();
        Ok(self.read(key, ReadRange::All, max_len, &mut out)?.then_some(out))
    }

    /// Whether an object exists.
    ///
    /// # Errors
    ///
    /// As [`Store::len`].
    fn exists(&self, key: Key<'_>) -> Result<bool, StoreError> {
        Ok(self.len(key)?.is_some())
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// What a store can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Objects can be written and deleted.
    pub writable: bool,
    /// [`WriteMode::CreateNew`] is atomic against other writers.
    pub create_new: bool,
    /// Keys can be listed.
    pub list: bool,
    /// Reading a range costs less than reading the object.
    pub ranges: bool,
    /// A new dataset becomes visible as a whole, by [`Store::publish`].
    pub atomic_publish: bool,
    /// Writes, also those to an existing dataset, become visible to other programs only by [`Store::publish`];
    /// without it nothing changes.
    pub deferred_writes: bool,
    /// A request takes microseconds, not a network round trip.
    pub local: bool,
    /// Two content keys of which one is a prefix of the other are refused ([`StoreError::KeyConflict`]). Where
    /// they are not, finding a conflict would cost one or two requests per write, and the store keeps both.
    pub key_conflicts: bool,
    /// The number of concurrent requests that hides their latency; 0 and 1 mean that one after the other is best.
    pub in_flight: usize,
}

/// The part of an object to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadRange {
    /// The whole object.
    All,
    /// From this offset to the end; the offset may be the length, then there are no bytes.
    From(u64),
    /// `len` bytes from `offset`.
    Bounded {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
    },
    /// The last bytes, this many.
    Suffix(u64),
}

impl ReadRange {
    /// Returns the bytes of the range in an object of `len` bytes; `None` if the object does not have them.
    #[must_use]
    pub fn resolve(self, len: u64) -> Option<Range<u64>> {
        match self {
            Self::All => Some(0..len),
            Self::From(offset) => (offset <= len).then_some(offset..len),
            Self::Bounded { offset, len: want } => {
                let end = offset.checked_add(want)?;
                (end <= len).then_some(offset..end)
            }
            Self::Suffix(want) => Some(len.checked_sub(want)?..len),
        }
    }

    /// [`resolve`](Self::resolve) with the errors that [`Store::read`] promises.
    pub(crate) fn checked(
        self,
        len: u64,
        max_len: u64,
        at: impl Fn() -> ObjectLocation,
    ) -> Result<Range<u64>, StoreError> {
        let Some(range) = self.resolve(len) else {
            return Err(StoreError::OutOfRange { at: at(), object_len: len, range: self.to_string() });
        };
        let want = range.end - range.start;
        if want > max_len {
            return Err(StoreError::TooLarge { at: at(), len: want, limit: max_len });
        }
        Ok(range)
    }
}

impl fmt::Display for ReadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all bytes"),
            Self::From(offset) => write!(f, "the bytes from {offset}"),
            Self::Bounded { offset, len } => write!(f, "{len} bytes from {offset}"),
            Self::Suffix(len) => write!(f, "the last {len} bytes"),
        }
    }
}

/// One request of [`Store::read_many`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRequest<'a> {
    /// The object.
    pub key: Key<'a>,
    /// The part of it.
    pub range: ReadRange,
    /// The most bytes that may come.
    pub max_len: u64,
}

/// What [`Store::read_into`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadInto {
    /// How many bytes of the caller's slice were filled, from its start.
    pub filled: usize,
    /// The length of the whole object.
    pub object_len: u64,
}

/// What [`Store::write`] does if the object exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteMode {
    /// Replace it.
    Replace,
    /// Refuse with [`StoreError::AlreadyExists`].
    CreateNew,
}

/// How far down [`Store::list`] goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Immediate children only.
    One,
    /// Everything below.
    All,
}

/// What [`Store::list`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The entries, sorted by the bytes of their keys.
    pub entries: Vec<Entry>,
    /// Files that are not objects of the dataset, as text for a message: a name that is not a key, a broken
    /// symbolic link, a device.
    pub skipped: Vec<String>,
}

/// A file or folder that a writer left when it was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its path.
    pub path: String,
    /// Whether a later writer removes it, at once or when it is old enough. It does not remove a complete dataset that
    /// another one has replaced.
    pub is_removed: bool,
}

impl Leftover {
    /// The most that are reported.
    pub const MOST: usize = 100;
}

/// One line of a [`Listing`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The whole key, not only the part below the prefix.
    pub key: KeyBuf,
    /// What is there.
    pub kind: EntryKind,
    /// The length of an object in bytes; `None` if the listing does not say it.
    pub len: Option<u64>,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// An object with bytes.
    Object,
    /// A leading part of other keys. In a directory that other programs write to, there may be
    /// nothing below it.
    Directory,
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        (**self).read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        (**self).read_into(key, offset, out)
    }

    fn read_end_into(&self, key: Key<'_>, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        (**self).read_end_into(key, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        (**self).len(key)
    }

    fn stamp(&self, key: Key<'_>) -> Result<Option<Stamp>, StoreError> {
        (**self).stamp(key)
    }

    fn stamps(&self, keys: &[Key<'_>]) -> Result<Vec<Option<Stamp>>, StoreError> {
        (**self).stamps(keys)
    }

    fn read_many(&self, requests: &[ReadRequest<'_>], done: &ReadDone<'_>) {
        (**self).read_many(requests, done);
    }

    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError> {
        (**self).write(key, bytes, mode)
    }

    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError> {
        (**self).delete(key)
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        (**self).list(prefix, depth, max_entries)
    }

    fn leftovers(&self) -> Vec<Leftover> {
        (**self).leftovers()
    }

    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        (**self).directory_id(prefix)
    }

    fn sync(&self) -> Result<(), StoreError> {
        (**self).sync()
    }

    fn publish(&self) -> Result<(), StoreError> {
        (**self).publish()
    }
}

/// Makes room for `want` bytes in a cleared buffer, without the doubling of `Vec` (chunks are
/// large) and with a little in hand (the next chunk is a little larger).
pub(crate) fn make_room(
    out: &mut Vec<u8>,
    want: usize,
    at: impl Fn() -> ObjectLocation,
) -> Result<(), StoreError> {
    if out.capacity() >= want {
        return Ok(());
    }
    let roomy = want.saturating_add(want / 8);
    if out.try_reserve_exact(roomy).is_ok() || out.try_reserve_exact(want).is_ok() {
        return Ok(());
    }
    Err(StoreError::OutOfMemory { at: at(), len: want as u64 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_is_inside_the_object_or_refused(len in 0u64..20, a in prop_oneof![0u64..25, Just(u64::MAX)], b in prop_oneof![0u64..25, Just(u64::MAX)]) {
            for range in [ReadRange::All, ReadRange::From(a), ReadRange::Bounded { offset: a, len: b }, ReadRange::Suffix(b)] {
                if let Some(found) = range.resolve(len) {
                    prop_assert!(found.start <= found.end && found.end <= len);
                }
            }
            prop_assert_eq!(ReadRange::From(a).resolve(len).is_some(), a <= len);
            prop_assert_eq!(ReadRange::Suffix(b).resolve(len).is_some(), b <= len);
            let end = u128::from(a) + u128::from(b);
            prop_assert_eq!(ReadRange::Bounded { offset: a, len: b }.resolve(len).is_some(), end <= u128::from(len));
        }
    }
}
