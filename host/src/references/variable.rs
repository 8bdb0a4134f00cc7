//! The references of one variable.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use ncz_model::{
    Array, ChunkIndex, ChunkLocation, Container, DataError, Elements, Extent, Format, ObjectKeys, Slab,
    Variable, Worker, product,
};
use ncz_registry::chain::{ChainScratch, FilterChain};
use ncz_store::Key;

use super::output::{Output, Reference};
use super::{MOST_REFERENCES, ReferenceError, ReferenceOptions, ReferenceSummary};
use crate::copy::{same_codecs, same_elements};
use crate::progress::Progress;

/// A variable of several short chunks is one chunk in the references if it has at most this many bytes.
const SHORT_VARIABLE: u64 = 64 << 10;

/// A variable that ends with its file, and not with a whole chunk, is one chunk if it has at most this many bytes.
const ONE_CHUNK: u64 = 32 << 20;

/// Writes the references of the chunks of a variable. If they are not the stored chunks, `planned` is changed to
/// describe them.
pub(super) fn write(
    source: &dyn Container,
    original: &Variable,
    planned: &mut Variable,
    (url, options): (&dyn Fn(&str) -> String, &ReferenceOptions),
    out: &mut dyn Output,
    summary: &mut ReferenceSummary,
    progress: &dyn Progress,
) -> Result<(), ReferenceError> {
    check_end(original, planned)?;
    if planned.shape != original.shape {
        // Chunks beyond the stored array are missing.
        summary.missing += 1;
    }
    if original.dtype.is_variable_length() {
        return strings(source, original, planned, options, out, summary, progress);
    }
    let array = source.array(&original.path)?;
    let chunks = count(original, array.chunk_counts(), summary)?;
    let chunk_len = array.chain().chunk_len() as u64;
    let all = product(array.stored_shape().iter().copied().chain([array.dtype().size() as u64]));
    if chunks > 1 && chunk_len <= options.inline && all.is_some_and(|all| all <= SHORT_VARIABLE) {
        return whole(original, planned, &array, out, summary);
    }
    let planned_chain = chain(source, planned)?;
    let rank = original.shape.len();
    let same_layout = original.chunk_shape == planned.chunk_shape
        && original.order.axes(rank) == planned.order.axes(rank)
        && same_elements(&original.dtype, &planned.dtype);
    let chains = (array.chain(), &planned_chain);
    if !same_layout || !same_codecs(source, Format::Zarr2, (original, planned), chains) {
        return Err(ReferenceError::Variable {
            path: original.path.clone(),
            reason: format!(
                "its chunks are stored as {:?} with the codecs {:?}, which Zarr version 2 would describe as {:?} with {:?}",
                original.dtype.text(),
                array.chain().to_string(),
                planned.dtype.text(),
                planned_chain.to_string()
            ),
        });
    }
    let mut walk = Walk {
        source,
        path: &original.path,
        keys: ObjectKeys::new(planned),
        worker: array.worker(),
        scratch: planned_chain.scratch(),
        chain: &planned_chain,
        chunk: Vec::new(),
        lens: HashMap::new(),
        array: &array,
        url,
        options,
        out,
        summary,
    };
    let counts = array.chunk_counts();
    if let Some((key, range)) = walk.one_range(&counts, all.unwrap_or(u64::MAX))? {
        planned.chunk_shape.clone_from(&original.shape);
        walk.out.begin(planned)?;
        return walk.range(&key_of(&ObjectKeys::new(planned), &vec![0; rank])?, &key, range);
    }
    walk.out.begin(planned)?;
    if let Some(mut stored) = array.stored_objects().filter(|_| !array.is_sharded()) {
        stored.sort_unstable();
        walk.summary.missing += chunks.saturating_sub(stored.len() as u64);
        advance(progress, chunk_len.saturating_mul(chunks.saturating_sub(stored.len() as u64)))?;
        for chunk in stored {
            walk.chunk(&chunk)?;
            advance(progress, chunk_len)?;
        }
        return Ok(());
    }
    for number in 0..chunks {
        walk.chunk(&index(number, &counts))?;
        advance(progress, chunk_len)?;
    }
    Ok(())
}

