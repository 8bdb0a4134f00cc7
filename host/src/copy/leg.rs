//! One way of the elements of a variable: from chunks of one array to those of another.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use ncz_nczarr::{Array, DataError, Elements, Slab, Worker, Written};
use ncz_store::{Key, Store, StoreError};

use super::route::advance;
use super::tasks::{Crew, Tiles, for_each};
use super::window::Window;
use super::{CopyError, Progress, Verified};

/// What is moved, and by whom.
#[derive(Debug)]
pub(super) struct Leg<'a> {
    pub(super) source: &'a Array,
    pub(super) target: &'a Array,
    pub(super) window: &'a Window,
    /// Who moves the tiles; each holds one as stored and as written, or decoded and as stored.
    pub(super) crew: Crew<'a>,
    pub(super) way: Way,
    /// Lengths of the box of the target that is moved at a time: an object of its store, or several where chunks
    /// change.
    pub(super) tile: &'a [u64],
    pub(super) tiles: &'a Tiles,
    /// Whether objects that the target has already are whole, and kept.
    pub(super) keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Stored bytes as they are.
    Unchanged,
    /// Decode and encode chunk by chunk; shards may be put together or taken apart.
    Recode,
    /// Other chunks, or another part.
    Rechunk,
}

/// What moving did, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) decoded: u64,
    pub(super) chunks: u64,
}

/// Fails when the copy is to stop.
type Stop<'a> = dyn Fn() -> Result<(), CopyError> + 'a;

/// What tells changes of lossy codecs from faults of others.
pub(super) struct Twins<'a> {
    /// The stages of the target's chain from the first lossy codec to the last.
    pub(super) lossy: Range<usize>,
    /// Makes an empty array like the target that has so many of its codecs.
    pub(super) make: Box<dyn Fn(usize) -> Result<Array, DataError> + Sync + 'a>,
}

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

impl<'a> Leg<'a> {
    pub(super) fn run(&self, progress: &dyn Progress) -> Result<Moved, CopyError> {
        let [before, after, decoded, chunks] = [const { AtomicU64::new(0) }; 4];
        // One that waits for a store may be told meanwhile to stop.
        let stop = || advance(progress, 0);
        for_each(
            self.crew,
            self.tiles.len(),
            || self.lane(self.crew.one_by_one),
            |lane, position| {
                let index = self.tiles.index(position);
                let moved = match self.kept(&index)? {
                    Some(kept) => kept,
                    None => match self.way {
                        Way::Unchanged => lane.pass(&index, &stop)?,
                        Way::Recode => lane.recode(&index, &stop)?,
                        Way::Rechunk => lane.rechunk(&self.slabs(&index), &stop)?,
                    },
                };
                before.fetch_add(moved.before, Ordering::Relaxed);
                after.fetch_add(moved.after, Ordering::Relaxed);
                chunks.fetch_add(moved.chunks, Ordering::Relaxed);
                decoded.fetch_add(moved.decoded, Ordering::Relaxed);
                advance(progress, self.tile_bytes())
            },
        )?;
        let [before, after, decoded, chunks] = [before, after, decoded, chunks].map(AtomicU64::into_inner);
        Ok(Moved { before, after, decoded, chunks })
    }

    /// Decodes both sides and compares; where they differ, with what comes back from `twins`.
    pub(super) fn verify(
        &self,
        twins: Option<&Twins<'_>>,
        progress: &dyn Progress,
    ) -> Result<Verified, CopyError> {
        let repeated = AtomicU64::new(0);
        let stop = || advance(progress, 0);
        for_each(
            self.crew,
            self.tiles.len(),
            || self.lane(self.crew.one_by_one),
            |lane, position| {
                let index = self.tiles.index(position);
                let slabs = self.slabs(&index);
                if !lane.agree(&slabs, &stop)? {
                    let repeats = match twins {
                        Some(twins) => lane.repeats(twins, self.way, (&index, &slabs), &stop)?,
                        None => false,
                    };
                    if !repeats {
                        return Err(CopyError::Verify {
                            path: self.target.path().to_owned(),
                            start: slabs.1.start().to_vec(),
                        });
                    }
                    repeated.fetch_add(1, Ordering::Relaxed);
                }
                advance(progress, self.tile_bytes())
            },
        )?;
        Ok(match repeated.into_inner() {
            0 => Verified::Same,
            boxes => Verified::Repeated { boxes, of: self.tiles.len() },
        })
    }

