//! Changes to JSON documents: to what they say, and to how it is written.

use std::sync::Arc;

use fastrand::Rng;
use ncz::model::json::{Json, Map};
use ncz::model::json::{parse, to_text_indented, to_text_lenient};

use super::text::NUMBERS;
use super::{any, text};

/// Words that mean something in metadata, as keys or as values.
const WORDS: [&str; 94] = [
    "",
    "zarr_format",
    "shape",
    "chunks",
    "dtype",
    "fill_value",
    "order",
    "C",
    "F",
    "filters",
    "compressor",
    "dimension_separator",
    ".",
    "/",
    "_ARRAY_DIMENSIONS",
    "_nczarr_superblock",
    "_nczarr_group",
    "_nczarr_array",
    "_nczarr_attr",
    "_NCZARR_ARRAY",
    "_NCZARR_SUPERBLOCK",
    "_NCProperties",
    "dimensions",
    "dimension_references",
    "arrays",
    "groups",
    "storage",
    "scalar",
    "chunked",
    "contiguous",
    "compact",
    "types",
    "size",
    "unlimited",
    "version",
    "2.0.0",
    "metadata",
    "zarr_consolidated_format",
    "_FillValue",
    "id",
    "zlib",
    "zstd",
    "blosc",
    "shuffle",
    "elementsize",
    "level",
    "vlen-utf8",
    "vlen-bytes",
    "<i2",
    ">f8",
    "|S3",
    "<U2",
    "|O",
    "|b1",
    "<M8[ns]",
    "|J0",
    "S1",
    "NaN",
    "Infinity",
    "-Infinity",
    "0x7fc00000",
    "AAAA",
    "node_type",
    "array",
    "group",
    "data_type",
    "int64",
    "float32",
    "string",
    "r16",
    "variable_length_bytes",
    "fixed_length_utf32",
    "numpy.datetime64",
    "chunk_grid",
    "regular",
    "configuration",
    "chunk_shape",
    "chunk_key_encoding",
    "default",
    "v2",
    "codecs",
    "bytes",
    "transpose",
    "sharding_indexed",
    "attributes",
    "dimension_names",
    "consolidated_metadata",
    "must_understand",
    "ncz.hdf5_filter",
    "filter",
    "cd_values",
    "|V0",
    "|S0",
    "<U0",
];

/// Ways to write strings that readers disagree about.
const SPELLINGS: [&str; 10] = [
    "\\ud800",
    "\\udc00\\ud800",
    "\\ud83d\\ude00",
    "\\u0000",
    "\\u002f",
    "\\x41",
    "\\",
    "\u{7f}",
    "\t",
    "\\/",
];

/// Changes a document in one way. What is not JSON is changed as text.
pub fn mutate(document: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let Ok(parsed) = parse(document) else { return text::mutate(document, other, &WORDS, rng) };
    if rng.u32(..8) == 0 {
        return spelling(document, other, rng);
    }
    let mut json = parsed.value;
    let nodes = count(&json);
    let mut at = rng.usize(..nodes);
    let donor = parse(other).map_or(Json::Null, |parsed| parsed.value);
    visit(&mut json, &mut at, &mut |node| change(node, &donor, rng));
    let text = if rng.u32(..8) == 0 { to_text_indented(&json, true) } else { to_text_lenient(&json) };
    *document = text.into_bytes();
}

