//! The way that the chunks of one variable take.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use ncz_nczarr::{Array, DataError, Dataset, Dtype, Session, Variable};
use ncz_store::{MemoryStore, Store};

use super::leg::{Leg, Twins, Way, array_bytes};
use super::shape::{self, Axis, Exchange};
use super::tasks::{Crew, Tiles};
use super::window::Window;
use super::{CopyError, Progress, Resources, VariableSummary, Verified, scratch};

/// A variable on its way.
#[derive(Debug)]
pub(super) struct Route<'a> {
    source: Array,
    target: Array,
    window: Window,
    session: &'a Session,
    stores: [&'a dyn Store; 2],
    resources: Resources<'a>,
    way: Way,
    exchange: Option<Exchange>,
    /// Lengths of the box that is moved, or compared, at a time.
    tile: Vec<u64>,
    tiles: Tiles,
    /// Where pieces are made first.
    pieces: Option<Pieces>,
    /// What is made, where a codec on the way is lossy, and the stages from the first of these to the last.
    lossy: Option<(Variable, Range<usize>)>,
}

/// The first of two passes.
#[derive(Debug)]
struct Pieces {
    original: Variable,
    lens: Vec<u64>,
    tile: Vec<u64>,
    tiles: Tiles,
}

impl<'a> Route<'a> {
    pub(super) fn new(
        source: &'a Dataset,
        target: &'a Dataset,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let from = source.array(&original.path)?;
        let to = target.array(&original.path)?;
        let rank = original.shape.len();
        let same_chunks = original.chunk_shape == planned.chunk_shape
            && original.shape == planned.shape
            && window.is_straight()
            && original.order.axes(rank) == planned.order.axes(rank)
            && same_elements(&original.dtype, &planned.dtype);
        let same_objects = same_chunks && original.sharding == planned.sharding;
        let same_bytes = same_objects
            && fill_bytes(original) == fill_bytes(planned)
            && same_codecs(source, target, &from, &to);
        // Of shards on both sides those of the copy would be made of parts.
        let same_grid =
            same_objects || same_chunks && (original.sharding.is_none() || planned.sharding.is_none());
        let session = source.session();
        let (way, exchange) = match (same_bytes, same_grid) {
            (true, _) => (Way::Unchanged, None),
            (_, true) => (Way::Recode, None),
            _ => (Way::Rechunk, Some(exchange(original, planned, &window, resources.memory, session))),
        };
        let tile = match &exchange {
            Some(Exchange::Apart { tile, .. } | Exchange::Together { tile }) => tile,
            Some(Exchange::Twice { write, .. }) => write,
            None if way == Way::Unchanged || planned.sharding.is_some() => planned.object_shape(),
            None => original.object_shape(),
        };
        let tile = tile.to_vec();
        let stores: [&dyn Store; 2] = [&**source.store(), &**target.store()];
        let tiles =
            |tile: &[u64]| Tiles::of_window(&from, &window, tile)?.existing(&from, stores[0], &window, tile);
        let pieces = match &exchange {
            Some(Exchange::Twice { read, piece, .. }) => Some(Pieces {
                original: original.clone(),
                lens: piece.clone(),
                tile: read.clone(),
                tiles: tiles(read)?,
            }),
            _ => None,
        };
        let tiles = tiles(&tile)?;
        let lossy = to.chain().lossy_stages().filter(|_| way != Way::Unchanged);
        let lossy = lossy.map(|stages| (planned.clone(), stages));
        Ok(Self {
            source: from,
            target: to,
            window,
            session,
            stores,
            resources,
            way,
            exchange,
            tile,
            tiles,
            pieces,
            lossy,
        })
    }

    /// Bytes of decoded data to move, at most.
    pub(super) fn decoded_len(&self) -> u64 {
        let first = self.pieces.as_ref().map_or(0, |pieces| self.first(pieces, &self.target).decoded_len());
        self.leg(&self.source, &self.window, 1).decoded_len().saturating_add(first)
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        // Both sides decoded; what is lossy is decoded again, in several ways.
        let copies = if self.lossy.is_some() { 6 } else { 2 };
        let moved = match &self.pieces {
            None => self.leg(&self.source, &self.window, copies).run(progress)?,
            Some(pieces) => {
                let shape = self.window.end();
                let temporary = std::env::temp_dir();
                let folder: &Path = self.resources.scratch.unwrap_or(&temporary);
                let between = scratch::pieces(self.session, &pieces.original, &shape, &pieces.lens, folder)?;
                self.first(pieces, &between).run(progress)?;
                let window = Window::whole(&shape);
                self.leg(&between, &window, copies).run(progress)?
            }
        };
        Ok(VariableSummary {
            path: self.source.path().to_owned(),
            chain: self.target.chain().to_string(),
            lossy: match self.way {
                Way::Unchanged => Vec::new(),
                Way::Recode | Way::Rechunk => {
                    self.target.chain().lossy().map(|info| info.name.to_string()).collect()
                }
            },
            encoded_again: 0,
            unchanged: self.way == Way::Unchanged,
            decoded: moved.decoded,
            before: (self.way != Way::Rechunk && !self.resources.keep).then_some(moved.before),
            after: moved.after,
            chunks: moved.chunks,
            verified: None,
        })
    }

