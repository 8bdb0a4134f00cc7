//! Chunks with the rest of an older chunk behind them.

use ncz_codec::ErrorKind;
use ncz_nczarr::{Array, ChunkFault};
use ncz_registry::chain::Operation;
use ncz_store::{Key, Store, StoreExt};

/// HDF5's numbers of codecs whose streams say where they end: zlib, bzip2, blosc, zstd.
const SELF_ENDING: [u32; 4] = [1, 307, 32_001, 32_015];

/// A stored chunk that is longer than this times its decoded length is no chunk with something behind it.
const MOST: u64 = 8;

/// How many of the stored bytes of a chunk are the chunk, where others follow as netcdf-c leaves them when it writes a
/// shorter one in place. `buffer` is of a decoded chunk's length.
///
/// The rest decodes to a chunk, exactly; where that is not so, or the codec cannot tell, there is no answer.
pub(crate) fn sound_len(
    array: &Array,
    store: &dyn Store,
    key: &str,
    fault: &ChunkFault,
    buffer: &mut [u8],
) -> Option<u64> {
    let chain = array.chain();
    let stored = match fault {
        ChunkFault::Length { want, got } if got > want => return Some(*want),
        ChunkFault::TooLong { most, .. } if chain.is_empty() => return Some(*most),
        ChunkFault::Chain(error) if error.operation == Operation::Decode => {
            matches!(error.source.kind(), ErrorKind::Trailing { .. }).then_some(())?;
            read(array, store, key)?
        }
        ChunkFault::TooLong { .. } => read(array, store, key)?,
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
