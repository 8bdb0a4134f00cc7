//! Codecs in words, as people read them: `shuffle | zstd 3`, `blosc lz4 5 bitshuffle`.

use ncz::model::json::Json;
use ncz::registry::known;
use ncz::registry::spec::{ChainSpec, NUMCODECS_PREFIX, StageSpec, codec_json, generic};
use serde_json::{Map, Value};

/// The compressors of Blosc by their number in its parameters.
const BLOSC_COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// Returns a chain in words: `shuffle | zlib 4`. The text is filter text or JSON. A size of elements is shown if it is not
/// that of the variable, `element`, which is 0 if it is not known or elements have no size.
pub(crate) fn chain_words(chain: &str, element: usize) -> String {
    match ChainSpec::parse(chain) {
        Ok(spec) => stages_words(spec.stages(), element),
        Err(_) if chain.is_empty() => stages_words(&[], element),
        Err(_) => chain.to_owned(),
    }
}

/// Returns stages in words, as [`chain_words`]; `none` if there are none.
pub(crate) fn stages_words(stages: &[StageSpec], element: usize) -> String {
    let element = size(element);
    joined(stages.iter().map(|spec| stage(spec, element))).unwrap_or_else(|| "none".to_owned())
}

/// Returns the codecs of a variable in words, from their JSON in its metadata, as [`chain_words`]; `-` if it has none.
pub(crate) fn filters_words(filters: &[Json], element: usize) -> String {
    let element = size(element);
    joined(filters.iter().map(|codec| json(&codec.to_value(), element))).unwrap_or_else(|| "-".to_owned())
}

/// The size of an element, if it is known.
fn size(element: usize) -> Option<u64> {
    u64::try_from(element).ok().filter(|size| *size > 0)
}

fn joined(words: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" | "))
}

fn stage(spec: &StageSpec, element: Option<u64>) -> String {
    match spec {
        StageSpec::Named { name, params } => numbered(name, params, element),
        StageSpec::Filter { id, params } => filter(*id, params, element),
        StageSpec::Json { dialect, name, config } => {
            let mut config = config.clone();
            // A shuffle that is requested without a size has that of the elements; in metadata it is 4.
            if name == "shuffle" {
                config.entry("elementsize").or_insert(0.into());
            }
            json(&codec_json(*dialect, name, config), element)
        }
    }
}

/// A codec in the JSON of metadata. Version 2 has the parameters next to the name, version 3 in an object. `element` is
/// the size of an element, if it is known.
fn json(codec: &Value, element: Option<u64>) -> String {
    if let Some((id, params)) = generic::of_codec_json(codec) {
        return filter(id, &params, element);
    }
    let Some(object) = codec.as_object() else { return codec.to_string() };
    let is_v2 = object.contains_key("id");
    let name = object.get(if is_v2 { "id" } else { "name" }).and_then(Value::as_str).unwrap_or("?");
    let configuration = object.get("configuration").and_then(Value::as_object).filter(|_| !is_v2);
    let mut config = configuration.unwrap_or(object).clone();
    config.retain(|key, _| configuration.is_some() || !["id", "name"].contains(&key.as_str()));
    configured(name, &config, is_v2, element)
}

/// An HDF5 filter, with the name that it has without a number.
fn filter(id: u32, params: &[u32], element: Option<u64>) -> String {
    let name = match (id, known::by_id(id)) {
        (1, _) => "zlib",
        (307, _) => "bz2",
        (32_001, _) => return blosc_of_params("blosc", params, element),
        (32_015, _) => "zstd",
        (32_026, _) => return blosc_of_params("blosc2", params, element),
        (_, Some(filter)) => filter.name,
        (_, None) => return numbered(&format!("HDF5 filter {id}"), params, element),
    };
    numbered(name, params, element)
}

