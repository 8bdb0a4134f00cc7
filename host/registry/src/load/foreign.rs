//! Codecs made of the halves of C libraries.

use std::borrow::Cow;
use std::sync::Arc;

use ncz_codec::{
    AnyCoder, BoundStage, CodecConfig, CodecError, CodecInfo, CodecType, Container, Dialect, Env, Repr,
    Result, Scratch, Size,
};
use serde_json::{Map, Value};

use super::half::{Direction, FilterFacts, FilterHalf, JsonFacts, JsonHalf};
use super::lz4;

/// A codec of C libraries: an HDF5 filter, an NCZarr codec half, or both.
#[derive(Debug, Clone)]
pub struct ForeignCodec(Arc<Halves>);

#[derive(Debug)]
struct Halves {
    info: CodecInfo,
    hdf5: Option<Arc<dyn FilterHalf>>,
    codec: Option<Arc<dyn JsonHalf>>,
}

/// Parameters of a foreign codec, as given.
#[derive(Debug, Clone)]
struct ForeignConfig {
    halves: Arc<Halves>,
    params: Vec<u32>,
    /// The parameters are working ones.
    is_working: bool,
}

/// Runs a foreign filter.
#[derive(Debug)]
struct ForeignCoder {
    halves: Arc<Halves>,
    working: Vec<u32>,
    /// Why it cannot encode, if so.
    encode_fault: Option<CodecError>,
    /// Why it cannot decode, if so.
    decode_fault: Option<CodecError>,
}

impl ForeignCodec {
    /// Puts halves together. With no HDF5 half nothing runs, with no codec half there is no JSON; either
    /// is an error that names the missing half when it is needed.
    pub fn new(hdf5: Option<Arc<dyn FilterHalf>>, codec: Option<Arc<dyn JsonHalf>>) -> Self {
        let info = info(hdf5.as_deref().map(FilterHalf::facts), codec.as_deref().map(JsonHalf::facts));
        Self(Arc::new(Halves { info, hdf5, codec }))
    }

    /// A configuration whose parameters are the working ones, as an HDF5 file records them or as
    /// somebody found by other means. With it the codec encodes too.
    pub fn with_working(&self, params: &[u32]) -> Arc<dyn CodecConfig> {
        Arc::new(ForeignConfig { halves: Arc::clone(&self.0), params: params.to_vec(), is_working: true })
    }

    fn with_given(&self, params: Vec<u32>) -> Arc<dyn CodecConfig> {
        Arc::new(ForeignConfig { halves: Arc::clone(&self.0), params, is_working: false })
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
    ) -> Result<Arc<dyn CodecConfig>> {
        // A codec half has no place for remarks.
        let _ = notes;
        Ok(self.with_given(self.0.codec(dialect)?.to_params(config)?))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn CodecConfig>> {
        Ok(self.with_given(params.to_vec()))
    }

    fn coder(&self, working: &[u32]) -> Result<Arc<dyn AnyCoder>> {
        self.0.prepare()?;
        Ok(Arc::new(ForeignCoder {
            halves: Arc::clone(&self.0),
            working: working.to_vec(),
            encode_fault: None,
            decode_fault: None,
        }))
    }
}

impl CodecConfig for ForeignConfig {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        self.halves.codec(dialect)?.to_json(&self.params)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.params.clone())
    }

    fn bind(&self, _: &Repr, env: &Env) -> Result<BoundStage> {
        self.halves.prepare()?;
        let (encode_fault, decode_fault) = self.faults(env.container);
        let working = self.params.clone();
        let coder = ForeignCoder { halves: Arc::clone(&self.halves), working, encode_fault, decode_fault };
        Ok(BoundStage {
            stored: Arc::new(self.clone()),
            working: self.params.clone(),
            output: Repr::Bytes { size: Size::Unknown },
            coder: Arc::new(coder),
        })
    }
}

