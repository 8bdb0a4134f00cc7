//! Rows of user-defined types as HDF5 stores them.

use ncz_model::{Row, SourceError};
use ncz_store::NewFile;

use super::global_heap::Collection;
use crate::user_layout::{Encoder, UserLayout};

/// Encodes a row, and writes what its elements refer to into heaps of the file.
///
/// # Errors
/// The row has values of another type, a text contains a NUL, or the file cannot be written.
pub(crate) fn store_row(file: &NewFile, layout: &UserLayout, row: &Row) -> Result<Vec<u8>, SourceError> {
    let (elements, collections) = pack(layout, row, 0)?;
    if collections.is_empty() {
        return Ok(elements);
    }
    // References have addresses, so that they are made when the place of the heaps is known.
    let address = file.reserve(collections.len() as u64);
    let (elements, collections) = pack(layout, row, address)?;
    file.write_at(&collections, address)?;
    Ok(elements)
}

/// The elements of a row, and the collections of heaps that are to be stored at an address.
fn pack(layout: &UserLayout, row: &Row, address: u64) -> Result<(Vec<u8>, Vec<u8>), SourceError> {
    let mut full = Vec::new();
    let mut collection = Collection::new();
    let mut is_used = false;
    let mut store = |object: &[u8]| {
        is_used = true;
        if !collection.has_room(object.len()) {
            full.extend_from_slice(&std::mem::replace(&mut collection, Collection::new()).finish());
        }
        Ok::<_, SourceError>((address.saturating_add(full.len() as u64), collection.push(object)))
    };
    let fail = |reason: String| SourceError::from(reason);
    let elements = layout.encode_with(row, &mut Encoder { store: &mut store, fail: &fail })?;
    if is_used {
        full.extend_from_slice(&collection.finish());
    }
    Ok((elements, full))
}
