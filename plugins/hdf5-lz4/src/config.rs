use ncz_codec::{Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Result, params};
use ncz_lz4_block::INPUT_MAX;
use serde_json::{Map, Value};

use crate::codec::Lz4H5Coder;

/// The default length of a block.
const BLOCK: usize = 1 << 30;

/// Configuration of the lz4h5 codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lz4H5 {
    /// The length of a block in bytes, at most 2113929216; `None` for 1 GiB.
    pub blocksize: Option<u32>,
}

impl CodecConfig for Lz4H5 {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        Self::INFO.require_name(dialect)?;
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
        Self::INFO.require_name(dialect)?;
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
}

impl Codec for Lz4H5 {
    const INFO: CodecInfo =
        CodecInfo::new("lz4h5", "very fast compression of bytes, as HDF5's LZ4 filter has it")
            .filter_id(32004)
            .numcodecs(&["imagecodecs_lz4h5"])
            .lossless();

    type Coder = Lz4H5Coder;

    fn coder(working: &[u32]) -> Result<Lz4H5Coder> {
        // Decoding needs no word, so it must not fail on any words of a file.
        Ok(coder_of(params::word_or(working, 0, 0)))
    }
}

fn coder_of(block: u32) -> Lz4H5Coder {
    Lz4H5Coder::new(if block == 0 { BLOCK } else { (block as usize).min(INPUT_MAX) })
}
