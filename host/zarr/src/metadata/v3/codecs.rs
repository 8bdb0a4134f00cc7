//! `codecs`: converts the list of a `zarr.json` to order, byte order, shards and filters, and back.

use ncz_codec::Number;
use ncz_model::json::{Json, Map, json};
use ncz_model::{ByteOrder, Dtype, Kind, Order, Sharding, Variable, json, limits};

use super::extension::Extension;

/// The parsed codecs of an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pipeline {
    pub(super) order: Order,
    pub(super) serializer: Serializer,
    /// The lengths of a chunk; of an inner chunk if there are shards.
    pub(super) chunk_shape: Vec<u64>,
    pub(super) sharding: Option<Sharding>,
    /// All other codecs, in the order of encoding.
    pub(super) filters: Vec<Json>,
}

/// The codec that converts elements to bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Serializer {
    /// `bytes`, in this order.
    Bytes(ByteOrder),
    /// `vlen-utf8`
    VlenText,
    /// `vlen-bytes`
    VlenBytes,
}

impl Serializer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::VlenText => "vlen-utf8",
            Self::VlenBytes => "vlen-bytes",
        }
    }
}

const SERIALIZERS: [&str; 5] = ["bytes", "endian", "vlen-utf8", "vlen-bytes", SHARDING];
const SHARDING: &str = "sharding_indexed";

/// Array-to-array codecs, which come before `bytes`, without the prefix `numcodecs.`; but see [`PACKBITS`].
const ARRAY_CODECS: [&str; 9] = [
    "astype",
    "bitround",
    "cast_value",
    "delta",
    "fixedscaleoffset",
    "packbits",
    "quantize",
    "reshape",
    "scale_offset",
];

/// Array-to-bytes codecs that run like filters, without the prefix `numcodecs.`: they replace `bytes`, and take
/// little-endian elements.
const ARRAY_BYTES_CODECS: [&str; 3] = ["pcodec", "zfp", "zfpy"];

/// With the prefix `numcodecs.` an array-to-array codec, without it an array-to-bytes codec.
const PACKBITS: &str = "packbits";

