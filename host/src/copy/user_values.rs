//! Copying variables whose elements refer to what is in a heap of their file: rows of any length, and compounds with
//! strings.

use ncz_model::{
    Container, DataError, Row, SideError, Slab, SlabPart, Take, UserArray, Variable, Written, same_rows,
};

use super::salvage::{Salvage, is_of_chunk};
use super::{CopyError, Recoding, Resources, VariableSummary, Verified, advance};
use crate::progress::Progress;
use crate::tiles::{Tiles, Window};

/// A variable whose values are decoded and encoded, since references into a heap are of one file.
#[derive(Debug)]
pub(super) struct UserCopy<'a> {
    source: UserArray,
    target: UserArray,
    copy: &'a dyn Container,
    window: Window,
    tile: Vec<u64>,
    tiles: Tiles,
    /// Chunks that cannot be read, and the value that stands for theirs; `None`: they are errors.
    salvage: Option<(Salvage, Row)>,
}

/// Why a part of a slab is not copied.
enum PartError {
    Source(DataError),
    Copy(CopyError),
}

impl From<DataError> for PartError {
    fn from(error: DataError) -> Self {
        Self::Source(error)
    }
}

impl From<PartError> for CopyError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Source(error) => Self::of_source(error),
            PartError::Copy(error) => error,
        }
    }
}

impl<'a> UserCopy<'a> {
    pub(super) fn new(
        source: &'a dyn Container,
        target: &'a dyn Container,
        original: &Variable,
        window: Window,
        resources: Resources<'a>,
    ) -> Result<Self, CopyError> {
        let from = source.user_array(&original.path)?;
        let to = target.user_array(&original.path)?;
        let planned = target.hierarchy().variable(&original.path).map_err(DataError::from)?;
        let tile = planned.chunk_shape.clone();
        let tiles = Tiles::of_window(from.stored(), &window, &tile)?;
        let store = &**source.store();
        let (tiles, salvage) = match resources.salvage {
            false => (tiles.existing(from.stored(), store, &window, &tile)?, None),
            true => {
                let fill = from.decode(&original.fill_bytes())?;
                let tiles = tiles.existing_or_all(from.stored(), store, &window, &tile)?;
                (tiles, Some((Salvage::default(), fill)))
            }
        };
        Ok(Self { source: from, target: to, copy: target, window, tile, tiles, salvage })
    }

    /// The lengths of the chunks of the copy.
    pub(super) fn tile(&self) -> &[u64] {
        &self.tile
    }

    /// The bytes of all elements that are moved, without what is in heaps.
    pub(super) fn decoded_len(&self) -> u64 {
        self.tiles.len().saturating_mul(self.tile_bytes())
    }

    pub(super) fn copy(&self, progress: &dyn Progress) -> Result<VariableSummary, CopyError> {
        let (mut decoded, mut written) = (0, Written::default());
        for position in 0..self.tiles.len() {
            // A tile is a chunk of the target: each part of it writes the chunk again.
            let mut chunk = Written::default();
            self.read(position, &mut |row, to| {
                chunk = self.target.write(to, &row)?;
                decoded += to.elements().unwrap_or(0).saturating_mul(self.element());
                Ok(())
            })?;
            written.bytes += chunk.bytes;
            written.chunks += chunk.chunks;
            advance(progress, self.tile_bytes())?;
        }
        Ok(VariableSummary {
            path: self.source.stored().path().to_owned(),
            chain: self.target.stored().chain().to_string(),
            element: 0,
            lossy: Vec::new(),
            encoded_again: 0,
            unchanged: false,
            recoded: written.chunks,
            recoding: Some(Recoding::Heaps),
            decoded,
            before: None,
            after: written.bytes,
            chunks: written.chunks,
            verified: None,
            lost: self.salvage.as_ref().map_or_else(Vec::new, |(salvage, _)| {
                salvage.list(|index| self.source.stored().chunk_slab(index))
            }),
        })
    }

