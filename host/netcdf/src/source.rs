//! One file in a store, read by byte ranges.
//!
//! Metadata are read through a cache of pages, because they lie close together: the first request reads the start of
//! the file and gives its length, and pages that follow each other are read ahead. Nodes of an index that lie between
//! chunks are read exactly, many in one round. Chunks are never read through here.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use ncz_store::{Key, KeyBuf, ReadRange, ReadRequest, Store, StoreError};

/// The bytes of a page.
const PAGE: u64 = 64 << 10;

/// The most pages of one request that reads ahead (1 MiB).
const MOST_AHEAD: u64 = 16;

/// The most pages that are kept (16 MiB).
const MOST_PAGES: usize = 256;

/// The most bytes of one read (256 MiB): what an attribute may have.
const MOST_BYTES: u64 = 256 << 20;

/// Ranges of one round with a smaller gap are read together.
const GAP: u64 = 16 << 10;

/// The longest request that joins several ranges (1 MiB).
const JOINED: u64 = 1 << 20;

/// Why bytes of a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no such file.
    #[error("{key:?} does not exist in {store}; check the path")]
    Missing {
        /// The key.
        key: String,
        /// The store.
        store: String,
    },
    /// The bytes lie past the end of the file.
    #[error(
        "{key:?} ends at {file_len}, but {what} at {offset} has {len} bytes; the file is cut short, or damaged"
    )]
    PastEnd {
        /// The key.
        key: String,
        /// What was to be read.
        what: &'static str,
        /// Its first byte.
        offset: u64,
        /// Its bytes.
        len: u64,
        /// The length of the file.
        file_len: u64,
    },
    /// More bytes than any metadata have.
    #[error(
        "{what} at {offset} of {key:?} has {len} bytes, more than the limit of {limit}; the file is damaged"
    )]
    TooLarge {
        /// The key.
        key: String,
        /// What was to be read.
        what: &'static str,
        /// Its first byte.
        offset: u64,
        /// Its bytes.
        len: u64,
        /// The limit.
        limit: u64,
    },
    /// Ranges that are read in one round have more bytes than that.
    #[error(
        "{what} of {key:?} from {offset} on, and what is read with it, have {len} bytes together, more than the limit of \
         {limit}"
    )]
    TooLargeTogether {
        /// The key.
        key: String,
        /// What was to be read.
        what: &'static str,
        /// The first byte of the range that is too much.
        offset: u64,
        /// The bytes of all ranges so far.
        len: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is replaced while it is read.
    #[error(
        "{key:?} had {before} bytes and now has {now}; another program changes it: open it again when it is complete"
    )]
    Changed {
        /// The key.
        key: String,
        /// The length at first.
        before: u64,
        /// The length now.
        now: u64,
    },
    /// The store failed.
    #[error("cannot read {what} at {offset} of {key:?}")]
    Store {
        /// The key.
        key: String,
        /// What was to be read.
        what: &'static str,
        /// Its first byte.
        offset: u64,
        /// The error of the store.
        source: Box<StoreError>,
    },
}

/// One file in a store.
#[derive(Debug)]
pub struct Source {
    store: Arc<dyn Store>,
    key: KeyBuf,
    len: u64,
    pages: Mutex<Pages>,
}

/// The pages that are kept.
#[derive(Debug, Default)]
struct Pages {
    /// By number, with the time of the last use.
    kept: BTreeMap<u64, (u64, Arc<[u8]>)>,
    time: u64,
    /// The page after the last one that was read, and how many were read ahead.
    next: u64,
    ahead: u64,
}

impl Source {
    /// Opens the file with this key: reads its start, which also gives its length.
    ///
    /// # Errors
    /// There is no such file, or the store fails.
    pub fn open(store: Arc<dyn Store>, key: KeyBuf) -> Result<Self, ReadError> {
        let first = if store.capabilities().local { PAGE } else { 4 * PAGE };
        let mut bytes = vec![0; usize::try_from(first).unwrap_or(usize::MAX)];
        let answer = store.read_into(key.as_key(), 0, &mut bytes).map_err(|source| ReadError::Store {
            key: key.as_str().to_owned(),
            what: "the start",
            offset: 0,
            source: Box::new(source),
        })?;
        let Some(read) = answer else {
            return Err(ReadError::Missing { key: key.as_str().to_owned(), store: store.to_string() });
        };
        bytes.truncate(read.filled);
        let source = Self { store, key, len: read.object_len, pages: Mutex::default() };
        source.keep(0, &bytes);
        Ok(source)
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key of the file.
    #[must_use]
    pub fn key(&self) -> Key<'_> {
        self.key.as_key()
    }

