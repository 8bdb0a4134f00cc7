use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, ConfigReader, Dialect, Env, Number, Repr, Result,
    Scalar,
};
use serde_json::{Map, Value, json};

use crate::cast::{Cast, Held, OutOfRange, Rounding};
use crate::codec::{CastValueCoder, Direction, ScalarMap};

const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
    ("nearest-away", Rounding::NearestAway),
];
const OUT_OF_RANGE: [(&str, OutOfRange); 2] = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];
/// The words before the pairs.
const HEAD: usize = 5;
/// The words of a pair.
const PAIR: usize = 6;
/// The most pairs of a map: each number of a chunk is looked up among them.
const PAIRS_MAX: usize = 1024;

/// Configuration of the cast_value codec.
#[derive(Debug, Clone, PartialEq)]
pub struct CastValue {
    /// The type that is stored; its byte order counts in the working words only.
    pub data_type: Number,
    /// The rounding of numbers between two of the other type.
    pub rounding: Rounding,
    /// The handling of numbers outside the range of the other type; `None`: an error.
    pub out_of_range: Option<OutOfRange>,
    /// The replacements when encoding; `None` if the key is missing.
    pub encode: Option<Vec<[Scalar; 2]>>,
    /// The replacements when decoding.
    pub decode: Option<Vec<[Scalar; 2]>>,
}

impl CodecConfig for CastValue {
    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let data_type = data_type(reader.raw("data_type"))?;
        let rounding = named("rounding", reader.text("rounding", ROUNDINGS[0].0)?, &ROUNDINGS)?;
        let out_of_range = match reader.text("out_of_range", "")? {
            "" if reader.raw("out_of_range").is_none() => None,
            text => Some(named("out_of_range", text, &OUT_OF_RANGE)?),
        };
        let (encode, decode) = match reader.raw("scalar_map") {
            None => (None, None),
            Some(Value::Object(map)) => {
                if let Some(key) = map.keys().find(|key| !matches!(key.as_str(), "encode" | "decode")) {
                    let text = "a scalar_map has encode and decode only";
                    return Err(CodecError::config(format!("scalar_map.{key}"), text));
                }
                (
                    pairs("scalar_map.encode", map.get("encode"))?,
                    pairs("scalar_map.decode", map.get("decode"))?,
                )
            }
            Some(other) => {
                let text = format!("expected an object with encode and decode, got {other}");
                return Err(CodecError::config("scalar_map", text));
            }
        };
        reader.finish(notes)?;
        Self { data_type, rounding, out_of_range, encode, decode }.checked("out_of_range")
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        known_in(dialect)?;
        let mut map = Map::new();
        map.insert("data_type".to_owned(), json!(self.data_type.v3()));
        if self.rounding != Rounding::default() {
            map.insert("rounding".to_owned(), json!(name(self.rounding, &ROUNDINGS)));
        }
        if let Some(out_of_range) = self.out_of_range {
            map.insert("out_of_range".to_owned(), json!(name(out_of_range, &OUT_OF_RANGE)));
        }
        let list = |pairs: &Vec<[Scalar; 2]>| {
            Value::from_iter(pairs.iter().map(|pair| json!(pair.map(Scalar::json))))
        };
        let maps = [("encode", &self.encode), ("decode", &self.decode)];
        let maps = maps.into_iter().filter_map(|(key, pairs)| Some((key.to_owned(), list(pairs.as_ref()?))));
        let maps: Map<String, Value> = maps.collect();
        if !maps.is_empty() {
            map.insert("scalar_map".to_owned(), Value::Object(maps));
        }
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        let wrong = |at: usize, detail: &str| CodecError::config(format!("cd_values[{at}]"), detail);
        let [_, rounding, range, encode, decode, pairs @ ..] = words else {
            let text = format!("cast_value takes at least {HEAD} parameters, got {}", words.len());
            return Err(CodecError::config("cd_values", text));
        };
        let rounding =
            ROUNDINGS.get(*rounding as usize).ok_or_else(|| wrong(1, "it is not within 0 to 4"))?.1;
        let out_of_range = match *range {
            0 => None,
            other => {
                let known = OUT_OF_RANGE.iter().find(|(_, known)| *known as u32 == other);
                Some(known.ok_or_else(|| wrong(2, "it is not within 0 to 2"))?.1)
            }
        };
        let (encode, decode) = (*encode as usize, *decode as usize);
        if encode.max(decode) > PAIRS_MAX || pairs.len() != (encode + decode) * PAIR {
            return Err(wrong(3, "as many pairs are not there"));
        }
        let pair = |words: &[u32]| {
            let [a, b, c, d, e, f] = *words else { return None };
            Some([Scalar::from_words([a, b, c])?, Scalar::from_words([d, e, f])?])
        };
        let list: Option<Vec<_>> = pairs.chunks(PAIR).map(pair).collect();
        let mut list = list.ok_or_else(|| wrong(HEAD, "these are not words of numbers"))?;
        let after = list.split_off(encode);
        let some = |list: Vec<_>| Some(list).filter(|list| !list.is_empty());
        let data_type = Number::from_word(words, 0)?;
        Self { data_type, rounding, out_of_range, encode: some(list), decode: some(after) }
            .checked("cd_values[2]")
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        let maps = [self.encode.as_deref().unwrap_or_default(), self.decode.as_deref().unwrap_or_default()];
        let range = self.out_of_range.map_or(0, |range| range as u32);
        let mut words = vec![self.data_type.word(), self.rounding as u32, range];
        words.extend(maps.iter().map(|map| map.len() as u32));
        words.extend(maps.iter().flat_map(|map| map.as_flattened()).flat_map(|scalar| scalar.words()));
        Ok(words)
    }
}

