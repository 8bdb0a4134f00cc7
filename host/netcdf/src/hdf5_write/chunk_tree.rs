//! The index of a variable's chunks: a B-tree of version 1 ("HDF5 File Format Specification", III.A.1).
//!
//! The tree is written level by level from chunks in their order, so that only the first key of each node is kept in
//! memory. (The tree of `rust-hdf5` keeps several copies of all keys.)

use std::io::{Seek, Write};
use std::iter::Peekable;

use super::encode::UNDEFINED;
use super::error::Hdf5WriteError;
use super::sink::Sink;

/// The most children of a node: twice the default of libhdf5 (`HDF5_BTREE_CHUNK_IK_DEF`), as the superblock has no other.
const CHILDREN: usize = 64;

/// The type of a node of chunks.
const OF_CHUNKS: u8 = 1;

/// A chunk, or the first chunk of a node.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The stored bytes.
    pub(super) len: u32,
    pub(super) filter_mask: u32,
    /// The first element, by dimension.
    pub(super) element: Vec<u64>,
    /// The address of the chunk or node.
    pub(super) address: u64,
}

/// Writes the tree of chunks that come in the order of their elements, and returns the address of its root; `None` if
/// there are no chunks. `element_bytes` is the size of an element.
pub(super) fn write<W: Write + Seek>(
    sink: &mut Sink<W>,
    rank: usize,
    element_bytes: u64,
    chunks: impl Iterator<Item = Result<Entry, Hdf5WriteError>>,
) -> Result<Option<u64>, Hdf5WriteError> {
    let mut tree = Tree { sink, rank, element_bytes, last: Vec::new() };
    let mut nodes = tree.level(0, chunks.peekable())?;
    let mut level = 1;
    while nodes.len() > 1 {
        nodes = tree.level(level, nodes.into_iter().map(Ok).peekable())?;
        level += 1;
    }
    Ok(nodes.first().map(|root| root.address))
}

struct Tree<'a, W> {
    sink: &'a mut Sink<W>,
    rank: usize,
    element_bytes: u64,
    /// The first element of the last chunk.
    last: Vec<u64>,
}

impl<W: Write + Seek> Tree<'_, W> {
    /// The bytes of a key: length, mask, and the first element with a dimension for the bytes of an element.
    fn key_bytes(&self) -> usize {
        8 + 8 * (self.rank + 1)
    }

    fn node_bytes(&self) -> usize {
        24 + CHILDREN * 8 + (CHILDREN + 1) * self.key_bytes()
    }

    /// Writes the nodes of a level, and returns them as entries of the next.
    fn level<I>(&mut self, level: u8, mut entries: Peekable<I>) -> Result<Vec<Entry>, Hdf5WriteError>
    where
        I: Iterator<Item = Result<Entry, Hdf5WriteError>>,
    {
        let mut nodes = Vec::new();
        let mut left = UNDEFINED;
        let mut address = UNDEFINED;
        while entries.peek().is_some() {
            if address == UNDEFINED {
                address = self.sink.allocate(self.node_bytes() as u64);
            }
            let children = entries.by_ref().take(CHILDREN).collect::<Result<Vec<_>, _>>()?;
            // An error of the next entry is returned with its node.
            let next = entries.peek().and_then(|entry| entry.as_ref().ok());
            let right = match next {
                Some(_) => self.sink.allocate(self.node_bytes() as u64),
                None => UNDEFINED,
            };
            let (Some(first), Some(last)) = (children.first(), children.last()) else { break };
            if level == 0 {
                self.last.clone_from(&last.element);
            }
            let mut node = Vec::with_capacity(self.node_bytes());
            node.extend_from_slice(b"TREE");
            node.extend_from_slice(&[OF_CHUNKS, level]);
            node.extend_from_slice(&(children.len() as u16).to_le_bytes());
            node.extend_from_slice(&left.to_le_bytes());
            node.extend_from_slice(&right.to_le_bytes());
            for child in &children {
                key(&mut node, (child.len, child.filter_mask), &child.element, 0);
                node.extend_from_slice(&child.address.to_le_bytes());
            }
            match next {
                Some(next) => key(&mut node, (next.len, next.filter_mask), &next.element, 0),
                // libhdf5 requires a key after that of the last chunk.
                None => key(&mut node, (0, 0), &self.last, self.element_bytes),
            }
            node.resize(self.node_bytes(), 0);
            self.sink.write(address, &node)?;
            nodes.push(Entry { address, ..first.clone() });
            (left, address) = (address, right);
        }
        Ok(nodes)
    }
}

/// Appends a key; `byte` is its position in the dimension of the bytes of an element.
fn key(node: &mut Vec<u8>, (len, filter_mask): (u32, u32), element: &[u64], byte: u64) {
    node.extend_from_slice(&len.to_le_bytes());
    node.extend_from_slice(&filter_mask.to_le_bytes());
    for at in element.iter().chain([&byte]) {
        node.extend_from_slice(&at.to_le_bytes());
    }
}
