use std::borrow::Cow;

use ncz_codec::{Bound, Codec, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params};
use serde_json::{Map, Value, json};

use crate::codec::{Lz4Coder, too_long};

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("lz4")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.lz4")];

/// Configuration of the lz4 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lz4 {
    /// The greater, the faster and the larger; what is less than 1 counts as 1, the ordinary one.
    pub acceleration: i32,
}

impl Default for Lz4 {
    fn default() -> Self {
        Self { acceleration: 1 }
    }
}

impl Codec for Lz4 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("lz4"),
        summary: Cow::Borrowed("very fast compression of bytes, as numcodecs has it"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = Lz4Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let acceleration =
            reader.integer("acceleration", 1, i64::from(i32::MIN)..=i64::from(i32::MAX))? as i32;
        reader.finish(notes)?;
        Ok(Self { acceleration })
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::from_iter([("acceleration".into(), json!(self.acceleration))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("lz4", words, 0, 1)?;
        Ok(Self { acceleration: params::word_or(words, 0, 1) as i32 })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.acceleration as u32])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = Lz4Coder::new(self.acceleration);
        let size = match input.size()? {
            Size::Exact(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| too_long(len))?),
            // Of bytes that may be fewer only those that are too many are refused, when they come.
            Size::AtMost(len) => coder.max_encoded_len(len).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        };
        Ok(Bound { stored: *self, working: self.to_params()?, output: Repr::Bytes { size }, coder })
    }

    fn coder(working: &[u32]) -> Result<Lz4Coder> {
        // Decoding needs no word, so whatever is there must not stand in its way.
        Ok(Lz4Coder::new(params::word_or(working, 0, 1) as i32))
    }
}
