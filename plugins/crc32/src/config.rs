use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::Crc32Coder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("crc32")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.crc32")];

/// Configuration of the crc32 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Crc32 {
    /// Where the checksum lies.
    pub location: Location,
}

/// Where a checksum lies. The numbers are those of the parameter word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Location {
    /// Before the data.
    #[default]
    Start = 0,
    /// Behind the data.
    End = 1,
}

impl Codec for Crc32 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("crc32"),
        summary: Cow::Borrowed("a checksum before the data"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = Crc32Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let location = Location::named(reader.text("location", "start")?)?;
        reader.finish(notes)?;
        Ok(Self { location })
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(match self.location {
            Location::Start => Map::new(),
            Location::End => Map::from_iter([("location".into(), json!("end"))]),
        })
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("crc32", words, 0, 1)?;
        match params::word_or(words, 0, 0) {
            0 => Ok(Self { location: Location::Start }),
            1 => Ok(Self { location: Location::End }),
            other => {
                Err(CodecError::config("cd_values[0]", format!("location {other} is not within 0 to 1")))
            }
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(match self.location {
            Location::Start => Vec::new(),
            Location::End => vec![Location::End as u32],
        })
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = Crc32Coder::new(self.location);
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
        Ok(Bound { stored: *self, working: Codec::to_params(self)?, output: Repr::Bytes { size }, coder })
    }

    fn coder(working: &[u32]) -> Result<Crc32Coder> {
        Ok(Crc32Coder::new(Self::from_params(working)?.location))
    }
}

impl Location {
    fn named(name: &str) -> Result<Self> {
        match name {
            "start" => Ok(Self::Start),
            "end" => Ok(Self::End),
            _ => Err(CodecError::config("location", format!("{name:?} is neither \"start\" nor \"end\""))),
        }
    }
}
