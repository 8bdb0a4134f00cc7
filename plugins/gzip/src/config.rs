use ncz_codec::{Bound, Codec, CodecConfig, CodecInfo, ConfigReader, Dialect, Env, Repr, Result, params};
use ncz_libdeflate::{ZLIB_DEFAULT, level_word, plain_level};
use serde_json::Value;

use crate::codec::GzipCoder;

/// The level that zarr-python assumes if it is missing, in Zarr v3.
const V3_DEFAULT: i64 = 5;

/// Configuration of the gzip codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, CodecConfig)]
pub struct Gzip {
    /// The compression level: 0 (stored only) to 9 (smallest), or -1 for zlib's default, which is 6.
    #[codec(range(params = 0..=9), read = read_level, write = write_level, write_word = level_word)]
    pub level: i32,
}

impl Default for Gzip {
    fn default() -> Self {
        Self { level: ZLIB_DEFAULT }
    }
}

impl Codec for Gzip {
    const INFO: CodecInfo = CodecInfo::new("gzip", "general-purpose compression in the gzip format")
        .numcodecs(&["gzip"])
        .zarr_v3(&["gzip"])
        .checksum()
        .lossless();

    type Coder = GzipCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let level = plain_level(self.level)?;
        Bound::bytes(Self { level }, vec![level as u32], GzipCoder::new(level), input)
    }

    fn coder(working: &[u32]) -> Result<GzipCoder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(GzipCoder::new(params::word_or(working, 0, ZLIB_DEFAULT as u32).min(9) as i32))
    }
}

fn read_level(reader: &mut ConfigReader<'_>, notes: &mut Vec<String>) -> Result<i32> {
    if reader.dialect() == Dialect::Numcodecs {
        return Ok(reader.integer("level", 1, -1..=9)? as i32);
    }
    if reader.raw("level").is_none() {
        notes.push(format!("level is missing, which tensorstore refuses; {V3_DEFAULT} is used"));
    }
    Ok(reader.integer("level", V3_DEFAULT, 0..=9)? as i32)
}

/// Returns the level as JSON. Zarr v3 does not define -1.
fn write_level(level: &i32, dialect: Dialect) -> Result<Value> {
    Ok(match dialect {
        Dialect::Numcodecs => (*level).into(),
        Dialect::ZarrV3 => plain_level(*level)?.into(),
    })
}