    /// Decodes both sides and compares; where a codec is lossy, what it changed has to be what it changes again.
    ///
    /// A chunk that has elements from elsewhere, as of records from before, cannot be made again: where a codec is
    /// lossy there must be none.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        // Both sides decoded, and a chunk as stored; the same again of what is lossy.
        let copies = if self.lossy.is_some() { 5 } else { 3 };
        let leg = self.leg(&self.source, &self.window, copies);
        let twins = self.lossy.as_ref().map(|(variable, stages)| Twins {
            lossy: stages.clone(),
            make: Box::new(|stages| self.twin(variable, stages)),
        });
        Leg { crew: self.crew_of(copies, true), keep: false, ..leg }.verify(twins.as_ref(), progress)
    }

    /// An array like the target with the first codecs of its chain, in memory and empty.
    fn twin(&self, variable: &Variable, stages: usize) -> Result<Array, DataError> {
        let store = Arc::new(MemoryStore::new("what was encoded once more"));
        let (chain, pool) = (self.target.chain().first_stages(stages), self.session.pool.clone());
        let twin = Array::new(store, variable, self.target.stored_shape().to_vec(), chain, pool)?;
        Ok(twin.with_terms_of(&self.target))
    }

    /// From the original to pieces.
    fn first<'s>(&'s self, pieces: &'s Pieces, between: &'s Array) -> Leg<'s> {
        let crew = Crew {
            pool: &self.session.pool,
            stores: [self.stores[0]; 2],
            bytes: array_bytes(&self.source, &pieces.tile),
            one_by_one: true,
            most: u64::MAX,
        };
        Leg {
            source: &self.source,
            target: between,
            window: &self.window,
            crew,
            way: Way::Rechunk,
            tile: &pieces.tile,
            tiles: &pieces.tiles,
            keep: false,
        }
    }

    /// To the copy; who works on it holds so many `copies` of a tile.
    fn leg<'s>(&'s self, source: &'s Array, window: &'s Window, copies: u64) -> Leg<'s> {
        let crew = match &self.exchange {
            None => self.crew_of(if self.way == Way::Unchanged { 1 } else { copies }, false),
            Some(Exchange::Apart { most, .. }) => {
                let crew = self.crew_of(copies, true);
                Crew { most: if crew.one_by_one { u64::MAX } else { *most }, ..crew }
            }
            Some(Exchange::Together { .. } | Exchange::Twice { .. }) => {
                Crew { one_by_one: true, ..self.crew_of(copies, true) }
            }
        };
        Leg {
            source,
            target: &self.target,
            window,
            crew,
            way: self.way,
            tile: &self.tile,
            tiles: &self.tiles,
            keep: self.resources.keep,
        }
    }

    /// Who works on tiles of which each holds this many `copies`. Where few tiles fit into memory, and more requests
    /// would wait for the chunks of one, those are `spread`.
    fn crew_of(&self, copies: u64, spread: bool) -> Crew<'_> {
        let bytes = array_bytes(&self.target, &self.tile).saturating_mul(copies);
        let (pool, stores) = (&self.session.pool, self.stores);
        let most = |(array, store): (&Array, &dyn Store)| match array.is_remote() {
            true => pool.workers(&[store], self.objects(array), array_bytes(array, array.object_shape())),
            false => 0,
        };
        let waiting = [&self.source, &self.target].into_iter().zip(stores).map(most).max().unwrap_or(0);
        let one_by_one = spread && waiting > pool.workers(&stores, self.tiles.len(), bytes);
        let most = (self.resources.memory / bytes.max(1)).max(1);
        Crew { pool, stores, bytes, one_by_one, most }
    }

    /// How many objects of an array a tile has.
    fn objects(&self, array: &Array) -> u64 {
        let lens = self.tile.iter().zip(array.stored_shape()).zip(array.object_shape());
        lens.fold(1, |all, ((tile, len), object)| {
            all.saturating_mul((*tile).min(*len).div_ceil((*object).max(1)))
        })
    }
}

/// How the chunks of the original become those of the copy.
fn exchange(
    original: &Variable,
    planned: &Variable,
    window: &Window,
    memory: u64,
    session: &Session,
) -> Exchange {
    let element = original.dtype.size() as u64;
    let axes = axes(original, planned, window);
    let bytes = |lens: &[u64]| lens.iter().copied().fold(2 * element, u64::saturating_mul);
    let chunks = bytes(&original.chunk_shape).saturating_add(bytes(planned.object_shape()));
    shape::choose(&axes, element, memory, session.pool.threads(), chunks, window.is_at_start())
}

/// The dimensions of what is moved, in the indices of the copy.
pub(super) fn axes(original: &Variable, planned: &Variable, window: &Window) -> Vec<Axis> {
    let lens = original.chunk_shape.iter().zip(planned.object_shape()).enumerate();
    lens.map(|(d, (other, unit))| {
        let indices = window.indices(d);
        Axis {
            len: indices.count.max(1),
            unit: *unit,
            other: (other / indices.step).clamp(1, indices.count.max(1)),
        }
    })
    .collect()
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

fn fill_bytes(variable: &Variable) -> Option<&[u8]> {
    variable.fill.as_ref().map(ncz_nczarr::FillValue::bytes)
}

pub(super) fn advance(progress: &dyn Progress, bytes: u64) -> Result<(), CopyError> {
    match progress.advance(bytes) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CopyError::Stopped),
    }
}
