use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use serde_json::{Map, Value, json};

use crate::codec::JenkinsLookup3Coder;

const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("jenkins_lookup3")];
const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("numcodecs.jenkins_lookup3")];

/// Configuration of the jenkins_lookup3 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JenkinsLookup3 {
    /// What the hash starts with.
    pub initval: u32,
}

impl Codec for JenkinsLookup3 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("jenkins_lookup3"),
        summary: Cow::Borrowed("a checksum behind the data"),
        filter_id: None,
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: false,
        has_checksum: true,
        lossy: Some(false),
    };

    type Coder = JenkinsLookup3Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        let mut reader = ConfigReader::new(dialect, config);
        let initval = reader.integer("initval", 0, 0..=i64::from(u32::MAX))? as u32;
        if reader.raw("prefix").is_some() {
            return Err(CodecError::config(
                "prefix",
                "numcodecs takes bytes for it, which JSON has not, so that no dataset can hold one",
            ));
        }
        reader.finish(notes)?;
        Ok(Self { initval })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        let initval = ("initval".to_owned(), json!(self.initval));
        Ok(match dialect {
            Dialect::Numcodecs => Map::from_iter([initval, ("prefix".to_owned(), Value::Null)]),
            Dialect::ZarrV3 => Map::from_iter((self.initval != 0).then_some(initval)),
        })
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("jenkins_lookup3", words, 0, 1)?;
        Ok(Self { initval: params::word_or(words, 0, 0) })
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(if self.initval == 0 { Vec::new() } else { vec![self.initval] })
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = JenkinsLookup3Coder::new(self.initval);
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

    fn coder(working: &[u32]) -> Result<JenkinsLookup3Coder> {
        Ok(JenkinsLookup3Coder::new(Self::from_params(working)?.initval))
    }
}