fn numbered(name: &str, params: &[u32], element: Option<u64>) -> String {
    if name == "shuffle" {
        return shuffle(params.first().copied().map(u64::from), element);
    }
    match params {
        // Levels below 0 are those of fast compression.
        [level] if name == "zstd" => format!("zstd {}", level.cast_signed()),
        _ => params.iter().fold(name.to_owned(), |words, param| format!("{words} {param}")),
    }
}

fn shuffle(size: Option<u64>, element: Option<u64>) -> String {
    other_size(size, element).map_or_else(|| "shuffle".to_owned(), |size| format!("shuffle {size}"))
}

/// A size of elements that is not that of the variable; 0 stands for the latter.
fn other_size(size: Option<u64>, element: Option<u64>) -> Option<u64> {
    size.filter(|size| *size > 0 && element.is_some_and(|element| element != *size))
}

/// Blosc's parameters: versions, sizes, then level, shuffle and compressor.
fn blosc_of_params(name: &str, params: &[u32], element: Option<u64>) -> String {
    let at = |index: usize| params.get(index).copied();
    let Some(level) = at(4) else { return numbered(name, params, element) };
    let compressor = at(6).map_or(Some(&BLOSC_COMPRESSORS[0]), |number| {
        BLOSC_COMPRESSORS.get(usize::try_from(number).unwrap_or(usize::MAX))
    });
    let Some(compressor) = compressor else { return numbered(name, params, element) };
    let is_stored = params.iter().take(3).any(|param| *param != 0);
    let block = match name {
        "blosc2" => at(1),
        // Blosc replaces it by the size of a chunk.
        _ => at(3).filter(|_| !is_stored),
    };
    let sizes = blosc_sizes(other_size(at(2).map(u64::from), element), block.map(u64::from));
    let shuffle = match (name, at(5).unwrap_or(1)) {
        ("blosc2", 3) => " delta".to_owned(),
        (_, number) => blosc_shuffle(number.into()),
    };
    format!("{name} {compressor} {level}{shuffle}{sizes}")
}

fn blosc_shuffle(number: i64) -> String {
    match number {
        -1 => " autoshuffle".to_owned(),
        0 => String::new(),
        1 => " shuffle".to_owned(),
        2 => " bitshuffle".to_owned(),
        other => format!(" shuffle={other}"),
    }
}

/// The sizes of an element and of a block, if they are not the usual ones. A block of 0 bytes is one that Blosc chooses.
fn blosc_sizes(element: Option<u64>, block: Option<u64>) -> String {
    let word = |name: &str, size: Option<u64>| {
        size.filter(|size| *size > 0).map_or_else(String::new, |size| format!(" {name}={size}"))
    };
    word("typesize", element) + &word("blocksize", block)
}

/// A codec with its parameters: one by its value, several by their names.
fn configured(name: &str, config: &Map<String, Value>, is_v2: bool, element: Option<u64>) -> String {
    let name = name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name);
    match name {
        "blosc" | "blosc2" => return blosc(name, config, is_v2, element),
        // The default is 4 in numcodecs, and the size of the elements in version 3.
        "shuffle" => {
            let size = config.get("elementsize").and_then(Value::as_u64);
            return shuffle(size.or(is_v2.then_some(4)), element);
        }
        _ => {}
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_shown = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let words: Vec<(&String, &Value)> = config.iter().filter(|(_, value)| is_shown(value)).collect();
    match words.as_slice() {
        [(_, value)] if !value.is_boolean() => format!("{name} {}", text(value)),
        words => words.iter().fold(name.to_owned(), |words, (key, value)| match value {
            Value::Bool(_) => format!("{words} {key}"),
            value => format!("{words} {key}={}", text(value)),
        }),
    }
}

