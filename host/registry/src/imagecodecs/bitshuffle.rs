//! Bits sorted, without a compressor after: `{"id": "imagecodecs_bitshuffle", "itemsize": 4, "blocksize": 0}`.
//!
//! With LZ4 or Zstandard the filter writes another layout, for which no program has a name.

use std::sync::Arc;

use ncz_codec::params::word_or;
use ncz_codec::{CodecError, ConfigReader};
use serde_json::{Map, Value};

use super::{BuiltinTranslator, TranslatorConfig};

/// The largest element that the filter takes for one.
const ITEM_MAX: i64 = 1 << 20;
/// The version of the filter in its first two words.
const VERSION: [u32; 2] = [0, 4];

#[derive(Debug)]
pub(super) struct Bitshuffle;

/// Parameters by number: the user's block size and compressor.
#[derive(Debug)]
struct Given {
    params: Vec<u32>,
}

/// Parameters from JSON, which states the size of the elements independently of the type.
#[derive(Debug)]
struct Sized {
    item: u32,
    block: u32,
}

impl BuiltinTranslator for Bitshuffle {
    fn filter_id(&self) -> u32 {
        32_008
    }

    fn name(&self) -> &'static str {
        "bitshuffle"
    }

    fn codec_id(&self) -> &'static str {
        "imagecodecs_bitshuffle"
    }

    fn parse_json(
        &self,
        reader: &mut ConfigReader<'_>,
        _: &mut Vec<String>,
    ) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        let word = |key, value| u32::try_from(value).map_err(|_| CodecError::config(key, "out of range"));
        let item = word("itemsize", reader.integer("itemsize", 1, 1..=ITEM_MAX)?)?;
        let block = word("blocksize", reader.integer("blocksize", 0, 0..=i64::from(i32::MAX))?)?;
        if block % 8 != 0 {
            return Err(CodecError::config("blocksize", format!("expected a multiple of 8, got {block}")));
        }
        Ok(Arc::new(Sized { item, block }))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        Ok(Arc::new(Given { params: params.to_vec() }))
    }

    fn can_express(&self, params: &[u32]) -> bool {
        // The user's words are block size and compressor.
        params.len() <= 2 && word_or(params, 1, 0) == 0
    }
}

impl TranslatorConfig for Given {
    fn to_params(&self) -> Vec<u32> {
        self.params.clone()
    }

    fn to_json(&self, working: Option<&[u32]>) -> Result<Map<String, Value>, CodecError> {
        let Some(words) = working else {
            return Err(CodecError::unsupported("its itemsize is known only for a variable"));
        };
        match (words.get(2).copied(), word_or(words, 3, 0), word_or(words, 4, 0)) {
            (Some(item), block, 0) if item > 0 => Ok(json(item, block)),
            _ => Err(CodecError::unsupported(format!(
                "imagecodecs_bitshuffle has no name for what filter 32008 does with the parameters {words:?}"
            ))),
        }
    }
}

impl TranslatorConfig for Sized {
    fn to_params(&self) -> Vec<u32> {
        if self.block == 0 { Vec::new() } else { vec![self.block] }
    }

    fn working(&self) -> Option<Vec<u32>> {
        Some(vec![VERSION[0], VERSION[1], self.item, self.block, 0])
    }

    fn to_json(&self, _: Option<&[u32]>) -> Result<Map<String, Value>, CodecError> {
        Ok(json(self.item, self.block))
    }
}

fn json(item: u32, block: u32) -> Map<String, Value> {
    Map::from_iter([("itemsize".to_owned(), item.into()), ("blocksize".to_owned(), block.into())])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn the_size_of_elements_is_that_of_the_json_whatever_the_type_is() {
        let (config, notes) = read(&Bitshuffle, &json!({"itemsize": 8, "blocksize": 64})).unwrap();
        assert!(notes.is_empty());
        assert_eq!(config.to_params(), [64]);
        assert_eq!(config.working().unwrap(), [0, 4, 8, 64, 0]);
        assert_eq!(Value::Object(config.to_json(None).unwrap()), json!({"itemsize": 8, "blocksize": 64}));
        let (default, _) = read(&Bitshuffle, &json!({})).unwrap();
        assert_eq!(default.working().unwrap(), [0, 4, 1, 0, 0]);
        for wrong in [json!({"itemsize": 0}), json!({"blocksize": 12}), json!({"blocksize": "x"})] {
            assert!(read(&Bitshuffle, &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_given_by_number_is_named_by_the_words_that_the_filter_made() {
        let given = Bitshuffle.parse_params(&[0, 0]).unwrap();
        assert!(given.to_json(None).is_err() && given.working().is_none());
        let json = given.to_json(Some(&[0, 4, 4, 0, 0])).unwrap();
        assert_eq!(Value::Object(json), json!({"itemsize": 4, "blocksize": 0}));
        assert!(given.to_json(Some(&[0, 4, 4, 0, 2])).is_err());
        assert!(given.to_json(Some(&[0, 4])).is_err());
        assert!(
            Bitshuffle.can_express(&[]) && Bitshuffle.can_express(&[512]) && Bitshuffle.can_express(&[0, 0])
        );
        assert!(!Bitshuffle.can_express(&[0, 2]) && !Bitshuffle.can_express(&[0, 3, 7]));
    }
}