fn count(json: &Json) -> usize {
    1 + match json {
        Json::Object(members) => members.values().map(count).sum(),
        Json::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

/// Calls back with the value of this number, counted from 0 in the order of the document.
fn visit(json: &mut Json, at: &mut usize, action: &mut dyn FnMut(&mut Json)) -> bool {
    if *at == 0 {
        action(json);
        return true;
    }
    *at -= 1;
    match json {
        Json::Object(members) => Arc::make_mut(members).values_mut().any(|value| visit(value, at, action)),
        Json::Array(items) => items.iter_mut().any(|value| visit(value, at, action)),
        _ => false,
    }
}

fn change(node: &mut Json, donor: &Json, rng: &mut Rng) {
    match (rng.u32(..8), node) {
        (0..3, Json::Object(members)) if !members.is_empty() => {
            let members = Arc::make_mut(members);
            let key = members.keys().nth(rng.usize(..members.len())).unwrap().clone();
            let value = members.shift_remove(&key).unwrap();
            match rng.u32(..3) {
                0 => {}
                1 => drop(members.insert(any(&WORDS, rng).to_owned(), value)),
                _ => {
                    members.insert(key, leaf(rng));
                    members.insert(any(&WORDS, rng).to_owned(), value);
                }
            }
        }
        (3, Json::Object(members)) => {
            Arc::make_mut(members).insert(any(&WORDS, rng).to_owned(), made_up(2, rng));
        }
        (0..4, Json::Array(items)) if !items.is_empty() => {
            let at = rng.usize(..items.len());
            match rng.u32(..4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, made_up(1, rng)),
                2 => items.extend(vec![items[at].clone(); rng.usize(1..70)]),
                _ => items.swap(at, 0),
            }
        }
        (0..2, Json::String(string)) => match rng.u32(..4) {
            0 => drop(string.pop()),
            1 => string.push_str(any(&["0", "/", "..", "\u{0}", "\u{e9}", " "], rng)),
            2 => *string = string.repeat(rng.usize(2..300)),
            _ => string.insert_str(0, any(&WORDS, rng)),
        },
        (4, node) => *node = json_node(donor, rng),
        (5, node) => {
            let depth = if rng.bool() { 1 } else { rng.usize(1..70) };
            let wrap = |inner: Json, rng: &mut Rng| match rng.bool() {
                true => Json::Array(vec![inner]),
                false => Json::from(Map::from_iter([(any(&WORDS, rng).to_owned(), inner)])),
            };
            *node = (0..depth).fold(std::mem::take(node), |inner, _| wrap(inner, rng));
        }
        (_, node) => *node = made_up(2, rng),
    }
}

/// Some part of another document.
fn json_node(json: &Json, rng: &mut Rng) -> Json {
    let mut copy = json.clone();
    let mut found = Json::Null;
    visit(&mut copy, &mut rng.usize(..count(json)), &mut |node| found = std::mem::take(node));
    found
}

fn made_up(depth: u32, rng: &mut Rng) -> Json {
    match rng.u32(..8) {
        0 if depth > 0 => (0..rng.usize(..4)).map(|_| made_up(depth - 1, rng)).collect(),
        1 if depth > 0 => {
            let members = (0..rng.usize(..4)).map(|_| (any(&WORDS, rng).to_owned(), made_up(depth - 1, rng)));
            Json::from(members.collect::<Map>())
        }
        _ => leaf(rng),
    }
}

fn leaf(rng: &mut Rng) -> Json {
    match rng.u32(..10) {
        0 => Json::Null,
        1 => Json::from(rng.bool()),
        2 => Json::from("x".repeat(1 << rng.u32(..12))),
        3..6 => Json::from(any(&WORDS, rng)),
        // Through the reader, which keeps the text of numbers.
        _ => parse(any(&NUMBERS, rng).as_bytes()).unwrap().value,
    }
}

/// The same document written otherwise, or not quite JSON.
fn spelling(document: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let after = |byte: u8, rng: &mut Rng| {
        let found: Vec<usize> = (0..document.len()).filter(|&at| document[at] == byte).collect();
        if found.is_empty() { document.len() } else { found[rng.usize(..found.len())] + 1 }
    };
    match rng.u32(..5) {
        // A key twice in an object.
        0 => {
            let at = after(b'{', rng);
            let key = any(&WORDS, rng);
            document
                .splice(at..at, format!("\"{key}\": 1, \"{key}\": {}, ", any(&NUMBERS, rng)).into_bytes());
        }
        1 | 2 => {
            let at = after(b'"', rng);
            document.splice(at..at, any(&SPELLINGS, rng).bytes());
        }
        3 => drop(document.splice(0..0, any(&["\u{feff}", " ", "[", "\n"], rng).bytes())),
        _ => text::mutate(document, other, &WORDS, rng),
    }
}
