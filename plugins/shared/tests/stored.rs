//! Streams of single codecs as numcodecs made them (`tests/fixtures/codecs/numcodecs/<id>.json`), for the tests of each
//! codec crate.
//!
//! Included by path, as `properties.rs` is: `#[path = "../../../shared/tests/stored.rs"] mod stored;`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]
#![allow(dead_code, reason = "a checksum has no type, a codec without loss decodes what was encoded")]

use ncz_codec::{ByteOrder, Codec, Container, Dialect, Dtype, Env, Kind};
use serde_json::Value;

/// One configuration, its input, and the result of numcodecs.
pub(crate) struct Case<C> {
    /// For messages.
    pub(crate) name: String,
    pub(crate) codec: C,
    pub(crate) dtype: Dtype,
    /// The input; `None` for a stream that no program encoded.
    pub(crate) raw: Option<Vec<u8>>,
    /// `None` if numcodecs refuses to encode.
    pub(crate) encoded: Option<Vec<u8>>,
    /// The result of numcodecs for decoding `encoded`; `None` if it refuses.
    pub(crate) decoded: Option<Vec<u8>>,
}

impl<C> Case<C> {
    /// A chunk of this many bytes of the case's type.
    pub(crate) fn env(&self, len: usize) -> Env {
        let shape = vec![(len / self.dtype.size) as u64];
        Env {
            dtype: self.dtype,
            array_shape: shape.clone(),
            chunk_shape: shape,
            container: Container::ZarrV2,
        }
    }
}

/// All cases of the codec with this numcodecs id.
pub(crate) fn cases<C: Codec>(id: &str) -> Vec<Case<C>> {
    let path = ncz_test_support::fixtures().join("codecs/numcodecs").join(format!("{id}.json"));
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let case = |case: &Value| {
        let mut config = case["config"].as_object().unwrap().clone();
        assert_eq!(config.remove("id").unwrap(), id);
        let bytes = |key: &str| case[key].as_str().map(unhex);
        let mut notes = Vec::new();
        Case {
            name: format!("{} of {}", case["config"], case["dtype"]),
            codec: C::from_json(Dialect::Numcodecs, &config, &mut notes).unwrap(),
            dtype: dtype(case["dtype"].as_str().unwrap()),
            raw: bytes("raw"),
            encoded: bytes("encoded"),
            decoded: bytes("decoded"),
        }
    };
    cases.iter().map(case).collect()
}

/// The type that numpy calls by this text.
pub(crate) fn dtype(text: &str) -> Dtype {
    let kind = match &text[1..2] {
        "b" => Kind::Bool,
        "i" => Kind::Int,
        "u" => Kind::UInt,
        "f" => Kind::Float,
        other => panic!("{other}"),
    };
    let order = if text.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
    Dtype { kind, size: text[2..].parse().unwrap(), order }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
