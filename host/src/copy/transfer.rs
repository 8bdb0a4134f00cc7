//! Moves the elements of a variable from the chunks of one array to those of another.

use std::iter::Sum;
use std::ops::{AddAssign, Range};

use ncz_model::{Array, DataError, Elements, Slab, SlabPart, Worker, Written};
use ncz_store::{Key, Store, StoreError};

use super::salvage::{Salvage, is_of_chunk, rows};
use super::{CopyError, Verified, advance, types};
use crate::parallelism::Parallelism;
use crate::progress::Progress;
use crate::tiles::{Tiles, Window};

/// The transfer of a variable, or of one of two passes.
#[derive(Debug)]
pub(super) struct ChunkTransfer<'a> {
    pub(super) source: &'a Array,
    pub(super) target: &'a Array,
    pub(super) window: &'a Window,
    /// How many tiles are moved at the same time. Each task holds a tile as stored and as written, or decoded and as
    /// stored.
    pub(super) parallelism: Parallelism<'a>,
    pub(super) mode: TransferMode,
    /// The shape of a tile of the target, which is moved at a time: an object of its store, or several if chunks
    /// change.
    pub(super) tile: &'a [u64],
    pub(super) tiles: &'a Tiles,
    /// Whether objects that the target already has are kept.
    pub(super) keep: bool,
    /// The chunks that cannot be read; `None`: they are errors.
    pub(super) salvage: Option<&'a Salvage>,
}

/// What happens to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferMode {
    /// Stored bytes are copied.
    Unchanged,
    /// Chunks are decoded and encoded one by one; shards may be assembled or split.
    Recode,
    /// The target has other chunks, or another part of the array.
    Rechunk,
}

/// What was moved, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) decoded: u64,
    pub(super) chunks: u64,
    /// Chunks that were decoded and encoded although the others are passed on.
    pub(super) recoded: u64,
}

impl AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.before += other.before;
        self.after += other.after;
        self.decoded += other.decoded;
        self.chunks += other.chunks;
        self.recoded += other.recoded;
    }
}

impl Sum for Moved {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Fails when the copy is to stop.
type Stop<'a> = dyn Fn() -> Result<(), CopyError> + 'a;

/// Distinguishes the changes of lossy codecs from errors: the source is encoded once more, with the first codecs of the
/// target.
pub(super) struct LossyReference<'a> {
    /// The stages of the target's chain from the first lossy codec to the last.
    pub(super) lossy: Range<usize>,
    /// Creates an empty array like the target, with this many of its codecs.
    pub(super) make: Box<dyn Fn(usize) -> Result<Array, DataError> + Sync + 'a>,
}

/// The buffers of one thread. They are freed when the variable is done, so that memory does not grow with the number of
/// variables.
struct Buffers<'a> {
    source: &'a Array,
    target: &'a Array,
    reader: Worker,
    writer: Worker,
    ours: Vec<u8>,
    theirs: Vec<u8>,
    /// Whether the chunks of a tile are spread over threads.
    spread: bool,
    salvage: Option<&'a Salvage>,
}

impl<'a> ChunkTransfer<'a> {
    pub(super) fn run(&self, progress: &dyn Progress) -> Result<Moved, CopyError> {
        // A task that waits for a store gets a stop request meanwhile.
        let stop = || advance(progress, 0);
        let states = self.parallelism.for_each(
            self.tiles.len(),
            || (self.buffers(self.parallelism.one_by_one), Moved::default()),
            |(buffers, sum), position| {
                let index = self.tiles.index(position);
                let slabs = self.slabs(&index);
                let moved = match self.kept(&slabs.1)? {
                    Some(kept) => kept,
                    None => match self.mode {
                        TransferMode::Unchanged => buffers.pass(&index, &stop)?,
                        TransferMode::Recode => buffers.recode(&index, &stop)?,
                        TransferMode::Rechunk => buffers.rechunk(&slabs, &stop)?,
                    },
                };
                // Chunks at the end of a dimension are padded; the padding is not data.
                let decoded = moved.decoded.min(slab_bytes(self.target, &slabs.1) as u64);
                *sum += Moved { decoded, ..moved };
                advance(progress, self.tile_bytes())
            },
        )?;
        Ok(states.into_iter().map(|(_, moved)| moved).sum())
    }

