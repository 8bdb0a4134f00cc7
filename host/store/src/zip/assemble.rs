//! Putting an archive together: what stays of the old one, what is new, and the directory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use rustix::io::Errno;

use super::ZipStore;
use super::archive::{Archive, Entry, NameKind, directory, entries, name_kind, plain};
use super::buffered_file::BufferedFile;
use super::end_record::bad;
use super::format::{
    self, CENTRAL_HEADER, LOCAL_HEADER, LOCAL_MAGIC, MOST_DESCRIPTOR, NewEntry, Record, u16_at,
};
use super::pending::{PendingChanges, State};
use super::stage::Stage;
use crate::error::{ObjectLocation, StoreError};
use crate::key::KeyBuf;
use crate::sys;

/// A new archive of at most this many bytes is copied rather than left with gaps.
const SMALL: u64 = 64 << 20;

/// The directory is written in pieces of about this size.
const PIECE: usize = 1 << 20;

type Assembled<'s> = (Arc<Stage>, Vec<(&'s KeyBuf, &'s Entry)>);

/// Makes an archive of the file that the objects were written to, if there is no old one and not
/// too much of the file is dead.
pub(super) fn in_place<'s>(
    store: &ZipStore,
    changing: &PendingChanges,
    state: &'s State,
) -> Result<Option<Assembled<'s>>, StoreError> {
    let (None, Some(stage)) = (&state.base, &state.stage) else {
        return Ok(None);
    };
    let new = written(state);
    let live: u64 = new.iter().map(|(_, entry)| span(entry)).sum();
    let dead = stage.end().saturating_sub(live);
    if dead > 0 && (live <= SMALL || dead >= live / 8) {
        return Ok(None);
    }
    let mut tail = Tail::new(&stage.file, stage.end());
    let offsets = new.iter().map(|(_, entry)| entry.header_start);
    finish(changing, &mut tail, stage, &new, offsets, None).map_err(|error| io_error(store, error))?;
    Ok(Some((Arc::clone(stage), new)))
}

/// Makes an archive in another file, out of what stays of the old one and what is new.
pub(super) fn assemble<'s>(
    store: &ZipStore,
    changing: &PendingChanges,
    state: &'s State,
) -> Result<Assembled<'s>, StoreError> {
    let failed = |error: Errno| io_error(store, error);
    let out = Stage::create(&changing.parent, &changing.names, changing.permissions.file).map_err(failed)?;
    let mut old = None;
    let mut position = 0;
    if let Some(base) = &state.base {
        let mut kept = Old::read(store, state, base)?;
        sys::copy(&base.file, 0, &out.file, 0, kept.first).map_err(failed)?;
        position = kept.copy_to(&base.file, &out.file).map_err(failed)?;
        old = Some(kept);
    }
    let mut new = written(state);
    new.sort_by_key(|(_, entry)| entry.header_start);
    let mut offsets = Vec::with_capacity(new.len());
    if let Some(stage) = &state.stage {
        for (_, entry) in &new {
            let len = span(entry);
            sys::copy(&stage.file, entry.header_start, &out.file, position, len).map_err(failed)?;
            offsets.push(position);
            position += len;
        }
    }
    let stamped = state.stage.as_deref().unwrap_or(&out);
    let mut tail = Tail::new(&out.file, position);
    finish(changing, &mut tail, stamped, &new, offsets.into_iter(), old.as_ref().zip(state.base.as_deref()))
        .map_err(failed)?;
    Ok((Arc::new(out), new))
}

/// What was written and is still there.
fn written(state: &State) -> Vec<(&KeyBuf, &Entry)> {
    state.changes.iter().filter_map(|(key, change)| Some((key, change.as_ref()?))).collect()
}

/// The bytes that an entry takes in the file that it was written to.
fn span(entry: &Entry) -> u64 {
    entry.data_start.load(std::sync::atomic::Ordering::Relaxed) - entry.header_start + entry.len
}

/// Writes what follows the bytes of the entries: directories, the directory, its end.
fn finish(
    changing: &PendingChanges,
    tail: &mut Tail<'_>,
    stage: &Stage,
    new: &[(&KeyBuf, &Entry)],
    offsets: impl Iterator<Item = u64>,
    old: Option<(&Old, &Archive)>,
) -> Result<(), Errno> {
    let shift = old.map_or(0, |(old, _)| old.shift);
    let stamp = stage.stamp;
    let directories = missing_directories(changing, new, old.map(|(old, _)| old));
    let mut places = Vec::with_capacity(directories.len());
    for name in &directories {
        places.push(tail.position());
        tail.push(|out| out.extend(NewEntry { name, len: 0, crc: 0, stamp }.local_header()))?;
    }
    let start = tail.position();
    let mut entries = 0;
    if let Some((old, base)) = old {
        entries += old.kept.len() as u64;
        let mut records = Records::new(&base.file, base.status.st_size);
        for kept in &old.kept {
            let mut record = records.read(kept.record).map_err(|_| Errno::IO)?;
            record.set_offset(kept.offset - shift).ok_or(Errno::IO)?;
            tail.push(|out| out.extend_from_slice(&record.0))?;
        }
    }
    for (name, location) in directories.iter().zip(places) {
        entries += 1;
        tail.push(|out| NewEntry { name, len: 0, crc: 0, stamp }.push_record(out, location - shift))?;
    }
    for ((key, entry), offset) in new.iter().zip(offsets) {
        entries += 1;
        let name = changing.name(key.as_str());
        let written = NewEntry { name: &name, len: entry.len, crc: entry.crc, stamp };
        tail.push(|out| written.push_record(out, offset - shift))?;
    }
    let end = tail.position();
    let comment = old.map(|(old, _)| old.comment.as_slice()).unwrap_or_default();
    tail.push(|out| out.extend(format::end(entries, start..end, shift, comment)))?;
    tail.flush()?;
    sys::set_len(tail.file, tail.position())
}