/// Parses the list; `object_shape` is the shape of the part that one key of the store holds. The error says what is
/// wrong with the list, or not supported.
pub(super) fn split(codecs: &Json, object_shape: &[u64]) -> Result<Pipeline, String> {
    let codecs = list(codecs)?;
    let stages: Vec<Extension<'_>> = codecs.iter().map(Extension::parse).collect::<Result<_, _>>()?;
    let makes_bytes = |name: &str| SERIALIZERS.contains(&name) || is_array_bytes_codec(name);
    let mut serializers = stages.iter().enumerate().filter(|(_, stage)| makes_bytes(stage.name));
    let Some((at, serializer)) = serializers.next() else {
        let names: Vec<&str> = stages.iter().map(|stage| stage.name).collect();
        return Err(format!(
            "none of its codecs {names:?} is a supported codec that makes bytes of elements"
        ));
    };
    if let Some((_, second)) = serializers.next() {
        return Err(format!(
            "the codec {:?} follows {:?}, which returns bytes",
            second.name, serializer.name
        ));
    }
    let mut axes: Vec<usize> = (0..object_shape.len()).collect();
    let mut filters = Vec::new();
    for (stage, codec) in stages.iter().zip(codecs).take(at) {
        if stage.name != "transpose" {
            filters.push(object(codec));
            continue;
        }
        let order = permutation(*stage, axes.len())?;
        let unmoved = order.iter().copied().eq(0..axes.len());
        if !filters.is_empty() && !unmoved {
            return Err("its codec \"transpose\" follows another codec, which ncz cannot read".to_owned());
        }
        axes = order.iter().filter_map(|&axis| axes.get(axis).copied()).collect();
    }
    let rest = codecs.iter().skip(at + 1).map(object);
    if serializer.name == SHARDING {
        let name = |place: &[Extension<'_>]| place.first().map(|stage| stage.name.to_owned());
        let moved = !axes.iter().copied().eq(0..axes.len());
        let before = if moved {
            Some("transpose".to_owned())
        } else {
            name(&stages[..at]).filter(|_| !filters.is_empty())
        };
        if let Some(other) = before.or_else(|| name(&stages[at + 1..])) {
            return Err(format!("its codec {other:?} works on whole shards, which is not supported"));
        }
        return sharded(*serializer, object_shape);
    }
    let array_codecs = !filters.is_empty();
    let runs_as_filter = is_array_bytes_codec(serializer.name);
    let reaching = reaching(&filters);
    let undecided = match reaching {
        None => Ok(ByteOrder::None),
        Some((_, Some(1))) => Ok(ByteOrder::Little),
        Some((codec, Some(size))) => Err(format!(
            "its codec {:?} has no \"endian\", which the output of {codec:?} (elements of {size} bytes) requires",
            serializer.name
        )),
        Some((codec, None)) => Err(format!(
            "its codec {:?} has no \"endian\", and it is not known whether the output of {codec:?} requires it",
            serializer.name
        )),
    };
    filters.extend(codecs.get(at).filter(|_| runs_as_filter).map(object));
    filters.extend(rest);
    let serializer = match serializer.name {
        _ if runs_as_filter => Serializer::Bytes(ByteOrder::Little),
        "vlen-utf8" => serializer.only(&[]).map(|()| Serializer::VlenText)?,
        "vlen-bytes" => serializer.only(&[]).map(|()| Serializer::VlenBytes)?,
        _ => match endian(*serializer)? {
            ByteOrder::None => Serializer::Bytes(undecided?),
            order => Serializer::Bytes(order),
        },
    };
    if array_codecs && serializer == Serializer::Bytes(ByteOrder::Big) {
        return Err("ncz cannot read big-endian bytes after another codec".to_owned());
    }
    let chunk_shape = object_shape.to_vec();
    Ok(Pipeline { order: Order::from_axes(axes), serializer, chunk_shape, sharding: None, filters })
}

/// Makes the codec list of a variable.
pub(super) fn join(variable: &Variable) -> Vec<Json> {
    let mut codecs = Vec::new();
    let rank = variable.shape.len();
    let axes = variable.order.axes(rank);
    if !axes.iter().copied().eq(0..rank) {
        codecs.push(json!({"name": "transpose", "configuration": {"order": axes}}));
    }
    let arrays = variable.filters.iter().take_while(|codec| is_array_codec(codec)).count();
    let (before, after) = variable.filters.split_at(arrays);
    codecs.extend_from_slice(before);
    if !after.first().is_some_and(|codec| is_array_bytes_codec(name(codec))) {
        codecs.push(serializer(&variable.dtype, arrays > 0));
    }
    codecs.extend_from_slice(after);
    let Some(sharding) = &variable.sharding else { return codecs };
    let mut index_codecs = vec![bytes_codec(sharding.index_order)];
    if sharding.index_checksum {
        index_codecs.push(json!({"name": "crc32c"}));
    }
    let mut configuration = Map::new();
    configuration.insert("chunk_shape".to_owned(), json!(variable.chunk_shape));
    configuration.insert("codecs".to_owned(), Json::Array(codecs));
    configuration.insert("index_codecs".to_owned(), Json::Array(index_codecs));
    let place = if sharding.index_at_end { "end" } else { "start" };
    configuration.insert("index_location".to_owned(), json!(place));
    let mut codec = Map::new();
    codec.insert("name".to_owned(), json!(SHARDING));
    codec.insert("configuration".to_owned(), Json::from(configuration));
    vec![Json::from(codec)]
}

/// Whether a list that was read still describes the variable.
pub(super) fn says(codecs: &Json, variable: &Variable) -> bool {
    let Ok(pipeline) = split(codecs, variable.object_shape()) else { return false };
    let serializer = match (pipeline.serializer, variable.dtype.kind()) {
        (Serializer::VlenText, Kind::VlenText) | (Serializer::VlenBytes, Kind::VlenBytes) => true,
        (Serializer::Bytes(order), _) => {
            !variable.dtype.is_variable_length()
                && (variable.dtype.order() == ByteOrder::None || variable.dtype.order() == order)
        }
        _ => false,
    };
    let rank = variable.shape.len();
    serializer
        && pipeline.order.axes(rank) == variable.order.axes(rank)
        && pipeline.chunk_shape == variable.chunk_shape
        && pipeline.sharding == variable.sharding
        && pipeline.filters == variable.filters
}

fn list(codecs: &Json) -> Result<&[Json], String> {
    codecs.as_array().map(Vec::as_slice).ok_or_else(|| format!("{} is not a list", json::shortened(codecs)))
}

/// Converts a codec that is only a name to an object, which chains require.
fn object(codec: &Json) -> Json {
    if codec.is_string() { json!({"name": codec}) } else { codec.clone() }
}

pub(super) fn is_array_codec(codec: &Json) -> bool {
    let name = name(codec);
    name != PACKBITS && ARRAY_CODECS.contains(&plain(name))
}

fn is_array_bytes_codec(name: &str) -> bool {
    name == PACKBITS || ARRAY_BYTES_CODECS.contains(&plain(name))
}

/// Returns the last codec that changes the element type, and the new element size if it is known. The array's own
/// element size then does not apply to the elements that reach `bytes`.
fn reaching(filters: &[Json]) -> Option<(&str, Option<usize>)> {
    filters.iter().fold(None, |before, codec| {
        let name = name(codec);
        let key = |key| codec.get("configuration")?.get(key).filter(|value| !value.is_null());
        let numpy = |json: &Json| json.as_str()?.parse::<Number>().ok();
        let given = match plain(name) {
            "bitround" | "reshape" | "scale_offset" => return before,
            "cast_value" => {
                let stored = key("data_type");
                let stored =
                    stored.and_then(|stored| stored.as_str().or_else(|| stored.get("name")?.as_str()));
                stored.and_then(Number::from_v3).map(Number::size)
            }
            "astype" => key("encode_dtype").and_then(numpy).map(Number::size),
            "delta" | "fixedscaleoffset" | "quantize" => match key("astype") {
                Some(stored) => numpy(stored).map(Number::size),
                None => return before,
            },
            PACKBITS => Some(1),
            _ => None,
        };
        Some((name, given))
    })
}

fn name(codec: &Json) -> &str {
    codec.get("name").and_then(Json::as_str).unwrap_or_default()
}

/// The name without the prefix of numcodecs.
fn plain(name: &str) -> &str {
    name.strip_prefix(ncz_registry::spec::NUMCODECS_PREFIX).unwrap_or(name)
}

fn permutation(transpose: Extension<'_>, rank: usize) -> Result<Vec<usize>, String> {
    transpose.only(&["order"])?;
    let order = transpose.get("order");
    // The words were in the drafts of version 3.
    match order.and_then(Json::as_str) {
        Some("C") => return Ok((0..rank).collect()),
        Some("F") => return Ok((0..rank).rev().collect()),
        _ => {}
    }
    let items = order.and_then(Json::as_array).filter(|items| items.len() == rank);
    let axes: Option<Vec<usize>> = items.and_then(|items| {
        items.iter().map(|item| item.as_u64().and_then(|axis| usize::try_from(axis).ok())).collect()
    });
    let sound = axes.filter(|axes| {
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..rank)
    });
    sound.ok_or_else(|| {
        let order = order.map_or_else(|| "none".to_owned(), json::shortened);
        format!("the order {order} of its codec \"transpose\" is not a permutation of its {rank} dimensions")
    })
}

