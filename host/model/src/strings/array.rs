//! One variable of strings: hyperslabs, read and written on all threads.

use std::sync::Arc;

use ncz_registry::chain::FilterChain;
use ncz_store::Store;

use super::chunks::{Chunks, StringChunks, Threads};
use super::fixed::{self, Undecodable};
use super::{Strings, no_memory};
use crate::array::{Array, Elements, Written};
use crate::blocks::Blocks;
use crate::chunk_index::ChunkIndex;
use crate::data_error::{DataError, StringError};
use crate::dtype::{Dtype, Kind, NcType};
use crate::grid::{Slab, SlabError};
use crate::hierarchy::Variable;
use crate::pool::Pool;

/// Bytes of fixed-length elements to hold at a time: the elements may be much longer than their strings.
const BLOCK_BYTES: u64 = 8 << 20;

/// The same for a remote store, where the chunks of a block are requested at the same time.
const REMOTE_BLOCK_BYTES: u64 = 64 << 20;

/// A variable whose elements are strings and whose codecs are bound: `S` and `U` of a fixed length,
/// `vlen-utf8` and `vlen-bytes`, version 3's `string` and `variable_length_bytes`.
///
/// A string that its type cannot hold is refused, see [`cutting`](Self::cutting).
#[derive(Debug)]
pub struct StringArray {
    path: String,
    dtype: Dtype,
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    kind: StringKind,
    cuts: bool,
}

#[derive(Debug)]
enum StringKind {
    Fixed(Box<Array>),
    AnyLength(Box<Chunks>),
}

impl StringArray {
    /// Binds a variable of `shape` (what netCDF shows) to a store. Make `chain` with
    /// [`Session::bind`](crate::Session::bind) or [`Container::chain`](crate::Container::chain).
    ///
    /// # Errors
    /// The elements are not strings; the chain, the lengths or the fill value do not fit this variable; or strings of
    /// any length are in shards.
    pub fn new(
        store: Arc<dyn Store>,
        variable: &Variable,
        shape: Vec<u64>,
        chain: FilterChain,
        pool: Pool,
    ) -> Result<Self, DataError> {
        let kind = match variable.dtype.kind() {
            Kind::VlenText | Kind::VlenBytes => {
                StringKind::AnyLength(Box::new(Chunks::new(store, variable, chain, pool)?))
            }
            Kind::Bytes | Kind::Unicode if variable.nc_type != Some(NcType::Char) => {
                StringKind::Fixed(Box::new(Array::new(store, variable, shape.clone(), chain, pool)?))
            }
            _ => {
                let name = variable.nc_type.map_or(variable.dtype.text(), |nc_type| nc_type.name());
                return Err(DataError::Unsupported {
                    variable: variable.path.clone(),
                    reason: format!("its elements are {name}, not strings; read them as an array"),
                });
            }
        };
        Ok(Self {
            path: variable.path.clone(),
            dtype: variable.dtype.clone(),
            shape,
            chunk_shape: variable.chunk_shape.clone(),
            kind,
            cuts: false,
        })
    }

    /// Cuts strings on writing instead of refusing them: too long strings between characters, and strings of a fixed
    /// length before a NUL.
    #[must_use]
    pub fn cutting(mut self) -> Self {
        self.cuts = true;
        self
    }

    /// Takes the strings of chunks from `supply`, which decodes them: the codecs of the array are bound to none. Has no
    /// effect on strings of a fixed length.
    #[must_use]
    pub fn supplied(mut self, supply: Arc<dyn StringChunks>) -> Self {
        self.kind = match self.kind {
            StringKind::AnyLength(chunks) => StringKind::AnyLength(Box::new(chunks.supplied(supply))),
            fixed => fixed,
        };
        self
    }

    /// Takes the chunks of strings of a fixed length from `chunks`. Has no effect on strings of any length.
    #[must_use]
    pub fn with_chunks(mut self, chunks: Arc<dyn ChunkIndex>) -> Self {
        self.kind = match self.kind {
            StringKind::Fixed(array) => StringKind::Fixed(Box::new(array.with_chunks(chunks))),
            any_length => any_length,
        };
        self
    }

    /// The path of the variable.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The type of an element as stored.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The lengths that netCDF shows.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The lengths of the stored array; elements that netCDF shows beyond them read as fill.
    #[must_use]
    pub fn stored_shape(&self) -> &[u64] {
        match &self.kind {
            StringKind::Fixed(array) => array.stored_shape(),
            StringKind::AnyLength(chunks) => chunks.stored_shape(),
        }
    }

    /// The lengths of a chunk.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// The bound codecs.
    #[must_use]
    pub fn chain(&self) -> &FilterChain {
        match &self.kind {
            StringKind::Fixed(array) => array.chain(),
            StringKind::AnyLength(chunks) => chunks.chain(),
        }
    }

    fn is_remote(&self) -> bool {
        match &self.kind {
            StringKind::Fixed(array) => array.is_remote(),
            StringKind::AnyLength(chunks) => chunks.is_remote(),
        }
    }

