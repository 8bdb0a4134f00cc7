//! The chunks of a dataset: where each is stored.

mod arrays;
mod lazy;
mod trees;

use std::sync::Arc;

use self::lazy::LazyIndex;
use super::cursor::Decoded;
use super::dataset::Dataset;
use super::error::Hdf5Error;
use super::file::File;
use super::layout::{Index, Layout};

/// Skips no filter, and skips all filters.
const NONE_SKIPPED: u32 = 0;
const ALL_SKIPPED: u32 = u32::MAX;

const INDEX: &str = "the index of chunks";

/// A stored chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of the chunk in the grid of the shape, in row-major order.
    pub(crate) number: u64,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    /// Its bytes.
    pub(crate) len: u64,
    /// The filters that were skipped.
    pub(crate) mask: u32,
}

/// The stored chunks of a dataset.
#[derive(Debug)]
pub(crate) struct Chunks {
    /// The number of chunks along each dimension.
    counts: Vec<u64>,
    stored: Stored,
}

#[derive(Debug)]
enum Stored {
    /// Sorted by number.
    Listed(Vec<Entry>),
    /// In a tree or an array that is read as far as it is needed.
    Lazy(Box<LazyIndex>),
    /// All chunks lie one after the other, in the grid of the greatest shape.
    InOrder { offset: u64, len: u64, max_counts: Vec<u64> },
}

/// A chunk as an index has it.
#[derive(Clone, Copy, Debug)]
struct Record {
    address: u64,
    /// The stored length; `None` if it is that of a whole chunk.
    len: Option<u64>,
    mask: u32,
}

/// What the indexes need to know of their dataset.
#[derive(Debug)]
struct Grid {
    /// The chunks of the shape along each dimension.
    counts: Vec<u64>,
    /// The chunks of the greatest shape; `None` along an unlimited dimension.
    max_counts: Vec<Option<u64>>,
    /// The lengths of a chunk.
    chunk: Vec<u64>,
    /// The shape.
    shape: Vec<u64>,
    /// The bytes of a whole chunk.
    chunk_len: u64,
    edges_unfiltered: bool,
    is_filtered: bool,
}

impl Chunks {
    /// Opens the index of a chunked dataset. A tree or an array is read when chunks are looked for.
    pub(crate) fn read(file: &Arc<File>, dataset: &Dataset) -> Result<Self, Hdf5Error> {
        let failed = |reason: &'static str| file.error(reason.into(), "the layout", dataset.address);
        let Layout::Chunked { shape: chunk, element, edges_unfiltered, index, address } = &dataset.layout
        else {
            return Err(failed("the dataset has no chunks"));
        };
        let super::dataspace::Dataspace::Simple { shape, max } = &dataset.dataspace else {
            return Err(failed("the dataset has no shape"));
        };
        if *element != dataset.element {
            return Err(failed("the element size of its chunks is not that of its type"));
        }
        let chunk_len = ncz_model::product(chunk.iter().copied().chain([*element]));
        let grid = Grid {
            counts: shape.iter().zip(chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect(),
            max_counts: max
                .iter()
                .zip(chunk)
                .map(|(max, chunk)| max.map(|max| max.div_ceil(*chunk)))
                .collect(),
            chunk: chunk.clone(),
            shape: shape.clone(),
            chunk_len: chunk_len.ok_or_else(|| failed("its chunks have more than 2^64 bytes"))?,
            edges_unfiltered: *edges_unfiltered,
            is_filtered: !dataset.filters.is_empty(),
        };
        let mut entries = Vec::new();
        if let Some(address) = *address {
            match index {
                Index::TreeV1 | Index::TreeV2 | Index::FixedArray | Index::ExtensibleArray => {
                    let counts = grid.counts.clone();
                    let lazy = LazyIndex::new(file, *index, address, grid);
                    return Ok(Self { counts, stored: Stored::Lazy(Box::new(lazy)) });
                }
                Index::Single(filtered) => {
                    let (len, mask) = match filtered {
                        Some((len, mask)) => (Some(*len), *mask),
                        None => (None, NONE_SKIPPED),
                    };
                    let origin = vec![0; chunk.len()];
                    let added = grid.add(file, &origin, Record { address, len, mask }, &mut entries);
                    added.map_err(|error| file.error(error, "the layout", dataset.address))?;
                }
                Index::Implicit => {
                    let counts = grid.max_counts.iter().copied().collect::<Option<Vec<_>>>();
                    let max_counts = counts.ok_or_else(|| failed("it has no index, but can grow"))?;
                    let offset = file.offset(address).ok_or_else(|| failed("it is past the end"))?;
                    let stored = Stored::InOrder { offset, len: grid.chunk_len, max_counts };
                    return Ok(Self { counts: grid.counts, stored });
                }
            }
        }
        let entries = sorted(entries).map_err(|error| file.error(error, INDEX, dataset.address))?;
        Ok(Self { counts: grid.counts, stored: Stored::Listed(entries) })
    }

    /// The coordinates of the stored chunks; `None` if all are.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn stored(&self) -> Result<Option<Vec<Vec<u64>>>, Hdf5Error> {
        let entries = match &self.stored {
            Stored::Listed(entries) => entries,
            Stored::Lazy(index) => index.all()?,
            Stored::InOrder { .. } => return Ok(None),
        };
        Ok(Some(entries.iter().map(|entry| coordinates(entry.number, &self.counts)).collect()))
    }