/// Reads the byte order; [`ByteOrder::None`] if the codec does not specify it.
fn endian(bytes: Extension<'_>) -> Result<ByteOrder, String> {
    bytes.only(&["endian"])?;
    match bytes.get("endian") {
        None | Some(Json::Null) => Ok(ByteOrder::None),
        Some(endian) => match endian.as_str() {
            Some("little") => Ok(ByteOrder::Little),
            Some("big") => Ok(ByteOrder::Big),
            _ => Err(format!(
                "expected \"endian\" \"little\" or \"big\", got {} in its codec {:?}",
                json::shortened(endian),
                bytes.name
            )),
        },
    }
}

fn sharded(codec: Extension<'_>, shard: &[u64]) -> Result<Pipeline, String> {
    codec.only(&["chunk_shape", "codecs", "index_codecs", "index_location"])?;
    let missing = |key: &str| format!("its codec {SHARDING:?} has no {key:?}");
    let chunk_shape = lengths(codec.get("chunk_shape").ok_or_else(|| missing("chunk_shape"))?, shard.len())?;
    let whole = shard.iter().zip(&chunk_shape).all(|(shard, chunk)| shard.is_multiple_of(*chunk));
    if !whole || shard.is_empty() {
        return Err(format!("its shards {shard:?} are not multiples of their chunks {chunk_shape:?}"));
    }
    let codecs = codec.get("codecs").ok_or_else(|| missing("codecs"))?;
    let nested =
        list(codecs)?.iter().any(|inner| Extension::parse(inner).is_ok_and(|inner| inner.name == SHARDING));
    if nested {
        return Err("its shards contain shards, which is not supported".to_owned());
    }
    let inner = split(codecs, &chunk_shape)?;
    let (index_order, index_checksum) = index(codec.get("index_codecs"))?;
    let index_at_end = match codec.get("index_location").map(Json::as_str) {
        None | Some(Some("end")) => true,
        Some(Some("start")) => false,
        Some(_) => return Err("expected \"index_location\" \"start\" or \"end\"".to_owned()),
    };
    let sharding = Sharding { shape: shard.to_vec(), index_order, index_checksum, index_at_end };
    Ok(Pipeline { sharding: Some(sharding), ..inner })
}

