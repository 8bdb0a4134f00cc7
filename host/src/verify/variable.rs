//! Every chunk of one variable.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ncz_codec::ErrorKind;
use ncz_model::Container;
use ncz_model::{Array, ChunkError, DataError, Kind, Pool, Slab, StringArray, UserArray, Variable, Worker};
use ncz_store::{Store, StoreError};

use super::chunk_index::ChunkIndex;
use super::chunk_tail::sound_len;
use super::padding::Layout;
use super::{VariableReport, VerifyError, VerifyOptions};
use crate::byte_array::keyed_array;
use crate::causes::with_causes;
use crate::copy::has_references;
use crate::finding::{Code, Finding, Remedy, Severity};
use crate::parallelism::Parallelism;
use crate::progress::Progress;

/// A variable whose chunks are about to be looked at.
pub(super) struct Check<'a> {
    /// For strings of any length, an array of bytes with the same chunks.
    array: Array,
    strings: Option<StringArray>,
    /// The values of elements that refer to what is in heaps.
    rows: Option<UserArray>,
    variable: &'a Variable,
    store: &'a dyn Store,
    index: ChunkIndex,
    layout: Layout,
    /// Whether chunks are to be padded with fill; in netCDF files they are not.
    is_padded: bool,
    keep: usize,
    list_missing: usize,
}

/// The number of an object among those that are visited, and that of a chunk in it.
type ChunkPosition = (u64, usize);

/// What the threads found so far.
#[derive(Default)]
struct Found {
    chunks: AtomicU64,
    /// Chunks of shards that cannot be read, except one of each, which counts as a chunk with a fault.
    unknown: AtomicU64,
    /// The numbers of chunks that are not missing, if missing ones are listed.
    existing: Mutex<Vec<u64>>,
    stored: AtomicU64,
    /// Bytes of strings; other chunks are all of one length.
    decoded: AtomicU64,
    faulty: AtomicU64,
    padded: AtomicBool,
    /// The first faults by the number of the chunk; later ones are counted.
    faults: Mutex<BTreeMap<ChunkPosition, Finding>>,
    /// The first chunk whose padding is not fill.
    padding: Mutex<Option<Vec<u64>>>,
}

/// The buffers of one thread.
struct Buffers {
    worker: Worker,
    chunk: Vec<u8>,
}

impl<'a> Check<'a> {
    /// Binds the codecs of a variable and finds its chunks.
    ///
    /// # Errors
    /// Its codecs are not to be had, or its chunks cannot be listed.
    pub(super) fn new(
        dataset: &'a dyn Container,
        variable: &'a Variable,
        options: &VerifyOptions,
    ) -> Result<Self, DataError> {
        let strings =
            variable.dtype.is_variable_length().then(|| dataset.strings(&variable.path)).transpose()?;
        let rows = has_references(variable).then(|| dataset.user_array(&variable.path)).transpose()?;
        let array = keyed_array(dataset, variable)?;
        let store = &**dataset.store();
        let index = ChunkIndex::of(&array, variable, store)?;
        let axes = variable.order.axes(variable.chunk_shape.len());
        let layout = Layout::new(&variable.chunk_shape, axes, variable.fill_bytes());
        let is_padded = !dataset.hierarchy().format.is_netcdf();
        Ok(Self {
            array,
            strings,
            rows,
            variable,
            store,
            index,
            layout,
            is_padded,
            keep: options.keep,
            list_missing: options.list_missing,
        })
    }

