use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::Crc32cCoder;

const NAMES: &[Cow<'static, str>] = &[Cow::Borrowed("crc32c")];

/// Configuration of the crc32c codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Crc32c {
    /// Where the checksum lies.
    pub location: Location,
}

/// Where a checksum lies. The numbers are those of the parameter word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Location {
    /// Behind the data.
    #[default]
    End = 0,
    /// Before the data.
    Start = 1,
}

impl Codec for Crc32c {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("crc32c"),
        summary: Cow::Borrowed("a checksum behind the data"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NAMES),
        zarr_v3: Cow::Borrowed(NAMES),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = Crc32cCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let location = match dialect {
            Dialect::Numcodecs => Location::named(reader.text("location", "end")?)?,
            Dialect::ZarrV3 => Location::End,
        };
        reader.finish(notes)?;
        Ok(Self { location })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        match (self.location, dialect) {
            (Location::End, _) => Ok(Map::new()),
            (Location::Start, Dialect::Numcodecs) => {
                Ok(Map::from_iter([("location".into(), json!("start"))]))
            }
            (Location::Start, Dialect::ZarrV3) => {
                Err(CodecError::config("location", "Zarr v3 has the checksum behind the data only"))
            }
        }
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("crc32c", words, 0, 1)?;
        match params::word_or(words, 0, 0) {
            0 => Ok(Self { location: Location::End }),
            1 => Ok(Self { location: Location::Start }),
            other => {
                Err(CodecError::config("cd_values[0]", format!("location {other} is not within 0 to 1")))
            }
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(match self.location {
            Location::End => Vec::new(),
            Location::Start => vec![Location::Start as u32],
        })
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = Crc32cCoder::new(self.location);
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

    fn coder(working: &[u32]) -> Result<Crc32cCoder> {
        Ok(Crc32cCoder::new(Self::from_params(working)?.location))
    }
}

impl Location {
    fn named(name: &str) -> Result<Self> {
        match name {
            "end" => Ok(Self::End),
            "start" => Ok(Self::Start),
            _ => Err(CodecError::config("location", format!("{name:?} is neither \"start\" nor \"end\""))),
        }
    }
}
