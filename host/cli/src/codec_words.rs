//! Codecs in words, as people read them: `shuffle | zstd 3`, `blosc lz4 5 bitshuffle`.

use ncz::model::json::Json;
use ncz::registry::known;
use ncz::registry::spec::{ChainSpec, NUMCODECS_PREFIX, StageSpec, generic};
use serde_json::{Map, Value};

/// The compressors of Blosc by their number in its parameters.
const BLOSC_COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// Returns a chain in words: `shuffle | zlib 4`. The text is filter text or JSON.
pub(crate) fn chain_words(chain: &str) -> String {
    match ChainSpec::parse(chain) {
        Ok(spec) => stages_words(spec.stages()),
        Err(_) if chain.is_empty() => stages_words(&[]),
        Err(_) => chain.to_owned(),
    }
}

/// Returns stages in words; `none` if there are none.
pub(crate) fn stages_words(stages: &[StageSpec]) -> String {
    joined(stages.iter().map(stage)).unwrap_or_else(|| "none".to_owned())
}

/// Returns the codecs of a variable in words, from their JSON in its metadata; `-` if it has none.
pub(crate) fn filters_words(filters: &[Json]) -> String {
    joined(filters.iter().map(|codec| json(&codec.to_value()))).unwrap_or_else(|| "-".to_owned())
}

fn joined(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" | "))
}

fn stage(spec: &StageSpec) -> String {
    match spec {
        StageSpec::Named { name, params } => numbered(name, params),
        StageSpec::Filter { id, params } => filter(*id, params),
        StageSpec::Json { name, config, .. } => {
            let mut object = config.clone();
            object.insert("id".to_owned(), name.as_str().into());
            json(&object.into())
        }
    }
}

/// A codec in the JSON of metadata. Version 2 has the parameters next to the name, version 3 in an object.
fn json(codec: &Value) -> String {
    if let Some((id, params)) = generic::of_codec_json(codec) {
        return filter(id, &params);
    }
    let Some(object) = codec.as_object() else { return codec.to_string() };
    let is_v2 = object.contains_key("id");
    let name = object.get(if is_v2 { "id" } else { "name" }).and_then(Value::as_str).unwrap_or("?");
    let configuration = object.get("configuration").and_then(Value::as_object).filter(|_| !is_v2);
    let mut config = configuration.unwrap_or(object).clone();
    config.retain(|key, _| configuration.is_some() || !["id", "name"].contains(&key.as_str()));
    configured(name, &config)
}

/// An HDF5 filter, with the name that it has without a number.
fn filter(id: u32, params: &[u32]) -> String {
    let name = match (id, known::by_id(id)) {
        (1, _) => "zlib",
        (307, _) => "bz2",
        (32_001, _) => return blosc_of_params("blosc", params),
        (32_015, _) => "zstd",
        (32_026, _) => return blosc_of_params("blosc2", params),
        (_, Some(filter)) => filter.name,
        (_, None) => return numbered(&format!("HDF5 filter {id}"), params),
    };
    numbered(name, params)
}

fn numbered(name: &str, params: &[u32]) -> String {
    // The element size of shuffle is that of the type.
    let shown = if name == "shuffle" { &[] } else { params };
    shown.iter().fold(name.to_owned(), |words, param| format!("{words} {param}"))
}

/// Blosc's parameters: versions, sizes, then level, shuffle and compressor.
fn blosc_of_params(name: &str, params: &[u32]) -> String {
    let at = |index: usize| params.get(index).copied();
    let Some(level) = at(4) else { return numbered(name, params) };
    let compressor = at(6).map_or(Some(&BLOSC_COMPRESSORS[0]), |number| {
        BLOSC_COMPRESSORS.get(usize::try_from(number).unwrap_or(usize::MAX))
    });
    let Some(compressor) = compressor else { return numbered(name, params) };
    format!("{name} {compressor} {level}{}", blosc_shuffle(at(5).unwrap_or(1).into()))
}

