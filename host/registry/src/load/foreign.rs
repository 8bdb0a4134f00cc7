//! Codecs made of the HDF5 filters and NCZarr codecs of C libraries.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ncz_codec::{
    AnyCoder, AnyConfig, BoundStage, CodecError, CodecInfo, CodecType, Container, Dialect, Env, Names, Repr,
    Result, Scratch, Size,
};
use serde_json::{Map, Value};

use super::c_faces::{Direction, FilterFacts, FilterFunction, JsonFacts, JsonTranslator, Modified, Variable};
use super::{known_hazards, lz4};
use crate::known;

/// A codec of C libraries: an HDF5 filter, an NCZarr codec, or both.
#[derive(Debug, Clone)]
pub struct ForeignCodec(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    info: CodecInfo,
    hdf5: Option<Arc<dyn FilterFunction>>,
    codec: Option<Arc<dyn JsonTranslator>>,
}

/// Parameters of a foreign codec, as given.
#[derive(Debug, Clone)]
struct ForeignConfig {
    parts: Arc<Parts>,
    params: Vec<u32>,
}

/// Runs a foreign filter.
#[derive(Debug)]
struct ForeignCoder {
    parts: Arc<Parts>,
    working: Vec<u32>,
    /// The data that the filter supports, if known.
    variable: Option<Variable>,
    /// Whether the parameters are working ones: checked before the first encoding, because decoding uses them
    /// unchanged. `None` if there is nothing to check.
    is_working: Option<OnceLock<()>>,
}

impl ForeignCodec {
    /// Combines the parts. Without an HDF5 filter nothing runs, without an NCZarr codec there is no JSON;
    /// either is an error that names the missing part when it is needed.
    pub fn new(hdf5: Option<Arc<dyn FilterFunction>>, codec: Option<Arc<dyn JsonTranslator>>) -> Self {
        let info =
            info(hdf5.as_deref().map(FilterFunction::facts), codec.as_deref().map(JsonTranslator::facts));
        Self(Arc::new(Parts { info, hdf5, codec }))
    }

    fn with_given(&self, params: Vec<u32>) -> Arc<dyn AnyConfig> {
        Arc::new(ForeignConfig { parts: Arc::clone(&self.0), params })
    }
}

