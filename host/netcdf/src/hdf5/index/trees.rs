//! B-trees of chunks, read level by level: all nodes of a level in one round.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::cursor::Decoded;
use super::super::decode::{self, record};
use super::super::error::Hdf5Error;
use super::super::file::File;
use super::super::group::node_prefix;
use super::{Entry, Grid, NONE_SKIPPED, Record};

/// The bytes of a node of version 1 before its addresses.
const NODE: u64 = 8;

/// The most bytes of nodes that are read in one round (64 MiB).
const ROUND: u64 = 64 << 20;

/// The most nodes that are read one by one while chunks are looked for; then the whole tree is read.
const MOST_SEARCHED: usize = 8;

/// A B-tree of version 1 (HDF5 file format, III.A.1): coordinates in elements, sizes and masks in the keys.
///
/// A chunk is looked for from the root to its leaf. If many leaves are needed, all nodes are read, those of a level in
/// one round.
#[derive(Debug)]
pub(super) struct TreeV1 {
    file: Arc<File>,
    address: u64,
    grid: Grid,
    /// The nodes of searches, by their addresses. One thread reads at a time, so that none is read twice.
    searched: Mutex<HashMap<u64, Node>>,
    /// All chunks, sorted by number.
    all: OnceLock<Vec<Entry>>,
}

/// A node of a B-tree of version 1.
#[derive(Debug)]
struct Node {
    /// 0 for a leaf.
    height: u8,
    children: Vec<Child>,
}

/// A chunk in a leaf, or a node below a node.
#[derive(Debug)]
struct Child {
    len: u32,
    mask: u32,
    /// The first element of the chunk, or of the first chunk below.
    at: Vec<u64>,
    address: u64,
}

/// What a search from the root to a leaf finds.
enum Search {
    Stored(Entry),
    Missing,
    /// The list of all chunks says it.
    Unknown,
}

impl TreeV1 {
    const WHAT: &str = "a node of the B-tree of chunks";

    /// The tree of a grid, of which nothing is read yet.
    pub(super) fn new(file: Arc<File>, address: u64, grid: Grid) -> Self {
        Self { file, address, grid, searched: Mutex::default(), all: OnceLock::new() }
    }

    /// The chunk with these coordinates and this number; `None` if it is not stored.
    pub(super) fn find(&self, index: &[u64], number: u64) -> Result<Option<Entry>, Hdf5Error> {
        if self.all.get().is_none() {
            match self.search(index, number)? {
                Search::Stored(entry) => return Ok(Some(entry)),
                Search::Missing => return Ok(None),
                Search::Unknown => {}
            }
        }
        Ok(super::find(self.all()?, number))
    }