fn blosc_shuffle(number: i64) -> &'static str {
    match number {
        1 => " shuffle",
        2 => " bitshuffle",
        _ => "",
    }
}

/// A codec with its parameters: one by its value, several by their names.
fn configured(name: &str, config: &Map<String, Value>) -> String {
    let name = name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name);
    if name == "blosc" || name == "blosc2" {
        return blosc(name, config);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_shown = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    // The element size of shuffle is that of the type.
    let shown = config.iter().filter(|(_, value)| is_shown(value) && name != "shuffle");
    let words: Vec<(&String, &Value)> = shown.collect();
    match words.as_slice() {
        [(_, value)] if !value.is_boolean() => format!("{name} {}", text(value)),
        words => words.iter().fold(name.to_owned(), |words, (key, value)| match value {
            Value::Bool(_) => format!("{words} {key}"),
            value => format!("{words} {key}={}", text(value)),
        }),
    }
}

fn blosc(name: &str, config: &Map<String, Value>) -> String {
    let mut words = name.to_owned();
    for key in ["cname", "clevel"] {
        match config.get(key) {
            Some(Value::String(text)) => words.push_str(&format!(" {text}")),
            Some(other) => words.push_str(&format!(" {other}")),
            None => {}
        }
    }
    match config.get("shuffle") {
        Some(Value::String(text)) if text == "noshuffle" => {}
        Some(Value::String(text)) => words.push_str(&format!(" {text}")),
        Some(number) => words.push_str(number.as_i64().map_or("", blosc_shuffle)),
        None => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use ncz::model::json::json;

    use super::*;

    #[test]
    fn chains_have_the_same_words_however_they_are_written() {
        let blosc = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}"#;
        for (chain, words) in [
            ("none", "none"),
            ("", "none"),
            ("shuffle|zstd,3", "shuffle | zstd 3"),
            ("2,4|1,4", "shuffle | zlib 4"),
            ("32008,0,2", "bitshuffle 0 2"),
            ("55555,7,8", "HDF5 filter 55555 7 8"),
            (blosc, "blosc lz4 5 bitshuffle"),
            ("32001,2,2,4,0,5,2,1", "blosc lz4 5 bitshuffle"),
            ("32001,2,2,4,0,5", "blosc blosclz 5 shuffle"),
            (r#"[{"id":"shuffle","elementsize":4},{"id":"zlib","level":1}]"#, "shuffle | zlib 1"),
            (r#"{"name":"zstd","configuration":{"level":3,"checksum":false}}"#, "zstd 3"),
            (r#"{"name":"zstd","configuration":{"level":3,"checksum":true}}"#, "zstd level=3 checksum"),
            (r#"{"name":"numcodecs.zlib","configuration":{"level":4}}"#, "zlib 4"),
            (r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[4]}"#, "zlib 4"),
        ] {
            assert_eq!(chain_words(chain), words, "{chain}");
        }
    }

    #[test]
    fn codecs_in_metadata_have_the_words_of_chains() {
        let filters = [
            json!({"id": "shuffle", "elementsize": 4}),
            json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
        ];
        assert_eq!(filters_words(&filters), "shuffle | blosc lz4 5 shuffle");
        let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
        assert_eq!(filters_words(&[zstd, json!({"name": "crc32c"})]), "zstd 3 | crc32c");
        let scaled = json!({"id": "fixedscaleoffset", "scale": 10, "offset": 0, "dtype": "<f4"});
        assert_eq!(filters_words(&[scaled]), "fixedscaleoffset scale=10 offset=0 dtype=<f4");
        let by_number = [generic::codec_json(2, &[4]), generic::codec_json(32_015, &[3])];
        assert_eq!(filters_words(&by_number.map(Json::from)), "shuffle | zstd 3");
        assert_eq!(filters_words(&[]), "-");
    }
}
