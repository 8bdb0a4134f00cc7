use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Container, Dialect, Env, Repr, Result,
    Size, params, repr,
};
use serde_json::{Map, Value, json};

use crate::codec::{Length, LzfCoder, too_long};

/// The revision of h5py's filter and the version of liblzf (1.5), its first working words.
const VERSIONS: [u32; 2] = [4, 0x0105];
/// The words of h5py's filter: two versions, the bytes of a chunk.
const WORDS: usize = 3;

/// Configuration of the lzf codec: there is nothing to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lzf;

impl CodecConfig for Lzf {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        Self::INFO.require_name(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        // imagecodecs writes the header of the program lzf by default.
        if reader.flag("header", true)? {
            return Err(CodecError::config(
                "header",
                "only streams without the header of the program lzf are read, as HDF5 has them",
            ));
        }
        reader.finish(notes)?;
        Ok(Self)
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        Self::INFO.require_name(dialect)?;
        Ok(Map::from_iter([("header".into(), json!(false))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("lzf", words, 0, WORDS)?;
        Ok(Self)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }
}

impl Codec for Lzf {
    const INFO: CodecInfo = CodecInfo::new("lzf", "fast compression of bytes, h5py's own")
        .filter_id(32000)
        .numcodecs(&["imagecodecs_lzf"])
        .working_params()
        .lossless();

    type Coder = LzfCoder;

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let length = match input.size()? {
            Size::Exact(len) => Length::Exact(len),
            Size::AtMost(_) | Size::Unknown => Length::Unknown,
        };
        let coder = LzfCoder::new(length);
        let working = match env.container {
            Container::Hdf5 => {
                let chunk = repr::byte_len(&env.chunk_shape, env.dtype.size)?;
                let chunk = u32::try_from(chunk).map_err(|_| too_long(chunk))?;
                vec![VERSIONS[0], VERSIONS[1], chunk]
            }
            _ => Vec::new(),
        };
        Bound::bytes(*self, working, coder, input)
    }

    fn coder(working: &[u32]) -> Result<LzfCoder> {
        // HDF5 itself does not compare lengths, and returns the memory after a chunk that is too short. A chunk that
        // an earlier filter has made longer is read, one that it has made shorter is refused.
        Ok(LzfCoder::new(match params::word_or(working, 2, 0) {
            0 => Length::Unknown,
            chunk => Length::AtLeast(chunk as usize),
        }))
    }
}
