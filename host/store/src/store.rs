//! The trait that every backend implements, and the values that it speaks in.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::error::{Location, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::visited::DirectoryId;

/// A place for the objects of one dataset.
///
/// A store is shared between threads as `Arc<dyn Store>`. `Display` names it for messages: the
/// path of a directory, the URL of a bucket. See the [crate](crate) for the rules that hold on
/// every backend.
pub trait Store: Send + Sync + fmt::Debug + fmt::Display {
    /// What this store can do.
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
    /// the object does not have them all, and the failures of the place.
    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError>;

    /// Reads an object from `offset` straight into `out`, as far as both go.
    ///
    /// The answer tells the true length of the object, so that one copy suffices for an
    /// uncompressed chunk and a short or a long object is seen. `None`: there is no such object.
    ///
    /// # Errors
    ///
    /// The failures of the place.
    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError>;

    /// Reads the end of an object straight into `out`: its last bytes, as many as `out` has room for.
    ///
    /// The answer tells the true length of the object; one that is shorter than `out` fills only its
    /// start. This default asks for the length first, and fills nothing where the object is replaced
    /// again and again meanwhile. Where a request is a round trip, a store does both in one, as
    /// HTTP's suffix ranges do.
    ///
    /// # Errors
    ///
    /// The failures of the place.
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

    /// The length of an object in bytes; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// The failures of the place.
    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError>;

    /// Reads many objects, and calls `done` on the calling thread with the index of a request and its
    /// bytes (`None`: missing) as each completes, in any order.
    ///
    /// It returns when every request was answered, or after `done` has answered `Break`; requests
    /// that were not yet begun are then dropped. This default reads one after the other.
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

    /// Writes an object as a whole: a reader, a crash or a failure meets the old or the new one.
    ///
    /// It returns when other readers of this store see the object; those of the place do too, unless
    /// it waits to be [published](Store::publish). It survives a loss of power in any case as old or
    /// new, and as new once [`sync`](Store::sync) has returned or, where it waits, `publish`.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] for [`WriteMode::CreateNew`] on an object that exists,
    /// [`StoreError::KeyConflict`], [`StoreError::NoSpace`], and the failures of the place.
    fn write(&self, key: Key<'_>, bytes: &[u8], mode: WriteMode) -> Result<(), StoreError>;

    /// Removes an object and says whether there was one.
    ///
    /// # Errors
    ///
    /// The failures of the place.
    fn delete(&self, key: Key<'_>) -> Result<bool, StoreError>;

    /// What lies below `prefix`, sorted by the bytes of the keys. What does not exist is empty.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooManyEntries`] for more than `max_entries`; with [`Depth::All`] [`StoreError::LinkLoop`] and
    /// [`StoreError::TooManyLinks`]; and the failures of the place.
    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError>;

    /// What writers that ended early, by a kill or a power failure, left at the dataset or beside it. Nothing of a writer
    /// that lives. What cannot be looked at is left out.
    fn leftovers(&self) -> Vec<Leftover> {
        Vec::new()
    }

    /// Which directory of the file system a prefix is, in a store where symbolic links can make one directory reachable
    /// by several paths; `None` in other stores, and where there is no such directory. [`Visited`](crate::Visited) finds
    /// loops with it.
    ///
    /// # Errors
    ///
    /// The failures of the place.
    fn directory_id(&self, prefix: Prefix<'_>) -> Result<Option<DirectoryId>, StoreError> {
        let _ = prefix;
        Ok(None)
    }

    /// Makes durable what was written so far, before anything that is written later. What waits to
    /// be published is made durable by that alone.
    ///
    /// # Errors
    ///
    /// The failures of the place.
    fn sync(&self) -> Result<(), StoreError>;

    /// Makes a new dataset visible, whole, and where [writes wait](Capabilities::deferred_writes)
    /// also the changes to one that exists. Nothing is to be done where writes are visible at once,
    /// or when called again. What was never published disappears with its store.
    ///
    /// # Errors
    ///
    /// [`StoreError::AlreadyExists`] or [`StoreError::NotADataset`] if something else has appeared
    /// at the target, [`StoreError::Gone`] if what was to be changed is no longer what was opened, and the failures of
    /// the place. The dataset *is* published after [`StoreError::NotRemoved`], where the one that it replaces could not
    /// be removed, and after [`StoreError::NotDurable`], where a power failure may still undo it.
    fn publish(&self) -> Result<(), StoreError>;
}

/// What [`Store::read_many`] calls for each request.
pub type ReadDone<'a> = dyn Fn(usize, Result<Option<&[u8]>, StoreError>) -> ControlFlow<()> + Sync + 'a;

/// Conveniences on every [`Store`].
pub trait StoreExt: Store {
    /// Reads a whole object of at most `max_len` bytes into new memory; `None` if it is missing.
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
    /// An object can be written on condition of its version. No store has it yet, nor is there a
    /// [`WriteMode`] for it.
    pub if_version: bool,
    /// Keys can be listed.
    pub list: bool,
    /// Reading a range costs less than reading the object.
    pub ranges: bool,
    /// A new dataset becomes visible as a whole, by [`Store::publish`].
    pub atomic_publish: bool,
    /// Every write waits for [`Store::publish`], also one to a dataset that exists: until then other
    /// programs see the old dataset, and without it nothing changes.
    pub deferred_writes: bool,
    /// A request takes microseconds, not a network round trip.
    pub local: bool,
    /// Two content keys of which one is a prefix of the other are refused ([`StoreError::KeyConflict`]). Where
    /// they are not, looking for one would cost a request or two a write, and the place keeps both.
    pub key_conflicts: bool,
    /// How many requests to keep waiting at the same time, so that their latency is paid once; 0 and 1 mean that
    /// one after the other is best.
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
    /// The bytes that the range means in an object of `len` bytes; `None` if it does not have them.
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
        at: impl Fn() -> Location,
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

/// What to do where an object exists.
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
    /// Foreign things that no key can name or that are no objects (a name that is not UTF-8, a
    /// link to nowhere, a device), as text for a message. They are no part of the dataset.
    pub skipped: Vec<String>,
}

/// A file or folder that a writer left when it ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: String,
    /// Whether a later writer removes it: at once, or when it is old enough. What it does not remove is a whole dataset
    /// that another one has replaced.
    pub is_removed: bool,
}

impl Leftover {
    /// Most of them that are named.
    pub const MOST: usize = 100;
}

/// One line of a [`Listing`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The whole key, not only the part below the prefix.
    pub key: KeyBuf,
    /// What is there.
    pub kind: EntryKind,
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
pub(crate) fn make_room(out: &mut Vec<u8>, want: usize, at: impl Fn() -> Location) -> Result<(), StoreError> {
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