impl ForeignConfig {
    /// Why the parameters do not do for encoding and for decoding, if so. Only the library itself turns
    /// the user's parameters into working ones, with the help of a libhdf5 or libnetcdf that this
    /// program is not.
    fn faults(&self, container: Container) -> (Option<CodecError>, Option<CodecError>) {
        if self.is_working {
            return (None, None);
        }
        let lacks = |function: &str| {
            CodecError::unsupported(format!(
                "filter {} makes its working parameters in {function}, which this program does not run; \
                 give the working parameters, or use another library or the built-in codec",
                self.halves.info.name
            ))
        };
        let has_set_local = self.halves.hdf5.as_ref().is_some_and(|half| half.facts().has_set_local);
        match (&self.halves.codec, container) {
            // An HDF5 file records working parameters, so decoding has them.
            (_, Container::Hdf5) => (has_set_local.then(|| lacks("set_local")), None),
            // A Zarr dataset records what the user gave.
            (Some(half), _) => {
                let fault = half.facts().has_modify_parameters.then(|| lacks("NCZ_modify_parameters"));
                (fault.clone(), fault)
            }
            (None, _) => {
                let fault = has_set_local.then(|| lacks("set_local"));
                (fault.clone(), fault)
            }
        }
    }
}

impl AnyCoder for ForeignCoder {
    fn scratch(&self) -> Scratch {
        // Filters of C keep what they need to themselves.
        Scratch::new(())
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // A guess: nothing is known. An output that is too small makes `encode` say what it needs.
        len.checked_add(len / 8)?.checked_add(64 << 10)
    }

    fn encode(&self, _: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.encode_fault.clone().map_or(Ok(()), Err)?;
        let half = self.halves.hdf5()?;
        if !half.facts().encodes {
            return Err(CodecError::unsupported(format!("filter {} does not encode", self.halves.info.name)));
        }
        half.run(Direction::Encode, &self.working, input, output)
    }

    fn decode(&self, _: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.decode_fault.clone().map_or(Ok(()), Err)?;
        let half = self.halves.hdf5()?;
        if !half.facts().decodes {
            return Err(CodecError::unsupported(format!("filter {} does not decode", self.halves.info.name)));
        }
        if half.facts().id == lz4::ID {
            lz4::check(input)?;
        }
        half.run(Direction::Decode, &self.working, input, output)
    }

    fn decoded_len(&self, _: &[u8]) -> Result<Option<usize>> {
        Ok(None)
    }
}

impl Halves {
    /// Makes the filter ready to run. netcdf-c initialises a library as it loads it, so a filter may rely
    /// on that, even where no JSON was read before.
    fn prepare(&self) -> Result<()> {
        self.hdf5()?.prepare()?;
        self.codec.as_ref().map_or(Ok(()), |codec| codec.prepare())
    }

    fn hdf5(&self) -> Result<&dyn FilterHalf> {
        self.hdf5.as_deref().ok_or_else(|| {
            CodecError::unsupported(format!(
                "codec {} has no HDF5 half: no library on the search path gives filter {}",
                self.info.name,
                self.info.filter_id.unwrap_or_default()
            ))
        })
    }

    fn codec(&self, dialect: Dialect) -> Result<&dyn JsonHalf> {
        if dialect != Dialect::Numcodecs {
            return Err(CodecError::unsupported(format!("a codec half of netcdf-c has no {dialect} JSON")));
        }
        self.codec.as_deref().ok_or_else(|| {
            CodecError::unsupported(format!(
                "filter {} has no codec half: no library on the search path gives its JSON, so it serves HDF5 data only",
                self.info.name
            ))
        })
    }
}

fn info(hdf5: Option<&FilterFacts>, codec: Option<&JsonFacts>) -> CodecInfo {
    let filter_id = hdf5.map(|facts| facts.id).or(codec.map(|facts| facts.filter_id));
    let name = hdf5.map(|facts| &facts.name).filter(|name| !name.is_empty());
    let name = name.or(codec.map(|facts| &facts.codec_id));
    let numcodecs = codec.map(|facts| Cow::Owned(facts.codec_id.clone()));
    CodecInfo {
        name: name.map_or_else(|| format!("filter {}", filter_id.unwrap_or_default()), String::clone).into(),
        summary: Cow::Borrowed("a filter of a C library"),
        filter_id,
        numcodecs: numcodecs.into_iter().collect(),
        zarr_v3: Cow::Borrowed(&[]),
        has_working_params: hdf5.is_some_and(|facts| facts.has_set_local)
            || codec.is_some_and(|facts| facts.has_modify_parameters),
        has_checksum: false,
    }
}
