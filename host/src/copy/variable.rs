//! Copying one variable chunk by chunk.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ncz_model::Container;
use ncz_model::{Array, DataError, Session, Variable};
use ncz_store::{MemoryStore, Store};

use super::kept_codecs::{same_codecs, same_elements};
use super::rechunk::{self, Axis, RechunkPlan};
use super::salvage::Salvage;
use super::transfer::{ChunkTransfer, LossyReference, TransferMode, array_bytes};
use super::{CopyError, Recoding, Resources, VariableSummary, Verified, missing_values, scratch};
use crate::parallelism::Parallelism;
use crate::progress::Progress;
use crate::tiles::{Tiles, Window};

/// A variable that is copied: its two arrays and the plan for its chunks.
#[derive(Debug)]
pub(super) struct VariableCopy<'a> {
    source: Array,
    target: Array,
    copy: &'a dyn Container,
    window: Window,
    session: &'a Session,
    stores: [&'a dyn Store; 2],
    resources: Resources<'a>,
    mode: TransferMode,
    /// Why stored chunks are not passed on.
    recoding: Option<Recoding>,
    plan: Option<RechunkPlan>,
    /// The shape of the tile that is moved, or compared, at a time.
    tile: Vec<u64>,
    tiles: Tiles,
    /// The first pass, if there are two.
    pieces: Option<Pieces>,
    /// The variable of the copy and the stages of its chain from the first lossy codec to the last, if one is lossy.
    lossy: Option<(Variable, Range<usize>)>,
    /// Chunks that cannot be read; `None`: they are errors.
    salvage: Option<Salvage>,
}

/// The first of two passes, from the source to pieces in a scratch file.
#[derive(Debug)]
struct Pieces {
    original: Variable,
    lens: Vec<u64>,
    tile: Vec<u64>,
    tiles: Tiles,
}

impl<'a> VariableCopy<'a> {
    pub(super) fn new(
        source: &'a dyn Container,
        target: &'a dyn Container,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let was = source.hierarchy().format;
        let from = source.array(&original.path)?;
        let from = match missing_values::element_of_missing_chunks(original, was, planned) {
            Some(element) => from.with_fill(element),
            None => from,
        };
        let to = target.array(&original.path)?;
        let rank = original.shape.len();
        let same_chunks = original.chunk_shape == planned.chunk_shape
            && original.shape == planned.shape
            && window.is_straight()
            && original.order.axes(rank) == planned.order.axes(rank)
            && same_elements(&original.dtype, &planned.dtype);
        let same_objects = same_chunks && original.sharding == planned.sharding;
        // What a netCDF file has beyond the end of an array is not fill in any case.
        let same_fill = was.is_netcdf() || fill_bytes(original) == fill_bytes(planned);
        let format = target.hierarchy().format;
        let recoding = match () {
            () if !same_objects && !same_elements(&original.dtype, &planned.dtype) => {
                Some(Recoding::Elements)
            }
            () if !same_objects => Some(Recoding::Chunks),
            () if !same_fill => Some(Recoding::Fill),
            () if !same_codecs(source, format, (original, planned), (from.chain(), to.chain())) => {
                Some(Recoding::Codecs)
            }
            () => None,
        };
        let same_bytes = recoding.is_none();
        // If both sides have shards of different shapes, a shard of the copy would be written in parts.
        let same_grid =
            same_objects || same_chunks && (original.sharding.is_none() || planned.sharding.is_none());
        let session = source.session();
        let (mode, plan) = match (same_bytes, same_grid) {
            (true, _) => (TransferMode::Unchanged, None),
            (_, true) => (TransferMode::Recode, None),
            _ => (TransferMode::Rechunk, Some(plan(original, planned, &window, resources.memory, session))),
        };
        let tile = match &plan {
            Some(RechunkPlan::PerThread { tile, .. } | RechunkPlan::Shared { tile }) => tile,
            Some(RechunkPlan::TwoPass { write, .. }) => write,
            None if mode == TransferMode::Unchanged || planned.sharding.is_some() => planned.object_shape(),
            None => original.object_shape(),
        };
        let tile = tile.to_vec();
        let stores: [&dyn Store; 2] = [&**source.store(), &**target.store()];
        let tiles = |tile: &[u64]| {
            let tiles = Tiles::of_window(&from, &window, tile)?;
            match resources.salvage {
                true => tiles.existing_or_all(&from, stores[0], &window, tile),
                false => tiles.existing(&from, stores[0], &window, tile),
            }
        };
        let pieces = match &plan {
            Some(RechunkPlan::TwoPass { read, piece, .. }) => Some(Pieces {
                original: original.clone(),
                lens: piece.clone(),
                tile: read.clone(),
                tiles: tiles(read)?,
            }),
            _ => None,
        };
        let tiles = tiles(&tile)?;
        let is_lossless = to.chain().each_lossy().all(|(_, lossy)| lossy == Some(false));
        let salvage = resources
            .salvage
            .then(|| Salvage::new(original, was, (planned, target.hierarchy()), is_lossless));
        let lossy = to.chain().lossy_stages().filter(|_| mode != TransferMode::Unchanged);
        let lossy = lossy.map(|stages| (planned.clone(), stages));
        Ok(Self {
            source: from,
            target: to,
            copy: target,
            window,
            session,
            stores,
            resources,
            mode,
            recoding,
            plan,
            tile,
            tiles,
            pieces,
            lossy,
            salvage,
        })
    }