impl Codec for CastValue {
    const INFO: CodecInfo = CodecInfo::new("cast_value", "numbers as numbers of another type")
        .zarr_v3(&["cast_value"])
        .working_params()
        .lossy();

    type Coder = CastValueCoder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, fill, .. } = input else {
            return Err(CodecError::unsupported(
                "cast_value takes numbers, not bytes; put it first, or after codecs that return numbers",
            ));
        };
        let from = Number::new(*dtype)?;
        // The codecs after take what enters in the order of the bytes that the array has.
        let to = Number::new(ncz_codec::Dtype { order: dtype.order, ..self.data_type.dtype() })?;
        let coder = self.coder_of(from, to)?;
        let mut output = from.replaced(input, to)?;
        if let (Some(given), Repr::Array { fill, .. }) = (fill, &mut output) {
            *fill = Some(coder.encode_fill(given)?);
        }
        let mut working = CodecConfig::to_params(&Self { data_type: to, ..self.clone() })?;
        working.push(from.word());
        Ok(Bound { stored: self.clone(), working, output, coder })
    }

    fn coder(working: &[u32]) -> Result<CastValueCoder> {
        let Some((_, given)) = working.split_last() else { return Err(untyped()) };
        let codec = Self::from_params(given).map_err(|_| untyped())?;
        codec.coder_of(Number::from_word(working, given.len())?, codec.data_type)
    }

    fn is_lossy(&self, input: &Repr) -> Option<bool> {
        let from = match input {
            Repr::Array { dtype, .. } => Number::new(*dtype).ok(),
            Repr::Bytes { .. } => None,
        };
        let is_mapped = [&self.encode, &self.decode].iter().any(|map| map.is_some());
        let is_exact = |from: Number| {
            // Integers that the other type of integers does not have are refused.
            let is_refused = self.out_of_range.is_none() && !from.is_float() && !self.data_type.is_float();
            is_refused || self.data_type.holds_integers_of(from)
        };
        Some(is_mapped || !from.is_some_and(is_exact))
    }
}

impl CastValue {
    /// Refuses what wraps around and is not an integer; `key` names it.
    fn checked(self, key: &str) -> Result<Self> {
        if self.out_of_range == Some(OutOfRange::Wrap) && self.data_type.is_float() {
            let text =
                format!("{} does not wrap around; use clamp, which gives infinity", self.data_type.v3());
            return Err(CodecError::config(key, text));
        }
        Ok(self)
    }