/// Refuses an array that ends within a chunk, but before its dimensions: readers would show the padding of that chunk.
fn check_end(original: &Variable, planned: &Variable) -> Result<(), ReferenceError> {
    let lens = planned.shape.iter().zip(&original.shape).zip(&original.chunk_shape);
    let mut cut = lens.filter(|((shown, stored), chunk)| shown > stored && !stored.is_multiple_of(**chunk));
    match cut.next() {
        None => Ok(()),
        Some(((shown, stored), chunk)) => Err(ReferenceError::Variable {
            path: original.path.clone(),
            reason: format!(
                "it has {stored} of the {shown} elements of a dimension and ends within a chunk of {chunk}"
            ),
        }),
    }
}

fn chain(source: &dyn Container, planned: &Variable) -> Result<FilterChain, DataError> {
    let spec = planned
        .chain_spec(Format::Zarr2)
        .map_err(|fault| DataError::Spec { variable: planned.path.clone(), source: Box::new(fault) })?;
    source.session().bind(planned, Format::Zarr2, &spec)
}

/// The number of chunks.
fn count(original: &Variable, counts: Vec<u64>, summary: &ReferenceSummary) -> Result<u64, ReferenceError> {
    let count = product(counts.into_iter()).unwrap_or(u64::MAX);
    if count > MOST_REFERENCES.saturating_sub(summary.references + summary.inline) {
        return Err(ReferenceError::TooMany { path: original.path.clone(), count });
    }
    Ok(count)
}

/// The coordinates of a chunk by its number.
fn index(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut index = vec![0; counts.len()];
    for (coordinate, count) in index.iter_mut().zip(counts).rev() {
        *coordinate = number % count;
        number /= count;
    }
    index
}

/// The key of a chunk in the references.
fn key_of(keys: &ObjectKeys, chunk: &[u64]) -> Result<String, ReferenceError> {
    let mut location = ChunkLocation::default();
    // Computing a key cannot fail.
    let _ = keys.locate(chunk, &mut location);
    Ok(location.key)
}

/// Writes a short variable as one chunk without codecs.
fn whole(
    original: &Variable,
    planned: &mut Variable,
    array: &Array,
    out: &mut dyn Output,
    summary: &mut ReferenceSummary,
) -> Result<(), ReferenceError> {
    let slab = Slab::whole(array.stored_shape());
    let len = slab.elements().unwrap_or(0) * array.dtype().size() as u64;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    array.read_bytes(&slab, Elements::Stored, &mut bytes)?;
    planned.chunk_shape.clone_from(&original.shape);
    planned.filters.clear();
    planned.order = ncz_model::Order::C;
    let first = vec![0; original.shape.len()];
    out.begin(planned)?;
    out.chunk(&key_of(&ObjectKeys::new(planned), &first)?, Reference::Bytes(&bytes))?;
    summary.inline += 1;
    Ok(())
}

/// Writes chunks of strings of any length, decoded: where they are stored, they may be addresses.
fn strings(
    source: &dyn Container,
    original: &Variable,
    planned: &mut Variable,
    options: &ReferenceOptions,
    out: &mut dyn Output,
    summary: &mut ReferenceSummary,
    progress: &dyn Progress,
) -> Result<(), ReferenceError> {
    let array = source.strings(&original.path)?;
    let lens = array.stored_shape().iter().zip(array.chunk_shape());
    let counts: Vec<u64> = lens.map(|(len, chunk)| len.div_ceil(*chunk)).collect();
    let chunks = count(original, counts.clone(), summary)?;
    let stored = array
        .chain()
        .stored_json(Format::Zarr2.dialect())
        .map_err(|fault| DataError::Spec { variable: original.path.clone(), source: Box::new(fault) })?;
    planned.filters = stored.into_iter().map(ncz_model::json::Json::from).collect();
    let keys = ObjectKeys::new(planned);
    out.begin(planned)?;
    for number in 0..chunks {
        advance(progress, 1)?;
        let chunk = index(number, &counts);
        let Some(bytes) = array.read_stored(&chunk)? else {
            summary.missing += 1;
            continue;
        };
        let reason = "its strings are of any length";
        check(&original.path, &chunk, reason, bytes.len() as u64, options)?;
        out.chunk(&key_of(&keys, &chunk)?, Reference::Bytes(&bytes))?;
        summary.inline += 1;
    }
    Ok(())
}