    /// The chunk with these coordinates; `None` if it is not stored.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn get(&self, index: &[u64]) -> Result<Option<Entry>, Hdf5Error> {
        let Some(in_shape) = number(index, &self.counts) else { return Ok(None) };
        match &self.stored {
            Stored::Listed(entries) => Ok(find(entries, in_shape)),
            Stored::Lazy(lazy) => lazy.find(index, in_shape),
            Stored::InOrder { offset, len, max_counts } => Ok(number(index, max_counts).and_then(|number| {
                let offset = offset.checked_add(number.checked_mul(*len)?)?;
                Some(Entry { number, offset, len: *len, mask: NONE_SKIPPED })
            })),
        }
    }
}

/// Sorts chunks by number.
fn sorted(mut entries: Vec<Entry>) -> Decoded<Vec<Entry>> {
    entries.sort_by_key(|entry| entry.number);
    match entries.array_windows().find(|[a, b]| a.number == b.number) {
        Some([first, _]) => Err(format!("two stored chunks have the number {}", first.number).into()),
        None => Ok(entries),
    }
}

/// The chunk with this number among sorted ones.
fn find(entries: &[Entry], number: u64) -> Option<Entry> {
    let at = entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
    entries.get(at).copied()
}

impl Grid {
    /// Adds a chunk, unless it is beyond the shape: such chunks remain when a dataset is made smaller.
    fn add(&self, file: &File, index: &[u64], record: Record, entries: &mut Vec<Entry>) -> Decoded<()> {
        let Some(number) = number(index, &self.counts) else { return Ok(()) };
        // Each has an address in the index, so that memory is bounded by the length of the file.
        if entries.len() as u64 >= file.source.len() / u64::from(file.widths.offset) {
            return Err("it has more chunks than the file has room for".into());
        }
        entries.push(self.entry(file, index, number, record));
        Ok(())
    }

    fn entry(&self, file: &File, index: &[u64], number: u64, record: Record) -> Entry {
        // What lies past the end of the file is reported when the chunk is read.
        let offset = file.offset(record.address).unwrap_or(u64::MAX);
        let len = if self.is_filtered { record.len.unwrap_or(self.chunk_len) } else { self.chunk_len };
        let mask = if self.edges_unfiltered && self.is_edge(index) { ALL_SKIPPED } else { record.mask };
        Entry { number, offset, len, mask }
    }

    /// Whether a chunk reaches beyond the shape.
    fn is_edge(&self, index: &[u64]) -> bool {
        index
            .iter()
            .zip(&self.chunk)
            .zip(&self.shape)
            .any(|((at, chunk), len)| at.saturating_add(1).checked_mul(*chunk).is_none_or(|end| end > *len))
    }
}

/// The number of a chunk in a grid, in row-major order; `None` if the grid does not have it.
fn number(index: &[u64], counts: &[u64]) -> Option<u64> {
    if index.len() != counts.len() {
        return None;
    }
    index.iter().zip(counts).try_fold(0_u64, |number, (at, count)| {
        if at >= count {
            return None;
        }
        number.checked_mul(*count)?.checked_add(*at)
    })
}

/// The coordinates of a slot in a grid in row-major order; the count of the first dimension is not needed.
fn coordinates(mut slot: u64, counts: &[u64]) -> Vec<u64> {
    let mut index = vec![0; counts.len()];
    for (axis, at) in index.iter_mut().enumerate().rev() {
        match counts.get(axis) {
            Some(count) if axis > 0 => {
                *at = slot.checked_rem(*count).unwrap_or(0);
                slot = slot.checked_div(*count).unwrap_or(0);
            }
            _ => *at = slot,
        }
    }
    index
}
