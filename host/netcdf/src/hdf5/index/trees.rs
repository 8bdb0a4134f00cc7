//! B-trees of chunks, read level by level: all nodes of a level in one round.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::cursor::Decoded;
use super::super::decode::{self, TreeHeader, record};
use super::super::error::Hdf5Error;
use super::super::file::File;
use super::super::group::node_prefix;
use super::lazy::{Nodes, Stop};
use super::{Entry, Grid, NONE_SKIPPED, Record};

/// The bytes of a node of version 1 before its addresses.
const NODE: u64 = 8;

/// The most bytes of nodes that are read in one round (64 MiB).
const ROUND: u64 = 64 << 20;

const NODE_V1: &str = "a node of the B-tree of chunks";
const TREE_V2: &str = "the B-tree of chunks";

/// A node of a B-tree of version 1 (HDF5 file format, III.A.1): coordinates in elements, sizes and masks in the keys.
struct Node {
    /// 0 for a leaf.
    height: u8,
    children: Vec<Child>,
}

/// A chunk in a leaf, or a node below a node.
struct Child {
    record: Record,
    /// The first element of the chunk, or of the first chunk below.
    at: Vec<u64>,
}

/// Looks for a chunk in a B-tree of version 1, from the root to the leaf that has it if it is stored. In a tree whose keys
/// are not in order nothing is found.
pub(super) fn find_v1(
    nodes: &mut Nodes<'_>,
    mut address: u64,
    grid: &Grid,
    index: &[u64],
) -> Result<Option<Record>, Stop> {
    let wanted = index.iter().zip(&grid.chunk).map(|(at, chunk)| at.checked_mul(*chunk));
    let wanted = wanted.collect::<Option<Vec<u64>>>().ok_or(Stop::Unknown)?;
    let file = nodes.file;
    let mut above: Option<(u8, Vec<u64>)> = None;
    loop {
        let bytes = nodes.node((address, node_len(file, grid)), NODE_V1, |_| Ok(()))?;
        let node = node_v1(file, grid, bytes).map_err(|error| file.error(error, NODE_V1, address))?;
        let is_below = above.as_ref().is_none_or(|(height, first)| {
            height.checked_sub(1) == Some(node.height)
                && node.children.first().is_some_and(|child| child.at >= *first)
        });
        if !is_below || !node.children.is_sorted_by(|one, next| one.at < next.at) {
            return Err(Stop::Unknown);
        }
        let following = node.children.partition_point(|child| child.at <= wanted);
        let Some(child) = following.checked_sub(1).and_then(|last| node.children.get(last)) else {
            return Ok(None);
        };
        if node.height == 0 {
            return Ok((child.at == wanted).then_some(child.record));
        }
        above = Some((node.height, child.at.clone()));
        address = child.record.address;
    }
}

/// Reads a B-tree of version 1.
pub(super) fn all_v1(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    let node_len = node_len(file, grid);
    let mut level = vec![address];
    let mut expected = None;
    let mut visited = BTreeSet::new();
    while !level.is_empty() {
        let mut below = Vec::new();
        for round in level.chunks(usize::try_from(ROUND / node_len).unwrap_or(1).max(1)) {
            let nodes = round.iter().map(|address| (*address, node_len));
            for (bytes, address) in file.read_nodes(nodes, NODE_V1)?.iter().zip(round) {
                let failed = |error| file.error(error, NODE_V1, *address);
                if !visited.insert(*address) {
                    return Err(failed("two nodes refer to it".into()));
                }
                let node = node_v1(file, grid, bytes).map_err(failed)?;
                if expected.is_some_and(|expected: u8| node.height != expected) {
                    return Err(failed("its level does not follow that of its parent".into()));
                }
                expected = Some(node.height);
                if node.height > 0 {
                    below.extend(node.children.iter().map(|child| child.record.address));
                    continue;
                }
                for child in &node.children {
                    let index: Vec<u64> =
                        child.at.iter().zip(&grid.chunk).map(|(at, chunk)| at / chunk).collect();
                    grid.add(file, &index, child.record, entries).map_err(failed)?;
                }
            }
        }
        expected = expected.map(|height| height.saturating_sub(1));
        level = below;
    }
    Ok(())
}

/// The bytes of a node of version 1.
fn node_len(file: &File, grid: &Grid) -> u64 {
    let key = 8 + 8 * (grid.chunk.len() as u64 + 1);
    let offset = u64::from(file.widths.offset);
    NODE + 2 * offset + 2 * u64::from(file.chunk_k) * (key + offset) + key
}

