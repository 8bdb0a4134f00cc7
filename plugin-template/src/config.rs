use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::Delta8Coder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("my-delta8")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("example.my-delta8")];

/// Configuration of the my-delta8 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Delta8 {
    /// How many bytes before it the byte stands that is subtracted: 1 to 255, such as the size of an element.
    distance: u8,
}

impl Delta8 {
    /// The configuration for a distance in bytes.
    ///
    /// # Errors
    /// The distance is 0.
    pub fn new(distance: u8) -> Result<Self> {
        if distance == 0 {
            return Err(CodecError::config("distance", "0 is not within 1 to 255"));
        }
        Ok(Self { distance })
    }
}

impl Codec for Delta8 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("my-delta8"),
        summary: Cow::Borrowed("differences of bytes"),
        filter_id: Some(32801),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        // True if the filter needs more than the user gives, such as the size of an element: see `bind`.
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = Delta8Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let distance = reader.integer("distance", 1, 1..=255)?;
        reader.finish(notes)?;
        Self::new(distance as u8)
    }

    fn to_json(&self, _dialect: Dialect) -> Result<Map<String, Value>> {
        Ok(Map::from_iter([("distance".to_owned(), json!(self.distance))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("my-delta8", words, 0, 1)?;
        let distance = params::word_or(words, 0, 1);
        let distance = u8::try_from(distance).ok().filter(|&distance| distance != 0).ok_or_else(|| {
            CodecError::config("cd_values[0]", format!("a distance of {distance} is not within 1 to 255"))
        })?;
        Self::new(distance)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.distance.into()])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = Delta8Coder::new(self.distance);
        let most = |len| {
            let too_long = || CodecError::unsupported(format!("a chunk of {len} bytes"));
            coder.max_encoded_len(len).ok_or_else(too_long)
        };
        // What leaves the codec for what enters it.
        let size = match input.size()? {
            Size::Exact(len) => Size::Exact(most(len)?),
            Size::AtMost(len) => Size::AtMost(most(len)?),
            Size::Unknown => Size::Unknown,
        };
        Ok(Bound { stored: *self, working: self.to_params()?, output: Repr::Bytes { size }, coder })
    }

    fn coder(working: &[u32]) -> Result<Delta8Coder> {
        Ok(Delta8Coder::new(Self::from_params(working)?.distance))
    }
}
