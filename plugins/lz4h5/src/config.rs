use std::borrow::Cow;

use ncz_codec::{
    Bound, Codec, CodecError, CodecInfo, Coder, ConfigReader, Dialect, Env, Repr, Result, Size, params,
};
use ncz_lz4_block::INPUT_MAX;
use serde_json::{Map, Value};

use crate::codec::Lz4H5Coder;

/// The length of a block where none is given.
const BLOCK: usize = 1 << 30;
const NUMCODECS: &[Cow<'static, str>] = &[Cow::Borrowed("imagecodecs_lz4h5")];

/// Configuration of the lz4h5 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lz4H5 {
    /// The length of a block in bytes, at most 2113929216; `None` for 1 GiB.
    pub blocksize: Option<u32>,
}

impl Codec for Lz4H5 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("lz4h5"),
        summary: Cow::Borrowed("very fast compression of bytes, as HDF5's LZ4 filter has it"),
        filter_id: Some(32004),
        numcodecs: Cow::Borrowed(NUMCODECS),
        zarr_v3: Cow::Borrowed(&[]),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = Lz4H5Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        if reader.raw("level").is_some() {
            notes.push("the HDF5 filter has no parameter \"level\"; it is ignored".into());
        }
        let given = reader.raw("blocksize").is_some();
        let block = reader.integer("blocksize", 1, 1..=INPUT_MAX as i64)? as u32;
        reader.finish(notes)?;
        Ok(Self { blocksize: given.then_some(block) })
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        known_in(dialect)?;
        let block = self.blocksize.map_or(Value::Null, Value::from);
        Ok(Map::from_iter([("level".into(), Value::Null), ("blocksize".into(), block)]))
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("lz4h5", words, 0, 1)?;
        match params::word_or(words, 0, 0) {
            0 => Ok(Self { blocksize: None }),
            block if block as usize <= INPUT_MAX => Ok(Self { blocksize: Some(block) }),
            block => Err(CodecError::config(
                "cd_values[0]",
                format!("a block of {block} bytes is over the {INPUT_MAX} that LZ4 takes"),
            )),
        }
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        // The filter takes 0 for its default.
        Ok(vec![self.blocksize.unwrap_or(0)])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let coder = coder_of(self.blocksize.unwrap_or(0));
        let size = match input.size()? {
            Size::Exact(len) => Size::AtMost(coder.max_encoded_len(len).ok_or_else(|| {
                CodecError::unsupported(format!("{len} bytes leave no room for the heads of the blocks"))
            })?),
            Size::AtMost(len) => coder.max_encoded_len(len).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        };
        Ok(Bound { stored: *self, working: self.to_params()?, output: Repr::Bytes { size }, coder })
    }

    fn coder(working: &[u32]) -> Result<Lz4H5Coder> {
        // Decoding needs no word, so whatever a file holds must not stand in its way.
        Ok(coder_of(params::word_or(working, 0, 0)))
    }
}

fn coder_of(block: u32) -> Lz4H5Coder {
    Lz4H5Coder::new(if block == 0 { BLOCK } else { (block as usize).min(INPUT_MAX) })
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::Numcodecs => Ok(()),
        Dialect::ZarrV3 => Err(CodecError::unsupported("lz4h5 has no name in Zarr v3")),
    }
}
