//! B-trees of chunks, read level by level: all nodes of a level in one round.

use std::collections::BTreeSet;

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

/// Reads a B-tree of version 1 (HDF5 file format, III.A.1): coordinates in elements, sizes and masks in the keys.
pub(super) fn version_1(
    file: &File,
    address: u64,
    grid: &Grid,
    entries: &mut Vec<Entry>,
) -> Result<(), Hdf5Error> {
    const WHAT: &str = "a node of the B-tree of chunks";
    let rank = grid.chunk.len() as u64;
    let key = 8 + 8 * (rank + 1);
    let offset = u64::from(file.widths.offset);
    let most = 2 * u64::from(file.chunk_k);
    let node = NODE + 2 * offset + most * (key + offset) + key;
    let mut level = vec![address];
    let mut expected = None;
    let mut visited = BTreeSet::new();
    while !level.is_empty() {
        let mut below = Vec::new();
        for round in level.chunks(usize::try_from(ROUND / node).unwrap_or(1).max(1)) {
            let nodes = file.read_nodes(round.iter().map(|address| (*address, node)), WHAT)?;
            for (bytes, address) in nodes.iter().zip(round) {
                let failed = |error| file.error(error, WHAT, *address);
                if !visited.insert(*address) {
                    return Err(failed("two nodes refer to it".into()));
                }
                let mut cursor = file.cursor(bytes);
                let (height, count) = node_prefix(cursor.clone(), 1).map_err(failed)?;
                if expected.is_some_and(|expected: u8| height != expected) {
                    return Err(failed("its level does not follow that of its parent".into()));
                }
                expected = Some(height);
                let children = (|| {
                    cursor.skip(NODE as usize)?;
                    cursor.address()?;
                    cursor.address()?;
                    (0..count)
                        .map(|_| {
                            let (len, mask) = (cursor.u32()?, cursor.u32()?);
                            let at = (0..rank).map(|_| cursor.uint(8)).collect::<Decoded<Vec<_>>>()?;
                            cursor.skip(8)?;
                            Ok((len, mask, at, cursor.address()?))
                        })
                        .collect::<Decoded<Vec<_>>>()
                })();
                for (len, mask, at, child) in children.map_err(failed)? {
                    let Some(child) = child else { continue };
                    if height > 0 {
                        below.push(child);
                        continue;
                    }
                    if !at.iter().zip(&grid.chunk).all(|(at, chunk)| at.is_multiple_of(*chunk)) {
                        return Err(failed(format!("{at:?} is not the first element of a chunk").into()));
                    }
                    let index: Vec<u64> = at.iter().zip(&grid.chunk).map(|(at, chunk)| at / chunk).collect();
                    let record = Record { address: child, len: Some(u64::from(len)), mask };
                    grid.add(file, &index, record, entries).map_err(failed)?;
                }
            }
        }
        expected = expected.map(|height| height.saturating_sub(1));
        level = below;
    }
    Ok(())
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