    /// The store that holds the file.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Reads metadata, through the pages. `what` names them in messages.
    ///
    /// # Errors
    /// The file does not have these bytes, or the store fails.
    pub fn read(&self, offset: u64, len: u64, what: &'static str) -> Result<Vec<u8>, ReadError> {
        let range = self.check(offset, len, what)?;
        let mut out = Vec::with_capacity(to_usize(len));
        self.read_pages(range, what, &mut out)?;
        Ok(out)
    }

    /// As [`read`](Self::read), but fewer bytes where the file ends: what is read before its length is known.
    ///
    /// # Errors
    /// The offset lies past the end of the file, or the store fails.
    pub fn read_up_to(&self, offset: u64, most: u64, what: &'static str) -> Result<Vec<u8>, ReadError> {
        let have = self.len.saturating_sub(offset);
        self.read(offset, if offset < self.len { most.min(have) } else { most }, what)
    }

    /// Reads ranges in one round, without keeping them: nodes of an index, which lie between chunks. Pages that are kept
    /// are used.
    ///
    /// # Errors
    /// The file does not have these bytes, or the store fails.
    pub fn read_many(&self, ranges: &[(u64, u64)], what: &'static str) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut answers = Vec::with_capacity(ranges.len());
        let mut wanted = Vec::new();
        let mut total = 0_u64;
        for (index, (offset, len)) in ranges.iter().copied().enumerate() {
            let range = self.check(offset, len, what)?;
            total = total.saturating_add(len);
            if total > MOST_BYTES {
                let (key, limit) = (self.key.as_str().to_owned(), MOST_BYTES);
                return Err(ReadError::TooLargeTogether { key, what, offset, len: total, limit });
            }
            let kept = self.read_kept(&range);
            if kept.is_none() {
                wanted.push((range, index));
            }
            answers.push(kept.unwrap_or_default());
        }
        wanted.sort_unstable_by_key(|(range, _)| (range.start, range.end));
        let joined = join(&wanted);
        let requests: Vec<_> = joined
            .iter()
            .map(|(range, _)| ReadRequest {
                key: self.key.as_key(),
                range: ReadRange::Bounded { offset: range.start, len: range.end - range.start },
                max_len: MOST_BYTES.max(JOINED),
            })
            .collect();
        let state = Mutex::new((answers, None));
        self.store.read_many(&requests, &|request, answer| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((range, members)) = joined.get(request) else { return ControlFlow::Break(()) };
            let error = match answer {
                Ok(Some(bytes)) => {
                    for (part, index) in wanted.get(members.clone()).unwrap_or_default() {
                        let found =
                            bytes.get(to_usize(part.start - range.start)..to_usize(part.end - range.start));
                        if let (Some(found), Some(answer)) = (found, state.0.get_mut(*index)) {
                            found.clone_into(answer);
                        }
                    }
                    return ControlFlow::Continue(());
                }
                Ok(None) => self.missing(),
                Err(source) => self.failed(range.start, what, source),
            };
            state.1 = Some(error);
            ControlFlow::Break(())
        });
        let (answers, error) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = error {
            return Err(error);
        }
        for (answer, (offset, len)) in answers.iter().zip(ranges) {
            if answer.len() as u64 != *len {
                return Err(self.past_end(*offset, *len, what));
            }
        }
        Ok(answers)
    }

    /// Reads the pages at these offsets that are not kept, all in one round, so that what is read there next is at hand.
    /// Nothing is read where it would fill the cache.
    ///
    /// # Errors
    /// The store fails.
    pub fn prefetch(
        &self,
        offsets: impl IntoIterator<Item = u64>,
        what: &'static str,
    ) -> Result<(), ReadError> {
        let pages: std::collections::BTreeSet<u64> =
            offsets.into_iter().filter(|offset| *offset < self.len).map(|offset| offset / PAGE).collect();
        let missing: Vec<u64> = pages.into_iter().filter(|page| self.page(*page).is_none()).collect();
        // One page is read when it is needed, with those after it.
        if missing.len() < 2 || missing.len() > MOST_PAGES / 2 {
            return Ok(());
        }
        let range = |page: &u64| (page * PAGE, PAGE.min(self.len - page * PAGE));
        let ranges: Vec<_> = missing.iter().map(range).collect();
        for (page, bytes) in missing.iter().zip(self.read_many(&ranges, what)?) {
            self.keep(*page, &bytes);
        }
        Ok(())
    }

    /// Checks that the file has these bytes.
    ///
    /// # Errors
    /// It does not have them, or they are too many for metadata.
    pub fn check(&self, offset: u64, len: u64, what: &'static str) -> Result<Range<u64>, ReadError> {
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.len) else {
            return Err(self.past_end(offset, len, what));
        };
        if len > MOST_BYTES {
            return Err(self.too_large(offset, len, what));
        }
        Ok(offset..end)
    }

    /// Copies a range out of the pages, reading those that are not kept.
    fn read_pages(&self, range: Range<u64>, what: &'static str, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut at = range.start;
        while at < range.end {
            let page = match self.page(at / PAGE) {
                Some(page) => page,
                None => self.fetch(at / PAGE, range.end.div_ceil(PAGE), what)?,
            };
            let from = at % PAGE;
            let until = PAGE.min(from + (range.end - at));
            let Some(bytes) = page.get(to_usize(from)..to_usize(until)) else {
                return Err(self.past_end(range.start, range.end - range.start, what));
            };
            out.extend_from_slice(bytes);
            at += until - from;
        }
        Ok(())
    }

    /// A range whose pages are all kept.
    fn read_kept(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let pages = range.start / PAGE..range.end.div_ceil(PAGE);
        let pages = pages.map(|page| self.page(page)).collect::<Option<Vec<_>>>()?;
        let skip = to_usize(range.start % PAGE);
        let len = to_usize(range.end - range.start);
        let out: Vec<u8> = pages.iter().flat_map(|page| page.iter()).skip(skip).take(len).copied().collect();
        (out.len() == len).then_some(out)
    }

    fn page(&self, number: u64) -> Option<Arc<[u8]>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.time += 1;
        let time = pages.time;
        let (used, page) = pages.kept.get_mut(&number)?;
        *used = time;
        Some(Arc::clone(page))
    }

    /// Reads a page, those that are wanted after it, and more where pages are read in order.
    fn fetch(&self, number: u64, end: u64, what: &'static str) -> Result<Arc<[u8]>, ReadError> {
        let count = {
            let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
            pages.ahead = if pages.next == number { (pages.ahead * 2).clamp(1, MOST_AHEAD) } else { 1 };
            let wanted = (end - number).clamp(pages.ahead, MOST_AHEAD.max(pages.ahead));
            let next_kept = pages.kept.range(number + 1..).next().map_or(u64::MAX, |(kept, _)| *kept);
            let count = wanted.min(next_kept - number).min(self.len.div_ceil(PAGE) - number);
            pages.next = number + count;
            count
        };
        let offset = number * PAGE;
        let len = (count * PAGE).min(self.len - offset);
        let mut bytes = vec![0; to_usize(len)];
        let read = self
            .store
            .read_into(self.key.as_key(), offset, &mut bytes)
            .map_err(|source| self.failed(offset, what, source))?
            .ok_or_else(|| self.missing())?;
        if read.object_len != self.len || read.filled != bytes.len() {
            return Err(ReadError::Changed {
                key: self.key.as_str().to_owned(),
                before: self.len,
                now: read.object_len,
            });
        }
        self.keep(number, &bytes);
        let first = bytes.get(..bytes.len().min(to_usize(PAGE))).unwrap_or_default();
        Ok(Arc::from(first))
    }

    /// Keeps pages; those that were not used for longest are dropped.
    fn keep(&self, number: u64, bytes: &[u8]) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, page) in (number..).zip(bytes.chunks(to_usize(PAGE))) {
            if pages.kept.len() >= MOST_PAGES {
                let oldest = pages.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(number, _)| *number);
                if let Some(oldest) = oldest {
                    pages.kept.remove(&oldest);
                }
            }
            let time = pages.time;
            pages.kept.insert(number, (time, Arc::from(page)));
        }
        if pages.next == 0 {
            pages.next = (bytes.len() as u64).div_ceil(PAGE);
        }
    }

    fn past_end(&self, offset: u64, len: u64, what: &'static str) -> ReadError {
        ReadError::PastEnd { key: self.key.as_str().to_owned(), what, offset, len, file_len: self.len }
    }

    fn too_large(&self, offset: u64, len: u64, what: &'static str) -> ReadError {
        ReadError::TooLarge { key: self.key.as_str().to_owned(), what, offset, len, limit: MOST_BYTES }
    }

    fn missing(&self) -> ReadError {
        ReadError::Missing { key: self.key.as_str().to_owned(), store: self.store.to_string() }
    }

    fn failed(&self, offset: u64, what: &'static str, source: StoreError) -> ReadError {
        ReadError::Store { key: self.key.as_str().to_owned(), what, offset, source: Box::new(source) }
    }
}

