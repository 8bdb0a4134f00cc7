use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Container, Dialect, Env, Repr, Result, Size,
    params,
};
use serde_json::{Map, Value};

use crate::codec::ScaleOffsetCoder;
use crate::params::{GIVEN, Params, Scale, WORKING};

/// Configuration of the scaleoffset codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScaleOffset {
    /// The precision to keep.
    pub scale: Scale,
    /// The words that HDF5 stored with a dataset, which also include the type and the fill value; `None` to take these
    /// from the variable.
    pub stored: Option<[u32; WORKING]>,
}

impl CodecConfig for ScaleOffset {
    fn from_json(_dialect: Dialect, _config: &Map<String, Value>, _notes: &mut Vec<String>) -> Result<Self> {
        Err(no_json())
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Err(no_json())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        if let Ok(stored) = <[u32; WORKING]>::try_from(words) {
            return Ok(Self { scale: Params::parse(&stored)?.scale, stored: Some(stored) });
        }
        params::check_count("scaleoffset", words, GIVEN, GIVEN)?;
        let given = words.first_chunk().map_or(Ok(Scale::Bits(0)), Scale::parse)?;
        Ok(Self { scale: given, stored: None })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(match self.stored {
            Some(words) => words.to_vec(),
            None => self.scale.words().to_vec(),
        })
    }
}

impl Codec for ScaleOffset {
    const INFO: CodecInfo =
        CodecInfo::new("scaleoffset", "keeps as many bits of a number as a chunk needs, or decimal digits")
            .filter_id(6)
            .working_params()
            .lossy();

    type Coder = ScaleOffsetCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let params = match self.stored {
            Some(words) => Params::parse(&words)?,
            None => {
                let (dtype, shape, fill) = match input {
                    // Only HDF5 stores the words with the fill value; in other containers another one could be set
                    // later, and chunks would decode to it.
                    Repr::Array { dtype, shape, fill } => {
                        (*dtype, shape, fill.as_deref().filter(|_| env.container == Container::Hdf5))
                    }
                    Repr::Bytes { .. } => (env.dtype, &env.chunk_shape, None),
                };
                let count = shape.iter().try_fold(1_u64, |product, &len| product.checked_mul(len));
                Params::new(self.scale, count.unwrap_or(u64::MAX), dtype, fill)?
            }
        };
        if let Size::Exact(len) = input.size()?
            && len != params.len()
        {
            return Err(CodecError::unsupported(format!(
                "scaleoffset expected {} elements of {} bytes, got {len} bytes; it must be the first of its chain",
                params.count, params.size
            )));
        }
        let coder = ScaleOffsetCoder::new(params);
        let output = match coder.max_encoded_len(params.len()) {
            Some(most) => Size::AtMost(most),
            None => Size::Unknown,
        };
        Ok(Bound {
            stored: *self,
            working: params.words().to_vec(),
            output: Repr::Bytes { size: output },
            coder,
        })
    }

    fn coder(working: &[u32]) -> Result<ScaleOffsetCoder> {
        match <[u32; WORKING]>::try_from(working) {
            Ok(words) => Params::parse(&words).map(ScaleOffsetCoder::new),
            Err(_) => Err(CodecError::config(
                "cd_values",
                format!("scaleoffset works with {WORKING} parameters, got {}", working.len()),
            )),
        }
    }

    fn is_lossy(&self, _input: &Repr) -> Option<bool> {
        Some(self.scale != Scale::Bits(0))
    }
}

fn no_json() -> CodecError {
    CodecError::unsupported("scaleoffset has no JSON form; fixedscaleoffset of numcodecs is another format")
}
