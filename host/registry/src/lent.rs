//! A foreign filter that one of our own codecs speaks JSON for.
//!
//! HDF5 filters come without a codec half more often than not. A built-in or native codec of the same
//! id reads and writes the same JSON, and knows the working parameters, which the library itself works
//! out only with the help of libhdf5.

use std::sync::Arc;

use ncz_codec::{
    AnyCoder, BoundStage, CodecConfig, CodecError, CodecInfo, CodecType, Container, Dialect, Env, Repr, Size,
};
use serde_json::{Map, Value};

use crate::entry::Held;

/// A filter and who speaks for it, as one codec.
#[derive(Debug)]
pub(crate) struct Lent {
    info: CodecInfo,
    filter: Arc<dyn CodecType>,
    speaker: Speech,
}

/// Who speaks.
#[derive(Debug, Clone)]
pub(crate) enum Speech {
    /// A whole codec of the same id.
    Codec(Held),
    /// One that runs nothing; the filter's parameters are the same as given, stored and run.
    Json(&'static dyn CodecType),
}

#[derive(Debug, Clone)]
struct LentConfig {
    filter: Arc<dyn CodecType>,
    config: Arc<dyn CodecConfig>,
    /// Whether the speaker can tell working parameters.
    binds: bool,
    /// The parameters, if the configuration was made of them.
    params: Option<Vec<u32>>,
}

impl Lent {
    /// Joins a filter, whose own JSON is not used, with who speaks for it.
    pub(crate) fn new(filter: Arc<dyn CodecType>, speaker: Speech) -> Self {
        let mut info = filter.info().clone();
        let known = speaker.get().info();
        info.numcodecs = known.numcodecs.clone();
        info.zarr_v3 = known.zarr_v3.clone();
        info.has_working_params = known.has_working_params;
        info.has_checksum = known.has_checksum;
        Self { info, filter, speaker }
    }

    fn config(&self, config: Arc<dyn CodecConfig>, params: Option<&[u32]>) -> Arc<dyn CodecConfig> {
        Arc::new(LentConfig {
            filter: self.filter.clone(),
            config,
            binds: matches!(self.speaker, Speech::Codec(_)),
            params: params.map(<[u32]>::to_vec),
        })
    }
}

impl Speech {
    fn get(&self) -> &dyn CodecType {
        match self {
            Self::Codec(held) => held.get(),
            Self::Json(codec) => *codec,
        }
    }
}

impl CodecType for Lent {
    fn info(&self) -> &CodecInfo {
        &self.info
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn CodecConfig>, CodecError> {
        Ok(self.config(self.speaker.get().parse_json(dialect, config, notes)?, None))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn CodecConfig>, CodecError> {
        Ok(self.config(self.speaker.get().parse_params(params)?, Some(params)))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
        self.filter.coder(working)
    }
}

impl CodecConfig for LentConfig {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>, CodecError> {
        self.config.to_json(dialect)
    }

    fn to_params(&self) -> Result<Vec<u32>, CodecError> {
        match &self.params {
            Some(params) => Ok(params.clone()),
            None => self.config.to_params(),
        }
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage, CodecError> {
        match (&self.params, env.container) {
            // An HDF5 file records working parameters: they are the filter's own, to the word.
            (Some(params), Container::Hdf5) => self.filter.parse_params(params)?.bind(input, env),
            _ if self.binds => {
                let bound = self.config.bind(input, env)?;
                self.run(bound.stored, bound.working, Some(bound.output))
            }
            _ => self.run(self.config.clone(), self.config.to_params()?, None),
        }
    }
}

impl LentConfig {
    fn run(
        &self,
        stored: Arc<dyn CodecConfig>,
        working: Vec<u32>,
        told: Option<Repr>,
    ) -> Result<BoundStage, CodecError> {
        let coder = self.filter.coder(&working)?;
        let output = match told {
            // A format that fixes its length fixes it for every program; a bound is of one encoder.
            Some(fixed @ (Repr::Array { .. } | Repr::Bytes { size: Size::Exact(_) })) => fixed,
            _ => Repr::Bytes { size: Size::Unknown },
        };
        let stored = Arc::new(Self { config: stored, params: None, ..self.clone() });
        Ok(BoundStage { stored, working, output, coder })
    }
}

#[cfg(test)]
mod tests {
    use ncz_codec::{Dtype, Kind, Scratch};
    use serde_json::json;

    use super::*;
    use crate::json_half::JSON_HALVES;

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
        ) -> Result<Arc<dyn CodecConfig>, CodecError> {
            Err(CodecError::unsupported("speaks no JSON"))
        }

        fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn CodecConfig>, CodecError> {
            Ok(Arc::new(Words(params.to_vec())))
        }

        fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
            Ok(Arc::new(Words(working.to_vec())))
        }
    }

    impl CodecConfig for Words {
        fn to_json(&self, _: Dialect) -> Result<Map<String, Value>, CodecError> {
            Err(CodecError::unsupported("speaks no JSON"))
        }

        fn to_params(&self) -> Result<Vec<u32>, CodecError> {
            Ok(self.0.clone())
        }

        fn bind(&self, _: &Repr, _: &Env) -> Result<BoundStage, CodecError> {
            Ok(BoundStage {
                stored: Arc::new(Words(self.0.clone())),
                working: self.0.clone(),
                output: Repr::Bytes { size: Size::Unknown },
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

    fn env(container: Container) -> Env {
        Env { dtype: Dtype::little(Kind::Float, 4), array_shape: vec![8], chunk_shape: vec![8], container }
    }

    #[test]
    fn a_foreign_lz4_gets_its_words_from_the_json_of_imagecodecs() {
        let lz4 = JSON_HALVES[0];
        let info =
            CodecInfo { numcodecs: vec![].into(), name: "HDF5 lz4 filter".into(), ..lz4.info().clone() };
        let codec = Lent::new(Arc::new(Filter(info)), Speech::Json(lz4));
        assert_eq!(codec.info().numcodecs[0], "imagecodecs_lz4h5");
        assert_eq!(codec.info().name, "HDF5 lz4 filter");
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
        let lz4 = JSON_HALVES[0];
        let codec = Lent::new(Arc::new(Filter(lz4.info().clone())), Speech::Json(lz4));
        let env = env(Container::Hdf5);
        let bound = codec.parse_params(&[0]).unwrap().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, [0]);
        assert_eq!(bound.stored.to_params().unwrap(), [0]);
    }
}
