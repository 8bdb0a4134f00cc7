//! The way that the chunks of one variable take.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz_nczarr::{Array, DataError, Dataset, Dtype, Elements, Slab, Variable, Worker, Written};
use ncz_store::Store;

use super::tasks::{Crew, Tiles, for_each};
use super::{CopyError, Progress, VariableSummary};

/// A variable on its way.
#[derive(Debug)]
pub(super) struct Route<'a> {
    source: Array,
    target: Array,
    /// Who moves the tiles; each holds one as stored and as written, or decoded and as stored.
    crew: Crew<'a>,
    way: Way,
    /// Lengths of the box that is moved at a time: an object of the store, or several where chunks change.
    tile: Vec<u64>,
    tiles: Tiles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Stored bytes as they are.
    Unchanged,
    /// Decode and encode chunk by chunk; shards may be put together or taken apart.
    Recode,
    /// Other chunks.
    Rechunk,
}

/// Fails when the copy is to stop.
type Stop<'a> = dyn Fn() -> Result<(), CopyError> + 'a;

/// The buffers that one thread works with. They go when the variable is done, so that memory does not grow
/// with the number of variables.
struct Lane<'a> {
    source: &'a Array,
    target: &'a Array,
    reader: Worker,
    writer: Worker,
    ours: Vec<u8>,
    theirs: Vec<u8>,
    /// Whether the chunks of a tile are spread over threads or lanes.
    spread: bool,
}

/// Bytes of the box that is moved at a time where chunks change, all threads together, if chunks are small.
const BLOCK_BYTES: u64 = 24 << 20;

impl<'a> Route<'a> {
    pub(super) fn new(
        source: &'a Dataset,
        target: &'a Dataset,
        original: &Variable,
    ) -> Result<Self, CopyError> {
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let from = source.array(&original.path)?;
        let to = target.array(&original.path)?;
        let rank = original.shape.len();
        let same_chunks = original.chunk_shape == planned.chunk_shape
            && original.shape == planned.shape
            && original.order.axes(rank) == planned.order.axes(rank)
            && same_elements(&original.dtype, &planned.dtype);
        let same_objects = same_chunks && original.sharding == planned.sharding;
        let same_bytes = same_objects
            && fill_bytes(original) == fill_bytes(planned)
            && same_codecs(source, target, &from, &to);
        // Of shards on both sides those of the copy would be made of parts.
        let same_grid =
            same_objects || same_chunks && (original.sharding.is_none() || planned.sharding.is_none());
        let (way, tile) = match (same_bytes, same_grid) {
            (true, _) => (Way::Unchanged, planned.object_shape().to_vec()),
            (_, true) if planned.sharding.is_some() => (Way::Recode, planned.object_shape().to_vec()),
            (_, true) => (Way::Recode, original.object_shape().to_vec()),
            _ => {
                let element = original.dtype.size() as u64;
                (Way::Rechunk, block(original, planned, element, source.session().pool.threads()))
            }
        };
        let tiles = Tiles::all(&from, &original.shape, &tile)?.existing(&from, &**source.store(), &tile)?;
        let stores: [&dyn Store; 2] = [&**source.store(), &**target.store()];
        let crew = Crew { pool: &source.session().pool, stores, bytes: 0, one_by_one: false };
        let route = Self { source: from, target: to, crew, way, tile, tiles };
        let copies = if way == Way::Unchanged { 1 } else { 2 };
        let crew = route.crew_of(copies, way == Way::Rechunk);
        Ok(Self { crew, ..route })
    }

