//! The generic codec JSON of HDF5 filters without their own: the filter's number and its parameters.
//!
//! Zarr v2 and NCZarr: `{"id": "ncz.hdf5_filter", "filter": 32028, "cd_values": [940177214, 0]}`; Zarr v3:
//! `{"name": "ncz.hdf5_filter", "configuration": {"filter": 32028, "cd_values": [940177214, 0]}}`.
//!
//! `filter` is the HDF5 filter id, 1 to 65535. `cd_values` are the parameters as a user gives them to
//! `H5Pset_filter`, each 0 to 4294967295; both keys are required, others are refused. The stored chunks are those of
//! an HDF5 file with that filter. No other program reads this JSON. (Drafts of netcdf-c have `hdf5raw`, in two
//! forms that differ; no release reads or writes it.)

use std::sync::Arc;

use ncz_codec::{AnyConfig, BoundStage, CodecError, CodecInfo, Container, Dialect, Env, Names, Repr, Result};
use serde_json::{Map, Value, json};

/// The codec's name in all dialects.
pub const NAME: &str = "ncz.hdf5_filter";

/// The most parameters, as HDF5 has a 16-bit count of them.
const PARAMS_MAX: usize = u16::MAX as usize;

/// The JSON of a filter for metadata in numcodecs' dialect.
#[must_use]
pub fn codec_json(id: u32, params: &[u32]) -> Value {
    json!({"id": NAME, "filter": id, "cd_values": params})
}

/// Reads the JSON of a filter in the dialect of Zarr v2 or v3: the filter's number and its parameters; `None` if it is
/// another codec.
#[must_use]
pub fn of_codec_json(codec: &Value) -> Option<(u32, Vec<u32>)> {
    let mut config = codec.as_object()?.clone();
    let is_name = |name: Option<Value>| name.as_ref().and_then(Value::as_str) == Some(NAME);
    if is_name(config.shift_remove("id")) {
        return read(&config).ok();
    }
    let configuration = config.get("configuration").and_then(Value::as_object);
    configuration.filter(|_| is_name(codec.get("name").cloned())).and_then(|config| read(config).ok())
}

/// A codec that is written by number; all else is the codec's own.
#[derive(Debug)]
pub(crate) struct Generic {
    id: u32,
    params: Vec<u32>,
    inner: Arc<dyn AnyConfig>,
}

impl Generic {
    pub(crate) fn new(id: u32, params: Vec<u32>, inner: Arc<dyn AnyConfig>) -> Self {
        Self { id, params, inner }
    }
}

/// The codec's description with the generic name instead of its own.
pub(crate) fn info(own: &CodecInfo) -> CodecInfo {
    let names = || Names::new(&[NAME]);
    CodecInfo { numcodecs: names(), zarr_v3: names(), ..own.clone() }
}

/// Reads a configuration: the filter's number and its parameters.
pub(crate) fn read(config: &Map<String, Value>) -> Result<(u32, Vec<u32>)> {
    if let Some(key) = config.keys().find(|key| !matches!(key.as_str(), "filter" | "cd_values")) {
        return Err(CodecError::config(key.clone(), format!("{NAME} has filter and cd_values only")));
    }
    let wanted = |key: &str, what: &str, value: Option<&Value>| {
        let found = value.map_or_else(|| "none".to_owned(), ToString::to_string);
        CodecError::config(key, format!("expected {what}, got {found}"))
    };
    let id = config.get("filter");
    let id = id
        .and_then(Value::as_u64)
        .and_then(|id| u32::try_from(id).ok())
        .filter(|id| (1..=65_535).contains(id))
        .ok_or_else(|| wanted("filter", "an HDF5 filter id from 1 to 65535", id))?;
    let list = config.get("cd_values");
    let words =
        list.and_then(Value::as_array).ok_or_else(|| wanted("cd_values", "a list of integers", list))?;
    if words.len() > PARAMS_MAX {
        return Err(CodecError::config("cd_values", format!("{} are more than {PARAMS_MAX}", words.len())));
    }
    let word = |(place, value): (usize, &Value)| {
        let word = value.as_u64().and_then(|word| u32::try_from(word).ok());
        word.ok_or_else(|| {
            let key = format!("cd_values[{place}]");
            CodecError::config(key, format!("expected an integer from 0 to 4294967295, got {value}"))
        })
    };
    Ok((id, words.iter().enumerate().map(word).collect::<Result<_>>()?))
}

/// The JSON that a user can write for a filter.
pub(crate) fn example(id: u32) -> String {
    codec_json(id, &[]).to_string()
}

impl AnyConfig for Generic {
    fn to_json(&self, _: Dialect) -> Result<Map<String, Value>> {
        let words: Value = self.params.clone().into();
        Ok(Map::from_iter([("filter".to_owned(), self.id.into()), ("cd_values".to_owned(), words)]))
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(self.params.clone())
    }

    fn bind(&self, input: &Repr, env: &Env) -> Result<BoundStage> {
        let bound = self.inner.bind(input, env)?;
        if env.container == Container::Hdf5 {
            return Ok(bound);
        }
        // Metadata keep the given parameters; a reader derives the working words in the same way.
        let stored = Arc::new(Self { id: self.id, params: self.params.clone(), inner: bound.stored });
        Ok(BoundStage { stored, ..bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: Value) -> Result<(u32, Vec<u32>)> {
        read(value.as_object().unwrap())
    }

    #[test]
    fn number_and_words_are_read_and_anything_else_is_refused_by_name() {
        assert_eq!(parsed(json!({"filter": 1, "cd_values": []})).unwrap(), (1, vec![]));
        assert_eq!(
            parsed(json!({"filter": 65535, "cd_values": [0, 4_294_967_295_u32]})).unwrap(),
            (65_535, vec![0, u32::MAX])
        );
        for (wrong, names) in [
            (json!({"cd_values": []}), "filter"),
            (json!({"filter": 0, "cd_values": []}), "filter"),
            (json!({"filter": 65536, "cd_values": []}), "filter"),
            (json!({"filter": "32028", "cd_values": []}), "filter"),
            (json!({"filter": 32028.0, "cd_values": []}), "filter"),
            (json!({"filter": 32028}), "cd_values"),
            (json!({"filter": 32028, "cd_values": null}), "cd_values"),
            (json!({"filter": 32028, "cd_values": [1, 2.0]}), "cd_values[1]"),
            (json!({"filter": 32028, "cd_values": [-1]}), "cd_values[0]"),
            (json!({"filter": 32028, "cd_values": [4_294_967_296_u64]}), "cd_values[0]"),
            (json!({"filter": 32028, "cd_values": ["1"]}), "cd_values[0]"),
            (json!({"filter": 32028, "cd_values": [], "level": 3}), "level"),
        ] {
            let error = parsed(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(names), "{wrong}: {error}");
        }
        assert_eq!(
            of_codec_json(&codec_json(32_028, &[940_177_214, 0])),
            Some((32_028, vec![940_177_214, 0]))
        );
        let v3 = json!({"name": NAME, "configuration": {"filter": 32_028, "cd_values": [1]}});
        assert_eq!(of_codec_json(&v3), Some((32_028, vec![1])));
        assert_eq!(of_codec_json(&json!({"id": "zlib", "level": 3})), None);
        let many = json!({"filter": 1, "cd_values": vec![0; PARAMS_MAX + 1]});
        assert!(parsed(many).unwrap_err().to_string().contains("65536 are more"));
    }
}
