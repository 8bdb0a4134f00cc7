use ncz_checksum::{Checksum, ChecksumCoder, Location};
use ncz_codec::{Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Result, params};
use serde_json::{Map, Value, json};

use crate::lookup3;

/// Configuration of the jenkins_lookup3 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JenkinsLookup3 {
    /// The initial value of the hash.
    pub initval: u32,
}

/// The hash lookup3 with an initial value.
#[derive(Debug, Clone, Copy)]
pub struct Lookup3(u32);

/// Stores the checksum after the data, and checks it.
pub type JenkinsLookup3Coder = ChecksumCoder<Lookup3>;

impl CodecConfig for JenkinsLookup3 {
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
}

impl Codec for JenkinsLookup3 {
    const INFO: CodecInfo = CodecInfo::new("jenkins_lookup3", "a checksum after the data")
        .numcodecs(&["jenkins_lookup3"])
        .zarr_v3(&["numcodecs.jenkins_lookup3"])
        .checksum()
        .lossless();

    type Coder = JenkinsLookup3Coder;

    fn coder(working: &[u32]) -> Result<JenkinsLookup3Coder> {
        Ok(ChecksumCoder::new(Lookup3(Self::from_params(working)?.initval), Location::End))
    }
}

impl Checksum for Lookup3 {
    const NAME: &'static str = "the lookup3 hash";

    fn sum(self, data: &[u8], copy: Option<&mut [u8]>) -> u32 {
        if let Some(copy) = copy {
            copy.copy_from_slice(data);
        }
        lookup3::hash(data, self.0)
    }
}
