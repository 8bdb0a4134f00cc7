//! High-throughput JPEG 2000 without loss: `{"id": "imagecodecs_htj2k", "level": null, "planar": false}`.
//!
//! The filter keeps the samples of one point together. imagecodecs does so with `planar` false; it makes no
//! difference for a single component.

use std::sync::Arc;

use ncz_codec::params::check_count;
use ncz_codec::{CodecError, ConfigReader};
use serde_json::{Map, Value};

use super::{BuiltinTranslator, TranslatorConfig, note_ignored};

/// The index of the component count in the filter's working words.
const COMPONENTS: usize = 4;

#[derive(Debug)]
pub(super) struct Htj2k;

/// Whether the samples of one point are stored together, if stated.
#[derive(Debug)]
struct Config {
    together: bool,
}

impl BuiltinTranslator for Htj2k {
    fn filter_id(&self) -> u32 {
        32_033
    }

    fn name(&self) -> &'static str {
        "htj2k"
    }

    fn codec_id(&self) -> &'static str {
        "imagecodecs_htj2k"
    }

    fn parse_json(
        &self,
        reader: &mut ConfigReader<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        if reader.raw("skipres").is_some_and(|skipped| skipped.as_i64() != Some(0)) {
            return Err(CodecError::config("skipres", "the HDF5 filter decodes at full resolution only"));
        }
        let together = reader.raw("planar").is_some() && !reader.flag("planar", true)?;
        // A setting of other encoders only; the stream itself states it.
        for key in ["level", "rgb", "tile", "resolutions", "reversible", "tlm", "tilepart", "squeeze"] {
            note_ignored(reader, key, notes);
        }
        // Whether damage may be passed over: here it never is.
        reader.flag("resilient", false)?;
        Ok(Arc::new(Config { together }))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        check_count(self.name(), params, 0, 0)?;
        Ok(Arc::new(Config { together: true }))
    }

    fn can_express(&self, params: &[u32]) -> bool {
        params.is_empty()
    }
}

impl TranslatorConfig for Config {
    fn to_params(&self) -> Vec<u32> {
        Vec::new()
    }

    fn to_json(&self, working: Option<&[u32]>) -> Result<Map<String, Value>, CodecError> {
        let several = working.is_some_and(|words| words.get(COMPONENTS) != Some(&1));
        if several && !self.together {
            return Err(CodecError::config(
                "planar",
                "expected false for chunks of several components: the HDF5 filter stores those of a point together",
            ));
        }
        let planar = if self.together { Value::Bool(false) } else { Value::Null };
        Ok(Map::from_iter([("level".to_owned(), Value::Null), ("planar".to_owned(), planar)]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn components_in_another_order_are_refused_and_never_mixed_up() {
        let all = json!({"level": null, "rgb": null, "planar": null, "tile": null, "resolutions": null,
            "reversible": null, "tlm": null, "tilepart": null, "skipres": null, "resilient": false, "squeeze": null});
        let (unsaid, notes) = read(&Htj2k, &all).unwrap();
        assert!(notes.is_empty());
        let (one, three) = ([1, 1, 48, 64, 1], [1, 1, 48, 64, 3]);
        assert!(unsaid.to_json(Some(&one)).is_ok());
        assert!(unsaid.to_json(Some(&three)).is_err());
        assert!(read(&Htj2k, &json!({"planar": true})).unwrap().0.to_json(Some(&three)).is_err());
        let (together, _) = read(&Htj2k, &json!({"planar": false})).unwrap();
        assert_eq!(
            Value::Object(together.to_json(Some(&three)).unwrap()),
            json!({"level": null, "planar": false})
        );
        assert!(read(&Htj2k, &json!({"skipres": 1})).is_err());
        assert_eq!(read(&Htj2k, &json!({"level": 20})).unwrap().1.len(), 1);
    }
}