fn blosc(name: &str, config: &Map<String, Value>, is_v2: bool, element: Option<u64>) -> String {
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
        Some(Value::Number(number)) => words.push_str(&match number.as_i64() {
            Some(number) => blosc_shuffle(number),
            None => format!(" shuffle={number}"),
        }),
        // The default of numcodecs, and that of zarr-python in version 3.
        _ => words.push_str(&blosc_shuffle(if is_v2 { 1 } else { -1 })),
    }
    let size = |key: &str| config.get(key).and_then(Value::as_u64);
    // In version 2 the size is always that of the elements.
    let element = other_size(size("typesize").filter(|_| !is_v2), element);
    words + &blosc_sizes(element, size("blocksize"))
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
            ("zstd,4294967291", "zstd -5"),
            ("32015,4294967291", "zstd -5"),
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
            ("2,8|1,4", "shuffle 8 | zlib 4"),
            (r#"{"id":"shuffle","elementsize":2}"#, "shuffle 2"),
        ] {
            assert_eq!(chain_words(chain, 4), words, "{chain}");
        }
        assert_eq!(chain_words(r#"[{"id":"shuffle"},{"id":"lz4"}]"#, 8), "shuffle | lz4");
    }

    #[test]
    fn codecs_in_metadata_have_the_words_of_chains() {
        let words = |filters: &[Json]| filters_words(filters, 4);
        let filters = [
            json!({"id": "shuffle", "elementsize": 4}),
            json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
        ];
        assert_eq!(words(&filters), "shuffle | blosc lz4 5 shuffle");
        let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
        assert_eq!(words(&[zstd, json!({"name": "crc32c"})]), "zstd 3 | crc32c");
        let scaled = json!({"id": "fixedscaleoffset", "scale": 10, "offset": 0, "dtype": "<f4"});
        assert_eq!(words(&[scaled]), "fixedscaleoffset scale=10 offset=0 dtype=<f4");
        let by_number = [generic::codec_json(2, &[4]), generic::codec_json(32_015, &[3])];
        assert_eq!(words(&by_number.map(Json::from)), "shuffle | zstd 3");
        assert_eq!(words(&[]), "-");
    }

    #[test]
    fn sizes_are_shown_that_are_not_those_of_the_variable() {
        for (codec, words) in [
            (json!({"id": "shuffle", "elementsize": 8}), "shuffle"),
            (json!({"id": "shuffle", "elementsize": 0}), "shuffle"),
            (json!({"id": "shuffle", "elementsize": 2}), "shuffle 2"),
            (json!({"id": "shuffle"}), "shuffle 4"),
            (json!({"name": "numcodecs.shuffle", "configuration": {}}), "shuffle"),
            (json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}), "shuffle 4"),
            (json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1}), "blosc lz4 5 autoshuffle"),
            (json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0}), "blosc lz4 5"),
            (json!({"id": "blosc", "cname": "lz4", "clevel": 5}), "blosc lz4 5 shuffle"),
            (
                json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 256, "typesize": 4}),
                "blosc lz4 5 shuffle blocksize=256",
            ),
            (
                json!({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "shuffle": "shuffle", "typesize": 4}}),
                "blosc zstd 1 shuffle typesize=4",
            ),
            (
                json!({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "typesize": 8, "blocksize": 0}}),
                "blosc zstd 1 autoshuffle",
            ),
            (generic::codec_json(2, &[4]).into(), "shuffle 4"),
            (generic::codec_json(32_001, &[2, 2, 4, 4096, 5, 1, 1]).into(), "blosc lz4 5 shuffle typesize=4"),
            (
                generic::codec_json(32_001, &[0, 0, 0, 4096, 5, 1, 1]).into(),
                "blosc lz4 5 shuffle blocksize=4096",
            ),
            (
                generic::codec_json(32_026, &[1, 512, 8, 4096, 5, 3, 1]).into(),
                "blosc2 lz4 5 delta blocksize=512",
            ),
        ] {
            assert_eq!(filters_words(std::slice::from_ref(&codec), 8), words, "{codec:?}");
        }
        let shuffle = json!({"id": "shuffle", "elementsize": 8});
        assert_eq!(filters_words(&[shuffle], 0), "shuffle");
    }
}
