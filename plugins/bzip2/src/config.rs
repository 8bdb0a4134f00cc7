use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::Bzip2Coder;

/// What the HDF5 filter takes when no word is given.
const HDF5_DEFAULT: u32 = 9;
const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("bz2")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.bz2")];

/// Configuration of the bzip2 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bzip2 {
    /// The block size in units of 100 kB, 1 to 9.
    pub level: u32,
}

impl Default for Bzip2 {
    fn default() -> Self {
        Self { level: HDF5_DEFAULT }
    }
}

impl Codec for Bzip2 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("bzip2"),
        summary: Cow::Borrowed("strong and slow compression"),
        filter_id: Some(307),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = Bzip2Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let level = reader.integer("level", 1, 1..=9)? as u32;
        reader.finish(notes)?;
        Ok(Self { level })
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::from_iter([("level".into(), json!(self.level))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("bzip2", words, 0, 1)?;
        let bzip2 = Self { level: params::word_or(words, 0, HDF5_DEFAULT) };
        bzip2.check("cd_values[0]")?;
        Ok(bzip2)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        self.check("level")?;
        Ok(vec![self.level])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        self.check("level")?;
        let coder = Bzip2Coder::new(self.level);
        let output = Repr::Bytes {
            size: match input.size()?.bound() {
                Some(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| {
                    CodecError::unsupported(format!("{len} bytes are more than bzip2 takes at once"))
                })?),
                None => Size::Unknown,
            },
        };
        Ok(Bound { stored: *self, working: vec![self.level], output, coder })
    }

    fn coder(working: &[u32]) -> Result<Bzip2Coder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(Bzip2Coder::new(params::word_or(working, 0, HDF5_DEFAULT).clamp(1, 9)))
    }
}

impl Bzip2 {
    fn check(&self, key: &str) -> Result<()> {
        match self.level {
            1..=9 => Ok(()),
            other => Err(CodecError::config(key, format!("block size {other} is not within 1 to 9"))),
        }
    }
}
