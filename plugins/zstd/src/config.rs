use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::ZstdCoder;

/// The library's default level, also the HDF5 filter's when no word is given.
const DEFAULT_LEVEL: i32 = 3;
/// The levels that the format's reference library knows.
const LEVELS: std::ops::RangeInclusive<i64> = -131_072..=22;
const NAMES: &[Cow<'static, str>] = &[Cow::Borrowed("zstd")];

/// Configuration of the zstd codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zstd {
    /// The compression level, -131072 to 22; 0 is the library's default. Others are taken as the nearest of these.
    pub level: i32,
    /// Whether frames get a checksum of their content. Parameter words cannot say it.
    pub checksum: bool,
}

impl Default for Zstd {
    fn default() -> Self {
        Self { level: DEFAULT_LEVEL, checksum: false }
    }
}

impl Codec for Zstd {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("zstd"),
        summary: Cow::Borrowed("general-purpose compression, fast to decode"),
        filter_id: Some(32015),
        numcodecs: Cow::Borrowed(NAMES),
        zarr_v3: Cow::Borrowed(NAMES),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = ZstdCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let level = match dialect {
            Dialect::ZarrV3 => reader.integer("level", 0, LEVELS)?,
            // netcdf-c prints a negative level as the unsigned word that HDF5 holds, and numcodecs takes any level.
            Dialect::Numcodecs => reader.integer("level", 0, i64::from(i32::MIN)..=i64::from(u32::MAX))?,
        };
        let checksum = reader.flag("checksum", false)?;
        reader.finish(notes)?;
        let signed = level as u32 as i32;
        if i64::from(signed) != level {
            notes.push(format!("level {level} is {signed} as an unsigned word; {signed} is used"));
        }
        if !LEVELS.contains(&i64::from(signed)) {
            notes.push(format!("level {signed} is not within -131072 to 22; the nearest of these is used"));
        }
        Ok(Self { level: signed, checksum })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        map.insert("level".into(), json!(self.level));
        // Zarr v3 asks for it; in v2 older readers do not know it.
        if self.checksum || dialect == Dialect::ZarrV3 {
            map.insert("checksum".into(), json!(self.checksum));
        }
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("zstd", words, 0, 1)?;
        Ok(Self { level: params::word_or(words, 0, DEFAULT_LEVEL as u32) as i32, checksum: false })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        if self.checksum {
            return Err(CodecError::config(
                "checksum",
                "parameter words cannot ask for a checksum; leave the key out",
            ));
        }
        Ok(vec![self.level as u32])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let level = self.level.clamp(*LEVELS.start() as i32, *LEVELS.end() as i32);
        let coder = ZstdCoder::new(level, self.checksum);
        let output = Repr::Bytes {
            size: match input.size()?.bound() {
                Some(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| {
                    CodecError::unsupported(format!("{len} bytes are more than zstd takes at once"))
                })?),
                None => Size::Unknown,
            },
        };
        Ok(Bound { stored: Self { level, ..*self }, working: vec![level as u32], output, coder })
    }

    fn coder(working: &[u32]) -> Result<ZstdCoder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(ZstdCoder::new(params::word_or(working, 0, DEFAULT_LEVEL as u32) as i32, false))
    }
}