    /// Decodes both sides and compares them. If they differ, the target must equal the result of `reference`.
    pub(super) fn verify(
        &self,
        reference: Option<&LossyReference<'_>>,
        progress: &dyn Progress,
    ) -> Result<Verified, CopyError> {
        let stop = || advance(progress, 0);
        let states = self.parallelism.for_each(
            self.tiles.len(),
            || (self.buffers(self.parallelism.one_by_one), 0),
            |(buffers, repeated), position| {
                let index = self.tiles.index(position);
                let slabs = self.slabs(&index);
                if !buffers.agree(&slabs, &stop)? {
                    let repeats = match reference {
                        Some(reference) => buffers.repeats(reference, self.mode, (&index, &slabs), &stop)?,
                        None => false,
                    };
                    if !repeats {
                        return Err(CopyError::Verify {
                            path: self.target.path().to_owned(),
                            start: slabs.1.start().to_vec(),
                        });
                    }
                    *repeated += 1;
                }
                advance(progress, self.tile_bytes())
            },
        )?;
        Ok(match states.into_iter().map(|(_, repeated)| repeated).sum() {
            0 => Verified::Same,
            boxes => Verified::Repeated { boxes, of: self.tiles.len() },
        })
    }

    /// Bytes of decoded data to move, at most.
    pub(super) fn decoded_len(&self) -> u64 {
        self.tiles.len().saturating_mul(self.tile_bytes())
    }

    fn buffers(&self, spread: bool) -> Buffers<'a> {
        Buffers {
            source: self.source,
            target: self.target,
            reader: self.source.worker(),
            writer: self.target.worker(),
            ours: Vec::new(),
            theirs: Vec::new(),
            spread,
            salvage: self.salvage,
        }
    }

    /// What the target already has of a tile; `None` if some of it is missing.
    fn kept(&self, slab: &Slab) -> Result<Option<Moved>, DataError> {
        if !self.keep {
            return Ok(None);
        }
        kept(self.target, self.parallelism.stores[1], slab)
    }

    /// The part of both arrays in a tile.
    fn slabs(&self, index: &[u64]) -> (Slab, Slab) {
        let start: Vec<u64> = index.iter().zip(self.tile).map(|(i, tile)| i * tile).collect();
        self.window.cut(&start, self.tile)
    }

    fn tile_bytes(&self) -> u64 {
        self.tile.iter().fold(self.source.dtype().size() as u64, |product, len| product.saturating_mul(*len))
    }
}

