//! A foreign filter whose JSON is read and written by another codec.
//!
//! Most HDF5 filters have no NCZarr codec. A built-in or native codec of the same id reads and writes the same JSON and
//! computes the working parameters. If there is none, a built-in translator ([`imagecodecs`](crate::imagecodecs)) reads
//! and writes the JSON, and the library itself computes the working parameters.

use std::sync::Arc;

use ncz_codec::{
    AnyCoder, AnyConfig, BoundStage, CodecError, CodecInfo, CodecType, ConfigReader, Container, Dialect, Env,
    Names, Repr, Size,
};
use serde_json::{Map, Value};

use crate::entry::CodecHandle;
use crate::imagecodecs::{BuiltinTranslator, TranslatorConfig};

/// A filter and the source of its JSON, as one codec.
#[derive(Debug)]
pub(crate) struct BorrowedJson {
    info: CodecInfo,
    filter: Arc<dyn CodecType>,
    source: JsonSource,
}

/// The source of a filter's JSON.
#[derive(Debug, Clone)]
pub(crate) enum JsonSource {
    /// A whole codec of the same id, which also computes the working parameters.
    Codec(CodecHandle),
    /// A translator, which runs nothing; the filter itself makes its working parameters.
    Json(&'static dyn BuiltinTranslator),
}

#[derive(Debug, Clone)]
struct BorrowedJsonConfig {
    filter: Arc<dyn CodecType>,
    parsed: ParsedConfig,
    /// The parameters, if the configuration was made from them.
    params: Option<Vec<u32>>,
}

/// A configuration as the source of the JSON parsed it.
#[derive(Debug, Clone)]
enum ParsedConfig {
    Codec(Arc<dyn AnyConfig>),
    Json {
        config: Arc<dyn TranslatorConfig>,
        /// The working parameters, once they are known.
        working: Option<Vec<u32>>,
    },
    /// Parameters that the JSON cannot express.
    NotExpressible,
}

impl BorrowedJson {
    /// Joins a filter, whose own JSON is not used, with the source of its JSON.
    pub(crate) fn new(filter: Arc<dyn CodecType>, source: JsonSource) -> Self {
        let mut info = filter.info().clone();
        match &source {
            JsonSource::Codec(held) => {
                let known = held.get().info();
                info.numcodecs = known.numcodecs.clone();
                info.zarr_v3 = known.zarr_v3.clone();
                info.has_working_params = known.has_working_params;
                info.has_checksum = known.has_checksum;
                info.lossy = known.lossy;
            }
            JsonSource::Json(half) => {
                info.numcodecs = Names::from_iter([half.codec_id()]);
                info.zarr_v3 = Names::new(&[]);
            }
        }
        Self { info, filter, source }
    }

