//! Codec halves that are built in for HDF5 filters that are not.
//!
//! Only layouts of HDF5 filters for which another program has fixed a JSON form already. One so far:
//! LZ4 (32004), which the Python package imagecodecs registers with numcodecs as `imagecodecs_lz4h5`.

use std::borrow::Cow;
use std::sync::Arc;

use ncz_codec::params::check_count;
use ncz_codec::{
    AnyCoder, BoundStage, CodecConfig, CodecError, CodecInfo, CodecType, ConfigReader, Dialect, Env, Repr,
};
use serde_json::{Map, Value};

/// All of them. They read and write JSON and run nothing.
pub(crate) const JSON_HALVES: &[&dyn CodecType] = &[&Lz4Json];

/// The largest block of an LZ4 stream (`LZ4_MAX_INPUT_SIZE`).
const LZ4_BLOCK_MAX: i64 = 0x7E00_0000;

/// `{"id": "imagecodecs_lz4h5", "level": .., "blocksize": ..}`
#[derive(Debug)]
struct Lz4Json;

/// The block size, if it is given.
#[derive(Debug)]
struct Lz4Config(Option<u32>);

impl CodecType for Lz4Json {
    fn info(&self) -> &CodecInfo {
        static INFO: CodecInfo = CodecInfo {
            name: Cow::Borrowed("lz4"),
            summary: Cow::Borrowed("LZ4 blocks in the layout of HDF5"),
            filter_id: Some(32_004),
            numcodecs: Cow::Borrowed(&[Cow::Borrowed("imagecodecs_lz4h5")]),
            zarr_v3: Cow::Borrowed(&[]),
            has_working_params: false,
            has_checksum: false,
        };
        &INFO
    }

    fn parse_json(
        &self,
        dialect: Dialect,
        config: &Map<String, Value>,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn CodecConfig>, CodecError> {
        numcodecs_only(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        if reader.raw("level").is_some() {
            notes.push("key \"level\" is ignored: the HDF5 filter has no such parameter".into());
        }
        let given = reader.raw("blocksize").is_some();
        let block = reader.integer("blocksize", 1, 1..=LZ4_BLOCK_MAX)?;
        reader.finish(notes)?;
        Ok(Arc::new(Lz4Config(u32::try_from(block).ok().filter(|_| given))))
    }

    fn parse_params(&self, params: &[u32]) -> Result<Arc<dyn CodecConfig>, CodecError> {
        check_count("lz4", params, 0, 1)?;
        // The filter takes 0 for its default.
        Ok(Arc::new(Lz4Config(params.first().copied().filter(|&block| block != 0))))
    }

    fn coder(&self, _working: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
        Err(runs_nothing())
    }
}

impl CodecConfig for Lz4Config {
    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>, CodecError> {
        numcodecs_only(dialect)?;
        let block = self.0.map_or(Value::Null, Value::from);
        Ok(Map::from_iter([("level".to_owned(), Value::Null), ("blocksize".to_owned(), block)]))
    }

    fn to_params(&self) -> Result<Vec<u32>, CodecError> {
        Ok(self.0.into_iter().collect())
    }

    fn bind(&self, _input: &Repr, _env: &Env) -> Result<BoundStage, CodecError> {
        Err(runs_nothing())
    }
}

fn numcodecs_only(dialect: Dialect) -> Result<(), CodecError> {
    match dialect {
        Dialect::Numcodecs => Ok(()),
        Dialect::ZarrV3 => Err(CodecError::unsupported("imagecodecs_lz4h5 has no name in Zarr v3")),
    }
}

fn runs_nothing() -> CodecError {
    CodecError::unsupported("only the JSON of HDF5's lz4 is built in; a plugin must run it")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(value: Value, notes: &mut Vec<String>) -> Result<Vec<u32>, CodecError> {
        Lz4Json.parse_json(Dialect::Numcodecs, value.as_object().unwrap(), notes)?.to_params()
    }

    #[test]
    fn lz4_of_hdf5_reads_and_writes_the_json_of_imagecodecs() {
        let mut notes = Vec::new();
        assert!(words(json!({}), &mut notes).unwrap().is_empty());
        assert!(words(json!({"level": null, "blocksize": null}), &mut notes).unwrap().is_empty());
        assert_eq!(words(json!({"level": null, "blocksize": 4096}), &mut notes).unwrap(), [4096]);
        assert!(notes.is_empty());
        assert!(words(json!({"level": 3}), &mut notes).unwrap().is_empty());
        assert_eq!(notes.len(), 1);
        assert!(words(json!({"blocksize": 0}), &mut notes).is_err());
        assert!(words(json!({"blocksize": -1}), &mut notes).is_err());

        let json = |params: &[u32]| Lz4Json.parse_params(params)?.to_json(Dialect::Numcodecs);
        assert_eq!(Value::Object(json(&[4096]).unwrap()), json!({"level": null, "blocksize": 4096}));
        assert_eq!(Value::Object(json(&[]).unwrap()), json!({"level": null, "blocksize": null}));
        assert!(json(&[1, 2]).is_err());
    }
}
