//! The objects of an array to visit, and foreign objects next to them.

use ncz_model::{Array, DataError, Separator, Variable};
use ncz_store::{Depth, Entry, EntryKind, Prefix, Store, StoreError};
use ncz_zarr::metadata::document;

use crate::finding::{Code, Finding, Severity};
use crate::tiles::{LISTED, PROBED, Tiles};

/// The objects to visit.
pub(super) struct ChunkIndex {
    pub(super) tiles: Tiles,
    /// How many chunks the array has, in all its objects.
    pub(super) total: u64,
    /// Foreign objects in the listing.
    pub(super) findings: Vec<Finding>,
}

impl ChunkIndex {
    /// Lists the objects of an array. If there are too many to list, or the store cannot list, every chunk is
    /// requested.
    pub(super) fn of(array: &Array, variable: &Variable, store: &dyn Store) -> Result<Self, DataError> {
        let counts = array.object_counts();
        let refused = |reason: String| DataError::Unsupported { variable: variable.path.clone(), reason };
        let (Some(objects), Some(total)) = (product(&counts), product(&array.chunk_counts())) else {
            return Err(refused(format!("its {counts:?} objects hold more than 2^64 chunks")));
        };
        // A file says which chunks it has.
        if let Some(stored) = array.stored_objects() {
            let mut numbers: Vec<u64> = stored.iter().map(|index| number(index, &counts)).collect();
            numbers.sort_unstable();
            return Ok(Self { tiles: Tiles::some(counts, numbers), total, findings: Vec::new() });
        }
        let listing = match store.capabilities().list {
            true => match store.list(
                Prefix::parse(array.key()).unwrap_or(Prefix::ROOT),
                Depth::All,
                LISTED as usize,
            ) {
                Err(StoreError::TooManyEntries { .. }) => None,
                listing => {
                    Some(listing.map_err(|source| DataError::Store { store: store.to_string(), source })?)
                }
            },
            false => None,
        };
        let mut findings = Vec::new();
        let Some(listing) = listing else {
            if objects > PROBED {
                return Err(refused(format!(
                    "it has too many objects to list and too many chunks ({counts:?}) to ask for each"
                )));
            }
            return Ok(Self {
                tiles: Tiles::all(array, array.stored_shape(), array.object_shape())?,
                total,
                findings,
            });
        };
        let mut numbers = Vec::new();
        for entry in listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object) {
            match placed(array, variable, entry) {
                Placed::Chunk(index) => numbers.push(number(&index, &counts)),
                Placed::Document => {}
                Placed::Elsewhere(finding) => findings.push(finding),
            }
        }
        for name in listing.skipped {
            let reason = format!("{name} has no bytes to read; if it is a chunk, its data are missing");
            findings.push(Finding::new(Severity::Error, Code::NoObject, reason).variable(&variable.path));
        }
        // Keys are sorted as text.
        numbers.sort_unstable();
        let tiles = Tiles::some(counts, numbers);
        Ok(Self { tiles, total, findings })
    }
}

enum Placed {
    Chunk(Vec<u64>),
    Document,
    Elsewhere(Finding),
}

fn placed(array: &Array, variable: &Variable, entry: &Entry) -> Placed {
    let key = entry.key.as_str();
    let name = match array.key() {
        "" => key,
        prefix => key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).unwrap_or(key),
    };
    if document::ALL.contains(&name) {
        return Placed::Document;
    }
    let found = |severity, code, reason: String| {
        Placed::Elsewhere(Finding::new(severity, code, reason).variable(&variable.path).key(key))
    };
    if let Some(index) = array.object_index(key) {
        return Placed::Chunk(index);
    }
    let body = name.strip_prefix("c/").or_else(|| name.strip_prefix("c.")).unwrap_or(name);
    let numbers: Option<Vec<u64>> = body.split(['.', '/']).map(|number| number.parse().ok()).collect();
    let rank = array.object_shape().len().max(1);
    match numbers {
        Some(numbers) if numbers.len() == rank => {
            let separator = variable.separator.as_char();
            let other = match separator {
                '.' => Separator::Slash.as_char(),
                _ => Separator::Dot.as_char(),
            };
            if rank > 1 && body.contains(other) {
                let reason = format!(
                    "{key:?} is a chunk with {other:?} between its numbers, but the metadata say {separator:?}: no reader finds it"
                );
                found(Severity::Error, Code::ChunkKey, reason)
            } else if !is_canonical(name) {
                let reason =
                    format!("{key:?} is not the key of chunk {numbers:?}: no reader finds the chunk");
                found(Severity::Error, Code::ChunkKey, reason)
            } else {
                let reason = format!(
                    "the chunk {key:?} lies outside of the array, which has {:?} chunks: no reader shows it; the array was \
                     made shorter, or its metadata are older than its data",
                    array.object_counts()
                );
                found(Severity::Warning, Code::ChunkOutside, reason)
            }
        }
        _ => found(Severity::Note, Code::Stray, format!("{key:?} is neither metadata nor a chunk")),
    }
}

/// Whether all numbers of a key are written as every reader writes them: `01` and `+1` are not.
fn is_canonical(name: &str) -> bool {
    name.split(['.', '/']).all(|number| {
        number == "c"
            || number == "0"
            || number.starts_with(|first: char| first.is_ascii_digit() && first != '0')
    })
}

fn product(counts: &[u64]) -> Option<u64> {
    if counts.contains(&0) { Some(0) } else { counts.iter().copied().try_fold(1, u64::checked_mul) }
}

fn number(index: &[u64], counts: &[u64]) -> u64 {
    // Below the number of objects, which was checked.
    index.iter().zip(counts).fold(0u64, |number, (i, count)| number * count + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_keys_have_one_spelling() {
        for (name, wanted) in [("0.0", true), ("10/0", true), ("c/1/0", true), ("00.1", false), ("+1", false)]
        {
            assert_eq!(is_canonical(name), wanted, "{name}");
        }
    }
}
