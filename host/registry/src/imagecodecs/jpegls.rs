//! JPEG-LS as FCIDECOMP writes it, one band: `{"id": "imagecodecs_jpegls", "level": null}`.
//!
//! Chunks of several bands have another order of samples in imagecodecs.

use std::sync::Arc;

use ncz_codec::params::check_count;
use ncz_codec::{CodecError, ConfigReader};
use serde_json::{Map, Value};

use super::{BuiltinTranslator, TranslatorConfig};

/// The index of the band count in the filter's working words.
const BANDS: usize = 1;

#[derive(Debug)]
pub(super) struct JpegLs;

#[derive(Debug)]
struct Config;

impl BuiltinTranslator for JpegLs {
    fn filter_id(&self) -> u32 {
        32_018
    }

    fn name(&self) -> &'static str {
        "fcidecomp"
    }

    fn codec_id(&self) -> &'static str {
        "imagecodecs_jpegls"
    }

    fn parse_json(
        &self,
        reader: &mut ConfigReader<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        // The allowed error of values. The filter is lossless, so it satisfies every level.
        if reader.integer("level", 0, 0..=255)? != 0 {
            notes.push("the HDF5 filter encodes without loss and has no \"level\"; it is ignored".into());
        }
        super::note_ignored(reader, "squeeze", notes);
        Ok(Arc::new(Config))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn TranslatorConfig>, CodecError> {
        check_count(self.name(), params, 0, 0)?;
        Ok(Arc::new(Config))
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
        match working.map(|words| words.get(BANDS).copied()) {
            None | Some(Some(1)) => Ok(Map::from_iter([("level".to_owned(), Value::Null)])),
            Some(bands) => {
                let bands = bands.map_or_else(|| "an unknown number".to_owned(), |bands| bands.to_string());
                Err(CodecError::unsupported(format!(
                    "imagecodecs_jpegls orders the samples of several bands ({bands} here) in another way; write it as {}",
                    crate::spec::generic::example(32_018)
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::read;
    use super::*;

    #[test]
    fn one_band_is_what_imagecodecs_writes_and_several_are_refused() {
        let (config, notes) = read(&JpegLs, &json!({"level": null, "squeeze": null})).unwrap();
        assert!(notes.is_empty() && config.to_params().is_empty());
        let one = [2, 1, 64, 48, 16, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Value::Object(config.to_json(Some(&one)).unwrap()), json!({"level": null}));
        let three = [2, 3, 64, 48, 16, 3, 0, 0, 0, 0, 0, 0, 0];
        assert!(config.to_json(Some(&three)).unwrap_err().to_string().contains("several bands (3 here)"));
        assert!(config.to_json(Some(&[])).is_err());
        assert_eq!(read(&JpegLs, &json!({"level": 2})).unwrap().1.len(), 1);
        assert!(read(&JpegLs, &json!({"level": "low"})).is_err());
    }
}
