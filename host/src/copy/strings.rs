//! The way of variables whose strings are of any length.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ncz_nczarr::{
    Array, ByteOrder, DataError, Dataset, Dtype, FillText, FillValue, Format, Kind, Pool, Slab, StringArray,
    Strings, Value, Variable,
};
use ncz_registry::spec::ChainSpec;

use super::leg::kept;
use super::route::{Route, advance, axes};
use super::tasks::{Crew, Tiles, for_each};
use super::window::Window;
use super::{CopyError, Progress, Resources, VariableSummary, Verified, shape};

/// What a string is thought to take in memory.
const STRING_BYTES: u64 = 64;

/// A variable on its way, whatever its elements are.
#[derive(Debug)]
pub(super) enum AnyRoute<'a> {
    Chunks(Box<Route<'a>>),
    Strings(Box<StringRoute<'a>>),
}

impl<'a> AnyRoute<'a> {
    pub(super) fn new(
        source: &'a Dataset,
        target: &'a Dataset,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        if original.dtype.is_variable_length() {
            let route = StringRoute::new(source, target, original, window, resources)?;
            Ok(Self::Strings(Box::new(route)))
        } else {
            Ok(Self::Chunks(Box::new(Route::new(source, target, original, window, resources)?)))
        }
    }

    /// Bytes of decoded data to move, at most; a string of any length counts as one.
    pub(super) fn decoded_len(&self) -> u64 {
        match self {
            Self::Chunks(route) => route.decoded_len(),
            Self::Strings(route) => route.tiles.len().saturating_mul(route.tile_len()),
        }
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        match self {
            Self::Chunks(route) => route.copy(progress),
            Self::Strings(route) => route.copy(progress),
        }
    }

    /// Decodes both sides and compares.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        match self {
            Self::Chunks(route) => route.verify(progress),
            Self::Strings(route) => route.verify(progress),
        }
    }
}

/// Strings of any length on their way.
#[derive(Debug)]
pub(super) struct StringRoute<'a> {
    source: StringArray,
    target: StringArray,
    /// The keys of the target's chunks, where those that it has are kept.
    keys: Option<Array>,
    window: Window,
    crew: Crew<'a>,
    /// Whether stored bytes pass as they are.
    unchanged: bool,
    tile: Vec<u64>,
    tiles: Tiles,
}

impl<'a> StringRoute<'a> {
    fn new(
        source: &'a Dataset,
        target: &'a Dataset,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let from = source.strings(&original.path)?;
        let to = target.strings(&original.path)?;
        let rank = original.shape.len();
        let json = |strings: &StringArray| strings.chain().stored_json(ncz_codec::Dialect::Numcodecs).ok();
        let same_chunks = original.chunk_shape == planned.chunk_shape && window.is_straight();
        let unchanged = same_chunks
            && original.dtype == planned.dtype
            && original.shape == planned.shape
            && original.order.axes(rank) == planned.order.axes(rank)
            && original.fill.as_ref().map(FillValue::bytes) == planned.fill.as_ref().map(FillValue::bytes)
            && from.chain().working() == to.chain().working()
            && json(&from).is_some()
            && json(&from) == json(&to);
        let pool = &source.session().pool;
        let tile = if same_chunks {
            planned.chunk_shape.clone()
        } else {
            let budget = resources.memory / 2 / pool.threads().max(1) as u64;
            shape::tile(&axes(original, planned, &window), STRING_BYTES, budget)
        };
        let stand_in = stand_in(source, original)?;
        let tiles = Tiles::of_window(&stand_in, &window, &tile)?;
        let tiles = tiles.existing(&stand_in, &**source.store(), &window, &tile)?;
        let keys = if resources.keep { Some(self::stand_in(target, planned)?) } else { None };
        let bytes = held_bytes(&tile);
        let crew = Crew {
            pool,
            stores: [&**source.store(), &**target.store()],
            bytes,
            one_by_one: false,
            most: resources.memory / bytes.max(1),
        };
        Ok(Self { source: from, target: to, keys, window, crew, unchanged, tile, tiles })
    }

    fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        let (decoded, stored, chunks) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        for_each(
            self.crew,
            self.tiles.len(),
            || (),
            |(), position| {
                let index = self.tiles.index(position);
                let kept = match &self.keys {
                    Some(keys) => kept(keys, self.crew.stores[1], &self.slabs(&index).1)?,
                    None => None,
                };
                let moved = match kept {
                    Some(kept) => Moved { decoded: 0, stored: kept.after, chunks: kept.chunks },
                    None if self.unchanged => self.pass(&index)?,
                    None => self.rewrite(&self.slabs(&index))?,
                };
                decoded.fetch_add(moved.decoded, Ordering::Relaxed);
                stored.fetch_add(moved.stored, Ordering::Relaxed);
                chunks.fetch_add(moved.chunks, Ordering::Relaxed);
                advance(progress, self.tile_len())
            },
        )?;
        let after = stored.into_inner();
        Ok(VariableSummary {
            lossy: Vec::new(),
            encoded_again: 0,
            path: self.source.path().to_owned(),
            chain: self.target.chain().to_string(),
            unchanged: self.unchanged,
            decoded: decoded.into_inner(),
            before: self.unchanged.then_some(after),
            after,
            chunks: chunks.into_inner(),
            verified: None,
        })
    }

    fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        for_each(
            self.crew,
            self.tiles.len(),
            || (),
            |(), position| {
                let (from, to) = self.slabs(&self.tiles.index(position));
                let (ours, theirs) = (self.source.read_serial(&from)?, self.target.read_serial(&to)?);
                let same = match (&ours, &theirs) {
                    // Strings that were never written.
                    (None, _) => true,
                    (Some(ours), Some(theirs)) => ours == theirs,
                    (Some(_), None) => false,
                };
                if !same {
                    let path = self.source.path().to_owned();
                    return Err(CopyError::Verify { path, start: to.start().to_vec() });
                }
                advance(progress, self.tile_len())
            },
        )?;
        Ok(Verified::Same)
    }

    /// Copies the stored bytes of a chunk; how many strings are in them is not looked at.
    fn pass(&self, index: &[u64]) -> Result<Moved, DataError> {
        let Some(stored) = self.source.read_stored(index)? else { return Ok(Moved::default()) };
        self.target.write_stored(index, &stored)?;
        let len = stored.len() as u64;
        Ok(Moved { decoded: len, stored: len, chunks: 1 })
    }

    fn rewrite(&self, (from, to): &(Slab, Slab)) -> Result<Moved, DataError> {
        let Some(strings) = self.source.read_serial(from)? else { return Ok(Moved::default()) };
        let rows: Vec<&[u8]> = strings.iter().collect();
        let written = self.target.write_serial(to, &rows)?;
        Ok(Moved { decoded: strings.byte_len() as u64, stored: written.bytes, chunks: written.chunks })
    }

    /// The part of both arrays in a tile.
    fn slabs(&self, index: &[u64]) -> (Slab, Slab) {
        let start: Vec<u64> = index.iter().zip(&self.tile).map(|(i, tile)| i * tile).collect();
        self.window.cut(&start, &self.tile)
    }

    fn tile_len(&self) -> u64 {
        self.tile.iter().fold(1, |product, len| product.saturating_mul(*len))
    }
}

/// What the strings of a tile, on both sides, are thought to take.
fn held_bytes(tile: &[u64]) -> u64 {
    tile.iter().copied().fold(2 * STRING_BYTES, u64::saturating_mul)
}

/// The part of an array of this shape in a tile.
fn slab_of(index: &[u64], tile: &[u64], shape: &[u64]) -> Slab {
    let start: Vec<u64> = index.iter().zip(tile).map(|(i, tile)| i * tile).collect();
    let lens = shape.iter().zip(tile).zip(&start);
    let count: Vec<u64> = lens.map(|((len, tile), start)| (*tile).min(len - start)).collect();
    Slab::new(start, count)
}