    /// All chunks, sorted by number.
    pub(super) fn all(&self) -> Result<&[Entry], Hdf5Error> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let all = self.read_all()?;
        searched.clear();
        Ok(self.all.get_or_init(|| all))
    }

    /// Reads the nodes from the root to the leaf that has the chunk if it is stored. A tree whose keys are not in order,
    /// and one of which many nodes were read, is read as a whole.
    fn search(&self, index: &[u64], number: u64) -> Result<Search, Hdf5Error> {
        let Some(wanted) = self.first_element(index) else { return Ok(Search::Unknown) };
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if self.all.get().is_some() {
            return Ok(Search::Unknown);
        }
        let mut address = self.address;
        let mut above: Option<(u8, Vec<u64>)> = None;
        loop {
            if !searched.contains_key(&address) {
                if searched.len() == MOST_SEARCHED {
                    return Ok(Search::Unknown);
                }
                let bytes = self.file.read_nodes([(address, self.node_len())], Self::WHAT)?;
                let node = self.decode(bytes.first().map_or(&[], Vec::as_slice), address)?;
                searched.insert(address, node);
            }
            let Some(node) = searched.get(&address) else { return Ok(Search::Unknown) };
            let is_below = above.as_ref().is_none_or(|(height, first)| {
                height.checked_sub(1) == Some(node.height)
                    && node.children.first().is_some_and(|child| child.at >= *first)
            });
            if !is_below || !node.children.is_sorted_by(|one, next| one.at < next.at) {
                return Ok(Search::Unknown);
            }
            let following = node.children.partition_point(|child| child.at <= wanted);
            let Some(child) = following.checked_sub(1).and_then(|last| node.children.get(last)) else {
                return Ok(Search::Missing);
            };
            if node.height == 0 {
                return Ok(match child.at == wanted {
                    true => Search::Stored(self.grid.entry(&self.file, index, number, child.record())),
                    false => Search::Missing,
                });
            }
            above = Some((node.height, child.at.clone()));
            address = child.address;
        }
    }

    fn first_element(&self, index: &[u64]) -> Option<Vec<u64>> {
        index.iter().zip(&self.grid.chunk).map(|(at, chunk)| at.checked_mul(*chunk)).collect()
    }

    fn read_all(&self) -> Result<Vec<Entry>, Hdf5Error> {
        let Self { file, grid, .. } = self;
        let mut entries = Vec::new();
        let mut level = vec![self.address];
        let mut expected = None;
        let mut visited = BTreeSet::new();
        while !level.is_empty() {
            let mut below = Vec::new();
            for round in level.chunks(usize::try_from(ROUND / self.node_len()).unwrap_or(1).max(1)) {
                let nodes = round.iter().map(|address| (*address, self.node_len()));
                for (bytes, address) in file.read_nodes(nodes, Self::WHAT)?.iter().zip(round) {
                    let failed = |error| file.error(error, Self::WHAT, *address);
                    if !visited.insert(*address) {
                        return Err(failed("two nodes refer to it".into()));
                    }
                    let node = self.decode(bytes, *address)?;
                    if expected.is_some_and(|expected: u8| node.height != expected) {
                        return Err(failed("its level does not follow that of its parent".into()));
                    }
                    expected = Some(node.height);
                    if node.height > 0 {
                        below.extend(node.children.iter().map(|child| child.address));
                        continue;
                    }
                    for child in &node.children {
                        let index: Vec<u64> =
                            child.at.iter().zip(&grid.chunk).map(|(at, chunk)| at / chunk).collect();
                        grid.add(file, &index, child.record(), &mut entries).map_err(failed)?;
                    }
                }
            }
            expected = expected.map(|height| height.saturating_sub(1));
            level = below;
        }
        super::sorted(entries).map_err(|error| file.error(error, super::INDEX, self.address))
    }

    /// The bytes of a node.
    fn node_len(&self) -> u64 {
        let key = 8 + 8 * (self.grid.chunk.len() as u64 + 1);
        let offset = u64::from(self.file.widths.offset);
        NODE + 2 * offset + 2 * u64::from(self.file.chunk_k) * (key + offset) + key
    }

    fn decode(&self, bytes: &[u8], address: u64) -> Result<Node, Hdf5Error> {
        let decoded = (|| {
            let mut cursor = self.file.cursor(bytes);
            let (height, count) = node_prefix(cursor.clone(), 1)?;
            cursor.skip(NODE as usize)?;
            cursor.address()?;
            cursor.address()?;
            let mut children = Vec::new();
            for _ in 0..count {
                let (len, mask) = (cursor.u32()?, cursor.u32()?);
                let at = self.grid.chunk.iter().map(|_| cursor.uint(8)).collect::<Decoded<Vec<_>>>()?;
                cursor.skip(8)?;
                let Some(address) = cursor.address()? else { continue };
                if height == 0
                    && !at.iter().zip(&self.grid.chunk).all(|(at, chunk)| at.is_multiple_of(*chunk))
                {
                    return Err(format!("{at:?} is not the first element of a chunk").into());
                }
                children.push(Child { len, mask, at, address });
            }
            Ok(Node { height, children })
        })();
        decoded.map_err(|error| self.file.error(error, Self::WHAT, address))
    }
}

impl Child {
    fn record(&self) -> Record {
        Record { address: self.address, len: Some(u64::from(self.len)), mask: self.mask }
    }
}

/// Reads a B-tree of version 2 (HDF5 file format, III.A.2, types 10 and 11): coordinates in chunks.
pub(super) fn version_2(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "the B-tree of chunks";
    let failed = |error| file.error(error, WHAT, address);
    let records = decode::tree_records(file, address)?;
    let fixed = usize::from(file.widths.offset) + 8 * grid.chunk.len();
    let size_len = match records.kind {
        record::CHUNK if records.size == fixed => None,
        record::FILTERED_CHUNK if (fixed + 5..=fixed + 12).contains(&records.size) => {
            Some(records.size - fixed - 4)
        }
        _ => return Err(failed("its records are not those of chunks".into())),
    };
    for record in records.bytes.chunks_exact(records.size) {
        let mut cursor = file.cursor(record);
        let fields = (|| {
            let address = cursor.address()?;
            let (len, mask) = match size_len {
                Some(width) => (Some(cursor.uint(width)?), cursor.u32()?),
                None => (None, NONE_SKIPPED),
            };
            let index = grid.chunk.iter().map(|_| cursor.uint(8)).collect::<Decoded<Vec<_>>>()?;
            Ok((address, len, mask, index))
        })();
        let (address, len, mask, index) = fields.map_err(failed)?;
        if let Some(address) = address {
            grid.add(file, &index, Record { address, len, mask }, entries).map_err(failed)?;
        }
    }
    Ok(())
}
