//! An index of chunks that is read as far as it is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::cursor::Decoded;
use super::super::error::Hdf5Error;
use super::super::file::File;
use super::super::layout::Index;
use super::{Entry, Grid, Record, arrays, trees};

/// The most nodes that are read one by one while chunks are looked for; then the whole index is read.
const MOST_SEARCHED: usize = 8;

/// A B-tree or an array of chunks.
///
/// A chunk is looked for from the root to the node that has it. If many nodes are needed, all are read, those of a level
/// in one round.
#[derive(Debug)]
pub(super) struct LazyIndex {
    file: Arc<File>,
    kind: Index,
    address: u64,
    grid: Grid,
    /// The nodes of searches, by their addresses. One thread reads at a time, so that none is read twice.
    searched: Mutex<HashMap<u64, Vec<u8>>>,
    /// All chunks, sorted by number.
    all: OnceLock<Vec<Entry>>,
}

/// What ends a search without an answer.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(Hdf5Error),
    /// The list of all chunks has the answer.
    Unknown,
}

impl From<Hdf5Error> for Stop {
    fn from(error: Hdf5Error) -> Self {
        Self::Failed(error)
    }
}

/// The nodes that searches have read, and the file with the others.
pub(super) struct Nodes<'a> {
    pub(super) file: &'a File,
    searched: &'a mut HashMap<u64, Vec<u8>>,
}

impl Nodes<'_> {
    /// The node at an address, which is checked when it is read.
    pub(super) fn node(
        &mut self,
        (address, len): (u64, u64),
        what: &'static str,
        check: fn(&[u8]) -> Decoded<()>,
    ) -> Result<&[u8], Stop> {
        if !self.searched.contains_key(&address) {
            if self.searched.len() == MOST_SEARCHED {
                return Err(Stop::Unknown);
            }
            let node = self.file.read_nodes([(address, len)], what)?.pop().unwrap_or_default();
            check(&node).map_err(|error| self.file.error(error, what, address))?;
            self.searched.insert(address, node);
        }
        self.searched.get(&address).map(Vec::as_slice).ok_or(Stop::Unknown)
    }
}

impl LazyIndex {
    /// The index of a grid, of which nothing is read yet.
    pub(super) fn new(file: &Arc<File>, kind: Index, address: u64, grid: Grid) -> Self {
        let (searched, all) = (Mutex::default(), OnceLock::new());
        Self { file: Arc::clone(file), kind, address, grid, searched, all }
    }

    /// The chunk with these coordinates and this number; `None` if it is not stored.
    pub(super) fn find(&self, index: &[u64], number: u64) -> Result<Option<Entry>, Hdf5Error> {
        if self.all.get().is_none() {
            match self.search(index) {
                Ok(found) => {
                    return Ok(found.map(|record| self.grid.entry(&self.file, index, number, record)));
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Unknown) => {}
            }
        }
        Ok(super::find(self.all()?, number))
    }

    fn search(&self, index: &[u64]) -> Result<Option<Record>, Stop> {
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if self.all.get().is_some() {
            return Err(Stop::Unknown);
        }
        let mut nodes = Nodes { file: &self.file, searched: &mut searched };
        let (address, grid) = (self.address, &self.grid);
        match self.kind {
            Index::TreeV1 => trees::find_v1(&mut nodes, address, grid, index),
            Index::TreeV2 => trees::find_v2(&mut nodes, address, grid, index),
            Index::FixedArray => arrays::find_fixed(&mut nodes, address, grid, index),
            Index::ExtensibleArray => arrays::find_extensible(&mut nodes, address, grid, index),
            Index::Single(_) | Index::Implicit => Err(Stop::Unknown),
        }
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
        let Self { file, address, grid, .. } = self;
        let mut entries = Vec::new();
        match self.kind {
            Index::TreeV1 => trees::all_v1(file, *address, grid, &mut entries)?,
            Index::TreeV2 => trees::all_v2(file, *address, grid, &mut entries)?,
            Index::FixedArray => arrays::all_fixed(file, *address, grid, &mut entries)?,
            Index::ExtensibleArray => arrays::all_extensible(file, *address, grid, &mut entries)?,
            Index::Single(_) | Index::Implicit => {}
        }
        let entries = super::sorted(entries);
        let entries = entries.map_err(|error| file.error(error, super::INDEX, *address))?;
        searched.clear();
        Ok(self.all.get_or_init(|| entries))
    }
}
