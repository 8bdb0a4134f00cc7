//! The results of zarr-python for single numbers (`tests/fixtures/codecs/v3/<codec>.json`), for the tests of the codecs
//! that only Zarr v3 has.
//!
//! Included by path, as `properties.rs` is: `#[path = "../../../shared/tests/v3_cases.rs"] mod v3_cases;`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, Coder, Container, Dialect, Dtype, Env, Number, Result};
use serde_json::Value;

/// One configuration, and numbers with what they become.
pub(crate) struct Case<C> {
    /// For messages.
    pub(crate) name: String,
    pub(crate) codec: C,
    pub(crate) dtype: Dtype,
    /// Numbers, and the encoding of each; `None` if zarr-python refuses it.
    pub(crate) encoded: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Numbers as they are stored, and what each is decoded to.
    pub(crate) decoded: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// All cases of the codec; `stored` is the type that its configuration stores.
pub(crate) fn cases<C: Codec>(name: &str, stored: impl Fn(&C, Number) -> Number) -> Vec<Case<C>> {
    let path = ncz_test_support::fixtures().join("codecs/v3").join(format!("{name}.json"));
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let case = |case: &Value| {
        let config = case["configuration"].as_object().unwrap();
        let codec = C::from_json(Dialect::ZarrV3, config, &mut Vec::new()).unwrap();
        let number = Number::from_v3(case["dtype"].as_str().unwrap()).unwrap();
        let pairs = |numbers: &str, results: &str, size: usize| {
            let numbers = unhex(case[numbers].as_str().unwrap());
            let results = case[results].as_array().unwrap();
            assert_eq!(numbers.len(), results.len() * size);
            let pair = |(number, result): (&[u8], &Value)| (number.to_vec(), result.as_str().map(unhex));
            numbers.chunks(size).zip(results).map(pair).collect()
        };
        Case {
            name: format!("{} of {}", case["configuration"], number.v3()),
            encoded: pairs("raw", "encoded", number.size()),
            decoded: pairs("stored", "decoded", stored(&codec, number).size()),
            codec,
            dtype: number.dtype(),
        }
    };
    cases.iter().map(case).collect()
}

/// A chunk of this many numbers.
pub(crate) fn env(dtype: Dtype, count: usize) -> Env {
    let shape = vec![count as u64];
    Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::ZarrV3 }
}

pub(crate) fn encode<C: Coder>(coder: &C, input: &[u8]) -> Result<Vec<u8>> {
    let mut output = vec![0; coder.max_encoded_len(input.len()).unwrap()];
    let len = coder.encode(&mut coder.scratch(), input, &mut output)?;
    output.truncate(len);
    Ok(output)
}

/// Whether both are the same number of this type; of NaN the bits need not be.
pub(crate) fn same(number: Number, a: &[u8], b: &[u8]) -> bool {
    let is_nan = |bytes: &[u8]| {
        let mut value = [0.0];
        number.read_floats(bytes, &mut value);
        value[0].is_nan()
    };
    a == b || number.is_float() && a.len() == b.len() && is_nan(a) && is_nan(b)
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