/// Reads the byte order and checksum of an index; without a list, the usual ones.
fn index(codecs: Option<&Json>) -> Result<(ByteOrder, bool), String> {
    let Some(codecs) = codecs else { return Ok((ByteOrder::Little, true)) };
    let stages: Vec<Extension<'_>> = list(codecs)?.iter().map(Extension::parse).collect::<Result<_, _>>()?;
    let (bytes, checksum) = match stages.as_slice() {
        [bytes] => (bytes, false),
        [bytes, checksum] if checksum.name == "crc32c" => {
            checksum.only(&[])?;
            (bytes, true)
        }
        _ => {
            return Err(format!(
                "the index of its shards has the codecs {}; supported are \"bytes\" and \"crc32c\"",
                json::shortened(codecs)
            ));
        }
    };
    match (bytes.name, endian(*bytes)?) {
        ("bytes" | "endian", ByteOrder::None) => Err("the index of its shards has no byte order".to_owned()),
        ("bytes" | "endian", order) => Ok((order, checksum)),
        (other, _) => Err(format!(
            "the index of its shards has the codec {other:?}; supported are \"bytes\" and \"crc32c\""
        )),
    }
}

/// Reads the lengths of a chunk, each at least 1.
pub(super) fn lengths(json: &Json, rank: usize) -> Result<Vec<u64>, String> {
    let wrong =
        || format!("the chunk shape {} is not a list of {rank} whole numbers from 1", json::shortened(json));
    let items =
        json.as_array().filter(|items| items.len() == rank && rank <= limits::RANK).ok_or_else(wrong)?;
    items.iter().map(|item| item.as_u64().filter(|&length| length > 0).ok_or_else(wrong)).collect()
}

/// Makes the serializer. The byte order is written if elements have one, or an earlier codec may output such elements.
fn serializer(dtype: &Dtype, array_codecs: bool) -> Json {
    match (dtype.kind(), dtype.order()) {
        (Kind::VlenText, _) => json!({"name": "vlen-utf8", "configuration": {}}),
        (Kind::VlenBytes, _) => json!({"name": "vlen-bytes", "configuration": {}}),
        (_, ByteOrder::None) if array_codecs => bytes_codec(ByteOrder::Little),
        (_, order) => bytes_codec(order),
    }
}