    /// Who works on tiles of which each holds this many `copies`. Where few tiles fit into memory, and more requests
    /// would wait for the chunks of one, those are `spread`.
    fn crew_of(&self, copies: u64, spread: bool) -> Crew<'a> {
        let bytes = self.held_bytes().saturating_mul(copies);
        let Crew { pool, stores, .. } = self.crew;
        let most = |(array, store): (&Array, &'a dyn Store)| match array.is_remote() {
            true => pool.workers(&[store], self.objects(array), array_bytes(array, array.object_shape())),
            false => 0,
        };
        let waiting = [&self.source, &self.target].into_iter().zip(stores).map(most).max().unwrap_or(0);
        let one_by_one = spread && waiting > pool.workers(&stores, self.tiles.len(), bytes);
        Crew { pool, stores, bytes, one_by_one }
    }

    /// How many objects of an array a tile has.
    fn objects(&self, array: &Array) -> u64 {
        let lens = self.tile.iter().zip(array.stored_shape()).zip(array.object_shape());
        lens.fold(1, |all, ((tile, len), object)| {
            all.saturating_mul((*tile).min(*len).div_ceil((*object).max(1)))
        })
    }

    /// Bytes of decoded data to move, at most.
    pub(super) fn decoded_len(&self) -> u64 {
        self.tiles.len().saturating_mul(self.tile_bytes())
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        let before = AtomicU64::new(0);
        let after = AtomicU64::new(0);
        let chunks = AtomicU64::new(0);
        let decoded = AtomicU64::new(0);
        // One that waits for a store may be told meanwhile to stop.
        let stop = || advance(progress, 0);
        for_each(
            self.crew,
            self.tiles.len(),
            || Lane::new(self, self.crew.one_by_one),
            |lane, position| {
                let index = self.tiles.index(position);
                let moved = match self.way {
                    Way::Unchanged => lane.pass(&index, &stop)?,
                    Way::Recode => lane.recode(&index, &stop)?,
                    Way::Rechunk => lane.rechunk(&self.slab(&index), &stop)?,
                };
                before.fetch_add(moved.before, Ordering::Relaxed);
                after.fetch_add(moved.after, Ordering::Relaxed);
                chunks.fetch_add(moved.chunks, Ordering::Relaxed);
                decoded.fetch_add(moved.decoded, Ordering::Relaxed);
                advance(progress, self.tile_bytes())
            },
        )?;
        Ok(VariableSummary {
            path: self.source.path().to_owned(),
            chain: self.target.chain().to_string(),
            unchanged: self.way == Way::Unchanged,
            decoded: decoded.into_inner(),
            before: (self.way != Way::Rechunk).then(|| before.into_inner()),
            after: after.into_inner(),
            chunks: chunks.into_inner(),
        })
    }

    /// Decodes both sides and compares.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<(), CopyError> {
        // Both sides decoded, and a chunk as stored.
        let crew = self.crew_of(3, true);
        for_each(
            crew,
            self.tiles.len(),
            || Lane::new(self, crew.one_by_one),
            |lane, position| {
                let slab = self.slab(&self.tiles.index(position));
                if !lane.agree(&slab, &|| advance(progress, 0))? {
                    return Err(CopyError::Verify {
                        path: self.source.path().to_owned(),
                        start: slab.start().to_vec(),
                    });
                }
                advance(progress, self.tile_bytes())
            },
        )
    }

    /// The part of the stored array in a tile.
    fn slab(&self, index: &[u64]) -> Slab {
        let start: Vec<u64> = index.iter().zip(&self.tile).map(|(i, tile)| i * tile).collect();
        let lens = self.source.stored_shape().iter().zip(&self.tile).zip(&start);
        let count: Vec<u64> = lens.map(|((len, tile), start)| (*tile).min(len - start)).collect();
        Slab::new(start, count)
    }

    /// Bytes of the array in a tile.
    fn held_bytes(&self) -> u64 {
        array_bytes(&self.source, &self.tile)
    }

    fn tile_bytes(&self) -> u64 {
        self.tile.iter().fold(self.source.dtype().size() as u64, |product, len| product.saturating_mul(*len))
    }
}

/// What moving one tile did, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    before: u64,
    after: u64,
    decoded: u64,
    chunks: u64,
}

impl<'a> Lane<'a> {
    fn new(route: &'a Route<'_>, spread: bool) -> Self {
        Self {
            source: &route.source,
            target: &route.target,
            reader: route.source.worker(),
            writer: route.target.worker(),
            ours: Vec::new(),
            theirs: Vec::new(),
            spread,
        }
    }

    /// Reads a slab of one side; says whether any chunk of it exists.
    fn read(
        array: &Array,
        spread: bool,
        worker: &mut Worker,
        slab: &Slab,
        out: &mut [u8],
    ) -> Result<bool, DataError> {
        match spread {
            true => array.read_existing(slab, Elements::Stored, out),
            false => array.read_with(worker, slab, Elements::Stored, out),
        }
    }

    fn pass(&mut self, index: &[u64], stop: &Stop<'_>) -> Result<Moved, CopyError> {
        if !self.source.load_object(&mut self.reader, index)? {
            return Ok(Moved::default());
        }
        stop()?;
        let chunks = self.source.loaded_chunks(&self.reader, index)?;
        let stored = self.source.loaded(&self.reader);
        self.target.write_object(&mut self.writer, index, stored)?;
        let len = stored.len() as u64;
        let decoded = chunks.saturating_mul(self.source.chain().chunk_len() as u64);
        Ok(Moved { before: len, after: len, decoded, chunks })
    }

    fn recode(&mut self, index: &[u64], stop: &Stop<'_>) -> Result<Moved, CopyError> {
        let Self { source, target, reader, writer, ours, .. } = self;
        let len = source.chain().chunk_len();
        // While a chunk is encoded nobody waits for a remote store.
        let loaded = source.is_sharded() || source.is_remote() && !target.is_sharded();
        let mut moved = Moved::default();
        if loaded {
            if !source.load_object(reader, index)? {
                return Ok(moved);
            }
            moved.before = source.loaded(reader).len() as u64;
            stop()?;
        }
        let mut read = |chunk: &[u64], out: &mut [u8]| -> Result<bool, DataError> {
            let stored = match loaded {
                true => source.decode_loaded(reader, chunk, out)?,
                false => source.read_chunk(reader, chunk, out)?,
            };
            moved.decoded += stored.map_or(0, |_| len as u64);
            moved.before += stored.filter(|_| !loaded).unwrap_or(0) as u64;
            Ok(stored.is_some())
        };
        let written = if target.is_sharded() || !source.is_sharded() {
            target.encode_object(writer, index, &mut read)?
        } else {
            resize(ours, len, source)?;
            let mut written = Written::default();
            for chunk in source.object_chunks(index) {
                if read(&chunk, ours)? {
                    written.bytes += target.write_chunk(writer, &chunk, ours)? as u64;
                    written.chunks += 1;
                }
            }
            written
        };
        Ok(Moved { after: written.bytes, chunks: written.chunks, ..moved })
    }

