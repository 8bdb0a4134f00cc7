//! Completes a new file: fills what is missing, and writes indexes and headers.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use ncz_model::{Hierarchy, SourceError, Storage, Strings, Variable};
use ncz_store::NewFile;

use super::chunk_store::{ChunkStore, Elements, Place, Slot, lock};
use crate::classic::write::NewClassic;
use crate::hdf5_write::{Assembler, HeapPart, StoredChunk, StringHeap, store_row};
use crate::user_elements::fill_row;
use crate::user_layout::{UserLayout, structured_layout};

/// The bytes that are written at a time where elements are missing.
const FILL_BYTES: usize = 1 << 20;

/// The bytes of a reference to a string.
const REFERENCE: u64 = 16;

/// Completes the file.
pub(super) fn complete(
    hierarchy: &Hierarchy,
    chunks: &ChunkStore,
    classic: Option<&NewClassic>,
) -> Result<(), SourceError> {
    let file = chunks.file();
    let Some(classic) = classic else { return netcdf4(hierarchy, chunks) };
    file.set_len(classic.len)?;
    for (variable, slot) in hierarchy.variables().zip(chunks.slots()) {
        fill_rest(file, variable, slot)?;
    }
    file.write_at(&classic.header, 0)?;
    Ok(())
}

/// Writes the fill value into the chunks of a block that are missing.
fn fill_rest(file: &NewFile, variable: &Variable, slot: &Slot) -> Result<(), SourceError> {
    let Elements::Region { layout, written } = &slot.elements else { return Ok(()) };
    let written = lock(written);
    let element = variable.fill_bytes();
    if written.len() as u64 == slot.len() || element.is_empty() {
        return Ok(());
    }
    let in_heap = structured_layout(variable)?.filter(UserLayout::has_references);
    let in_heap = in_heap.filter(|_| variable.fill.is_some());
    let elements = FILL_BYTES / element.len();
    let block: Vec<u8> = element.iter().copied().cycle().take(elements.max(1) * element.len()).collect();
    for number in (0..slot.len()).filter(|number| !written.contains(number)) {
        let Some(range) = layout.range(&slot.index(number)) else { continue };
        let mut at = range.start;
        while at < range.end {
            let part = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(block.len());
            match &in_heap {
                None => file.write_at(block.get(..part).unwrap_or(&block), at)?,
                // Two elements cannot share what is in a heap.
                Some(layout) => {
                    let row = fill_row(variable)?.repeated(part / element.len());
                    file.write_at(&store_row(file, layout, &row)?, at)?;
                }
            }
            at += part as u64;
        }
    }
    Ok(())
}

/// Completes a netCDF-4 file.
fn netcdf4(hierarchy: &Hierarchy, chunks: &ChunkStore) -> Result<(), SourceError> {
    let file = chunks.file();
    let mut strings = Vec::new();
    let mut heap = StringHeap::default();
    for (variable, slot) in hierarchy.variables().zip(chunks.slots()) {
        match &slot.elements {
            Elements::Region { written, .. } if !lock(written).is_empty() => fill_rest(file, variable, slot)?,
            Elements::Strings(_) => {
                strings.push((variable.path.as_str(), store_strings(chunks, variable, slot, &mut heap)?))
            }
            _ => {}
        }
    }
    write_parts(file, heap.finish(&|len| file.reserve(len)))?;
    let end = file.reserved();
    let out = BufWriter::with_capacity(FILL_BYTES, Output { file, at: 0 });
    let mut assembler = Assembler::new(hierarchy, out, end)?;
    for (variable, slot) in hierarchy.variables().zip(chunks.slots()) {
        let path = variable.path.as_str();
        match &slot.elements {
            Elements::Region { layout, written } => {
                if !lock(written).is_empty() {
                    assembler.contiguous(path, layout.begin..layout.end)?;
                }
            }
            Elements::Chunks(places) => assembler.chunks(path, stored(slot, &lock(places)))?,
            Elements::Strings(_) => {
                let Some((_, places)) = strings.iter().find(|(of, _)| *of == path) else { continue };
                match places.first_key_value() {
                    None => {}
                    Some((_, place)) if variable.storage != Storage::Chunked => {
                        assembler.contiguous(path, place.offset..place.offset.saturating_add(place.len))?;
                    }
                    Some(_) => assembler.chunks(path, stored(slot, places))?,
                }
            }
        }
    }
    assembler.finish()?.flush()?;
    Ok(())
}

/// The chunks of a variable in the order of their coordinates.
fn stored<'a>(
    slot: &'a Slot,
    places: &'a BTreeMap<u64, Place>,
) -> impl Iterator<Item = StoredChunk<Vec<u64>>> + 'a {
    places.iter().map(|(number, place)| StoredChunk {
        index: slot.index(*number),
        offset: place.offset,
        len: place.len,
        filter_mask: place.filter_mask,
    })
}

/// Moves the strings of a variable into the heap, and returns where the references to them are.
fn store_strings(
    chunks: &ChunkStore,
    variable: &Variable,
    slot: &Slot,
    heap: &mut StringHeap,
) -> Result<BTreeMap<u64, Place>, SourceError> {
    let Elements::Strings(places) = &slot.elements else { return Ok(BTreeMap::new()) };
    let elements = variable.chunk_elements().unwrap_or(u64::MAX);
    let len = elements.checked_mul(REFERENCE).ok_or("its chunks have too many elements");
    let file = chunks.file();
    let mut moved = BTreeMap::new();
    for (number, place) in lock(places).iter() {
        let mut store = || {
            let chunk = chunks.read_scratch(*place)?;
            let strings = Strings::from_chunk(&chunk, usize::try_from(elements)?)?;
            let place = Place::new(file.reserve(len?), len?);
            write_parts(file, heap.add(&strings, place.offset, &|len| file.reserve(len))?)?;
            Ok::<_, SourceError>(place)
        };
        let stored = store().map_err(|source| StringsError {
            variable: variable.path.clone(),
            chunk: slot.index(*number),
            source,
        })?;
        moved.insert(*number, stored);
    }
    Ok(moved)
}

fn write_parts(file: &NewFile, parts: Vec<HeapPart>) -> Result<(), SourceError> {
    for (offset, bytes) in parts {
        file.write_at(&bytes, offset)?;
    }
    Ok(())
}

/// The strings of a chunk cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot store the strings of chunk {chunk:?} of variable {variable:?}")]
struct StringsError {
    variable: String,
    chunk: Vec<u64>,
    source: SourceError,
}

/// The file as a stream.
struct Output<'a> {
    file: &'a NewFile,
    at: u64,
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(bytes, self.at).map_err(io::Error::other)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Output<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.at = match position {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.len().map_err(io::Error::other)?.checked_add_signed(by),
        }
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