/// Where there is a prefix, as netcdf-c has it, directories have entries too.
fn missing_directories(
    changing: &PendingChanges,
    new: &[(&KeyBuf, &Entry)],
    old: Option<&Old>,
) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    let Some(prefix) = &changing.prefix else {
        return missing;
    };
    let is_there = |name: &String| old.is_some_and(|old| old.directories.contains(name));
    let own = prefix.as_key().ancestors().map(|above| format!("{above}/"));
    missing.extend(own.chain([format!("{prefix}/")]).filter(|name| !is_there(name)));
    for (key, _) in new {
        for above in key.as_key().ancestors() {
            let name = format!("{prefix}/{above}/");
            if !is_there(&name) {
                missing.insert(name);
            }
        }
    }
    missing
}

/// What stays of an archive, in the order of its directory.
struct Old {
    kept: Vec<Kept>,
    /// The names of the directories among it.
    directories: BTreeSet<String>,
    /// Where the first entry was; what is before it, a program perhaps, stays.
    first: u64,
    /// By how much positions are too small.
    shift: u64,
    comment: Vec<u8>,
}

struct Kept {
    /// Where its record of the directory is.
    record: u64,
    /// Its header and its bytes, in the old file.
    start: u64,
    end: u64,
    /// Its place in the new file.
    offset: u64,
}

impl Old {
    fn read(store: &ZipStore, state: &State, base: &Archive) -> Result<Self, StoreError> {
        let location = store.path.display().to_string();
        let failed = |error: io::Error| {
            StoreError::from_io("read", ObjectLocation::store(store.path.display()), error)
        };
        let found = directory(&base.file, &location)?;
        let mut starts = Vec::with_capacity(base.entries);
        let mut kept = Vec::with_capacity(base.entries);
        let mut described = Vec::new();
        let mut directories = BTreeSet::new();
        for entry in entries(&found) {
            starts.push(entry.header_start());
            let name = entry.name().map_err(|error| bad(&location, None, error.to_string()))?;
            if !stays(state, base, &name, entry.header_start()) {
                continue;
            }
            let plain = plain(&name);
            if plain.ends_with('/') {
                directories.insert(plain.into_owned());
            }
            let end = end_of_bytes(&base.file, base.directory, entry.header_start(), entry.compressed_size())
                .map_err(|error| failed(error.into()))?
                .ok_or_else(|| {
                    let reason = "cannot be copied, since its header is damaged: overwrite or delete it";
                    bad(&location, Some(name.to_string()), reason)
                })?;
            if entry.flags().is_using_data_descriptor() {
                described.push(kept.len());
            }
            let (record, start) = (entry.central_header_start(), entry.header_start());
            kept.push(Kept { record, start, end, offset: 0 });
        }
        starts.sort_unstable();
        for index in described {
            // how long a descriptor is does not matter: what is after it belongs to no entry
            if let Some(kept) = kept.get_mut(index) {
                let next = starts.partition_point(|start| *start < kept.end);
                let limit = starts.get(next).copied().unwrap_or(base.directory).min(base.directory);
                kept.end = (kept.end + MOST_DESCRIPTOR).min(limit.max(kept.end));
            }
        }
        kept.sort_unstable_by_key(|kept| kept.record);
        let shift = found.offset();
        // what is before the archive, or between there and its first entry
        let first = if begins_with_an_entry(&base.file, shift).map_err(|error| failed(error.into()))? {
            shift
        } else {
            starts.first().copied().unwrap_or(shift)
        };
        let mut old = Self { kept, directories, first, shift, comment: found.comment().to_vec() };
        old.location(&location, &mut Records::new(&base.file, base.status.st_size))?;
        Ok(old)
    }