    /// Reads a hyperslab in C order, with all threads. Elements of chunks that do not exist read as the fill value, or
    /// as the empty string if there is none.
    ///
    /// # Errors
    /// The slab does not fit the variable; or a chunk cannot be read or decoded, or does not hold strings.
    pub fn read(&self, slab: &Slab) -> Result<Strings, DataError> {
        let elements = self.check(slab, &self.shape)?;
        match &self.kind {
            StringKind::Fixed(array) => self.read_fixed(slab, elements, |block, out| {
                array.read_bytes(block, Elements::Native, out).map(|()| true)
            }),
            StringKind::AnyLength(chunks) => chunks.read(Threads::All, slab, elements),
        }
        .map(|(strings, _)| strings)
    }

    /// Reads a hyperslab like [`read`](Self::read), but only on the caller's thread. Returns `None` if no chunk of it
    /// exists, so that all is fill.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_serial(&self, slab: &Slab) -> Result<Option<Strings>, DataError> {
        let elements = self.check(slab, &self.shape)?;
        let (strings, found) = match &self.kind {
            StringKind::Fixed(array) => {
                let mut worker = array.worker();
                self.read_fixed(slab, elements, |block, out| {
                    array.read_serial(&mut worker, block, Elements::Native, out)
                })?
            }
            StringKind::AnyLength(chunks) => chunks.read(Threads::Caller, slab, elements)?,
        };
        Ok(found.then_some(strings))
    }

    /// Writes a hyperslab from `strings`, in C order, with all threads. Chunks that it covers partly are read, changed
    /// and written back; do not write the same chunk from two calls at the same time.
    ///
    /// # Errors
    /// The slab does not fit the variable or the number of strings, or the type cannot hold a string; in these cases
    /// nothing was written. A chunk cannot be encoded or written; in this case some chunks are new and some are old.
    pub fn write<T: AsRef<[u8]>>(&self, slab: &Slab, strings: &[T]) -> Result<(), DataError> {
        let fitted = self.fitted(slab, strings)?;
        match &self.kind {
            StringKind::Fixed(array) => self.write_fixed(slab, &fitted, |block, elements| {
                array.write_bytes(block, Elements::Native, elements)
            }),
            StringKind::AnyLength(chunks) => chunks.write(Threads::All, slab, &fitted),
        }
        .map(drop)
    }

    /// Writes a hyperslab like [`write`](Self::write), but only on the caller's thread. Returns what was stored.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_serial<T: AsRef<[u8]>>(&self, slab: &Slab, strings: &[T]) -> Result<Written, DataError> {
        let fitted = self.fitted(slab, strings)?;
        match &self.kind {
            StringKind::Fixed(array) => {
                let mut worker = array.worker();
                self.write_fixed(slab, &fitted, |block, elements| {
                    array.write_serial(&mut worker, block, Elements::Native, elements)
                })
            }
            StringKind::AnyLength(chunks) => chunks.write(Threads::Caller, slab, &fitted),
        }
    }

    /// Returns the stored part of each string, if the type can hold all of them.
    fn fitted<'s, T: AsRef<[u8]>>(&self, slab: &Slab, strings: &'s [T]) -> Result<Vec<&'s [u8]>, DataError> {
        let elements = self.check(slab, self.stored_shape())?;
        if elements != strings.len() {
            return Err(DataError::Unsupported {
                variable: self.path.clone(),
                reason: format!("expected {elements} strings for the hyperslab, got {}", strings.len()),
            });
        }
        let mut fitted: Vec<&[u8]> = Vec::new();
        fitted.try_reserve_exact(elements).map_err(|_| no_memory(&self.path, elements))?;
        for (element, string) in strings.iter().enumerate() {
            let string = fixed::fitted(string.as_ref(), &self.dtype, self.cuts);
            fitted.push(string.map_err(|source| self.string_error(slab, element, source))?);
        }
        Ok(fitted)
    }

    /// Returns the stored bytes of one chunk of strings of any length; `None` if there is no such chunk.
    ///
    /// # Errors
    /// The chunk cannot be read; it is seen without decoding it that it is damaged; or the strings have a fixed length, so that their chunks are those of an
    /// [`Array`](crate::Array).
    pub fn read_stored(&self, index: &[u64]) -> Result<Option<Vec<u8>>, DataError> {
        self.chunks_at(index)?.read_stored(index)
    }

    /// Writes the stored bytes of one chunk of strings of any length unchanged.
    ///
    /// # Errors
    /// As for [`read_stored`](Self::read_stored).
    pub fn write_stored(&self, index: &[u64], stored: &[u8]) -> Result<(), DataError> {
        self.chunks_at(index)?.write_stored(index, stored)
    }

    /// Removes the chunk at `index` if it exists; its strings then read as fill.
    ///
    /// # Errors
    /// There is no such chunk, or the store fails.
    pub fn remove_stored(&self, index: &[u64]) -> Result<(), DataError> {
        self.chunks_at(index)?.remove_stored(index)
    }

    fn chunks_at(&self, index: &[u64]) -> Result<&Chunks, DataError> {
        let StringKind::AnyLength(chunks) = &self.kind else {
            return Err(DataError::Unsupported {
                variable: self.path.clone(),
                reason: "its strings have a fixed length; access its chunks as those of an array".to_owned(),
            });
        };
        let lens = self.stored_shape().iter().zip(&self.chunk_shape);
        let counts: Vec<u64> = lens.map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        let inside = index.len() == counts.len() && index.iter().zip(&counts).all(|(i, count)| i < count);
        if inside {
            return Ok(chunks);
        }
        Err(self.slab_error(SlabError::Chunk { index: index.to_vec(), counts }))
    }

    fn read_fixed(
        &self,
        slab: &Slab,
        elements: usize,
        mut read: impl FnMut(&Slab, &mut [u8]) -> Result<bool, DataError>,
    ) -> Result<(Strings, bool), DataError> {
        let mut found = false;
        let mut strings = Strings::new();
        strings.try_reserve(elements, 0).map_err(|_| no_memory(&self.path, elements))?;
        let mut buffer = Vec::new();
        for block in self.blocks(slab) {
            resize(&mut buffer, block_bytes(&block, &self.dtype), &self.path)?;
            found |= read(&block, &mut buffer)?;
            fixed::decode(&buffer, &self.dtype, &mut strings).map_err(|error| match error {
                Undecodable::Memory => no_memory(&self.path, buffer.len()),
                Undecodable::Code { element, code } => {
                    let index = index_of(&block, element);
                    let chunk = index.iter().zip(&self.chunk_shape).map(|(i, chunk)| i / chunk).collect();
                    let source = StringError::Code { code, chunk };
                    DataError::String { variable: self.path.clone(), index, source }
                }
            })?;
        }
        Ok((strings, found))
    }

    fn write_fixed(
        &self,
        slab: &Slab,
        mut strings: &[&[u8]],
        mut write: impl FnMut(&Slab, &[u8]) -> Result<Written, DataError>,
    ) -> Result<Written, DataError> {
        let mut written = Written::default();
        let mut buffer = Vec::new();
        for block in self.blocks(slab) {
            let bytes = block_bytes(&block, &self.dtype);
            resize(&mut buffer, bytes, &self.path)?;
            buffer.clear();
            let (now, later) = strings.split_at(bytes / self.dtype.size().max(1));
            strings = later;
            now.iter().for_each(|string| fixed::encode(string, &self.dtype, &mut buffer));
            let stored = write(&block, &buffer)?;
            written.chunks += stored.chunks;
            written.bytes += stored.bytes;
        }
        Ok(written)
    }

    /// Splits the slab into consecutive pieces.
    fn blocks(&self, slab: &Slab) -> impl Iterator<Item = Slab> {
        let most = if self.is_remote() { REMOTE_BLOCK_BYTES } else { BLOCK_BYTES };
        let blocks = Blocks::new(slab.count(), &self.chunk_shape, self.dtype.size() as u64, most);
        blocks.map(|block| {
            let starts = block.start().iter().zip(slab.start()).zip(slab.stride());
            let start: Vec<u64> = starts.map(|((nth, start), stride)| start + nth * stride).collect();
            Slab::new(start, block.count()).with_stride(slab.stride())
        })
    }

    /// Checks that a slab fits, and returns the number of its elements.
    fn check(&self, slab: &Slab, shape: &[u64]) -> Result<usize, DataError> {
        slab.check(shape).map_err(|source| self.slab_error(source))?;
        let elements = slab.elements().and_then(|elements| usize::try_from(elements).ok());
        elements
            .filter(|&elements| elements <= usize::MAX / 16)
            .ok_or_else(|| no_memory(&self.path, usize::MAX))
    }

    fn slab_error(&self, source: SlabError) -> DataError {
        DataError::Slab { variable: self.path.clone(), source }
    }

    fn string_error(&self, slab: &Slab, element: usize, source: StringError) -> DataError {
        DataError::String { variable: self.path.clone(), index: index_of(slab, element), source }
    }
}

fn block_bytes(block: &Slab, dtype: &Dtype) -> usize {
    // A block is within its budget, or one element.
    block.count().iter().product::<u64>() as usize * dtype.size()
}

fn resize(buffer: &mut Vec<u8>, len: usize, path: &str) -> Result<(), DataError> {
    if buffer.len() < len {
        buffer.try_reserve_exact(len - buffer.len()).map_err(|_| no_memory(path, len))?;
    }
    buffer.resize(len, 0);
    Ok(())
}

/// The position in the array of the element with this number.
fn index_of(slab: &Slab, element: usize) -> Vec<u64> {
    let mut rest = element as u64;
    let mut index = slab.start().to_vec();
    for (dimension, at) in index.iter_mut().enumerate().rev() {
        let count = slab.count()[dimension].max(1);
        *at += rest % count * slab.stride()[dimension];
        rest /= count;
    }
    index
}