fn bytes_codec(order: ByteOrder) -> Json {
    match order {
        ByteOrder::None => json!({"name": "bytes"}),
        ByteOrder::Little => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        ByteOrder::Big => json!({"name": "bytes", "configuration": {"endian": "big"}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_to_bytes_codecs_replace_bytes() {
        let pcodec = json!({"name": "numcodecs.pcodec", "configuration": {"level": 8}});
        let zfp = json!({"name": "zfp", "configuration": {"mode": "reversible"}});
        let (delta, crc) = (json!({"name": "numcodecs.delta"}), json!({"name": "crc32c"}));
        for codecs in [vec![zfp.clone(), crc.clone()], vec![delta, pcodec.clone(), crc]] {
            let pipeline = split(&Json::Array(codecs.clone()), &[4, 5]).unwrap();
            assert_eq!(
                (pipeline.serializer, pipeline.filters),
                (Serializer::Bytes(ByteOrder::Little), codecs)
            );
        }
        let packbits = json!([{"name": "packbits"}]);
        let pipeline = split(&packbits, &[4, 5]).unwrap();
        assert_eq!(Json::Array(pipeline.filters), packbits);
        assert!(is_array_codec(&json!({"name": "numcodecs.packbits"})) && !is_array_codec(&packbits[0]));
        assert!(split(&json!([{"name": "bytes"}, zfp]), &[4]).is_err());
        assert!(split(&json!([pcodec, {"name": "bytes"}]), &[4]).is_err());
    }

    #[test]
    fn bytes_require_an_order_unless_elements_have_one_byte() {
        let codec = |name: &str, configuration: Json| json!({"name": name, "configuration": configuration});
        let cast = |data_type: Json| codec("cast_value", json!({"data_type": data_type}));
        let astype =
            |text: &str| codec("numcodecs.astype", json!({"encode_dtype": text, "decode_dtype": "<i2"}));
        let scaled = |rest: Json| codec("numcodecs.fixedscaleoffset", rest);
        let factors = codec("scale_offset", json!({"scale": 2}));
        for (filters, want) in [
            (vec![], Ok(ByteOrder::None)),
            (vec![factors.clone()], Ok(ByteOrder::None)),
            (vec![scaled(json!({"scale": 2, "offset": 0, "dtype": "|i1"}))], Ok(ByteOrder::None)),
            (vec![cast(json!("uint8"))], Ok(ByteOrder::Little)),
            (vec![cast(json!({"name": "int8"})), factors.clone()], Ok(ByteOrder::Little)),
            (vec![cast(json!("int16")), cast(json!("uint8"))], Ok(ByteOrder::Little)),
            (vec![astype("|u1")], Ok(ByteOrder::Little)),
            (vec![json!({"name": "numcodecs.packbits"})], Ok(ByteOrder::Little)),
            (vec![cast(json!("int16"))], Err("the output of \"cast_value\" (elements of 2 bytes)")),
            (
                vec![cast(json!("int8")), astype("<i2")],
                Err("the output of \"numcodecs.astype\" (elements of 2 bytes)"),
            ),
            (vec![cast(json!("int8")), astype(">f8"), factors], Err("elements of 8 bytes")),
            (
                vec![scaled(json!({"scale": 2, "offset": 0, "dtype": "|i1", "astype": "<i4"}))],
                Err("elements of 4 bytes"),
            ),
            (vec![cast(json!("int24"))], Err("whether the output of \"cast_value\" requires it")),
            (vec![json!("shuffled")], Err("whether the output of \"shuffled\" requires it")),
        ] {
            let list = |bytes: Json| Json::from_iter(filters.iter().cloned().chain([bytes]));
            let found = split(&list(json!("bytes")), &[4]).map(|pipeline| pipeline.serializer);
            match (&found, want) {
                (Ok(found), Ok(want)) => assert_eq!(*found, Serializer::Bytes(want), "{filters:?}"),
                (Err(found), Err(want)) => assert!(found.contains(want), "{filters:?}: {found}"),
                _ => panic!("{filters:?}: expected {want:?}, got {found:?}"),
            }
            let explicit = split(&list(bytes_codec(ByteOrder::Little)), &[4]).unwrap();
            assert_eq!(explicit.serializer, Serializer::Bytes(ByteOrder::Little), "{filters:?}");
        }
    }
}
