use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::GzipCoder;

/// What zlib takes level -1 for.
const ZLIB_DEFAULT: i32 = 6;
/// What zarr-python takes a missing level for, in Zarr v3.
const V3_DEFAULT: i64 = 5;
const NAMES: &[Cow<'static, str>] = &[Cow::Borrowed("gzip")];

/// Configuration of the gzip codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gzip {
    /// The compression level: 0 (stored only) to 9 (smallest), or -1 for zlib's default, which is 6.
    pub level: i32,
}

impl Default for Gzip {
    fn default() -> Self {
        Self { level: ZLIB_DEFAULT }
    }
}

impl Codec for Gzip {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("gzip"),
        summary: Cow::Borrowed("general-purpose compression in the gzip format"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NAMES),
        zarr_v3: Cow::Borrowed(NAMES),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = GzipCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let level = match dialect {
            Dialect::Numcodecs => reader.integer("level", 1, -1..=9)?,
            Dialect::ZarrV3 => {
                if reader.raw("level").is_none() {
                    notes.push(format!("level is missing, which tensorstore refuses; {V3_DEFAULT} is used"));
                }
                reader.integer("level", V3_DEFAULT, 0..=9)?
            }
        };
        reader.finish(notes)?;
        Ok(Self { level: level as i32 })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let level = match dialect {
            Dialect::Numcodecs => self.level,
            // It knows no -1.
            Dialect::ZarrV3 => self.plain_level()?,
        };
        Ok(Map::from_iter([("level".into(), json!(level))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("gzip", words, 1, 1)?;
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
        let coder = GzipCoder::new(level);
        let output = Repr::Bytes {
            size: match input.size()?.bound() {
                Some(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| {
                    CodecError::unsupported(format!("{len} bytes are more than gzip takes at once"))
                })?),
                None => Size::Unknown,
            },
        };
        Ok(Bound { stored: Self { level }, working: vec![level as u32], output, coder })
    }

    fn coder(working: &[u32]) -> Result<GzipCoder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(GzipCoder::new(params::word_or(working, 0, ZLIB_DEFAULT as u32).min(9) as i32))
    }
}

impl Gzip {
    /// The level as a number from 0 to 9.
    fn plain_level(self) -> Result<i32> {
        match self.level {
            -1 => Ok(ZLIB_DEFAULT),
            level @ 0..=9 => Ok(level),
            other => Err(CodecError::config("level", format!("{other} is not within -1 to 9"))),
        }
    }
}
