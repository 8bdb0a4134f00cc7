//! Copying variables of strings of any length.

use ncz_model::Container;
use ncz_model::{
    Array, DataError, Dtype, FillText, FillValue, Format, Kind, Slab, SlabPart, StringArray, Strings, Value,
    Variable,
};

use super::Recoding;
use super::rechunk;
use super::salvage::{Salvage, is_of_chunk, rows};
use super::transfer::{Moved, kept};
use super::types::fill_text;
use super::user_values::UserCopy;
use super::variable::{VariableCopy, axes};
use super::{CopyError, Resources, VariableSummary, Verified, advance};
use crate::agreement::is_text;
use crate::byte_array::keyed_array;
use crate::parallelism::Parallelism;
use crate::progress::Progress;
use crate::tiles::{Tiles, Window};

/// The estimated size of a string in memory.
const STRING_BYTES: u64 = 64;

/// A variable that is copied, whatever its elements are.
#[derive(Debug)]
pub(super) enum AnyVariableCopy<'a> {
    Chunks(Box<VariableCopy<'a>>),
    Strings(Box<StringCopy<'a>>),
    User(Box<UserCopy<'a>>),
}

impl<'a> AnyVariableCopy<'a> {
    pub(super) fn new(
        source: &'a dyn Container,
        target: &'a dyn Container,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let layout = |variable: &Variable| (variable.dtype.kind(), variable.dtype.size());
        let is_other_text = is_text(original) && is_text(planned) && layout(original) != layout(planned);
        if super::netcdf::has_references(planned) {
            Ok(Self::User(Box::new(UserCopy::new(source, target, original, window, resources)?)))
        } else if original.dtype.is_variable_length() || planned.dtype.is_variable_length() || is_other_text {
            let variable = StringCopy::new(source, target, original, window, resources)?;
            Ok(Self::Strings(Box::new(variable)))
        } else {
            Ok(Self::Chunks(Box::new(VariableCopy::new(source, target, original, window, resources)?)))
        }
    }

    /// An upper bound of the bytes of decoded data to move; a string of any length counts as one byte.
    pub(super) fn decoded_len(&self) -> u64 {
        match self {
            Self::Chunks(variable) => variable.decoded_len(),
            Self::Strings(variable) => variable.tiles.len().saturating_mul(variable.tile_len()),
            Self::User(variable) => variable.decoded_len(),
        }
    }

    /// The lengths of the boxes that can be copied independently of each other.
    pub(super) fn unit(&self) -> &[u64] {
        match self {
            Self::Chunks(variable) => variable.unit(),
            Self::Strings(variable) => variable.target.chunk_shape(),
            Self::User(variable) => variable.tile(),
        }
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        match self {
            Self::Chunks(variable) => variable.copy(progress),
            Self::Strings(variable) => variable.copy(progress),
            Self::User(variable) => variable.copy(progress),
        }
    }

    /// Decodes both sides and compares.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        match self {
            Self::Chunks(variable) => variable.verify(progress),
            Self::Strings(variable) => variable.verify(progress),
            Self::User(variable) => variable.verify(progress),
        }
    }
}

/// A variable of strings of any length that is copied.
#[derive(Debug)]
pub(super) struct StringCopy<'a> {
    source: StringArray,
    target: StringArray,
    copy: &'a dyn Container,
    /// The keys of the target's chunks, if existing chunks are kept.
    keys: Option<Array>,
    window: Window,
    parallelism: Parallelism<'a>,
    /// Whether stored bytes are copied without decoding them.
    unchanged: bool,
    tile: Vec<u64>,
    tiles: Tiles,
    /// Chunks that cannot be read, and what is read instead of their strings; `None`: they are errors.
    salvage: Option<(Salvage, Vec<u8>)>,
}

