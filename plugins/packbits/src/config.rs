use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Container, Dialect, Dtype, Env, Kind, Repr,
    Result, params,
};
use serde_json::{Map, Value};

use crate::codec::PackBitsCoder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("packbits")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.packbits")];

/// Configuration of the packbits codec: there is nothing to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PackBits;

impl Codec for PackBits {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("packbits"),
        summary: Cow::Borrowed("eight truth values in a byte"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = PackBitsCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        ConfigReader::new(dialect, config).finish(notes)?;
        Ok(Self)
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("packbits", words, 0, 0)?;
        Ok(Self)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        // numcodecs takes any byte for a truth value; zarr-python's codec of Zarr v3 takes nothing but these.
        let is_taken = match input {
            Repr::Array { dtype: Dtype { kind: Kind::Bool, size: 1, .. }, .. } => true,
            Repr::Array { dtype: Dtype { kind: Kind::Int | Kind::UInt, size: 1, .. }, .. } => {
                env.container != Container::ZarrV3
            }
            _ => false,
        };
        if !is_taken {
            return Err(CodecError::unsupported("only truth values of one byte can be packed into bits"));
        }
        let coder = PackBitsCoder;
        let len = input.size()?.bound().and_then(|len| coder.max_encoded_len(len)).unwrap_or_default();
        let output = Repr::Array { dtype: Dtype::little(Kind::UInt, 1), shape: vec![len as u64], fill: None };
        Ok(Bound { stored: *self, working: Vec::new(), output, coder })
    }

    fn coder(working: &[u32]) -> Result<PackBitsCoder> {
        Self::from_params(working)?;
        Ok(PackBitsCoder)
    }
}
