//! What lossy codecs make of the values that stand for missing ones.

use ncz_codec::Dtype;
use ncz_registry::chain::FilterChain;

use crate::data_error::DataError;
use crate::missing::Missing;
use crate::model::{Format, Variable};

/// What becomes of a value that stands for missing ones.
enum Fate {
    /// It is read again, or the codecs refuse data with it.
    Kept,
    /// An element that is read in its place.
    Changed(Vec<u8>),
    /// It is written, and then it cannot be read.
    Unreadable(String),
}

/// Refuses codecs that make data of what stands for missing values. Each is tried in a chunk full of it; beside other
/// values it is looked at when these are encoded. `dtype` is the type of the elements that enter the chain.
///
/// # Errors
/// [`DataError::Unsupported`], with what is read in its place.
pub(super) fn refuse_changed(
    variable: &Variable,
    format: Format,
    chain: &FilterChain,
    dtype: Dtype,
) -> Result<(), DataError> {
    let Some((codec, _)) = chain.each_lossy().find(|(_, lossy)| *lossy != Some(false)) else {
        return Ok(());
    };
    let Some(missing) = Missing::of(variable, format, dtype) else { return Ok(()) };
    for value in missing.values() {
        let shown = missing.shown(&value.element);
        let becomes = match fate(variable, chain, &missing, &value.element)? {
            Fate::Kept => continue,
            Fate::Changed(read) => format!("{shown} would be read as {}", missing.shown(&read)),
            Fate::Unreadable(reason) => format!("{shown} could not be read again ({reason})"),
        };
        return Err(DataError::Unsupported {
            variable: variable.path.clone(),
            reason: format!(
                "its {} {becomes} behind the codec {}, so that missing values become data; choose other \
                 parameters, a lossless codec, or a dataset with another fill value",
                value.name, codec.name
            ),
        });
    }
    Ok(())
}

/// What becomes of `value` in a chunk full of it.
fn fate(
    variable: &Variable,
    chain: &FilterChain,
    missing: &Missing,
    value: &[u8],
) -> Result<Fate, DataError> {
    let mut chunk: Vec<u8> = Vec::new();
    chunk.try_reserve_exact(chain.chunk_len()).map_err(|_| DataError::Unsupported {
        variable: variable.path.clone(),
        reason: format!("there is no memory for a chunk of {} bytes", chain.chunk_len()),
    })?;
    (0..chain.chunk_len() / value.len()).for_each(|_| chunk.extend_from_slice(value));
    let mut scratch = chain.scratch();
    let Ok(stored) = chain.encode(&mut scratch, &chunk) else { return Ok(Fate::Kept) };
    let stored = stored.to_vec();
    if let Err(error) = chain.decode(0, &mut scratch, &stored, &mut chunk) {
        return Ok(Fate::Unreadable(error.source.to_string()));
    }
    let changed = chunk.chunks_exact(value.len()).find(|read| !missing.is_same(value, read));
    Ok(changed.map_or(Fate::Kept, |read| Fate::Changed(read.to_vec())))
}
