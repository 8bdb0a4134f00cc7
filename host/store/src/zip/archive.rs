//! The directory of an archive, read once into an index of our own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::zip::read::ZipFileEntry;
use ::zip::result::ZipError;
use ::zip::{CompressionMethod, System, ZipArchive};
use rustix::fs::{Stat, fstat};

use super::buffered_file::BufferedFile;
use super::end_record::{MAX_ENTRIES, bad, check_claims};
use super::format::{CENTRAL_HEADER, CENTRAL_MAGIC, LOCAL_HEADER};
use super::layout::{ZipLayout, find_prefix};
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, KeyBuf, Prefix};
use crate::store::Listing;
use crate::sys;

/// A byte of deflated data gives at most this many bytes.
const MOST_INFLATED: u64 = 1032;

/// An archive as it was when it was opened; nothing of this changes afterwards.
pub(super) struct Archive {
    pub(super) file: Arc<File>,
    /// What the file was when its directory was read.
    pub(super) status: Stat,
    pub(super) objects: BTreeMap<KeyBuf, Entry>,
    pub(super) prefix: Option<KeyBuf>,
    /// The names of entries that are not objects of the dataset.
    pub(super) skipped: Vec<String>,
    /// Where the directory begins, which is where the bytes of entries end.
    pub(super) directory: u64,
    /// The entries of the directory, those that are not objects included.
    pub(super) entries: usize,
}

/// Where the bytes of an object are, and what they should be.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) header_start: u64,
    /// 0 until the local header was read, which is the only place that has it.
    pub(super) data_start: AtomicU64,
    pub(super) stored_len: u64,
    pub(super) len: u64,
    pub(super) crc: u32,
    pub(super) encoding: EntryEncoding,
}

impl Entry {
    /// Whether this is what became of `old`, so far as the directory tells. What could not be read
    /// may have become readable, when an entry that it shared its bytes with has gone.
    pub(super) fn is_like(&self, old: &Self) -> bool {
        (self.len, self.stored_len, self.crc) == (old.len, old.stored_len, old.crc)
            && (self.encoding == old.encoding || matches!(old.encoding, EntryEncoding::Unreadable(_)))
    }

    pub(super) fn copy(&self) -> Self {
        Self { data_start: AtomicU64::new(self.data_start.load(Ordering::Relaxed)), ..*self }
    }
}

/// What has to be done to the bytes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryEncoding {
    Stored,
    Deflated,
    /// It is there, and it cannot be read: for this reason.
    Unreadable(&'static str),
}

/// An entry whose place in the dataset is not yet known.
struct FoundEntry {
    name: String,
    entry: Entry,
    /// The least that its header and its bytes take.
    span: u64,
}

impl Archive {
    pub(super) fn read(file: Arc<File>, location: &str, layout: &ZipLayout) -> Result<Self, StoreError> {
        let status = fstat(&file)
            .map_err(|error| StoreError::from_io("open", ObjectLocation::store(location), error.into()))?;
        let found = directory(&file, location)?;
        let mut named = Vec::with_capacity(found.len());
        for entry in entries(&found) {
            named.push(FoundEntry::new(&entry, location)?);
        }
        let (directory, entries) = (found.central_directory_start(), found.len());
        drop(found);
        find_overlaps(&mut named, directory);
        let prefix = match layout {
            ZipLayout::Flat => None,
            ZipLayout::Prefix(prefix) => Some(prefix.clone()),
            ZipLayout::Automatic => find_prefix(named.iter().map(|named| plain(&named.name)), location)?,
        };
        let mut objects = BTreeMap::new();
        let mut skipped = Vec::new();
        for FoundEntry { name, entry, .. } in named {
            match name_kind(&name, prefix.as_ref()) {
                NameKind::Object(key) => {
                    // the last of several of one name is the one that counts
                    objects.insert(key, entry);
                }
                NameKind::Directory => {}
                NameKind::Foreign => skipped.push(name),
            }
        }
        skipped.sort_unstable();
        Ok(Self { file, status, objects, prefix, skipped, directory, entries })
    }

