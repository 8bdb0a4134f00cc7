use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::DeflateCoder;

/// What zlib takes level -1 for.
const ZLIB_DEFAULT: i32 = 6;
const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("zlib")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.zlib")];

/// Configuration of the deflate codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deflate {
    /// The compression level: 0 (stored only) to 9 (smallest), or -1 for zlib's default, which is 6.
    pub level: i32,
}

impl Default for Deflate {
    fn default() -> Self {
        Self { level: ZLIB_DEFAULT }
    }
}

impl Codec for Deflate {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("deflate"),
        summary: Cow::Borrowed("general-purpose compression in the zlib format, read everywhere"),
        filter_id: Some(1),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = DeflateCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let level = reader.integer("level", 1, -1..=9)? as i32;
        reader.finish(notes)?;
        Ok(Self { level })
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::from_iter([("level".into(), json!(self.level))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("deflate", words, 1, 1)?;
        match words[0] {
            level @ 0..=9 => Ok(Self { level: level as i32 }),
            other => Err(CodecError::config("cd_values[0]", format!("level {other} is not within 0 to 9"))),
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.plain_level()? as u32])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let level = self.plain_level()?;
        let coder = DeflateCoder::new(level);
        let output = Repr::Bytes {
            size: match input.size()?.bound() {
                Some(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| {
                    CodecError::unsupported(format!("{len} bytes are more than deflate takes at once"))
                })?),
                None => Size::Unknown,
            },
        };
        // netcdf-c refuses a dataset whose metadata say -1.
        Ok(Bound { stored: Self { level }, working: vec![level as u32], output, coder })
    }

    fn coder(working: &[u32]) -> Result<DeflateCoder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(DeflateCoder::new(params::word_or(working, 0, ZLIB_DEFAULT as u32).min(9) as i32))
    }
}

impl Deflate {
    /// The level as a number from 0 to 9.
    fn plain_level(self) -> Result<i32> {
        match self.level {
            -1 => Ok(ZLIB_DEFAULT),
            level @ 0..=9 => Ok(level),
            other => Err(CodecError::config("level", format!("{other} is not within -1 to 9"))),
        }
    }
}