/// What moving one tile did.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    decoded: u64,
    stored: u64,
    chunks: u64,
}

/// Gives text of any length, which NCZarr does not have, the length of its longest string.
pub(super) fn fix_length(
    source: &Dataset,
    original: &Variable,
    planned: &mut Variable,
    format: Format,
    progress: &dyn Progress,
) -> Result<(), CopyError> {
    if original.dtype.kind() != Kind::VlenText || !format.is_nczarr() {
        return Ok(());
    }
    let refused = |reason: String| DataError::Unsupported { variable: original.path.clone(), reason };
    let strings = source.strings(&original.path)?;
    let fill = original.fill.as_ref().map_or(&[][..], FillValue::bytes);
    let longest = AtomicUsize::new(length(fill).ok_or_else(|| refused(nul("its fill value")))?);
    let (stand_in, tile) = (stand_in(source, original)?, &original.chunk_shape);
    let window = Window::whole(&original.shape);
    let tiles = Tiles::of_window(&stand_in, &window, tile)?;
    let tiles = tiles.existing(&stand_in, &**source.store(), &window, tile)?;
    for_each(
        Crew {
            pool: &source.session().pool,
            stores: [&**source.store(); 2],
            bytes: held_bytes(tile),
            one_by_one: false,
            most: u64::MAX,
        },
        tiles.len(),
        || (),
        |(), position| {
            let slab = slab_of(&tiles.index(position), tile, strings.stored_shape());
            for (number, string) in strings.read_serial(&slab)?.iter().flat_map(Strings::iter).enumerate() {
                let what = || format!("string {number} from {:?} on", slab.start());
                let len = length(string).ok_or_else(|| refused(nul(&what())))?;
                longest.fetch_max(len, Ordering::Relaxed);
            }
            advance(progress, 0)
        },
    )?;
    planned.dtype = Dtype::string(longest.into_inner());
    planned.nc_type = planned.dtype.nc_type(true);
    if original.fill.is_some() {
        let value = Value::String(vec![fill.to_vec()]);
        let fault =
            |fault: ncz_nczarr::VariableFault| refused(format!("its fill value cannot be kept: {fault}"));
        planned.fill =
            Some(FillValue::from_value(&value, &planned.dtype, FillText::of(format)).map_err(fault)?);
    }
    Ok(())
}

/// The length that a string of a fixed length needs; `None`: it holds a NUL.
fn length(string: &[u8]) -> Option<usize> {
    (!string.contains(&0)).then_some(string.len().max(1))
}

fn nul(what: &str) -> String {
    format!("{what} holds a NUL, which ends a string in NCZarr; copy to pure Zarr (#mode=zarr) to keep it")
}

/// The array of a variable, for its keys: where its strings are of any length one of bytes in its place.
pub(super) fn keyed(dataset: &Dataset, variable: &Variable) -> Result<Array, DataError> {
    match variable.dtype.is_variable_length() {
        true => stand_in(dataset, variable),
        false => dataset.array(&variable.path),
    }
}

/// An array of bytes whose chunks have the keys of those of `variable`.
fn stand_in(dataset: &Dataset, variable: &Variable) -> Result<Array, DataError> {
    let dtype = Dtype::numeric(Kind::UInt, 1, ByteOrder::None).map_err(|fault| DataError::Unsupported {
        variable: variable.path.clone(),
        reason: fault.to_string(),
    })?;
    let bytes = Variable { dtype, fill: None, filters: Vec::new(), ..variable.clone() };
    let chain = dataset.session().bind(&bytes, dataset.hierarchy().format, &ChainSpec::default())?;
    Array::new(dataset.store().clone(), &bytes, bytes.shape.clone(), chain, Pool::serial())
}