    /// The first key that is not before `from`.
    pub(super) fn next(&self, from: &str) -> Option<Key<'_>> {
        let mut rest = self.objects.range::<str, _>((Bound::Included(from), Bound::Unbounded));
        rest.next().map(|(key, _)| key.as_key())
    }

    /// A listing with what was skipped below `prefix`, by the names that it has in the archive.
    pub(super) fn with_skipped(
        &self,
        entries: Vec<crate::store::Entry>,
        prefix: Prefix<'_>,
        max_entries: usize,
        at: impl Fn() -> ObjectLocation,
    ) -> Result<Listing, StoreError> {
        let whole = match &self.prefix {
            Some(own) if !prefix.is_root() => format!("{own}/{prefix}/"),
            _ => format!("{prefix}/"),
        };
        let below = |name: &&String| prefix.is_root() || name.starts_with(&whole);
        let mut skipped = Vec::new();
        for name in self.skipped.iter().filter(below) {
            if entries.len() + skipped.len() >= max_entries {
                return Err(StoreError::TooManyEntries { at: at(), limit: max_entries });
            }
            skipped.push(name.clone());
        }
        Ok(Listing { entries, skipped })
    }

    /// Whether the file is as it was when its directory was read.
    pub(super) fn is_unchanged(&self) -> bool {
        fstat(&self.file).is_ok_and(|now| {
            now.st_size == self.status.st_size
                && now.st_mtime == self.status.st_mtime
                && now.st_mtime_nsec == self.status.st_mtime_nsec
        })
    }
}

/// Reads the directory of a file. Of entries that have one name the last is in it.
pub(super) fn directory<'f>(
    file: &'f File,
    location: &str,
) -> Result<ZipArchive<BufferedFile<'f>>, StoreError> {
    let failed =
        |error: rustix::io::Errno| StoreError::from_io("read", ObjectLocation::store(location), error.into());
    let len = u64::try_from(fstat(file).map_err(failed)?.st_size).unwrap_or(0);
    check_claims(file, len, location)?;
    let directory =
        ZipArchive::new(BufferedFile::new(file, len)).map_err(|error| zip_error(location, error))?;
    if directory.len() > MAX_ENTRIES {
        return Err(StoreError::TooManyEntries { at: ObjectLocation::store(location), limit: MAX_ENTRIES });
    }
    let last = entries(&directory).map(|entry| entry.central_header_start()).max();
    if let Some(last) = last
        && another_follows(file, last).map_err(failed)?
    {
        return Err(bad(location, None, "it has more entries than its end record says"));
    }
    Ok(directory)
}

/// The entries of a directory.
pub(super) fn entries<'d>(
    directory: &'d ZipArchive<BufferedFile<'_>>,
) -> impl Iterator<Item = ZipFileEntry<'d>> {
    (0..directory.len()).filter_map(|index| directory.by_index_data(index).ok())
}

/// Where the name of an entry leads.
pub(super) enum NameKind {
    Object(KeyBuf),
    /// An entry of a directory, which holds no bytes.
    Directory,
    /// Something that is not a part of the dataset.
    Foreign,
}

/// A name without the parts that lead nowhere: slashes at the beginning, double ones, and single
/// dots. So unzip unpacks it; `bsdtar` packs `./a`. A directory keeps its slash at the end.
pub(super) fn plain(name: &str) -> Cow<'_, str> {
    let idle = |part: &str| matches!(part, "" | ".");
    let (path, end) = match name.rsplit_once('/') {
        Some((path, last)) if idle(last) => (path, "/"),
        _ => (name, ""),
    };
    if end.len() + path.len() == name.len() && !path.split('/').any(idle) {
        return Cow::Borrowed(name);
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !idle(part)).collect();
    Cow::Owned(parts.join("/") + end)
}

/// What a name means in a dataset that lies below `prefix`.
pub(super) fn name_kind(name: &str, prefix: Option<&KeyBuf>) -> NameKind {
    let name = &*plain(name);
    if name.ends_with('/') || name.is_empty() {
        return NameKind::Directory;
    }
    let below = match prefix {
        None => Some(name),
        Some(prefix) => name.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix('/')),
    };
    match below.map(KeyBuf::parse) {
        Some(Ok(key)) => NameKind::Object(key),
        _ => NameKind::Foreign,
    }
}

