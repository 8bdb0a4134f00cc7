use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value};

use crate::codec::Fletcher32Coder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("fletcher32")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.fletcher32")];

/// Configuration of the fletcher32 codec: there is nothing to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fletcher32;

impl Codec for Fletcher32 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("fletcher32"),
        summary: Cow::Borrowed("a checksum behind the data"),
        filter_id: Some(3),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = Fletcher32Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        ConfigReader::new(dialect, config).finish(notes)?;
        Ok(Self)
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("fletcher32", words, 0, 0)?;
        Ok(Self)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = Fletcher32Coder;
        let longer = |len| {
            coder
                .max_encoded_len(len)
                .ok_or_else(|| CodecError::unsupported(format!("{len} bytes leave no room for a checksum")))
        };
        let size = match input.size()? {
            Size::Exact(len) => Size::Exact(longer(len)?),
            Size::AtMost(len) => Size::AtMost(longer(len)?),
            Size::Unknown => Size::Unknown,
        };
        Ok(Bound { stored: *self, working: Vec::new(), output: Repr::Bytes { size }, coder })
    }

    fn coder(_working: &[u32]) -> Result<Fletcher32Coder> {
        Ok(Fletcher32Coder)
    }
}