    /// Gives what stays its new place, one after the other, in the order of the old places.
    fn location(&mut self, location: &str, records: &mut Records<'_>) -> Result<(), StoreError> {
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        order.sort_by_key(|index| self.kept.get(*index).map(|kept| kept.start));
        let (mut position, mut before) = (self.first, self.first);
        for index in order {
            let Some(kept) = self.kept.get_mut(index) else {
                continue;
            };
            if kept.start < before {
                let name = records.read(kept.record).map(|record| record.name()).unwrap_or_default();
                let reason = "shares its bytes with another entry: overwrite or delete it";
                return Err(bad(location, Some(name), reason));
            }
            before = kept.end;
            kept.offset = position;
            position += kept.end - kept.start;
        }
        Ok(())
    }

    /// Copies what stays, neighbours in one go; gives the end of it in the new file.
    fn copy_to(&mut self, from: &File, to: &File) -> Result<u64, Errno> {
        let mut runs: Vec<(u64, u64, u64)> = Vec::new();
        let mut order: Vec<&Kept> = self.kept.iter().collect();
        order.sort_by_key(|kept| kept.start);
        for kept in order {
            match runs.last_mut() {
                Some((_, end, _)) if *end == kept.start => *end = kept.end,
                _ => runs.push((kept.start, kept.end, kept.offset)),
            }
        }
        let mut position = self.first;
        for (start, end, offset) in runs {
            sys::copy(from, start, to, offset, end - start)?;
            position = offset + (end - start);
        }
        Ok(position)
    }
}

/// Whether an entry of the old archive is one of the new archive.
fn stays(state: &State, base: &Archive, name: &str, header_start: u64) -> bool {
    match name_kind(name, base.prefix.as_ref()) {
        NameKind::Foreign => true,
        NameKind::Object(key) => {
            // of several of one name the one that counted
            !state.changes.contains_key(key.as_str())
                && base.objects.get(key.as_str()).is_some_and(|entry| entry.header_start == header_start)
        }
        NameKind::Directory => {
            let name = plain(name);
            let name = name.trim_end_matches('/');
            let key = match &base.prefix {
                None => Some(name),
                Some(prefix) => name.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(Ok(key)) = key.map(KeyBuf::parse) else {
                return true;
            };
            let below = format!("{key}/");
            let leads = |next: Option<crate::key::Key<'_>>| {
                next.is_some_and(|next| next.as_str().starts_with(&below))
            };
            // one whose last object was deleted goes, as does one that became an object
            leads(state.next(&below))
                || !(leads(base.next(&below)) || state.has(key.as_str()) || {
                    key.as_key().ancestors().any(|above| state.has(above.as_str()))
                })
        }
    }
}

/// Where the bytes of an entry end, as its local header tells it; `None` if that cannot be.
fn end_of_bytes(file: &File, limit: u64, start: u64, len: u64) -> Result<Option<u64>, Errno> {
    let mut header = [0; LOCAL_HEADER];
    if sys::read_at(file, &mut header, start)? < LOCAL_HEADER || header.first_chunk() != Some(&LOCAL_MAGIC) {
        return Ok(None);
    }
    let variable = [26, 28].into_iter().filter_map(|at| u16_at(&header, at)).map(u64::from).sum::<u64>();
    let end = start.checked_add(LOCAL_HEADER as u64 + variable).and_then(|data| data.checked_add(len));
    Ok(end.filter(|end| *end <= limit))
}

/// Whether an entry is at the beginning of the archive. If the directory does not know it, it
/// was deleted or overwritten by another program, and its bytes are not kept.
fn begins_with_an_entry(file: &File, shift: u64) -> Result<bool, Errno> {
    let mut magic = [0; LOCAL_MAGIC.len()];
    Ok(sys::read_at(file, &mut magic, shift)? == LOCAL_MAGIC.len() && magic == LOCAL_MAGIC)
}

/// Reads records of a directory.
struct Records<'a>(BufferedFile<'a>);

impl<'a> Records<'a> {
    fn new(file: &'a File, len: i64) -> Self {
        Self(BufferedFile::new(file, u64::try_from(len).unwrap_or(0)))
    }

    fn read(&mut self, at: u64) -> io::Result<Record> {
        let mut header = [0; CENTRAL_HEADER];
        self.0.seek(SeekFrom::Start(at))?;
        self.0.read_exact(&mut header)?;
        let mut record = header.to_vec();
        record.resize(Record::whole_len(&header), 0);
        self.0.read_exact(record.get_mut(CENTRAL_HEADER..).unwrap_or_default())?;
        Ok(Record(record))
    }
}

/// The end of a file, written in large pieces.
struct Tail<'a> {
    file: &'a File,
    /// Where `pending` goes.
    at: u64,
    pending: Vec<u8>,
}

impl<'a> Tail<'a> {
    fn new(file: &'a File, at: u64) -> Self {
        Self { file, at, pending: Vec::new() }
    }

    fn position(&self) -> u64 {
        self.at + self.pending.len() as u64
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Errno> {
        write(&mut self.pending);
        if self.pending.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        sys::write_all_at(self.file, &self.pending, self.at)?;
        self.at += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

fn io_error(store: &ZipStore, error: Errno) -> StoreError {
    StoreError::from_io("publish", ObjectLocation::store(store), error.into())
}
