use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Container, Dialect, Env, Repr, Result, Size,
    params, repr,
};
use serde_json::{Map, Value, json};

use crate::codec::{Length, LzfCoder, too_long};

/// The revision of h5py's filter and the version of liblzf (1.5), its first working words.
const VERSIONS: [u32; 2] = [4, 0x0105];
/// The words of h5py's filter: two versions, the bytes of a chunk.
const WORDS: usize = 3;
const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("imagecodecs_lzf")];

/// Configuration of the lzf codec: there is nothing to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lzf;

impl Codec for Lzf {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("lzf"),
        summary: Cow::Borrowed("fast compression of bytes, h5py's own"),
        filter_id: Some(32000),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(&[]),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = LzfCoder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        // imagecodecs writes the header of the program lzf unless it is told not to.
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
        known_in(dialect)?;
        Ok(Map::from_iter([("header".into(), json!(false))]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("lzf", words, 0, WORDS)?;
        Ok(Self)
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(Vec::new())
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<Bound<Self>> {
        let size = input.size()?;
        let length = match size {
            Size::Exact(len) => Length::Exact(len),
            Size::AtMost(_) | Size::Unknown => Length::Unknown,
        };
        let coder = LzfCoder::new(length);
        let output = match size {
            Size::Exact(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| too_long(len))?),
            // Of bytes that may be fewer only those that are too many are refused, when they come.
            Size::AtMost(len) => coder.max_encoded_len(len).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        };
        let working = match env.container {
            Container::Hdf5 => {
                let chunk = repr::byte_len(&env.chunk_shape, env.dtype.size)?;
                let chunk = u32::try_from(chunk).map_err(|_| too_long(chunk))?;
                vec![VERSIONS[0], VERSIONS[1], chunk]
            }
            _ => Vec::new(),
        };
        Ok(Bound { stored: *self, working, output: Repr::Bytes { size: output }, coder })
    }

    fn coder(working: &[u32]) -> Result<LzfCoder> {
        // HDF5 itself does not compare lengths, and hands on what lies in memory behind a chunk that is too short. A
        // chunk that a filter before has made longer is read, one that it has made shorter is not.
        Ok(LzfCoder::new(match params::word_or(working, 2, 0) {
            0 => Length::Unknown,
            chunk => Length::AtLeast(chunk as usize),
        }))
    }
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::Numcodecs => Ok(()),
        Dialect::ZarrV3 => Err(CodecError::unsupported("lzf has no name in Zarr v3")),
    }
}