    /// An upper bound of the bytes of decoded data to move.
    pub(super) fn decoded_len(&self) -> u64 {
        let first = self.pieces.as_ref().map_or(0, |pieces| self.first(pieces, &self.target).decoded_len());
        self.transfer(&self.source, &self.window, 1).decoded_len().saturating_add(first)
    }

    /// The lengths of the boxes that can be copied independently of each other: whole objects of the copy, and where
    /// the chunks are the same also of the source.
    pub(super) fn unit(&self) -> &[u64] {
        if self.plan.is_some() { self.target.object_shape() } else { &self.tile }
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        // Both sides decoded; a lossy chain is decoded several more times.
        let copies = if self.lossy.is_some() { 6 } else { 2 };
        let moved = match &self.pieces {
            None => self.transfer(&self.source, &self.window, copies).run(progress)?,
            Some(pieces) => {
                let shape = self.window.end();
                let temporary = std::env::temp_dir();
                let folder: &Path = self.resources.scratch.unwrap_or(&temporary);
                let between = scratch::pieces(self.session, &pieces.original, &shape, &pieces.lens, folder)?;
                self.first(pieces, &between).run(progress)?;
                let window = Window::whole(&shape);
                // What cannot be read in a scratch file is an error.
                let transfer = self.transfer(&between, &window, copies);
                ChunkTransfer { salvage: None, ..transfer }.run(progress)?
            }
        };
        Ok(VariableSummary {
            path: self.source.path().to_owned(),
            chain: self.target.chain().to_string(),
            element: self.target.dtype().size(),
            lossy: match self.mode {
                TransferMode::Unchanged => Vec::new(),
                TransferMode::Recode | TransferMode::Rechunk => {
                    self.target.chain().lossy().map(|info| info.name.to_string()).collect()
                }
            },
            encoded_again: 0,
            unchanged: self.mode == TransferMode::Unchanged,
            recoded: if self.recoding.is_some() { moved.chunks } else { moved.recoded },
            recoding: self.recoding.or((moved.recoded > 0).then_some(Recoding::SkippedFilters)),
            decoded: moved.decoded,
            before: (self.mode != TransferMode::Rechunk && !self.resources.keep).then_some(moved.before),
            after: moved.after,
            chunks: moved.chunks,
            verified: None,
            lost: self
                .salvage
                .as_ref()
                .map_or_else(Vec::new, |salvage| salvage.list(|index| self.source.chunk_slab(index))),
        })
    }

