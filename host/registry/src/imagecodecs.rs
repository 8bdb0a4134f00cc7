//! Built-in JSON translators for HDF5 filters that are not built in.
//!
//! Only for layouts of HDF5 filters for which another program has already defined a JSON form: the Python package
//! imagecodecs, which registers its codecs with numcodecs. Tests with imagecodecs 2026.3 and hdf5plugin 7.1 showed that
//! both read and write the same bytes. Filters that are not listed here have no such form: imagecodecs' SPERR and SZ3
//! write other layouts, its Blosc2 writes no frame, its ZFP cannot decode without a header, and numcodecs' `zfpy` and
//! `lz4` are other formats. Those are written by number ([`generic`](crate::spec::generic)).

mod bitshuffle;
mod htj2k;
mod jpegls;
mod lz4;

use std::fmt;
use std::sync::Arc;

use ncz_codec::{CodecError, ConfigReader};
use serde_json::{Map, Value};

/// All translators.
pub(crate) const TRANSLATORS: &[&dyn BuiltinTranslator] =
    &[&lz4::Lz4, &bitshuffle::Bitshuffle, &jpegls::JpegLs, &htj2k::Htj2k];

/// Reads and writes the JSON of an HDF5 filter, and runs nothing. The dialect is that of numcodecs.
pub(crate) trait BuiltinTranslator: fmt::Debug + Send + Sync {
    /// The HDF5 filter.
    fn filter_id(&self) -> u32;

    /// The human-readable name.
    fn name(&self) -> &'static str;

    /// The numcodecs id.
    fn codec_id(&self) -> &'static str;

    /// Reads a configuration; the caller finishes the reader.
    fn parse_json(
        &self,
        reader: &mut ConfigReader<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn TranslatorConfig>, CodecError>;

    /// Makes the configuration from parameters as a user gives them.
    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn TranslatorConfig>, CodecError>;

    /// Tests whether the JSON can express these parameters.
    fn can_express(&self, params: &[u32]) -> bool;
}

/// A configuration of a [`BuiltinTranslator`].
pub(crate) trait TranslatorConfig: fmt::Debug + Send + Sync {
    /// Returns the parameters as a user gives them.
    fn to_params(&self) -> Vec<u32>;

    /// Returns the working parameters, if they do not depend on the data; else the filter computes them.
    fn working(&self) -> Option<Vec<u32>> {
        None
    }

    /// Returns the JSON. `working` are the parameters that the filter computed, if it has been called.
    ///
    /// # Errors
    /// The JSON cannot express this, or the filter would do something else.
    fn to_json(&self, working: Option<&[u32]>) -> Result<Map<String, Value>, CodecError>;
}

/// Adds a note if `key` has a value: the filter has no such parameter.
fn note_ignored(reader: &mut ConfigReader<'_>, key: &'static str, notes: &mut Vec<String>) {
    if reader.raw(key).is_some() {
        notes.push(format!("the HDF5 filter has no parameter {key:?}; it is ignored"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ncz_codec::Dialect;

    use super::*;

    /// The words of a configuration, and the remarks on it.
    pub(super) fn read(
        half: &dyn BuiltinTranslator,
        json: &Value,
    ) -> Result<(Arc<dyn TranslatorConfig>, Vec<String>), CodecError> {
        let mut notes = Vec::new();
        let mut reader = ConfigReader::new(Dialect::Numcodecs, json.as_object().unwrap());
        let config = half.parse_json(&mut reader, &mut notes)?;
        reader.finish(&mut notes)?;
        Ok((config, notes))
    }

    #[test]
    fn no_two_halves_share_a_filter_or_a_name() {
        let ids: HashSet<u32> = TRANSLATORS.iter().map(|half| half.filter_id()).collect();
        let names: HashSet<&str> = TRANSLATORS.iter().map(|half| half.codec_id()).collect();
        assert_eq!((ids.len(), names.len()), (TRANSLATORS.len(), TRANSLATORS.len()));
    }
}