    fn rechunk(&mut self, slab: &Slab, stop: &Stop<'_>) -> Result<Moved, CopyError> {
        let len = slab_bytes(self.source, slab);
        resize(&mut self.ours, len, self.source)?;
        if !Self::read(self.source, self.spread, &mut self.reader, slab, &mut self.ours)? {
            return Ok(Moved::default());
        }
        stop()?;
        let written = match self.spread {
            true => self.target.write_counted(slab, Elements::Stored, &self.ours)?,
            false => self.target.write_with(&mut self.writer, slab, Elements::Stored, &self.ours)?,
        };
        Ok(Moved { before: 0, after: written.bytes, decoded: len as u64, chunks: written.chunks })
    }

    fn agree(&mut self, slab: &Slab, stop: &Stop<'_>) -> Result<bool, CopyError> {
        let len = slab_bytes(self.source, slab);
        resize(&mut self.ours, len, self.source)?;
        resize(&mut self.theirs, len, self.target)?;
        Self::read(self.source, self.spread, &mut self.reader, slab, &mut self.ours)?;
        stop()?;
        Self::read(self.target, self.spread, &mut self.writer, slab, &mut self.theirs)?;
        Ok(self.ours == self.theirs)
    }
}

/// Whether both chains make the same bytes of a chunk. Across versions they are compared as numcodecs names them.
fn same_codecs(source: &Dataset, target: &Dataset, from: &Array, to: &Array) -> bool {
    let dialect = match (source.hierarchy().format.dialect(), target.hierarchy().format.dialect()) {
        (one, other) if one == other => one,
        _ => ncz_codec::Dialect::Numcodecs,
    };
    let json = |array: &Array| array.chain().stored_json(dialect).ok();
    from.chain().working() == to.chain().working() && json(from).is_some() && json(from) == json(to)
}

/// Whether elements of the two types are the same bytes; those of `<i1` and `|i1` are.
fn same_elements(one: &Dtype, other: &Dtype) -> bool {
    let facts = |dtype: &Dtype| (dtype.kind(), dtype.size(), dtype.order());
    one == other || (one.size() == 1 && facts(one) == facts(other))
}

/// The box to move at a time where chunks change: whole objects of the copy that cover a chunk of the
/// original, so that each is decoded few times, within the memory of two chunks or [`BLOCK_BYTES`].
pub(super) fn block(original: &Variable, planned: &Variable, element: u64, threads: usize) -> Vec<u64> {
    let bytes = |shape: &[u64]| shape.iter().fold(element, |product, len| product.saturating_mul(*len));
    let two_chunks = bytes(&original.chunk_shape).max(bytes(planned.object_shape())).saturating_mul(2);
    let budget = two_chunks.max(BLOCK_BYTES / threads.max(1) as u64);
    let target = planned.object_shape();
    let mut block: Vec<u64> = original
        .chunk_shape
        .iter()
        .zip(target)
        .zip(&original.shape)
        .map(|((from, to), len)| (*from).max(*to).min((*len).max(1)).next_multiple_of(*to))
        .collect();
    while bytes(&block) > budget {
        let ratio = |d: &usize| block[*d] / target[*d];
        let Some(widest) = (0..block.len()).max_by_key(ratio).filter(|d| ratio(d) > 1) else { break };
        block[widest] = (block[widest] / target[widest]).div_ceil(2) * target[widest];
    }
    block
}

fn fill_bytes(variable: &Variable) -> Option<&[u8]> {
    variable.fill.as_ref().map(ncz_nczarr::FillValue::bytes)
}

/// Bytes of the stored array in a box of this shape.
fn array_bytes(array: &Array, shape: &[u64]) -> u64 {
    let lens = shape.iter().zip(array.stored_shape()).map(|(len, stored)| (*len).min(*stored));
    lens.fold(array.dtype().size() as u64, u64::saturating_mul)
}

fn slab_bytes(array: &Array, slab: &Slab) -> usize {
    // A tile is bounded by chunks, whose size was checked when the chain was bound.
    slab.count().iter().fold(array.dtype().size(), |product, len| product.saturating_mul(*len as usize))
}

fn resize(buffer: &mut Vec<u8>, len: usize, array: &Array) -> Result<(), DataError> {
    if buffer.len() < len {
        buffer.try_reserve_exact(len - buffer.len()).map_err(|_| DataError::Unsupported {
            variable: array.path().to_owned(),
            reason: format!("no memory for {len} bytes of its data; ask for smaller chunks"),
        })?;
    }
    buffer.resize(len, 0);
    Ok(())
}

pub(super) fn advance(progress: &dyn Progress, bytes: u64) -> Result<(), CopyError> {
    match progress.advance(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CopyError::Stopped),
    }
}