    /// Decodes both sides and compares them. If a codec is lossy, the source is encoded once more, and the changes must
    /// be identical.
    ///
    /// A chunk that also has other elements, such as those of earlier records, cannot be encoded once more: if a codec
    /// is lossy, there must be none.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        if let Some(salvage) = &self.salvage {
            salvage.close();
        }
        // Both sides decoded, and a chunk as stored; twice that if a codec is lossy.
        let copies = if self.lossy.is_some() { 5 } else { 3 };
        let transfer = self.transfer(&self.source, &self.window, copies);
        let reference = self.lossy.as_ref().map(|(variable, stages)| LossyReference {
            lossy: stages.clone(),
            make: Box::new(|stages| self.reference(variable, stages)),
        });
        // What is stored by now, which a netCDF file reads otherwise than it was written.
        let target = self.copy.array(self.target.path())?;
        let parallelism = self.parallelism_of(copies, true);
        ChunkTransfer { target: &target, parallelism, keep: false, ..transfer }
            .verify(reference.as_ref(), progress)
    }

    /// An empty array in memory, like the target, with the first codecs of its chain.
    fn reference(&self, variable: &Variable, stages: usize) -> Result<Array, DataError> {
        let store = Arc::new(MemoryStore::new("data that were encoded once more"));
        let (chain, pool) = (self.target.chain().first_stages(stages), self.session.pool.clone());
        let reference = Array::new(store, variable, self.target.stored_shape().to_vec(), chain, pool)?;
        Ok(reference.with_terms_of(&self.target))
    }

    /// The transfer from the source to pieces.
    fn first<'s>(&'s self, pieces: &'s Pieces, between: &'s Array) -> ChunkTransfer<'s> {
        let parallelism = Parallelism {
            pool: &self.session.pool,
            stores: [self.stores[0]; 2],
            bytes: array_bytes(&self.source, &pieces.tile),
            one_by_one: true,
            limit: u64::MAX,
        };
        ChunkTransfer {
            source: &self.source,
            target: between,
            window: &self.window,
            parallelism,
            mode: TransferMode::Rechunk,
            tile: &pieces.tile,
            tiles: &pieces.tiles,
            keep: false,
            salvage: self.salvage.as_ref(),
        }
    }

    /// The transfer to the copy. Each task holds this many `copies` of a tile.
    fn transfer<'s>(&'s self, source: &'s Array, window: &'s Window, copies: u64) -> ChunkTransfer<'s> {
        let parallelism = match &self.plan {
            None => self.parallelism_of(if self.mode == TransferMode::Unchanged { 1 } else { copies }, false),
            Some(RechunkPlan::PerThread { limit, .. }) => {
                let parallelism = self.parallelism_of(copies, true);
                Parallelism { limit: if parallelism.one_by_one { u64::MAX } else { *limit }, ..parallelism }
            }
            Some(RechunkPlan::Shared { .. } | RechunkPlan::TwoPass { .. }) => {
                Parallelism { one_by_one: true, ..self.parallelism_of(copies, true) }
            }
        };
        ChunkTransfer {
            source,
            target: &self.target,
            window,
            parallelism,
            mode: self.mode,
            tile: &self.tile,
            tiles: &self.tiles,
            keep: self.resources.keep,
            salvage: self.salvage.as_ref(),
        }
    }

    /// How many tiles are moved at the same time, if each task holds this many `copies`. With `spread`, tiles are moved
    /// one by one if few of them fit into memory while the chunks of one tile keep more requests waiting.
    fn parallelism_of(&self, copies: u64, spread: bool) -> Parallelism<'_> {
        let bytes = array_bytes(&self.target, &self.tile).saturating_mul(copies);
        let (pool, stores) = (&self.session.pool, self.stores);
        let most = |(array, store): (&Array, &dyn Store)| match array.is_remote() {
            true => pool.workers(&[store], self.objects(array), array_bytes(array, array.object_shape())),
            false => 0,
        };
        let waiting = [&self.source, &self.target].into_iter().zip(stores).map(most).max().unwrap_or(0);
        let one_by_one = spread && waiting > pool.workers(&stores, self.tiles.len(), bytes);
        let limit = (self.resources.memory / bytes.max(1)).max(1);
        Parallelism { pool, stores, bytes, one_by_one, limit }
    }

    /// The number of objects of an array in a tile.
    fn objects(&self, array: &Array) -> u64 {
        let lens = self.tile.iter().zip(array.stored_shape()).zip(array.object_shape());
        lens.fold(1, |all, ((tile, len), object)| {
            all.saturating_mul((*tile).min(*len).div_ceil((*object).max(1)))
        })
    }
}

/// Chooses how the chunks of the source become those of the copy.
fn plan(
    original: &Variable,
    planned: &Variable,
    window: &Window,
    memory: u64,
    session: &Session,
) -> RechunkPlan {
    let element = original.dtype.size() as u64;
    let axes = axes(original, planned, window);
    let bytes = |lens: &[u64]| lens.iter().copied().fold(2 * element, u64::saturating_mul);
    let chunks = bytes(&original.chunk_shape).saturating_add(bytes(planned.object_shape()));
    rechunk::choose(&axes, element, memory, session.pool.threads(), chunks, window.is_at_start())
}

/// The dimensions of the data that are moved, in indices of the copy.
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

fn fill_bytes(variable: &Variable) -> Option<&[u8]> {
    variable.fill.as_ref().map(ncz_model::FillValue::bytes)
}