fn advance(progress: &dyn Progress, bytes: u64) -> Result<(), ReferenceError> {
    match progress.advance(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ReferenceError::Stopped),
    }
}

fn check(
    path: &str,
    chunk: &[u64],
    reason: &'static str,
    len: u64,
    options: &ReferenceOptions,
) -> Result<(), ReferenceError> {
    let most = options.most_inline;
    if len <= most {
        return Ok(());
    }
    Err(ReferenceError::Chunk { path: path.to_owned(), chunk: chunk.to_vec(), reason, len, most })
}

/// Goes through the chunks of a variable.
struct Walk<'a> {
    source: &'a dyn Container,
    path: &'a str,
    keys: ObjectKeys,
    array: &'a Array,
    worker: Worker,
    /// The codecs of the references.
    chain: &'a FilterChain,
    scratch: ChainScratch,
    chunk: Vec<u8>,
    /// The lengths of the files that hold several chunks.
    lens: HashMap<String, u64>,
    url: &'a dyn Fn(&str) -> String,
    options: &'a ReferenceOptions,
    out: &'a mut dyn Output,
    summary: &'a mut ReferenceSummary,
}

impl Walk<'_> {
    fn chunk(&mut self, chunk: &[u64]) -> Result<(), ReferenceError> {
        let key = key_of(&self.keys, chunk)?;
        let location = self.array.locate(&mut self.worker, chunk)?;
        if location.filter_mask != 0 && location.extent != Extent::Missing {
            return self.recode(&key, chunk);
        }
        let range = match location.extent {
            Extent::Missing => {
                self.summary.missing += 1;
                return Ok(());
            }
            Extent::Inline(_) => return self.inline(&key, chunk),
            Extent::Object => match self.len(&location.key)? {
                None => {
                    self.summary.missing += 1;
                    return Ok(());
                }
                Some(len) if len <= self.options.inline => return self.inline(&key, chunk),
                Some(len) => {
                    self.out.chunk(&key, Reference::Object(&(self.url)(&location.key)))?;
                    return self.refers_to(len);
                }
            },
            Extent::Range(range) => range,
        };
        let file_len = self.file_len(&location.key)?;
        let mut len = range.end.saturating_sub(range.start);
        if len <= self.options.inline || range.end > file_len {
            // Reading it reports the end of the file.
            return self.inline(&key, chunk);
        }
        let chunk_len = self.array.chain().chunk_len() as u64;
        if self.array.chain().is_empty() && len < chunk_len {
            // Readers want a whole chunk, and ignore what is beyond the end of the array.
            if range.start.checked_add(chunk_len).is_none_or(|end| end > file_len) {
                let reason = "it is cut at the end of the file";
                check(self.path, chunk, reason, chunk_len, self.options)?;
                return self.inline(&key, chunk);
            }
            len = chunk_len;
        }
        self.range(&key, &location.key, range.start..range.start + len)
    }

    /// Writes a range of an object.
    fn range(&mut self, key: &str, object: &str, range: Range<u64>) -> Result<(), ReferenceError> {
        let len = range.end - range.start;
        self.out.chunk(key, Reference::Range(&(self.url)(object), range.start, len))?;
        self.refers_to(len)
    }

    /// The object and the range of a variable of `len` bytes without codecs whose last chunk is cut and is followed by
    /// too little in the file to be read as a whole one; `None` if the variable is longer, or is not one range.
    fn one_range(
        &mut self,
        counts: &[u64],
        len: u64,
    ) -> Result<Option<(String, Range<u64>)>, ReferenceError> {
        if !self.array.chain().is_empty() || len > ONE_CHUNK {
            return Ok(None);
        }
        let chunks = product(counts.iter().copied()).unwrap_or(0);
        let mut all: Option<(String, Range<u64>)> = None;
        let mut last = 0;
        for number in 0..chunks {
            let location = self.array.locate(&mut self.worker, &index(number, counts))?;
            let Extent::Range(range) = location.extent else { return Ok(None) };
            last = range.start;
            match &mut all {
                None => all = Some((location.key, range)),
                Some((key, all)) if *key == location.key && all.end == range.start => all.end = range.end,
                Some(_) => return Ok(None),
            }
        }
        let Some((key, range)) = all.filter(|(_, range)| range.end - range.start == len) else {
            return Ok(None);
        };
        let whole = last.saturating_add(self.array.chain().chunk_len() as u64);
        let file_len = self.file_len(&key)?;
        Ok((whole > file_len && range.end <= file_len).then_some((key, range)))
    }

    /// The length of a file, which is asked for once.
    fn file_len(&mut self, key: &str) -> Result<u64, ReferenceError> {
        if let Some(len) = self.lens.get(key) {
            return Ok(*len);
        }
        let store = self.source.store();
        let stamp = Key::parse(key).map_err(ncz_store::StoreError::from).and_then(|key| store.stamp(key));
        let stamp = stamp.map_err(|source| DataError::Store { store: store.to_string(), source })?;
        let len = stamp.as_ref().map_or(0, |stamp| stamp.length);
        self.lens.insert(key.to_owned(), len);
        self.summary.sources.extend(stamp.map(|stamp| ((self.url)(key), stamp)));
        Ok(len)
    }

    fn refers_to(&mut self, len: u64) -> Result<(), ReferenceError> {
        self.summary.references += 1;
        self.summary.bytes += len;
        Ok(())
    }

    fn len(&self, key: &str) -> Result<Option<u64>, ReferenceError> {
        let store = self.source.store();
        let len = Key::parse(key).map_err(ncz_store::StoreError::from).and_then(|key| store.len(key));
        let store = store.to_string();
        Ok(len.map_err(|source| DataError::Store { store, source })?)
    }

    /// Writes the stored bytes of a chunk.
    fn inline(&mut self, key: &str, chunk: &[u64]) -> Result<(), ReferenceError> {
        match self.array.read_stored(&mut self.worker, chunk)? {
            None => self.summary.missing += 1,
            Some(bytes) => {
                self.out.chunk(key, Reference::Bytes(bytes))?;
                self.summary.inline += 1;
            }
        }
        Ok(())
    }

    /// Writes a chunk to which not every codec was applied, with all of them.
    fn recode(&mut self, key: &str, chunk: &[u64]) -> Result<(), ReferenceError> {
        if self.chain.lossy_stages().is_some() {
            return Err(ReferenceError::Variable {
                path: self.path.to_owned(),
                reason: format!("its chunk {chunk:?} was stored without its lossy filter"),
            });
        }
        let mut decoded = std::mem::take(&mut self.chunk);
        decoded.resize(self.array.chain().chunk_len(), 0);
        let found = self.array.read_chunk(&mut self.worker, chunk, &mut decoded);
        self.chunk = decoded;
        if found?.is_none() {
            self.summary.missing += 1;
            return Ok(());
        }
        let encoded = self.chain.encode(&mut self.scratch, &self.chunk);
        let bytes = encoded.map_err(|source| DataError::Chain {
            variable: self.path.to_owned(),
            source: Box::new(source),
        })?;
        let reason = "some of its filters were not applied";
        check(self.path, chunk, reason, bytes.len() as u64, self.options)?;
        self.out.chunk(key, Reference::Bytes(bytes))?;
        self.summary.inline += 1;
        self.summary.recoded += 1;
        Ok(())
    }
}