fn node_v1(file: &File, grid: &Grid, bytes: &[u8]) -> Decoded<Node> {
    let mut cursor = file.cursor(bytes);
    let (height, count) = node_prefix(cursor.clone(), 1)?;
    cursor.skip(NODE as usize)?;
    cursor.address()?;
    cursor.address()?;
    let mut children = Vec::new();
    for _ in 0..count {
        let (len, mask) = (Some(u64::from(cursor.u32()?)), cursor.u32()?);
        let at = grid.chunk.iter().map(|_| cursor.uint(8)).collect::<Decoded<Vec<_>>>()?;
        cursor.skip(8)?;
        let Some(address) = cursor.address()? else { continue };
        if height == 0 && !at.iter().zip(&grid.chunk).all(|(at, chunk)| at.is_multiple_of(*chunk)) {
            return Err(format!("{at:?} is not the first element of a chunk").into());
        }
        children.push(Child { record: Record { address, len, mask }, at });
    }
    Ok(Node { height, children })
}

/// Looks for a chunk in a B-tree of version 2 (HDF5 file format, III.A.2, types 10 and 11), in whose records are
/// coordinates in chunks. In a tree whose records are not in order nothing is found.
pub(super) fn find_v2(
    nodes: &mut Nodes<'_>,
    address: u64,
    grid: &Grid,
    index: &[u64],
) -> Result<Option<Record>, Stop> {
    let file = nodes.file;
    let header = TreeHeader::read(file, address)?;
    let width = len_width(file, &header, grid).map_err(|error| file.error(error, TREE_V2, address))?;
    let Some(mut at) = header.root else { return Ok(None) };
    for depth in (0..=header.depth).rev() {
        let bytes = nodes.node((at.address, header.node_len), decode::TREE_NODE, |_| Ok(()))?;
        let node = header.node(file, bytes, depth, at)?;
        let mut following = None;
        let mut last = Ordering::Less;
        for (position, bytes) in node.records.chunks_exact(header.record_len).enumerate() {
            let decoded = chunk_record(file, bytes, width, grid);
            let (record, found) = decoded.map_err(|error| file.error(error, TREE_V2, at.address))?;
            let order = found.as_slice().cmp(index);
            if order < last {
                return Err(Stop::Unknown);
            }
            last = order;
            match order {
                Ordering::Less => {}
                Ordering::Equal => return Ok(record),
                Ordering::Greater => following = following.or(Some(position)),
            }
        }
        // A node has one child more than records.
        match node.children.get(following.unwrap_or(node.records.len() / header.record_len)) {
            Some(child) => at = *child,
            None => break,
        }
    }
    Ok(None)
}

/// Reads a B-tree of version 2.
pub(super) fn all_v2(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    let failed = |error| file.error(error, TREE_V2, address);
    let header = TreeHeader::read(file, address)?;
    let width = len_width(file, &header, grid).map_err(failed)?;
    for bytes in header.records(file)?.chunks_exact(header.record_len) {
        let (record, index) = chunk_record(file, bytes, width, grid).map_err(failed)?;
        if let Some(record) = record {
            grid.add(file, &index, record, entries).map_err(failed)?;
        }
    }
    Ok(())
}

/// The bytes of a stored length in a record of a B-tree of version 2; `None` if it has none.
fn len_width(file: &File, header: &TreeHeader, grid: &Grid) -> Decoded<Option<usize>> {
    let fixed = usize::from(file.widths.offset) + 8 * grid.chunk.len();
    match header.kind {
        record::CHUNK if header.record_len == fixed => Ok(None),
        record::FILTERED_CHUNK if (fixed + 5..=fixed + 12).contains(&header.record_len) => {
            Ok(Some(header.record_len - fixed - 4))
        }
        _ => Err("its records are not those of chunks".into()),
    }
}

/// A chunk in a record of a B-tree of version 2, `None` if it has no address, and its coordinates.
fn chunk_record(
    file: &File,
    bytes: &[u8],
    width: Option<usize>,
    grid: &Grid,
) -> Decoded<(Option<Record>, Vec<u64>)> {
    let mut cursor = file.cursor(bytes);
    let address = cursor.address()?;
    let (len, mask) = match width {
        Some(width) => (Some(cursor.uint(width)?), cursor.u32()?),
        None => (None, NONE_SKIPPED),
    };
    let index = grid.chunk.iter().map(|_| cursor.uint(8)).collect::<Decoded<Vec<_>>>()?;
    Ok((address.map(|address| Record { address, len, mask }), index))
}