impl Buffers<'_> {
    /// Reads a slab of one side; says whether any chunk of it exists.
    fn read(
        array: &Array,
        spread: bool,
        worker: &mut Worker,
        slab: &Slab,
        out: &mut [u8],
    ) -> Result<bool, DataError> {
        match spread {
            true => array.try_read_bytes(slab, Elements::Stored, out),
            false => array.read_serial(worker, slab, Elements::Stored, out),
        }
    }

    /// Reads a slab of the source; says whether any chunk of it exists. Chunks that cannot be read are salvaged.
    fn read_source(&mut self, slab: &Slab) -> Result<bool, CopyError> {
        let Self { source, reader, ours, spread, salvage, .. } = self;
        let Some(salvage) = salvage else {
            return Self::read(source, *spread, reader, slab, ours).map_err(CopyError::of_source);
        };
        let lens = source.chunk_shape();
        if !slab.parts(lens).any(|part| salvage.has(&part.chunk)) {
            match Self::read(source, *spread, reader, slab, ours) {
                Ok(found) => return Ok(found),
                Err(error) if is_of_chunk(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let (mut found, mut bytes) = (false, Vec::new());
        for SlabPart { chunk, at, slab: part } in slab.parts(lens) {
            resize(&mut bytes, slab_bytes(source, &part), source)?;
            let is_read = match salvage.has(&chunk) {
                true => false,
                false => match source.read_serial(reader, &part, Elements::Stored, &mut bytes) {
                    Ok(exists) => {
                        found |= exists;
                        true
                    }
                    Err(error) => {
                        salvage.lose([chunk], error)?;
                        false
                    }
                },
            };
            if !is_read {
                salvage.fill(&mut bytes);
                found |= salvage.is_written;
            }
            let row = source.dtype().size() * part.count().last().map_or(1, |len| *len as usize);
            let starts = rows(slab.count(), &at, part.count());
            for (start, row) in starts.zip(bytes.chunks_exact(row.max(1))) {
                let start = start * source.dtype().size();
                ours[start..start + row.len()].copy_from_slice(row);
            }
        }
        Ok(found)
    }

    /// Passes on those chunks of an object that can be decoded.
    fn pass_readable(
        &mut self,
        salvage: &Salvage,
        index: &[u64],
        stop: &Stop<'_>,
    ) -> Result<Moved, CopyError> {
        let Self { source, reader, ours, .. } = self;
        match source.load_object(reader, index) {
            Ok(true) => {}
            Ok(false) => return Ok(Moved::default()),
            Err(error) => {
                salvage.lose(source.object_chunks(index), error)?;
                let lost = source.object_chunks(index).map(|chunk| (chunk, false)).collect();
                return self.write_some(salvage, index, lost);
            }
        }
        stop()?;
        resize(ours, source.chain().chunk_len(), source)?;
        let mut chunks = Vec::new();
        for chunk in source.object_chunks(index) {
            match source.decode_loaded(reader, &chunk, ours) {
                Ok(found) => chunks.extend(found.map(|_| (chunk, true))),
                Err(error) => {
                    salvage.lose([chunk.clone()], error)?;
                    chunks.push((chunk, false));
                }
            }
        }
        match chunks.iter().all(|(_, is_readable)| *is_readable) {
            true => self.pass_loaded(index),
            false => self.write_some(salvage, index, chunks),
        }
    }

    /// Writes these chunks of the loaded object: readable ones as they are stored, others as fill, or not at all.
    fn write_some(
        &mut self,
        salvage: &Salvage,
        index: &[u64],
        mut chunks: Vec<(Vec<u64>, bool)>,
    ) -> Result<Moved, CopyError> {
        let Self { source, target, reader, writer, ours, .. } = self;
        chunks.retain(|(_, is_readable)| *is_readable || salvage.is_written);
        if chunks.is_empty() {
            return Ok(Moved::default());
        }
        let len = source.chain().chunk_len();
        resize(ours, len, source)?;
        salvage.fill(ours);
        let written = target.write_some(writer, index, (source, reader), &chunks, ours)?;
        let decoded = written.chunks.saturating_mul(len as u64);
        Ok(Moved { before: 0, after: written.bytes, decoded, chunks: written.chunks, recoded: 0 })
    }

    fn pass(&mut self, index: &[u64], stop: &Stop<'_>) -> Result<Moved, CopyError> {
        if let Some(salvage) = self.salvage {
            return self.pass_readable(salvage, index, stop);
        }
        if !self.source.load_object(&mut self.reader, index).map_err(CopyError::of_source)? {
            return Ok(Moved::default());
        }
        stop()?;
        self.pass_loaded(index)
    }

    /// Writes the loaded object as it is.
    fn pass_loaded(&mut self, index: &[u64]) -> Result<Moved, CopyError> {
        if self.source.skipped_filters(&self.reader) != 0 {
            return self.pass_skipped(index);
        }
        let chunks = self.source.check_loaded(&self.reader, index).map_err(CopyError::of_source)?;
        let stored = self.source.loaded(&self.reader);
        self.target.write_object(&mut self.writer, index, stored)?;
        let len = stored.len() as u64;
        let decoded = chunks.saturating_mul(self.source.chain().chunk_len() as u64);
        Ok(Moved { before: len, after: len, decoded, chunks, recoded: 0 })
    }

    /// Writes the loaded chunk, for which filters were skipped: to HDF5 as it is, to Zarr, which has no note of skipped
    /// filters, with all codecs.
    fn pass_skipped(&mut self, index: &[u64]) -> Result<Moved, CopyError> {
        let Self { source, target, reader, writer, ours, .. } = self;
        let recodes = !target.notes_skipped();
        if recodes && source.chain().lossy_stages().is_some() {
            let reason =
                format!("the chunk {index:?} was stored without its lossy filter; choose other codecs");
            return Err(DataError::Unsupported { variable: source.path().to_owned(), reason }.into());
        }
        let len = source.chain().chunk_len();
        resize(ours, len, source)?;
        source.decode_loaded(reader, index, ours).map_err(CopyError::of_source)?;
        let stored = source.loaded(reader);
        let after = match recodes {
            true => target.write_chunk(writer, index, ours)?,
            false => {
                target.write_skipped(writer, index, stored, source.skipped_filters(reader))?;
                stored.len()
            }
        };
        let (before, after) = (stored.len() as u64, after as u64);
        Ok(Moved { before, after, decoded: len as u64, chunks: 1, recoded: u64::from(recodes) })
    }

    fn recode(&mut self, index: &[u64], stop: &Stop<'_>) -> Result<Moved, CopyError> {
        let Self { source, target, reader, writer, ours, salvage, .. } = self;
        let salvage = *salvage;
        let len = source.chain().chunk_len();
        // A thread that encodes must not wait for a remote store.
        let loaded = source.is_sharded() || source.is_remote() && !target.is_sharded();
        let mut moved = Moved::default();
        let mut is_lost = false;
        if loaded {
            match (source.load_object(reader, index), salvage) {
                (Ok(true), _) => {}
                (Ok(false), _) => return Ok(moved),
                (Err(error), None) => return Err(CopyError::of_source(error)),
                (Err(error), Some(salvage)) => {
                    if !source.object_chunks(index).all(|chunk| salvage.has(&chunk)) {
                        salvage.lose(source.object_chunks(index), error)?;
                    }
                    is_lost = true;
                }
            }
            if !is_lost {
                moved.before = source.loaded(reader).len() as u64;
            }
            stop()?;
        }
        let mut is_of_source = false;
        let mut read = |chunk: &[u64], out: &mut [u8]| -> Result<bool, DataError> {
            let lost = |salvage: &Salvage, out: &mut [u8]| {
                salvage.fill(out);
                target.adapt_padding(source, chunk, out);
                salvage.is_written
            };
            if let Some(salvage) = salvage.filter(|salvage| salvage.has(chunk)) {
                return Ok(lost(salvage, out));
            }
            let read = match loaded {
                true => source.decode_loaded(reader, chunk, out),
                false => source.read_chunk(reader, chunk, out),
            };
            let stored = match (read, salvage) {
                (Ok(stored), _) => stored,
                (Err(error), None) => {
                    is_of_source = true;
                    return Err(error);
                }
                (Err(error), Some(salvage)) => {
                    return salvage.lose([chunk.to_vec()], error).map(|()| lost(salvage, out));
                }
            };
            moved.decoded += stored.map_or(0, |_| len as u64);
            moved.before += stored.filter(|_| !loaded).unwrap_or(0) as u64;
            target.adapt_padding(source, chunk, out);
            Ok(stored.is_some())
        };
        let mut write = || {
            if target.is_sharded() || !source.is_sharded() {
                return target.encode_object(writer, index, &mut read);
            }
            resize(ours, len, source)?;
            let mut written = Written::default();
            for chunk in source.object_chunks(index) {
                if read(&chunk, ours)? {
                    written.bytes += target.write_chunk(writer, &chunk, ours)? as u64;
                    written.chunks += 1;
                }
            }
            Ok(written)
        };
        let written = write();
        let failed = if is_of_source { CopyError::of_source } else { CopyError::Data };
        let written = written.map_err(failed)?;
        Ok(Moved { after: written.bytes, chunks: written.chunks, ..moved })
    }

    fn rechunk(&mut self, (from, to): &(Slab, Slab), stop: &Stop<'_>) -> Result<Moved, CopyError> {
        let len = slab_bytes(self.source, from);
        resize(&mut self.ours, len, self.source)?;
        if !self.read_source(from)? {
            return Ok(Moved::default());
        }
        stop()?;
        types::convert(self.source, self.target, &mut self.ours);
        let written = match self.spread {
            true => self.target.write_bytes(to, Elements::Stored, &self.ours)?,
            false => self.target.write_serial(&mut self.writer, to, Elements::Stored, &self.ours)?,
        };
        let moved =
            Moved { after: written.bytes, decoded: len as u64, chunks: written.chunks, ..Moved::default() };
        Ok(moved)
    }

    fn agree(&mut self, (from, to): &(Slab, Slab), stop: &Stop<'_>) -> Result<bool, CopyError> {
        let len = slab_bytes(self.source, from);
        resize(&mut self.ours, len, self.source)?;
        resize(&mut self.theirs, slab_bytes(self.target, to), self.target)?;
        self.read_source(from)?;
        stop()?;
        Self::read(self.target, self.spread, &mut self.writer, to, &mut self.theirs)?;
        types::convert(self.source, self.target, &mut self.ours);
        Ok(self.ours == self.theirs)
    }

    /// Whether lossy codecs explain the differences between the two parts that were read last: the codecs before them
    /// give back the source, and the codecs up to the last lossy one give what the target has.
    fn repeats(
        &self,
        reference: &LossyReference<'_>,
        mode: TransferMode,
        tile: (&[u64], &(Slab, Slab)),
        stop: &Stop<'_>,
    ) -> Result<bool, CopyError> {
        let Range { start, end } = reference.lossy;
        let gives_back = start == 0 || self.again(&(reference.make)(start)?, mode, tile, stop)? == self.ours;
        Ok(gives_back && self.again(&(reference.make)(end)?, mode, tile, stop)? == self.theirs)
    }

    /// Writes a tile of the source to an empty array like the target, and returns what is read back.
    fn again(
        &self,
        reference: &Array,
        mode: TransferMode,
        (index, slabs): (&[u64], &(Slab, Slab)),
        stop: &Stop<'_>,
    ) -> Result<Vec<u8>, CopyError> {
        let mut buffers = Buffers {
            source: self.source,
            target: reference,
            reader: self.source.worker(),
            writer: reference.worker(),
            ours: Vec::new(),
            theirs: Vec::new(),
            spread: self.spread,
            salvage: self.salvage,
        };
        match mode {
            // Nothing is encoded.
            TransferMode::Unchanged => return Ok(Vec::new()),
            TransferMode::Recode => buffers.recode(index, stop)?,
            TransferMode::Rechunk => buffers.rechunk(slabs, stop)?,
        };
        let Buffers { mut writer, ours: mut out, spread, .. } = buffers;
        resize(&mut out, self.theirs.len(), reference)?;
        Self::read(reference, spread, &mut writer, &slabs.1, &mut out)?;
        Ok(out)
    }
}

/// What a store has of the objects of a slab; `None` if some are missing.
pub(super) fn kept(target: &Array, store: &dyn Store, slab: &Slab) -> Result<Option<Moved>, DataError> {
    let failed = |source| DataError::Store { store: store.to_string(), source };
    let lens = target.object_shape();
    let first: Vec<u64> = slab.start().iter().zip(lens).map(|(start, len)| start / len).collect();
    let ends = slab.start().iter().zip(slab.count()).zip(lens);
    let end: Vec<u64> = ends.map(|((start, count), len)| (start + count).div_ceil(*len)).collect();
    let (mut at, mut kept) = (first.clone(), Moved::default());
    loop {
        let key = target.object_key(&at);
        let key = Key::parse(&key).map_err(|error| failed(StoreError::from(error)))?;
        let Some(len) = store.len(key).map_err(failed)? else { return Ok(None) };
        kept.after += len;
        kept.chunks += 1;
        kept.decoded = kept.decoded.saturating_add(target.chain().chunk_len() as u64);
        let Some(axis) = (0..at.len()).rev().find(|&axis| at[axis] + 1 < end[axis]) else { break };
        at[axis] += 1;
        at[axis + 1..].copy_from_slice(&first[axis + 1..]);
    }
    Ok(Some(kept))
}

fn slab_bytes(array: &Array, slab: &Slab) -> usize {
    // A tile is bounded by memory, or by chunks, whose size was checked when the chain was bound.
    slab.count().iter().fold(array.dtype().size(), |product, len| product.saturating_mul(*len as usize))
}

fn resize(buffer: &mut Vec<u8>, len: usize, array: &Array) -> Result<(), DataError> {
    if buffer.len() < len {
        buffer.try_reserve_exact(len - buffer.len()).map_err(|_| DataError::Unsupported {
            variable: array.path().to_owned(),
            reason: format!(
                "no memory for {len} bytes of its data; ask for smaller chunks, or give less memory"
            ),
        })?;
    }
    buffer.resize(len, 0);
    Ok(())
}

/// Bytes of the stored array in a box of this shape.
pub(super) fn array_bytes(array: &Array, shape: &[u64]) -> u64 {
    let lens = shape.iter().zip(array.stored_shape()).map(|(len, stored)| (*len).min(*stored));
    lens.fold(array.dtype().size() as u64, u64::saturating_mul)
}