    /// Decodes every chunk, on these threads.
    pub(super) fn run(
        mut self,
        pool: &Pool,
        progress: &dyn Progress,
    ) -> Result<(VariableReport, Vec<Finding>), VerifyError> {
        let found = Found::default();
        let chunk_len = self.array.chain().chunk_len() as u64;
        let object_len = product(self.array.object_shape(), self.array.dtype().size());
        // An object as stored, and a chunk of it decoded.
        let bytes = object_len.saturating_add(chunk_len);
        let parallelism =
            Parallelism { pool, stores: [self.store; 2], bytes, one_by_one: false, limit: u64::MAX };
        parallelism.for_each(
            self.index.tiles.len(),
            || Buffers { worker: self.array.worker(), chunk: Vec::new() },
            |buffers, position| {
                self.visit(buffers, position, &found)?;
                advance(progress, object_len)
            },
        )?;
        // Objects that do not exist are not visited.
        let all = product(&self.array.object_counts(), 1);
        let absent = all.saturating_sub(self.index.tiles.len());
        advance(progress, absent.saturating_mul(object_len))?;
        let (chunks, faulty) = (found.chunks.into_inner(), found.faulty.into_inner());
        let mut findings = std::mem::take(&mut self.index.findings);
        let more = findings.len().saturating_sub(self.keep);
        findings.truncate(self.keep);
        let faults = found.faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        let more = more as u64 + faulty.saturating_sub(faults.len() as u64);
        findings.extend(faults.into_values());
        findings.extend(self.padding(found.padding.into_inner().unwrap_or_else(PoisonError::into_inner)));
        let chain = self.strings.as_ref().map_or_else(|| self.array.chain(), StringArray::chain);
        let decoded = match self.strings {
            Some(_) => found.decoded.into_inner(),
            None => chunks.saturating_sub(faulty).saturating_mul(chunk_len),
        };
        let report = VariableReport {
            path: self.variable.path.clone(),
            chain: chain.to_string(),
            checksum: chain.has_checksum(),
            checked: true,
            chunks,
            faulty,
            missing: self.index.total.saturating_sub(chunks).saturating_sub(found.unknown.into_inner()),
            missing_chunks: self.missing(found.existing.into_inner().unwrap_or_else(PoisonError::into_inner)),
            stored: found.stored.into_inner(),
            decoded,
            more,
        };
        Ok((report, findings))
    }