/// Joins sorted ranges with small gaps: the range to request, and which of the sorted ranges it has.
fn join(sorted: &[(Range<u64>, usize)]) -> Vec<(Range<u64>, Range<usize>)> {
    let mut joined: Vec<(Range<u64>, Range<usize>)> = Vec::new();
    for (position, (range, _)) in sorted.iter().enumerate() {
        if let Some((last, members)) = joined.last_mut()
            && range.start <= last.end.saturating_add(GAP)
            && range.end.max(last.end) - last.start <= JOINED.max(last.end - last.start)
        {
            last.end = last.end.max(range.end);
            members.end = position + 1;
            continue;
        }
        joined.push((range.clone(), position..position + 1));
    }
    joined
}

/// Lengths were checked against the length of the file and a limit; on a small machine the read of memory fails instead.
fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]
mod tests {
    use ncz_store::{MemoryStore, WriteMode};

    use super::*;

    fn source(bytes: &[u8]) -> Source {
        let store = MemoryStore::new("memory");
        store.write(Key::parse("f.nc").unwrap(), bytes, WriteMode::Replace).unwrap();
        Source::open(Arc::new(store), KeyBuf::parse("f.nc").unwrap()).unwrap()
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at / 251 + at % 251) as u8).collect()
    }

    #[test]
    fn every_range_has_the_bytes_of_the_file() {
        let bytes = pattern(3 * PAGE as usize + 17);
        let source = source(&bytes);
        assert_eq!(source.len(), bytes.len() as u64);
        for (offset, len) in [(0, 8), (PAGE - 4, 8), (5, 3 * PAGE), (bytes.len() as u64 - 1, 1), (7, 0)] {
            let want = &bytes[offset as usize..(offset + len) as usize];
            assert_eq!(source.read(offset, len, "it").unwrap(), want);
            assert_eq!(source.read_many(&[(offset, len), (0, 3)], "it").unwrap(), [want, &bytes[..3]]);
        }
        let scattered = [(2 * PAGE + 9, 100), (10, 4), (3 * PAGE, 17), (2 * PAGE + 9, 1)];
        let fresh = self::source(&bytes).read_many(&scattered, "it").unwrap();
        for (got, (offset, len)) in fresh.iter().zip(scattered) {
            assert_eq!(got, &bytes[offset as usize..(offset + len) as usize]);
        }
    }

    #[test]
    fn bytes_past_the_end_are_an_error_that_says_where_the_file_ends() {
        let source = source(&[1; 100]);
        let error = source.read(90, 11, "the object header").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"f.nc\" ends at 100, but the object header at 90 has 11 bytes; the file is cut short, or damaged"
        );
        assert!(source.read(u64::MAX, 2, "it").is_err());
        assert!(source.read_many(&[(0, 1), (100, 1)], "it").is_err());
        assert_eq!(source.read_up_to(90, 64, "it").unwrap().len(), 10);
        assert!(source.read_up_to(100, 64, "it").is_err());
    }
}
