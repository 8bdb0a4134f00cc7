//! The check that lossy codecs keep the values that represent missing data.

use ncz_registry::chain::FilterChain;

use crate::array::codec_env;
use crate::data_error::DataError;
use crate::format::Format;
use crate::hierarchy::Variable;
use crate::missing_values::MissingValues;

/// How a codec changes a value that represents missing data.
enum Fate {
    /// It is read back unchanged, or the codecs refuse data that contain it.
    Kept,
    /// This element is read instead.
    Changed(Vec<u8>),
    /// It is written, but cannot be read back, for this reason.
    Unreadable(String),
}

/// Refuses codecs that turn missing values into data. Each missing value is tried in a chunk that holds nothing else;
/// chunks with other values are checked when they are encoded.
///
/// # Errors
/// [`DataError::Unsupported`], with the value that is read instead.
pub(crate) fn check_fill(variable: &Variable, format: Format, chain: &FilterChain) -> Result<(), DataError> {
    let Some((codec, _)) = chain.each_lossy().find(|(_, lossy)| *lossy != Some(false)) else {
        return Ok(());
    };
    let Some(missing) = MissingValues::of(variable, format, codec_env(variable, format).dtype) else {
        return Ok(());
    };
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
                "its {} {becomes} after the codec {}, so that missing values become data; choose other \
                 parameters, a lossless codec, or a dataset with another fill value",
                value.name, codec.name
            ),
        });
    }
    Ok(())
}

/// Returns what the codecs do to `value` in a chunk that holds nothing else.
fn fate(
    variable: &Variable,
    chain: &FilterChain,
    missing: &MissingValues,
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