    fn coder_of(&self, from: Number, to: Number) -> Result<CastValueCoder> {
        let direction = |key: &str, pairs: &Option<Vec<[Scalar; 2]>>, from: Number, to: Number| {
            let cast = Cast { from, to, rounding: self.rounding, out_of_range: self.out_of_range };
            let pairs = pairs.iter().flatten().enumerate();
            let map: Result<Vec<_>> = pairs
                .map(|(at, [input, output])| {
                    Ok((held(key, at, 0, *input, from)?, held(key, at, 1, *output, to)?))
                })
                .collect();
            Ok(Direction { cast, map: ScalarMap::new(map?) })
        };
        Ok(CastValueCoder::new(
            direction("scalar_map.encode", &self.encode, from, to)?,
            direction("scalar_map.decode", &self.decode, to, from)?,
        ))
    }
}

/// The number of a pair in the type that it is of.
fn held(key: &str, at: usize, side: usize, scalar: Scalar, number: Number) -> Result<Held> {
    let held = if number.is_float() {
        scalar.as_float(number).map(Held::Float)
    } else {
        scalar.as_integer(number).map(Held::Integer)
    };
    held.ok_or_else(|| {
        let side = if side == 0 { "from" } else { "to" };
        let text = format!("{scalar} is not a number of type {}, {side} which it maps", number.v3());
        CodecError::config(format!("{key}[{at}]"), text)
    })
}

/// Reads the stored number type: its name, or an object with the name.
fn data_type(value: Option<&Value>) -> Result<Number> {
    const KNOWN: &str =
        "int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32 and float64";
    let wrong = |detail: String| CodecError::config("data_type", detail);
    let value = value.ok_or_else(|| wrong(format!("it is missing; types read here are {KNOWN}")))?;
    let plain = |object: &Map<String, Value>| {
        object.iter().all(|(key, value)| {
            key == "name" || key == "configuration" && value.as_object().is_some_and(Map::is_empty)
        })
    };
    let name = match value {
        Value::Object(object) if plain(object) => object.get("name").and_then(Value::as_str),
        other => other.as_str(),
    };
    name.and_then(Number::from_v3)
        .ok_or_else(|| wrong(format!("{value} is not a supported number type; these are {KNOWN}")))
}

fn pairs(key: &str, value: Option<&Value>) -> Result<Option<Vec<[Scalar; 2]>>> {
    let list = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list,
        Some(other) => {
            return Err(CodecError::config(key, format!("expected a list of pairs, got {other}")));
        }
    };
    if list.len() > PAIRS_MAX {
        let text = format!("{} pairs are more than {PAIRS_MAX}", list.len());
        return Err(CodecError::config(key, text));
    }
    let pair = |(at, pair): (usize, &Value)| {
        let key = format!("{key}[{at}]");
        match pair.as_array().map(Vec::as_slice) {
            Some([input, output]) => Ok([Scalar::from_json(&key, input)?, Scalar::from_json(&key, output)?]),
            _ => Err(CodecError::config(&key, format!("expected a pair of numbers, got {pair}"))),
        }
    };
    list.iter().enumerate().map(pair).collect::<Result<_>>().map(Some)
}

/// Returns the value named `text`.
fn named<T: Copy>(key: &str, text: &str, names: &[(&'static str, T)]) -> Result<T> {
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        CodecError::config(key, format!("{text:?} is none of {}", names.join(", ")))
    })
}

fn name<T: PartialEq>(value: T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::ZarrV3 => Ok(()),
        Dialect::Numcodecs => Err(CodecError::unsupported(
            "cast_value has no name in numcodecs; fixedscaleoffset there stores numbers as another type, too",
        )),
    }
}

fn untyped() -> CodecError {
    CodecError::config(
        "cd_values",
        "cast_value needs its working words, of which the last is the type that enters",
    )
}