    fn config(&self, parsed: ParsedConfig, params: Option<&[u32]>) -> Arc<dyn AnyConfig> {
        let params = params.map(<[u32]>::to_vec);
        Arc::new(BorrowedJsonConfig { filter: self.filter.clone(), parsed, params })
    }
}

impl CodecType for BorrowedJson {
    fn info(&self) -> &CodecInfo {
        &self.info
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>, CodecError> {
        let parsed = match &self.source {
            JsonSource::Codec(held) => ParsedConfig::Codec(held.get().parse_json(dialect, config, notes)?),
            JsonSource::Json(half) => {
                numcodecs_only(dialect, &self.info)?;
                let mut reader = ConfigReader::new(dialect, config);
                let config = half.parse_json(&mut reader, notes)?;
                reader.finish(notes)?;
                ParsedConfig::Json { config, working: None }
            }
        };
        Ok(self.config(parsed, None))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>, CodecError> {
        let parsed = match &self.source {
            JsonSource::Codec(held) => ParsedConfig::Codec(held.get().parse_params(params)?),
            JsonSource::Json(half) if half.can_express(params) => {
                ParsedConfig::Json { config: half.parse_params(params)?, working: None }
            }
            JsonSource::Json(_) => ParsedConfig::NotExpressible,
        };
        Ok(self.config(parsed, Some(params)))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
        self.filter.coder(working)
    }
}

impl AnyConfig for BorrowedJsonConfig {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>, CodecError> {
        match &self.parsed {
            ParsedConfig::Codec(config) => config.to_json(dialect),
            ParsedConfig::Json { config, working } => {
                numcodecs_only(dialect, self.filter.info())?;
                config.to_json(working.as_deref())
            }
            ParsedConfig::NotExpressible => {
                Err(CodecError::unsupported("no JSON but that by number has these parameters"))
            }
        }
    }

    fn to_params(&self) -> Result<Vec<u32>, CodecError> {
        match (&self.params, &self.parsed) {
            (Some(params), _) => Ok(params.clone()),
            (None, ParsedConfig::Codec(config)) => config.to_params(),
            (None, ParsedConfig::Json { config, .. }) => Ok(config.to_params()),
            (None, ParsedConfig::NotExpressible) => Ok(Vec::new()),
        }
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage, CodecError> {
        let own = |params: &[u32]| self.filter.parse_params(params)?.bind(input, env);
        match (&self.parsed, &self.params) {
            // An HDF5 file records working parameters: they are the filter's own, to the word.
            (_, Some(params)) if env.container == Container::Hdf5 => own(params),
            (ParsedConfig::NotExpressible, _) => own(&self.to_params()?),
            (ParsedConfig::Codec(config), _) => {
                let bound = config.bind(input, env)?;
                if !are_the_filters(&bound.working, &**config, input, env) {
                    // Words that only the lending codec understands, so it runs itself.
                    return Ok(BoundStage {
                        stored: self.stored(ParsedConfig::Codec(bound.stored)),
                        ..bound
                    });
                }
                let coder = self.filter.coder(&bound.working)?;
                let output = match bound.output {
                    // A format that fixes its length fixes it for every program; a bound is of one encoder.
                    fixed @ (Repr::Array { .. } | Repr::Bytes { size: Size::Exact(_) }) => fixed,
                    Repr::Bytes { .. } => Repr::Bytes { size: Size::Unknown },
                };
                Ok(BoundStage {
                    stored: self.stored(ParsedConfig::Codec(bound.stored)),
                    coder,
                    output,
                    ..bound
                })
            }
            (ParsedConfig::Json { config, .. }, _) => {
                let bound = match config.working() {
                    Some(working) => BoundStage {
                        stored: Arc::new(self.clone()),
                        coder: self.filter.coder(&working)?,
                        output: Repr::Bytes { size: Size::Unknown },
                        lossy: self.filter.info().lossy,
                        working,
                    },
                    None => own(&config.to_params())?,
                };
                // Only now can it be checked whether the filter does what the JSON says. A codec given by number
                // has no JSON to check, and possibly no JSON can express it.
                if self.params.is_none() {
                    config.to_json(Some(&bound.working))?;
                }
                let working = Some(bound.working.clone());
                let stored = self.stored(ParsedConfig::Json { config: config.clone(), working });
                Ok(BoundStage { stored, ..bound })
            }
        }
    }
}

impl BorrowedJsonConfig {
    /// The configuration for the metadata.
    fn stored(&self, parsed: ParsedConfig) -> Arc<dyn AnyConfig> {
        let params = match parsed {
            // The lending codec has more information than the code that passed the parameters.
            ParsedConfig::Codec(_) => None,
            ParsedConfig::Json { .. } | ParsedConfig::NotExpressible => self.params.clone(),
        };
        Arc::new(Self { filter: self.filter.clone(), parsed, params })
    }
}

/// Whether words are those of the HDF5 filter. In Zarr v3 a codec may have other words (zfp's describe the field
/// without the header that the filter reads); everywhere else there is nothing but the filter's.
fn are_the_filters(words: &[u32], config: &dyn AnyConfig, input: &Repr, env: &Env) -> bool {
    if env.container != Container::ZarrV3 {
        return true;
    }
    let in_v2 = Env { container: Container::ZarrV2, ..env.clone() };
    config.bind(input, &in_v2).is_ok_and(|bound| bound.working == words)
}

fn numcodecs_only(dialect: Dialect, info: &CodecInfo) -> Result<(), CodecError> {
    match dialect {
        Dialect::Numcodecs => Ok(()),
        Dialect::ZarrV3 => Err(CodecError::unsupported(format!("{} has no name in Zarr v3", info.name))),
    }
}

#[cfg(test)]
mod tests {
    use ncz_codec::{Dtype, Kind, Scratch};
    use serde_json::json;

    use super::*;
    use crate::imagecodecs::TRANSLATORS;

    /// A filter that records its words.
    #[derive(Debug)]
    struct Filter(CodecInfo);

    #[derive(Debug)]
    struct Words(Vec<u32>);

    impl CodecType for Filter {
        fn info(&self) -> &CodecInfo {
            &self.0
        }

        fn parse_json(
            &self,
            _: Dialect,
            _: &Map<String, Value>,
            _: &mut Vec<String>,
        ) -> Result<Arc<dyn AnyConfig>, CodecError> {
            Err(CodecError::unsupported("has no JSON form"))
        }

        fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>, CodecError> {
            Ok(Arc::new(Words(params.to_vec())))
        }

        fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
            Ok(Arc::new(Words(working.to_vec())))
        }
    }

    impl AnyConfig for Words {
        fn to_json(&self, _: Dialect) -> Result<Map<String, Value>, CodecError> {
            Err(CodecError::unsupported("has no JSON form"))
        }

        fn to_params(&self) -> Result<Vec<u32>, CodecError> {
            Ok(self.0.clone())
        }

        fn bind(&self, _: &Repr, _: &Env) -> Result<BoundStage, CodecError> {
            Ok(BoundStage {
                stored: Arc::new(Words(self.0.clone())),
                working: self.0.clone(),
                output: Repr::Bytes { size: Size::Unknown },
                lossy: None,
                coder: Arc::new(Words(self.0.clone())),
            })
        }
    }

    impl AnyCoder for Words {
        fn scratch(&self) -> Scratch {
            Scratch::new(())
        }

        fn max_encoded_len(&self, len: usize) -> Option<usize> {
            Some(len)
        }

        fn encode(&self, _: &mut Scratch, _: &[u8], _: &mut [u8]) -> Result<usize, CodecError> {
            Err(CodecError::unsupported("made up"))
        }

        fn decode(&self, _: &mut Scratch, _: &[u8], _: &mut [u8]) -> Result<usize, CodecError> {
            Err(CodecError::unsupported("made up"))
        }

        fn decoded_len(&self, _: &[u8]) -> Result<Option<usize>, CodecError> {
            Ok(None)
        }
    }

    /// A filter that takes its words unchanged, with the built-in translator of this id.
    fn borrowed(id: u32) -> BorrowedJson {
        let half = TRANSLATORS.iter().find(|half| half.filter_id() == id).unwrap_or(&TRANSLATORS[0]);
        let info = CodecInfo { filter_id: Some(id), ..CodecInfo::new("HDF5 filter", "made up").lossless() };
        BorrowedJson::new(Arc::new(Filter(info)), JsonSource::Json(*half))
    }

    /// A codec with one word per container, whose coder reports which one it is for.
    #[derive(Debug)]
    struct Lender {
        info: CodecInfo,
        in_v3: u32,
    }

    #[derive(Debug)]
    struct LenderConfig(u32);

    impl CodecType for Lender {
        fn info(&self) -> &CodecInfo {
            &self.info
        }

        fn parse_json(
            &self,
            _: Dialect,
            _: &Map<String, Value>,
            _: &mut Vec<String>,
        ) -> Result<Arc<dyn AnyConfig>, CodecError> {
            Ok(Arc::new(LenderConfig(self.in_v3)))
        }

        fn parse_params(&self, _: &[u32]) -> Result<Arc<dyn AnyConfig>, CodecError> {
            Ok(Arc::new(LenderConfig(self.in_v3)))
        }

        fn coder(&self, _: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
            Err(CodecError::unsupported("made up"))
        }
    }

    impl AnyConfig for LenderConfig {
        fn to_json(&self, _: Dialect) -> Result<Map<String, Value>, CodecError> {
            Ok(Map::new())
        }

        fn to_params(&self) -> Result<Vec<u32>, CodecError> {
            Ok(vec![self.0])
        }

        fn bind(&self, _: &Repr, env: &Env) -> Result<BoundStage, CodecError> {
            let word = if env.container == Container::ZarrV3 { self.0 } else { 1 };
            Ok(BoundStage {
                stored: Arc::new(LenderConfig(self.0)),
                working: vec![word],
                output: Repr::Bytes { size: Size::AtMost(7) },
                lossy: None,
                coder: Arc::new(Words(vec![99])),
            })
        }
    }

    #[test]
    fn words_that_only_the_speaker_knows_never_reach_the_filter() {
        let runs_itself = |in_v3: u32, container| {
            let lender = Lender { info: borrowed(32_013).info, in_v3 };
            let filter = Arc::new(Filter(lender.info.clone()));
            let codec = BorrowedJson::new(filter, JsonSource::Codec(CodecHandle::Shared(Arc::new(lender))));
            let dialect = if container == Container::ZarrV3 { Dialect::ZarrV3 } else { Dialect::Numcodecs };
            let config = codec.parse_json(dialect, &Map::new(), &mut Vec::new()).unwrap();
            let env = env(container);
            let bound = config.bind(&env.chunk(), &env).unwrap();
            // The filter's coder has the words themselves, and its output no bound.
            let own = format!("{:?}", bound.coder).contains("99");
            assert_eq!(own, matches!(bound.output, Repr::Bytes { size: Size::AtMost(7) }));
            own
        };
        assert!(runs_itself(2, Container::ZarrV3));
        assert!(!runs_itself(1, Container::ZarrV3));
        assert!(!runs_itself(2, Container::ZarrV2));
        assert!(!runs_itself(2, Container::Hdf5));
    }

    fn env(container: Container) -> Env {
        Env { dtype: Dtype::little(Kind::Float, 4), array_shape: vec![8], chunk_shape: vec![8], container }
    }

    #[test]
    fn a_foreign_lz4_gets_its_words_from_the_json_of_imagecodecs() {
        let codec = borrowed(32_004);
        assert_eq!(codec.info().numcodecs.first(), Some("imagecodecs_lz4h5"));
        assert_eq!(codec.info().name, "HDF5 filter");
        let json = json!({"level": null, "blocksize": 4096});
        let config =
            codec.parse_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new()).unwrap();
        let env = env(Container::ZarrV2);
        let bound = config.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [4096]);
        assert_eq!(Value::Object(bound.stored.to_json(Dialect::Numcodecs).unwrap()), json);
    }

