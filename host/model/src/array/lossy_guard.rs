//! The check that a lossy codec leaves missing values missing.
//!
//! Values that represent missing data must decode unchanged, no other value may decode to one of them, and they must
//! not destroy the values near them: in a zfp block with a fixed number of bits, netCDF's fill value, 9.97e36, leaves
//! no bits for a temperature. A chunk that fails this check is not stored.

use super::Array;
use super::worker::CodecBuffers;
use crate::data_error::ChunkError;
use crate::missing_values::Changed;

impl Array {
    /// Encodes a chunk and passes it to `take`. If the guard is on, the chunk must pass the check first.
    pub(super) fn encode_checked<T>(
        &self,
        buffers: &mut CodecBuffers,
        chunk: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<T, ChunkError>,
    ) -> Result<T, ChunkError> {
        let CodecBuffers { chain: scratch, encoded, read, .. } = buffers;
        let Some(missing) = &self.terms.guard else {
            return take(self.chain.encode(scratch, chunk)?);
        };
        put(self.chain.encode(scratch, chunk)?, encoded)?;
        put(chunk, read)?;
        self.chain.decode(0, scratch, encoded, read).map_err(ChunkError::Unreadable)?;
        if read.as_slice() == chunk {
            return take(encoded);
        }
        let codec = || {
            let info = self.chain.each_lossy().find(|(_, lossy)| *lossy != Some(false));
            info.map_or_else(String::new, |(info, _)| info.name.to_string())
        };
        match missing.first_changed(chunk, read) {
            Some(Changed::Missing { value, read }) => {
                return Err(ChunkError::MissingChanged {
                    name: value.name,
                    value: missing.shown(&value.element),
                    read: missing.shown(read),
                    codec: codec(),
                });
            }
            Some(Changed::Data { element, value }) => {
                return Err(ChunkError::DataMissing {
                    value: missing.shown(element),
                    name: value.name,
                    read: missing.shown(&value.element),
                    codec: codec(),
                });
            }
            None => {}
        }
        if missing.first_lost(chunk, read, None).is_some() {
            // Small numbers may be lost by chance: compare with the errors of the chunk without missing values.
            let mut without = copied(chunk)?;
            if !missing.replace(&mut without) {
                return take(encoded);
            }
            let mut also = copied(&without)?;
            let usual = match self.chain.encode(scratch, &without).map(copied) {
                Ok(encoded) => {
                    self.chain.decode(0, scratch, &encoded?, &mut also).map_err(ChunkError::Unreadable)?;
                    Some(missing.usual(&without, &also))
                }
                Err(_) => None,
            };
            if let Some(at) = missing.first_lost(chunk, read, usual.as_ref()) {
                return Err(ChunkError::LostBesideMissing {
                    value: missing.shown(missing.element(chunk, at)),
                    read: missing.shown(missing.element(read, at)),
                    codec: codec(),
                });
            }
        }
        take(encoded)
    }
}

pub(super) fn copied(bytes: &[u8]) -> Result<Vec<u8>, ChunkError> {
    let mut copy = Vec::new();
    put(bytes, &mut copy)?;
    Ok(copy)
}

fn put(bytes: &[u8], copy: &mut Vec<u8>) -> Result<(), ChunkError> {
    let len = bytes.len();
    copy.clear();
    copy.try_reserve_exact(len).map_err(|_| ChunkError::Memory { len })?;
    copy.extend_from_slice(bytes);
    Ok(())
}
