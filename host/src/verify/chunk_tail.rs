//! Chunks that are followed by the rest of an older chunk.

use ncz_codec::ErrorKind;
use ncz_model::{Array, ChunkError};
use ncz_registry::chain::Operation;
use ncz_store::{Key, Store, StoreExt};

/// HDF5's numbers of codecs whose streams mark their end: zlib, bzip2, blosc, zstd.
const SELF_ENDING: [u32; 4] = [1, 307, 32_001, 32_015];

/// A stored chunk longer than this times its decoded length is not examined.
const MOST: u64 = 8;

/// Returns the length of a chunk that is followed by bytes of an older one, as netcdf-c leaves them when it writes a
/// shorter chunk in place. `buffer` has the length of a decoded chunk.
///
/// This many bytes decode to a whole chunk exactly; otherwise, or if the codec cannot find its end, the result is
/// `None`.
pub(crate) fn sound_len(
    array: &Array,
    store: &dyn Store,
    key: &str,
    fault: &ChunkError,
    buffer: &mut [u8],
) -> Option<u64> {
    let chain = array.chain();
    let stored = match fault {
        ChunkError::Length { want, got } if got > want => return Some(*want),
        ChunkError::TooLong { most, .. } if chain.is_empty() => return Some(*most),
        ChunkError::Chain(error) if error.operation == Operation::Decode => {
            matches!(error.source.kind(), ErrorKind::Trailing { .. }).then_some(())?;
            read(array, store, key)?
        }
        ChunkError::TooLong { .. } => read(array, store, key)?,
        _ => return None,
    };
    let last = chain.working().last().map(|(id, _)| *id)?;
    if !SELF_ENDING.contains(&last) && !chain.to_string().ends_with("gzip") {
        return None;
    }
    let mut scratch = chain.scratch();
    let error = chain.decode(0, &mut scratch, &stored, buffer).err()?;
    let ErrorKind::Trailing { extra } = error.source.kind() else { return None };
    if error.stage + 1 != chain.len() {
        return None;
    }
    let len = stored.len().checked_sub(usize::try_from(*extra).ok()?)?;
    chain.decode(0, &mut scratch, stored.get(..len)?, buffer).ok()?;
    Some(len as u64)
}

fn read(array: &Array, store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    let most = (array.chain().max_stored_len() as u64).saturating_mul(MOST);
    store.read_vec(Key::parse(key).ok()?, most).ok()?
}