    /// Looks at all chunks of one object.
    fn visit(&self, buffers: &mut Buffers, position: u64, found: &Found) -> Result<(), VerifyError> {
        let object = self.index.tiles.index(position);
        if let Some(strings) = &self.strings {
            let read = self.read_strings(strings, &object, position, found);
            self.note(&object, &read, found);
            return self.judge(buffers, object, read, (position, 0), found);
        }
        resize(&mut buffers.chunk, self.array.chain().chunk_len(), &self.array)?;
        if self.variable.sharding.is_none() {
            let read = self.array.read_chunk(&mut buffers.worker, &object, &mut buffers.chunk);
            let read = read.and_then(|stored| {
                if stored.is_some() {
                    self.decode_rows(&object, &buffers.chunk)?;
                }
                Ok(stored)
            });
            self.note(&object, &read, found);
            return self.judge(buffers, object, read, (position, 0), found);
        }
        match self.array.load_object(&mut buffers.worker, &object) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                let read = Err(error);
                let mut chunks = 0_u64;
                for chunk in self.array.object_chunks(&object) {
                    self.note(&chunk, &read, found);
                    chunks += 1;
                }
                found.unknown.fetch_add(chunks.saturating_sub(1), Ordering::Relaxed);
                return self.judge(buffers, object, read, (position, 0), found);
            }
        }
        for (number, chunk) in self.array.object_chunks(&object).enumerate() {
            let read = self.array.decode_loaded(&mut buffers.worker, &chunk, &mut buffers.chunk);
            self.note(&chunk, &read, found);
            self.judge(buffers, chunk, read, (position, number), found)?;
        }
        Ok(())
    }

    /// Reads a chunk of strings; text that is none is kept as a fault.
    fn read_strings(
        &self,
        strings: &StringArray,
        index: &[u64],
        position: u64,
        found: &Found,
    ) -> Result<Option<usize>, DataError> {
        let Some(stored) = strings.read_stored(index)? else { return Ok(None) };
        let read = strings.read(&self.array.chunk_slab(index))?;
        found.decoded.fetch_add(read.byte_len() as u64, Ordering::Relaxed);
        let is_text = self.variable.dtype.kind() == Kind::VlenText;
        if is_text && read.iter().any(|string| std::str::from_utf8(string).is_err()) {
            let finding = Finding::new(
                Severity::Warning,
                Code::ChunkValues,
                "it contains text that is not valid UTF-8",
            );
            self.keep(finding.variable(&self.variable.path).chunk(index), (position, 0), found);
        }
        Ok(Some(stored.len()))
    }

    /// Decodes what the elements of a chunk refer to.
    fn decode_rows(&self, index: &[u64], chunk: &[u8]) -> Result<(), DataError> {
        let Some(rows) = &self.rows else { return Ok(()) };
        let slab = self.array.chunk_slab(index);
        let drop = &mut |_, _: &Slab| Ok(());
        let decoded = match slab.count() == self.array.chunk_shape() {
            true => rows.decode_parts(&slab, chunk, drop),
            // What is beyond the end of the array refers to nothing that is needed.
            false => rows.read_parts(&slab, drop).map(|_| ()),
        };
        decoded.map_err(|error: DataError| match error {
            DataError::Chunk { variable, store, source, .. } => {
                DataError::Chunk { variable, key: self.array.object_key(index), store, source }
            }
            other => other,
        })
    }

    /// Notes that a chunk is not missing, unless it is.
    fn note(&self, index: &[u64], read: &Result<Option<usize>, DataError>, found: &Found) {
        if self.list_missing > 0 && !matches!(read, Ok(None)) {
            let counts = self.array.chunk_counts();
            // Below the number of chunks, which was checked.
            let number = index.iter().zip(&counts).fold(0, |number, (i, count)| number * count + i);
            found.existing.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
    }

    /// The coordinates of the first chunks that do not exist.
    fn missing(&self, mut existing: Vec<u64>) -> Vec<Vec<u64>> {
        existing.sort_unstable();
        let mut existing = existing.into_iter().peekable();
        let counts = self.array.chunk_counts();
        let is_missing = |number: &u64| existing.next_if(|next| next == number).is_none();
        let index_of = |number: u64| {
            let mut rest = number;
            let mut index = vec![0; counts.len()];
            for (at, count) in index.iter_mut().zip(&counts).rev() {
                *at = rest % count;
                rest /= count;
            }
            index
        };
        (0..self.index.total).filter(is_missing).take(self.list_missing).map(index_of).collect()
    }

    /// Counts a chunk and keeps what is wrong with it.
    fn judge(
        &self,
        buffers: &mut Buffers,
        index: Vec<u64>,
        read: Result<Option<usize>, DataError>,
        at: ChunkPosition,
        found: &Found,
    ) -> Result<(), VerifyError> {
        match read {
            Ok(None) => return Ok(()),
            Ok(Some(stored)) => {
                found.stored.fetch_add(stored as u64, Ordering::Relaxed);
                if self.strings.is_none() {
                    self.look(&buffers.chunk, index, at, found);
                }
            }
            Err(error) if is_gone(&error) => return Err(error.into()),
            Err(error) => {
                let finding = self.fault(buffers, &index, &error);
                self.keep(finding, at, found);
            }
        }
        found.chunks.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Looks at the values of a decoded chunk.
    fn look(&self, chunk: &[u8], index: Vec<u64>, at: ChunkPosition, found: &Found) {
        let wrong = match self.variable.dtype.kind() {
            Kind::Bool => chunk.iter().find(|&&byte| byte > 1),
            _ => None,
        };
        if let Some(byte) = wrong {
            let reason = format!("it holds the byte {byte} as a truth value, which is neither 0 nor 1");
            let finding = Finding::new(Severity::Warning, Code::ChunkValues, reason);
            self.keep(finding.variable(&self.variable.path).chunk(index), at, found);
            return;
        }
        let slab = self.array.chunk_slab(&index);
        let lens = slab.count().iter().zip(self.array.chunk_shape()).enumerate();
        let ends = lens.map(|(d, (count, len))| if self.array.may_repeat(d) { *len } else { *count });
        let ends: Vec<u64> = ends.collect();
        if self.is_padded && !found.padded.load(Ordering::Relaxed) && !self.layout.is_filled(chunk, &ends) {
            found.padded.store(true, Ordering::Relaxed);
            found.padding.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(index);
        }
    }

    fn padding(&self, index: Option<Vec<u64>>) -> Option<Finding> {
        let reason = "what its last chunks hold beyond the end of the array is not fill; it would show if the array grew";
        let finding = Finding::new(Severity::Note, Code::Padding, reason).variable(&self.variable.path);
        index.map(|index| finding.chunk(index))
    }

    /// What is wrong with a chunk that cannot be read.
    fn fault(&self, buffers: &mut Buffers, index: &[u64], error: &DataError) -> Finding {
        let DataError::Chunk { key, source, .. } = error else {
            let finding = Finding::new(Severity::Error, Code::ChunkDamaged, with_causes(error));
            return finding.variable(&self.variable.path).chunk(index);
        };
        let finding = Finding::new(Severity::Error, code_of(source), with_causes(&**source));
        let finding = finding.variable(&self.variable.path).chunk(index).key(key);
        match sound_len(&self.array, self.store, key, source, &mut buffers.chunk) {
            Some(_) => finding.remedy(Remedy::Repair),
            None => finding,
        }
    }

    fn keep(&self, finding: Finding, at: ChunkPosition, found: &Found) {
        found.faulty.fetch_add(1, Ordering::Relaxed);
        let mut faults = found.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.insert(at, finding);
        if faults.len() > self.keep {
            faults.pop_last();
        }
    }
}

fn code_of(fault: &ChunkError) -> Code {
    match fault {
        ChunkError::InShard { source, .. } => code_of(source),
        ChunkError::Length { want, got } if got < want => Code::ChunkTruncated,
        ChunkError::Length { .. } | ChunkError::TooLong { .. } => Code::ChunkTail,
        ChunkError::Chain(error) => match error.source.kind() {
            ErrorKind::Truncated => Code::ChunkTruncated,
            ErrorKind::Trailing { .. } => Code::ChunkTail,
            ErrorKind::Size { .. } => Code::ChunkLength,
            ErrorKind::Checksum => Code::ChunkChecksum,
            _ => Code::ChunkDamaged,
        },
        ChunkError::Store(_) | ChunkError::Key(_) | ChunkError::Memory { .. } => Code::ChunkUnread,
        _ => Code::ChunkDamaged,
    }
}

/// Tests whether the whole dataset no longer exists.
fn is_gone(error: &DataError) -> bool {
    match error {
        DataError::Chunk { source, .. } => {
            matches!(**source, ChunkError::Store(StoreError::Gone { .. }))
        }
        DataError::Store { source, .. } => matches!(source, StoreError::Gone { .. }),
        _ => false,
    }
}

fn advance(progress: &dyn Progress, bytes: u64) -> Result<(), VerifyError> {
    match progress.advance(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(VerifyError::Stopped),
    }
}

fn product(lens: &[u64], element: usize) -> u64 {
    lens.iter().fold(element as u64, |product, len| product.saturating_mul(*len))
}

fn resize(buffer: &mut Vec<u8>, len: usize, array: &Array) -> Result<(), DataError> {
    if buffer.len() != len {
        buffer.clear();
        buffer.try_reserve_exact(len).map_err(|_| DataError::Unsupported {
            variable: array.path().to_owned(),
            reason: format!("no memory for a chunk of {len} bytes; ask for fewer threads"),
        })?;
        buffer.resize(len, 0);
    }
    Ok(())
}
