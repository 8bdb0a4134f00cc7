//! Dense storage of many links or attributes: a fractal heap with their messages, and indexes by name and creation order
//! ("HDF5 File Format Specification", III.A.2 and III.G).

use super::encode::{self, Block, DenseKind, DenseStorage};
use super::error::Hdf5WriteError;

/// A link or attribute, at its position in the order of creation.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) message: Vec<u8>,
}

/// Builds dense storage; its blocks are sorted by address.
pub(super) fn build(
    kind: DenseKind,
    entries: Vec<Entry>,
    allocate: &mut dyn FnMut(u64) -> u64,
) -> Result<(DenseStorage, Vec<Block>), Hdf5WriteError> {
    let (names, messages): (Vec<String>, Vec<Vec<u8>>) =
        entries.into_iter().map(|entry| (entry.name, entry.message)).unzip();
    let mut blocks = Vec::new();
    let (heap, ids) = encode::fractal_heap(kind, &messages, allocate, &mut blocks)?;
    drop(messages);

    let mut by_name: Vec<(u32, &String, usize, &Vec<u8>)> = names
        .iter()
        .zip(&ids)
        .enumerate()
        .map(|(order, (name, id))| (encode::name_hash(name), name, order, id))
        .collect();
    by_name.sort();
    let mut records = Vec::new();
    for (hash, _, order, id) in &by_name {
        match kind {
            DenseKind::Links => {
                records.extend_from_slice(&hash.to_le_bytes());
                records.extend_from_slice(id);
            }
            DenseKind::Attributes => {
                attribute_record(&mut records, id, *order);
                records.extend_from_slice(&hash.to_le_bytes());
            }
        }
    }
    let len = record_bytes(&records, ids.len(), kind)?;
    let names = encode::index(kind, true, len, &records, allocate, &mut blocks);

    records.clear();
    for (order, id) in ids.iter().enumerate() {
        match kind {
            DenseKind::Links => {
                records.extend_from_slice(&(order as u64).to_le_bytes());
                records.extend_from_slice(id);
            }
            DenseKind::Attributes => attribute_record(&mut records, id, order),
        }
    }
    let len = record_bytes(&records, ids.len(), kind)?;
    let order = encode::index(kind, false, len, &records, allocate, &mut blocks);
    blocks.sort_by_key(|(address, _)| *address);
    Ok((DenseStorage { heap, names, order }, blocks))
}

/// Appends what both indexes of attributes have: the identifier in the heap, the flags of the message, and the order.
fn attribute_record(records: &mut Vec<u8>, id: &[u8], order: usize) {
    records.extend_from_slice(id);
    records.push(0);
    records.extend_from_slice(&(order as u32).to_le_bytes());
}

fn record_bytes(records: &[u8], count: usize, kind: DenseKind) -> Result<u16, Hdf5WriteError> {
    let len = records.len().checked_div(count).and_then(|len| u16::try_from(len).ok());
    len.ok_or_else(|| Hdf5WriteError::Structure { what: kind.name(), reason: "it is empty".to_owned() })
}