    /// Bytes of decoded data to move, at most.
    pub(super) fn decoded_len(&self) -> u64 {
        self.tiles.len().saturating_mul(self.tile_bytes())
    }

    fn lane(&self, spread: bool) -> Lane<'a> {
        Lane {
            source: self.source,
            target: self.target,
            reader: self.source.worker(),
            writer: self.target.worker(),
            ours: Vec::new(),
            theirs: Vec::new(),
            spread,
        }
    }

    /// What the target has of a tile from before; `None`: not all of it.
    fn kept(&self, index: &[u64]) -> Result<Option<Moved>, DataError> {
        if !self.keep {
            return Ok(None);
        }
        kept(self.target, self.crew.stores[1], &self.slabs(index).1)
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

impl Lane<'_> {
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
            target.adapt_padding(source, chunk, out);
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

    fn rechunk(&mut self, (from, to): &(Slab, Slab), stop: &Stop<'_>) -> Result<Moved, CopyError> {
        let len = slab_bytes(self.source, from);
        resize(&mut self.ours, len, self.source)?;
        if !Self::read(self.source, self.spread, &mut self.reader, from, &mut self.ours)? {
            return Ok(Moved::default());
        }
        stop()?;
        turn(self.source, self.target, &mut self.ours);
        let written = match self.spread {
            true => self.target.write_counted(to, Elements::Stored, &self.ours)?,
            false => self.target.write_with(&mut self.writer, to, Elements::Stored, &self.ours)?,
        };
        Ok(Moved { before: 0, after: written.bytes, decoded: len as u64, chunks: written.chunks })
    }

    fn agree(&mut self, (from, to): &(Slab, Slab), stop: &Stop<'_>) -> Result<bool, CopyError> {
        let len = slab_bytes(self.source, from);
        resize(&mut self.ours, len, self.source)?;
        resize(&mut self.theirs, len, self.target)?;
        Self::read(self.source, self.spread, &mut self.reader, from, &mut self.ours)?;
        stop()?;
        Self::read(self.target, self.spread, &mut self.writer, to, &mut self.theirs)?;
        turn(self.source, self.target, &mut self.ours);
        Ok(self.ours == self.theirs)
    }

    /// Whether what differs between the two parts that were read last is the work of lossy codecs: those ahead of them
    /// give back the original, and those up to the last of them give what the target gives.
    fn repeats(
        &self,
        twins: &Twins<'_>,
        way: Way,
        tile: (&[u64], &(Slab, Slab)),
        stop: &Stop<'_>,
    ) -> Result<bool, CopyError> {
        let Range { start, end } = twins.lossy;
        let gives_back = start == 0 || self.again(&(twins.make)(start)?, way, tile, stop)? == self.ours;
        Ok(gives_back && self.again(&(twins.make)(end)?, way, tile, stop)? == self.theirs)
    }

    /// What comes back of a tile of the original from an empty array like the target.
    fn again(
        &self,
        twin: &Array,
        way: Way,
        (index, slabs): (&[u64], &(Slab, Slab)),
        stop: &Stop<'_>,
    ) -> Result<Vec<u8>, CopyError> {
        let mut lane = Lane {
            source: self.source,
            target: twin,
            reader: self.source.worker(),
            writer: twin.worker(),
            ours: Vec::new(),
            theirs: Vec::new(),
            spread: self.spread,
        };
        match way {
            // Nothing was encoded.
            Way::Unchanged => return Ok(Vec::new()),
            Way::Recode => lane.recode(index, stop)?,
            Way::Rechunk => lane.rechunk(slabs, stop)?,
        };
        let Lane { mut writer, ours: mut out, spread, .. } = lane;
        resize(&mut out, self.theirs.len(), twin)?;
        Self::read(twin, spread, &mut writer, &slabs.1, &mut out)?;
        Ok(out)
    }
}

/// What a store has of the objects of a slab; `None`: not all of them.
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

/// Gives elements the byte order of the target.
fn turn(source: &Array, target: &Array, elements: &mut [u8]) {
    if source.dtype().order() != target.dtype().order() {
        let unit = target.dtype().swap_unit();
        if unit > 1 {
            elements.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
    }
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