    #[test]
    fn the_words_that_an_hdf5_file_records_reach_the_filter_as_they_are() {
        let codec = borrowed(32_004);
        let env = env(Container::Hdf5);
        let bound = codec.parse_params(&[0]).unwrap().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [0]);
        assert_eq!(bound.stored.to_params().unwrap(), [0]);
    }

    #[test]
    fn json_that_fixes_the_words_to_run_with_leaves_nothing_to_the_filter() {
        let json = json!({"itemsize": 2, "blocksize": 64});
        let codec = borrowed(32_008);
        let config =
            codec.parse_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new()).unwrap();
        let env = env(Container::ZarrV2);
        let bound = config.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [0, 4, 2, 64, 0]);
        assert_eq!(Value::Object(bound.stored.to_json(Dialect::Numcodecs).unwrap()), json);
    }

    #[test]
    fn the_json_of_words_that_a_filter_made_says_these() {
        // This filter runs with what it is given, so the words are as bitshuffle would have made them.
        let env = env(Container::ZarrV2);
        let bind = |params: &[u32]| borrowed(32_018).parse_params(params).unwrap().bind(&env.chunk(), &env);
        // One that makes none leaves open how many bands there are.
        let json = bind(&[]).unwrap().stored.to_json(Dialect::Numcodecs);
        assert!(json.unwrap_err().to_string().contains("several bands"));
        let given = borrowed(32_018).parse_json(Dialect::Numcodecs, &Map::new(), &mut Vec::new()).unwrap();
        assert!(given.bind(&env.chunk(), &env).err().unwrap().to_string().contains("several bands"));
        let unspoken = bind(&[1, 2, 3]).unwrap();
        assert_eq!(unspoken.working, [1, 2, 3]);
        assert!(unspoken.stored.to_json(Dialect::Numcodecs).is_err());
    }

    #[test]
    fn a_speaker_has_no_names_in_zarr_v3() {
        let codec = borrowed(32_004);
        assert!(codec.parse_json(Dialect::ZarrV3, &Map::new(), &mut Vec::new()).is_err());
        assert!(codec.parse_params(&[]).unwrap().to_json(Dialect::ZarrV3).is_err());
    }
}