impl<'a> StringCopy<'a> {
    fn new(
        source: &'a dyn Container,
        target: &'a dyn Container,
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
            rechunk::tile(&axes(original, planned, &window), STRING_BYTES, budget)
        };
        let array = keyed_array(source, original)?;
        let tiles = Tiles::of_window(&array, &window, &tile)?;
        let tiles = match resources.salvage {
            true => tiles.existing_or_all(&array, &**source.store(), &window, &tile)?,
            false => tiles.existing(&array, &**source.store(), &window, &tile)?,
        };
        let salvage = resources.salvage.then(|| (Salvage::default(), fill_text(original)));
        let keys = if resources.keep { Some(keyed_array(target, planned)?) } else { None };
        let bytes = held_bytes(&tile);
        let parallelism = Parallelism {
            pool,
            stores: [&**source.store(), &**target.store()],
            bytes,
            one_by_one: false,
            limit: resources.memory / bytes.max(1),
        };
        Ok(Self {
            source: from,
            target: to,
            copy: target,
            keys,
            window,
            parallelism,
            unchanged,
            tile,
            tiles,
            salvage,
        })
    }

    fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        let states = self.parallelism.for_each(self.tiles.len(), Moved::default, |sum, position| {
            let index = self.tiles.index(position);
            let kept = match &self.keys {
                Some(keys) => kept(keys, self.parallelism.stores[1], &self.slabs(&index).1)?,
                None => None,
            };
            *sum += match kept {
                Some(kept) => Moved { decoded: 0, ..kept },
                None if self.unchanged => self.pass(&index)?,
                None => self.rewrite(&self.slabs(&index))?,
            };
            advance(progress, self.tile_len())
        })?;
        let moved: Moved = states.into_iter().sum();
        Ok(VariableSummary {
            lossy: Vec::new(),
            encoded_again: 0,
            path: self.source.path().to_owned(),
            chain: self.target.chain().to_string(),
            element: 0,
            unchanged: self.unchanged,
            recoded: if self.unchanged { 0 } else { moved.chunks },
            recoding: (!self.unchanged).then_some(Recoding::Strings),
            decoded: moved.decoded,
            before: self.unchanged.then_some(moved.after),
            after: moved.after,
            chunks: moved.chunks,
            verified: None,
            lost: self.salvage.as_ref().map_or_else(Vec::new, |(salvage, _)| {
                salvage.list(|index| slab_of(index, self.source.chunk_shape(), self.source.stored_shape()))
            }),
        })
    }

    fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        if let Some((salvage, _)) = &self.salvage {
            salvage.close();
        }
        let target = self.copy.strings(self.target.path())?;
        let compare = |(): &mut (), position| {
            let (from, to) = self.slabs(&self.tiles.index(position));
            let (ours, theirs) = (self.read_source(&from)?, target.read_serial(&to)?);
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
        };
        self.parallelism.for_each(self.tiles.len(), || (), compare)?;
        Ok(Verified::Same)
    }

    /// Copies the stored bytes of a chunk without decoding them.
    fn pass(&self, index: &[u64]) -> Result<Moved, CopyError> {
        let read = match &self.salvage {
            None => self.source.read_stored(index).map_err(CopyError::of_source)?,
            Some((salvage, _)) => {
                let decoded = self.source.read_serial(&self.slabs(index).0);
                match decoded.and_then(|_| self.source.read_stored(index)) {
                    Ok(stored) => stored,
                    Err(error) => {
                        salvage.lose([index.to_vec()], error)?;
                        None
                    }
                }
            }
        };
        let Some(stored) = read else { return Ok(Moved::default()) };
        self.target.write_stored(index, &stored)?;
        let len = stored.len() as u64;
        Ok(Moved { before: len, after: len, decoded: len, chunks: 1, recoded: 0 })
    }

    /// Reads strings of the source; `None` if no chunk of them exists. Chunks that cannot be read are salvaged.
    fn read_source(&self, slab: &Slab) -> Result<Option<Strings>, CopyError> {
        let Some((salvage, fill)) = &self.salvage else {
            return self.source.read_serial(slab).map_err(CopyError::of_source);
        };
        let lens = self.source.chunk_shape();
        if !slab.parts(lens).any(|part| salvage.has(&part.chunk)) {
            match self.source.read_serial(slab) {
                Err(error) if is_of_chunk(&error) => {}
                other => return Ok(other?),
            }
        }
        let count: u64 = slab.count().iter().product();
        let mut all = vec![fill.clone(); count as usize];
        let mut found = false;
        for SlabPart { chunk, at, slab: part } in slab.parts(lens).filter(|part| !salvage.has(&part.chunk)) {
            match self.source.read_serial(&part) {
                Ok(None) => {}
                Ok(Some(strings)) => {
                    found = true;
                    let row = part.count().last().map_or(1, |len| *len as usize);
                    let places = rows(slab.count(), &at, part.count()).flat_map(|start| start..start + row);
                    places.zip(strings.iter()).for_each(|(place, string)| all[place] = string.to_vec());
                }
                Err(error) => salvage.lose([chunk], error)?,
            }
        }
        let mut strings = Strings::new();
        all.iter().for_each(|string| strings.push(string));
        Ok(found.then_some(strings))
    }

    fn rewrite(&self, (from, to): &(Slab, Slab)) -> Result<Moved, CopyError> {
        let Some(strings) = self.read_source(from)? else { return Ok(Moved::default()) };
        let rows: Vec<&[u8]> = strings.iter().collect();
        let written = self.target.write_serial(to, &rows)?;
        let decoded = strings.byte_len() as u64;
        Ok(Moved { after: written.bytes, decoded, chunks: written.chunks, ..Moved::default() })
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

/// The estimated size of the strings of a tile, on both sides.
fn held_bytes(tile: &[u64]) -> u64 {
    tile.iter().copied().fold(2 * STRING_BYTES, u64::saturating_mul)
}

/// The part of a tile in an array of this shape.
fn slab_of(index: &[u64], tile: &[u64], shape: &[u64]) -> Slab {
    let start: Vec<u64> = index.iter().zip(tile).map(|(i, tile)| i * tile).collect();
    let lens = shape.iter().zip(tile).zip(&start);
    let count: Vec<u64> = lens.map(|((len, tile), start)| (*tile).min(len - start)).collect();
    Slab::new(start, count)
}

/// The bytes that netcdf-c gives a string in NCZarr.
const LENGTH: usize = 128;

/// Changes text of any length and UTF-32, which NCZarr does not have, to strings of the length of the longest one. Those
/// along an unlimited dimension get at least what netcdf-c would give them, since more will follow.
pub(super) fn fix_length(
    source: &dyn Container,
    original: &Variable,
    planned: &mut Variable,
    format: Format,
    salvage: bool,
    progress: &dyn Progress,
) -> Result<(), CopyError> {
    if !matches!(original.dtype.kind(), Kind::VlenText | Kind::Unicode) || !format.is_nczarr() {
        return Ok(());
    }
    let refused = |reason: String| DataError::Unsupported { variable: original.path.clone(), reason };
    let strings = source.strings(&original.path)?;
    let fill = fill_text(original);
    let least = length(&fill).ok_or_else(|| refused(nul("its fill value")))?;
    let (keys, tile) = (keyed_array(source, original)?, &original.chunk_shape);
    let window = Window::whole(&original.shape);
    let tiles = Tiles::of_window(&keys, &window, tile)?;
    let tiles = match salvage {
        true => tiles.existing_or_all(&keys, &**source.store(), &window, tile)?,
        false => tiles.existing(&keys, &**source.store(), &window, tile)?,
    };
    let parallelism = Parallelism {
        pool: &source.session().pool,
        stores: [&**source.store(); 2],
        bytes: held_bytes(tile),
        one_by_one: false,
        limit: u64::MAX,
    };
    let longest = parallelism.for_each(
        tiles.len(),
        || least,
        |longest, position| {
            let slab = slab_of(&tiles.index(position), tile, strings.stored_shape());
            let read = match strings.read_serial(&slab) {
                // The copy lists it.
                Err(error) if salvage && is_of_chunk(&error) => None,
                read => read.map_err(CopyError::of_source)?,
            };
            for (number, string) in read.iter().flat_map(Strings::iter).enumerate() {
                let what = || format!("string {number} from {:?} on", slab.start());
                let len = length(string).ok_or_else(|| refused(nul(&what())))?;
                *longest = len.max(*longest);
            }
            advance(progress, 0)
        },
    )?;
    let longest = longest.into_iter().max().unwrap_or(least);
    let mut dimensions = original.dimensions.iter().map(|reference| source.hierarchy().dimension(reference));
    let is_growing = dimensions.any(|dimension| dimension.is_some_and(|dimension| dimension.unlimited));
    planned.dtype = Dtype::string(if is_growing { longest.max(LENGTH) } else { longest });
    planned.nc_type = planned.dtype.nc_type(true);
    if original.fill.is_some() {
        let value = Value::String(vec![fill]);
        let fault =
            |fault: ncz_model::VariableError| refused(format!("its fill value cannot be kept: {fault}"));
        planned.fill =
            Some(FillValue::from_value(&value, &planned.dtype, FillText::of(format)).map_err(fault)?);
    }
    Ok(())
}

/// The length that a string needs in a type of fixed length; `None` if it contains a NUL.
fn length(string: &[u8]) -> Option<usize> {
    (!string.contains(&0)).then_some(string.len().max(1))
}

fn nul(what: &str) -> String {
    format!("{what} contains a NUL, which ends a string in NCZarr; copy to pure Zarr (#mode=zarr) to keep it")
}