impl FoundEntry {
    fn new(entry: &ZipFileEntry<'_>, location: &str) -> Result<Self, StoreError> {
        let name = entry.name().map_err(|error| zip_error(location, error))?.into_owned();
        if name.contains('\\') && matches!(entry.system(), System::Dos | System::WindowsNTFS | System::VFAT) {
            // its keys would be taken for others, and the dataset for one with nothing in it
            let reason =
                "separates its parts by backslashes: pack the dataset with a program that writes slashes";
            return Err(bad(location, Some(name), reason));
        }
        let (stored_len, len) = (entry.compressed_size(), entry.size());
        let encoding = if entry.encrypted() {
            EntryEncoding::Unreadable("is encrypted: unpack the archive with its password")
        } else if entry.is_symlink() {
            EntryEncoding::Unreadable("is a symbolic link: pack the dataset with what the links lead to")
        } else {
            match entry.compression() {
                CompressionMethod::Stored if stored_len == len => EntryEncoding::Stored,
                CompressionMethod::Stored => {
                    EntryEncoding::Unreadable("has two lengths, though it is not compressed")
                }
                CompressionMethod::Deflated if len > stored_len.saturating_mul(MOST_INFLATED) => {
                    EntryEncoding::Unreadable("is said to be longer than its compressed bytes can be")
                }
                CompressionMethod::Deflated => EntryEncoding::Deflated,
                _ => EntryEncoding::Unreadable(
                    "is compressed by another method than deflate: pack the archive anew, stored or deflated",
                ),
            }
        };
        let entry_here = Entry {
            header_start: entry.header_start(),
            data_start: AtomicU64::new(0),
            stored_len,
            len,
            crc: entry.crc32(),
            encoding,
        };
        let span = (LOCAL_HEADER + entry.name_raw().len()) as u64;
        Ok(Self { name, span: span.saturating_add(stored_len), entry: entry_here })
    }
}

/// Entries that share bytes, or take bytes beyond the beginning of the directory, are not to be
/// believed.
fn find_overlaps(named: &mut [FoundEntry], directory: u64) {
    let mut order: Vec<usize> = (0..named.len()).collect();
    order.sort_by_key(|index| named.get(*index).map(|named| named.entry.header_start));
    let mut before: Option<(usize, u64)> = None;
    for index in order {
        let Some(this) = named.get_mut(index) else {
            continue;
        };
        let start = this.entry.header_start;
        let end = start.saturating_add(this.span);
        if end > directory {
            this.entry.encoding =
                EntryEncoding::Unreadable("reaches beyond the end of the archive's entries");
        }
        if let Some((other, other_end)) = before
            && start < other_end
        {
            const SHARED: EntryEncoding = EntryEncoding::Unreadable("shares its bytes with another entry");
            this.entry.encoding = SHARED;
            if let Some(other) = named.get_mut(other) {
                other.entry.encoding = SHARED;
            }
        }
        if before.is_none_or(|(_, other_end)| end > other_end) {
            before = Some((index, end));
        }
    }
}

/// Whether after the record that should be the last there is one more.
fn another_follows(file: &File, last: u64) -> Result<bool, rustix::io::Errno> {
    let mut header = [0; CENTRAL_HEADER];
    if sys::read_at(file, &mut header, last)? < CENTRAL_HEADER {
        return Ok(false);
    }
    let [.., n0, n1, m0, m1, k0, k1] = header[..34] else {
        return Ok(false);
    };
    let variable =
        [[n0, n1], [m0, m1], [k0, k1]].iter().map(|pair| u64::from(u16::from_le_bytes(*pair))).sum::<u64>();
    let mut magic = [0; 4];
    let end = last.saturating_add(CENTRAL_HEADER as u64).saturating_add(variable);
    Ok(sys::read_at(file, &mut magic, end)? == 4 && magic == CENTRAL_MAGIC)
}

/// What the crate `zip` says, in our terms.
fn zip_error(location: &str, error: ZipError) -> StoreError {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => {
            StoreError::from_io("read", ObjectLocation::store(location), error)
        }
        ZipError::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            bad(location, None, "it ends within its directory")
        }
        error => bad(location, None, error.to_string()),
    }
}