    /// Decodes both sides and compares.
    pub(super) fn verify(&self, progress: &dyn Progress) -> Result<Verified, CopyError> {
        if let Some((salvage, _)) = &self.salvage {
            salvage.close();
        }
        let target = self.copy.user_array(self.source.stored().path())?;
        for position in 0..self.tiles.len() {
            let differs = |to: &Slab| {
                let path = self.source.stored().path().to_owned();
                CopyError::Verify { path, start: to.start().to_vec() }
            };
            if self.salvage.is_none() {
                let (from, to) = self.slabs(position);
                match self.source.differing(&from, (&target, &to)) {
                    Ok(None) => {}
                    Ok(Some(part)) => return Err(differs(&part)),
                    Err(SideError::One(error)) => return Err(CopyError::of_source(*error)),
                    Err(SideError::Other(error)) => return Err((*error).into()),
                }
            } else {
                self.read(position, &mut |row, to| match same_rows(&row, &target.read(to)?) {
                    true => Ok(()),
                    false => Err(differs(to)),
                })?;
            }
            advance(progress, self.tile_bytes())?;
        }
        Ok(Verified::Same)
    }

    /// The elements of a tile in the source and in the copy.
    fn slabs(&self, position: u64) -> (Slab, Slab) {
        let start = self.tiles.index(position).into_iter().zip(&self.tile).map(|(at, tile)| at * tile);
        self.window.cut(&start.collect::<Vec<_>>(), &self.tile)
    }

    /// Reads the values of a tile, and calls `take` with each row and its part of the copy; not if no chunk of them exists.
    /// Values of chunks that cannot be read are fill.
    fn read(&self, position: u64, take: Take<'_, CopyError>) -> Result<(), CopyError> {
        let (from, to) = self.slabs(position);
        let Some((salvage, fill)) = &self.salvage else {
            return self.read_parts(&from, &to, take).map(|_| ()).map_err(CopyError::from);
        };
        for SlabPart { chunk, at, slab } in from.parts(self.source.stored().chunk_shape()) {
            let start: Vec<u64> = to.start().iter().zip(&at).map(|(start, at)| start + at).collect();
            let part = Slab::new(start, slab.count());
            let mut is_begun = false;
            let mut take_part = |row: Row, to: &Slab| {
                is_begun = true;
                take(row, to)
            };
            let read = match salvage.has(&chunk) {
                true => Ok(false),
                false => self.read_parts(&slab, &part, &mut take_part),
            };
            let exists = match read {
                Ok(exists) => exists,
                Err(PartError::Source(error)) if is_of_chunk(&error) => {
                    salvage.lose([chunk], error)?;
                    false
                }
                Err(error) => return Err(error.into()),
            };
            // If nothing of the tile is written, all of it is fill, as in a chunk that does not exist.
            if !exists && (is_begun || slab.count() != to.count()) {
                let len = slab.elements().and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
                take(fill.repeated(len), &part)?;
            }
        }
        Ok(())
    }

    /// Reads a slab of the source in as many parts as memory needs. Returns whether any chunk of it exists.
    fn read_parts(&self, from: &Slab, to: &Slab, take: Take<'_, CopyError>) -> Result<bool, PartError> {
        self.source.read_parts(from, &mut |row, part: &Slab| {
            let axes = part.start().iter().zip(from.start()).zip(from.stride());
            let offsets = axes.map(|((at, first), stride)| (at - first) / stride.max(&1));
            let start: Vec<u64> = to.start().iter().zip(offsets).map(|(start, at)| start + at).collect();
            take(row, &Slab::new(start, part.count())).map_err(PartError::Copy)
        })
    }

    fn element(&self) -> u64 {
        self.source.stored().dtype().size() as u64
    }

    fn tile_bytes(&self) -> u64 {
        self.tile.iter().fold(self.element(), |product, len| product.saturating_mul(*len))
    }
}