impl CodecType for ForeignCodec {
    fn info(&self) -> &CodecInfo {
        &self.0.info
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>> {
        // An NCZarr codec cannot report remarks.
        let _ = notes;
        Ok(self.with_given(self.0.codec(dialect)?.to_params(config)?))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn AnyConfig>> {
        Ok(self.with_given(params.to_vec()))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>> {
        self.0.prepare()?;
        Ok(Arc::new(ForeignCoder {
            parts: Arc::clone(&self.0),
            working: working.to_vec(),
            variable: None,
            is_working: None,
        }))
    }
}

impl AnyConfig for ForeignConfig {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        self.parts.codec(dialect)?.to_json(&self.params)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.params.clone())
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage> {
        self.parts.prepare()?;
        let variable = Variable::new(input, env);
        let Modified { visible, working } = self.resolve(&variable, env.container)?;
        let stored = Self { params: visible, ..self.clone() };
        // `set_local` has already been called unless the parameters are used unchanged.
        let filter = self.parts.hdf5()?.facts();
        let was_asked = env.container != Container::Hdf5 && filter.has_set_local;
        let asks = filter.has_set_local || filter.has_can_apply;
        let coder = ForeignCoder {
            parts: Arc::clone(&self.parts),
            working: working.clone(),
            variable: Some(variable),
            is_working: (asks && !was_asked).then(OnceLock::new),
        };
        Ok(BoundStage {
            stored: Arc::new(stored),
            working,
            output: Repr::Bytes { size: Size::Unknown },
            lossy: self.parts.info.lossy,
            coder: Arc::new(coder),
        })
    }
}

impl ForeignConfig {
    /// The parameters as metadata get them, and as the filter runs with them.
    fn resolve(&self, variable: &Variable, container: Container) -> Result<Modified> {
        let as_they_are = || Modified { visible: self.params.clone(), working: self.params.clone() };
        // An HDF5 file records working parameters.
        if container == Container::Hdf5 {
            return Ok(as_they_are());
        }
        if let Some(codec) = self.parts.codec.as_ref().filter(|codec| codec.facts().has_modify_parameters) {
            return codec.modify_parameters(&self.params, variable);
        }
        // netcdf-c never calls `set_local`, and runs a filter whose codec has no `modify_parameters` with the
        // parameters in the metadata. That is right for filters without queries, and for those whose `set_local`
        // confirms its parameters; for both the result here is the same. The others fail there, crash, or write data
        // that only they can read.
        let filter = self.parts.hdf5()?;
        if filter.facts().has_set_local {
            let working = filter.set_local(&self.params, variable)?;
            return Ok(Modified { visible: self.params.clone(), working });
        }
        Ok(as_they_are())
    }
}

impl AnyCoder for ForeignCoder {
    fn scratch(&self) -> Scratch {
        // Filters of C keep what they need to themselves.
        Scratch::new(())
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // A guess, as no bound is known. If the output is too small, `encode` reports what it needs.
        len.checked_add(len / 8)?.checked_add(64 << 10)
    }

    fn encode(&self, _: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let half = self.parts.hdf5()?;
        if !half.facts().encodes {
            return Err(CodecError::unsupported(format!("filter {} does not encode", self.parts.info.name)));
        }
        self.check_parameters(half)?;
        known_hazards::before_encode(half, &self.working, input, self.variable.as_ref())?;
        half.run(Direction::Encode, &self.working, input, output)
    }

    fn decode(&self, _: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let half = self.parts.hdf5()?;
        if !half.facts().decodes {
            return Err(CodecError::unsupported(format!("filter {} does not decode", self.parts.info.name)));
        }
        if half.facts().id == lz4::ID {
            lz4::check(input)?;
        }
        known_hazards::before_decode(half.facts().id, input, self.variable.as_ref())?;
        half.run(Direction::Decode, &self.working, input, output)
    }

    fn decoded_len(&self, _: &[u8]) -> Result<Option<usize>> {
        Ok(None)
    }
}

impl ForeignCoder {
    /// Sees to it that a filter only encodes with what it made itself, or agrees to.
    fn check_parameters(&self, filter: &dyn FilterFunction) -> Result<()> {
        let (Some(asked), Some(variable)) = (&self.is_working, &self.variable) else { return Ok(()) };
        if asked.get().is_some() {
            return Ok(());
        }
        // A refusal is not kept: a worker process that was lost is there again for the next chunk.
        let made = filter.set_local(&self.working, variable)?;
        if made != self.working {
            let text =
                format!("filter {} runs with {made:?} for this type and chunk shape", self.parts.info.name);
            return Err(CodecError::config("cd_values", text));
        }
        asked.get_or_init(|| ());
        Ok(())
    }
}

impl Parts {
    /// Makes the filter ready to run. netcdf-c initializes a library when it loads it, so a filter can rely
    /// on that even if no JSON was read before.
    fn prepare(&self) -> Result<()> {
        self.hdf5()?.prepare()?;
        self.codec.as_ref().map_or(Ok(()), |codec| codec.prepare())
    }

    fn hdf5(&self) -> Result<&dyn FilterFunction> {
        self.hdf5.as_deref().ok_or_else(|| {
            CodecError::unsupported(format!(
                "codec {} has no HDF5 filter: no library on the search path provides filter {}",
                self.info.name,
                self.info.filter_id.unwrap_or_default()
            ))
        })
    }

    fn codec(&self, dialect: Dialect) -> Result<&dyn JsonTranslator> {
        if dialect != Dialect::Numcodecs {
            return Err(CodecError::unsupported(format!(
                "an NCZarr codec of netcdf-c has no {dialect} JSON"
            )));
        }
        self.codec.as_deref().ok_or_else(|| {
            CodecError::unsupported(format!(
                "filter {} has no NCZarr codec: no library on the search path provides its JSON, so it works for HDF5 data only",
                self.info.name
            ))
        })
    }
}

fn info(hdf5: Option<&FilterFacts>, codec: Option<&JsonFacts>) -> CodecInfo {
    let filter_id = hdf5.map(|facts| facts.id).or(codec.map(|facts| facts.filter_id));
    let name = hdf5.map(FilterFacts::short_name).filter(|name| !name.is_empty());
    let name = name.or(codec.map(|facts| facts.codec_id.as_str()));
    let numcodecs = codec.map(|facts| facts.codec_id.as_str());
    CodecInfo {
        name: name.map_or_else(|| format!("filter {}", filter_id.unwrap_or_default()), str::to_owned).into(),
        summary: Cow::Borrowed("a filter of a C library"),
        filter_id,
        numcodecs: numcodecs.into_iter().collect(),
        zarr_v3: Names::new(&[]),
        has_working_params: hdf5.is_some_and(|facts| facts.has_set_local)
            || codec.is_some_and(|facts| facts.has_modify_parameters),
        has_checksum: false,
        lossy: filter_id.and_then(known::is_lossy),
    }
}

#[cfg(test)]
mod tests {
    use ncz_codec::{Dtype, Kind};

    use super::*;

    /// Its one word is the fill value, which it subtracts.
    #[derive(Debug)]
    struct LessFill(FilterFacts);

    impl FilterFunction for LessFill {
        fn facts(&self) -> &FilterFacts {
            &self.0
        }

        fn prepare(&self) -> Result<()> {
            Ok(())
        }

        fn set_local(&self, _: &[u32], variable: &Variable) -> Result<Vec<u32>> {
            Ok(vec![variable.fill.as_ref().map_or(0, |fill| fill[0].into())])
        }

        fn run(&self, way: Direction, params: &[u32], input: &[u8], output: &mut [u8]) -> Result<usize> {
            let by = params[0] as u8;
            for (output, &input) in output.iter_mut().zip(input) {
                *output =
                    if way == Direction::Encode { input.wrapping_sub(by) } else { input.wrapping_add(by) };
            }
            Ok(input.len())
        }
    }

    fn facts(name: &str, has_set_local: bool) -> FilterFacts {
        FilterFacts {
            id: 40_000,
            name: name.to_owned(),
            encodes: true,
            decodes: true,
            has_can_apply: false,
            has_set_local,
        }
    }

    #[test]
    fn another_fill_value_changes_no_chunks_of_containers_that_store_no_words_of_it() {
        let codec = ForeignCodec::new(Some(Arc::new(LessFill(facts("less fill", true)))), None);
        let bind = |given: &[u32], fill: u8, container| {
            let dtype = Dtype::little(Kind::UInt, 1);
            let env = Env { dtype, array_shape: vec![3], chunk_shape: vec![3], container };
            let input = Repr::Array { dtype, shape: vec![3], fill: Some(vec![fill]) };
            codec.parse_params(given).unwrap().bind(&input, &env).unwrap()
        };
        for container in [Container::ZarrV2, Container::NczarrV2, Container::ZarrV3] {
            let (mut stored, mut read) = ([0; 3], [0; 3]);
            let coder = bind(&[], 5, container).coder;
            coder.encode(&mut coder.scratch(), &[7, 8, 9], &mut stored).unwrap();
            let coder = bind(&[], 6, container).coder;
            coder.decode(&mut coder.scratch(), &stored, &mut read).unwrap();
            assert_eq!(read, [7, 8, 9], "{container:?}");
        }
        // HDF5 stores the words in the file: a filter encodes only with words that it derives from the fill value.
        let mut stored = [0; 3];
        let coder = bind(&[5], 5, Container::Hdf5).coder;
        assert_eq!(coder.encode(&mut coder.scratch(), &[7, 8, 9], &mut stored), Ok(3));
        assert_eq!(stored, [2, 3, 4]);
        let coder = bind(&[5], 6, Container::Hdf5).coder;
        let error = coder.encode(&mut coder.scratch(), &[7, 8, 9], &mut stored).unwrap_err();
        assert!(error.to_string().contains("runs with [6]"), "{error}");
    }

    #[test]
    fn names_are_used_in_tables_and_sentences() {
        for (name, shown) in [
            ("HDF5 lz4 filter; see https://github.com/HDFGroup/hdf5_plugins/x.md", "HDF5 lz4 filter"),
            ("bitshuffle; see https://github.com/kiyo-masui/bitshuffle", "bitshuffle"),
            (
                "SZ3 compressor/decompressor for floating-point data.",
                "SZ3 compressor/decompressor for floating-point data",
            ),
            ("H5Z-ZFP-1.1.1 (ZFP-1.0.1)", "H5Z-ZFP-1.1.1 (ZFP-1.0.1)"),
            ("blosc2", "blosc2"),
        ] {
            assert_eq!(info(Some(&facts(name, false)), None).name, shown);
        }
        assert_eq!(facts(".", false).short_name(), "");
    }
}
