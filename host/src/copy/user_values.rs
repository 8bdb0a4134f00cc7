//! Copying variables whose elements refer to what is in a heap of their file: rows of any length, and compounds with
//! strings.

use ncz_model::{Container, DataError, Row, Slab, SlabPart, UserArray, Variable, Written, same_rows};

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
            for (row, to) in self.read(position)? {
                let more = self.target.write(&to, &row)?;
                decoded += to.elements().unwrap_or(0).saturating_mul(self.element());
                written.bytes += more.bytes;
                written.chunks += more.chunks;
            }
            advance(progress, self.tile_bytes())?;
        }
        Ok(VariableSummary {
            path: self.source.stored().path().to_owned(),
            chain: self.target.stored().chain().to_string(),
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
            for (row, to) in self.read(position)? {
                if !same_rows(&row, &target.read(&to)?) {
                    let path = self.source.stored().path().to_owned();
                    return Err(CopyError::Verify { path, start: to.start().to_vec() });
                }
            }
            advance(progress, self.tile_bytes())?;
        }
        Ok(Verified::Same)
    }

    /// Reads the values of a tile, each row with its part of the copy; none if no chunk of them exists. Values of chunks
    /// that cannot be read are fill.
    fn read(&self, position: u64) -> Result<Vec<(Row, Slab)>, CopyError> {
        let start = self.tiles.index(position).into_iter().zip(&self.tile).map(|(at, tile)| at * tile);
        let (from, to) = self.window.cut(&start.collect::<Vec<_>>(), &self.tile);
        let Some((salvage, fill)) = &self.salvage else {
            let (row, exists) = self.source.try_read(&from).map_err(CopyError::of_source)?;
            return Ok(if exists { vec![(row, to)] } else { Vec::new() });
        };
        let mut rows = Vec::new();
        for SlabPart { chunk, at, slab } in from.parts(self.source.stored().chunk_shape()) {
            let start: Vec<u64> = to.start().iter().zip(&at).map(|(start, at)| start + at).collect();
            let part = Slab::new(start, slab.count());
            let read = match salvage.has(&chunk) {
                true => None,
                false => match self.source.try_read(&slab) {
                    Ok(read) => Some(read),
                    Err(error) if is_of_chunk(&error) => {
                        salvage.lose([chunk], error)?;
                        None
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            match read {
                Some((row, true)) => rows.push((row, part)),
                // All of it is fill, as in a chunk that does not exist.
                _ if slab.count() == to.count() => {}
                _ => {
                    let len = slab.elements().and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
                    rows.push((fill.repeated(len), part));
                }
            }
        }
        Ok(rows)
    }

    fn element(&self) -> u64 {
        self.source.stored().dtype().size() as u64
    }

    fn tile_bytes(&self) -> u64 {
        self.tile.iter().fold(self.element(), |product, len| product.saturating_mul(*len))
    }
}
