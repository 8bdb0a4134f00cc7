//! LZ4 blocks in the layout of HDF5: `{"id": "imagecodecs_lz4h5", "level": null, "blocksize": 4096}`.

use std::sync::Arc;

use ncz_codec::params::check_count;
use ncz_codec::{CodecError, ConfigReader};
use serde_json::{Map, Value};

use super::{BuiltinTranslator, TranslatorConfig, note_ignored};

/// The largest block of an LZ4 stream (`LZ4_MAX_INPUT_SIZE`).
const BLOCK_MAX: i64 = 0x7E00_0000;

#[derive(Debug)]
pub(super) struct Lz4;

/// The block size, if it is given.
#[derive(Debug)]
struct Config(Option<u32>);

impl BuiltinTranslator for Lz4 {
    fn filter_id(&self) -> u32 {
        32_004
    }

    fn name(&self) -> &'static str {
        "lz4"
    }

    fn codec_id(&self) -> &'static str {
        "imagecodecs_lz4h5"
    }

    fn parse_json(
        &self,
        reader: &mut ConfigReader<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        note_ignored(reader, "level", notes);
        let given = reader.raw("blocksize").is_some();
        let block = reader.integer("blocksize", 1, 1..=BLOCK_MAX)?;
        Ok(Arc::new(Config(u32::try_from(block).ok().filter(|_| given))))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        check_count(self.name(), params, 0, 1)?;
        // The filter takes 0 for its default.
        Ok(Arc::new(Config(params.first().copied().filter(|&block| block != 0))))
    }

    fn can_express(&self, params: &[u32]) -> bool {
        params.len() <= 1
    }
}

impl TranslatorConfig for Config {
    fn to_params(&self) -> Vec<u32> {
        self.0.into_iter().collect()
    }

    fn to_json(&self, _: Option<&[u32]>) -> Result<Map<String, Value>, CodecError> {
        let block = self.0.map_or(Value::Null, Value::from);
        Ok(Map::from_iter([("level".to_owned(), Value::Null), ("blocksize".to_owned(), block)]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn lz4_of_hdf5_reads_and_writes_the_json_of_imagecodecs() {
        let words = |json: Value| read(&Lz4, &json).map(|(config, notes)| (config.to_params(), notes.len()));
        assert_eq!(words(json!({})).unwrap(), (vec![], 0));
        assert_eq!(words(json!({"level": null, "blocksize": null})).unwrap(), (vec![], 0));
        assert_eq!(words(json!({"level": null, "blocksize": 4096})).unwrap(), (vec![4096], 0));
        assert_eq!(words(json!({"level": 3})).unwrap(), (vec![], 1));
        assert!(words(json!({"blocksize": 0})).is_err());
        assert!(words(json!({"blocksize": -1})).is_err());

        let json = |params: &[u32]| Lz4.parse_params(params)?.to_json(None);
        assert_eq!(Value::Object(json(&[4096]).unwrap()), json!({"level": null, "blocksize": 4096}));
        assert_eq!(Value::Object(json(&[]).unwrap()), json!({"level": null, "blocksize": null}));
        assert!(json(&[1, 2]).is_err());
    }
}
