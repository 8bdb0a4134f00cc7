//! Stored streams of other programs, and what holds for every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../properties.rs"]
mod properties;
#[path = "../../stored.rs"]
mod stored;

use ncz_codec::{Codec, Coder, Container, Dialect, Dtype, Env, ErrorKind, Kind};
use ncz_zfp::{Mode, Zfp, ZfpCoder, Zfpy};
use proptest::prelude::*;
use serde_json::Value;

use properties::{damage_is_survived, decode, encode, round_trip};

/// A case of `zfp.json`, or of numcodecs' zfpy.
struct Case {
    name: String,
    dtype: Dtype,
    shape: Vec<u64>,
    raw: Vec<u8>,
    encoded: Option<Vec<u8>>,
    decoded: Option<Vec<u8>>,
    json: Value,
}

fn cases(file: &str) -> Vec<Case> {
    let path = ncz_test_support::fixtures().join("codecs").join(file);
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let case = |json: Value| {
        let bytes = |key: &str| json[key].as_str().map(unhex);
        Case {
            name: format!("{} {} {} {}", json["dtype"], json["shape"], json["words"], json["config"]),
            dtype: stored::dtype(json["dtype"].as_str().unwrap()),
            shape: json["shape"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).collect(),
            raw: bytes("raw").unwrap(),
            encoded: bytes("encoded"),
            decoded: bytes("decoded"),
            json,
        }
    };
    cases.into_iter().map(case).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn words(json: &Value) -> Vec<u32> {
    json.as_array().unwrap().iter().map(|word| word.as_u64().unwrap() as u32).collect()
}

fn env(dtype: Dtype, shape: &[u64], container: Container) -> Env {
    Env { dtype, array_shape: shape.to_vec(), chunk_shape: shape.to_vec(), container }
}

/// What every stream must keep: of other lengths only one that lacks nothing but the zeros of its last word is read.
fn other_lengths_are_refused(coder: &ZfpCoder, stream: &[u8], raw: usize) {
    let near_the_end = stream.len().saturating_sub(9);
    for cut in (0..near_the_end).step_by(1 + stream.len() / 64).chain(near_the_end..stream.len()) {
        if decode(coder, &stream[..cut], raw).is_ok() {
            assert!(stream.len() - cut < 8 && stream[cut..].iter().all(|&byte| byte == 0), "{cut}");
        }
    }
    for extra in [&[1][..], &[0xff], &[0; 9], &[7; 8]] {
        assert!(decode(coder, &[stream, extra].concat(), raw).is_err(), "{extra:?}");
    }
}

/// Ours are theirs, or refused because zfp loses in them what it should not: returns whether they were refused.
fn check(case: &Case, coder: &ZfpCoder) -> bool {
    let (encoded, decoded) = (case.encoded.as_ref().unwrap(), case.decoded.as_ref().unwrap());
    assert!(decode(coder, encoded, case.raw.len()).as_ref() == Ok(decoded), "{}", case.name);
    assert_eq!(
        *decode(coder, encoded, case.raw.len() - 1).unwrap_err().kind(),
        ErrorKind::OutputFull { need: Some(case.raw.len() as u64) }
    );
    other_lengths_are_refused(coder, encoded, case.raw.len());
    let mut output = vec![0; coder.max_encoded_len(case.raw.len()).unwrap()];
    match coder.encode(&mut coder.scratch(), &case.raw, &mut output) {
        Ok(length) => {
            assert!(output[..length] == *encoded, "{}: {length} of {}", case.name, encoded.len());
            assert!(encode(coder, &case.raw) == *encoded);
            false
        }
        Err(error) => {
            println!("{}: {error}", case.name);
            assert_eq!(*error.kind(), ErrorKind::Unsupported, "{}", case.name);
            true
        }
    }
}

#[test]
fn chunks_of_the_hdf5_filter_decode_to_the_byte_and_encode_to_the_same_bytes() {
    let mut seen = 0;
    for case in ncz_test_support::chunks().unwrap() {
        let [filter] = &case.filters[..] else { continue };
        if filter.id != 32013 || case.filter_mask != 0 {
            continue;
        }
        let coder = Zfp::coder(&filter.params).unwrap();
        assert!(decode(&coder, &case.encoded, case.raw.len()).as_ref() == Ok(&case.raw), "{}", case.name);
        assert_eq!(coder.decoded_len(&case.encoded), Ok(Some(case.raw.len())));
        if !case.lossy {
            assert!(round_trip(&coder, &case.raw) == case.encoded, "{}", case.name);
        }
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn hdf5plugin_makes_the_same_words_and_chunks_of_every_type_shape_and_mode() {
    let (mut same, mut careful, mut refused) = (0, 0, 0);
    for case in cases("zfp.json").iter().filter(|case| case.json["by"] == "hdf5plugin") {
        let env = env(case.dtype, &case.shape, Container::Hdf5);
        let bound = Zfp::from_params(&words(&case.json["words"])).unwrap().bind(&env.chunk(), &env);
        if case.encoded.is_none() {
            let error = bound.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unsupported, "{}: {error}", case.name);
            refused += 1;
            continue;
        }
        let bound = bound.unwrap();
        assert_eq!(bound.working, words(&case.json["working"]), "{}", case.name);
        let from_words = Zfp::coder(&bound.working).unwrap();
        let (ours, by_words) = (check(case, &bound.coder), check(case, &from_words));
        // The words do not say that numbers are unsigned.
        assert!(ours == by_words || case.dtype.kind == Kind::UInt, "{}", case.name);
        careful += u32::from(ours);
        same += u32::from(!ours);
    }
    assert_eq!((same, careful, refused), (196, 8, 58));
}

#[test]
fn streams_without_a_header_are_those_of_zfpy() {
    let (mut same, mut careful) = (0, 0);
    for case in cases("zfp.json").iter().filter(|case| case.json["by"] == "zfpy") {
        let env = env(case.dtype, &case.shape, Container::ZarrV3);
        let configuration = case.json["configuration"].as_object().unwrap();
        let zfp = Zfp::from_json(Dialect::ZarrV3, configuration, &mut Vec::new()).unwrap();
        let bound = zfp.bind(&env.chunk(), &env).unwrap();
        let ours = check(case, &bound.coder);
        assert_eq!(check(case, &Zfp::coder(&bound.working).unwrap()), ours);
        careful += u32::from(ours);
        same += u32::from(!ours);
    }
    assert_eq!((same, careful), (70, 0));
}

#[test]
fn streams_of_numcodecs_decode_for_ever_and_encode_to_the_same_bytes() {
    let (mut same, mut careful, mut refused) = (0, 0, 0);
    for case in cases("numcodecs/zfpy.json") {
        let env = env(case.dtype, &case.shape, Container::ZarrV2);
        let mut config = case.json["config"].as_object().unwrap().clone();
        config.remove("id").unwrap();
        let zfpy = Zfpy::from_json(Dialect::Numcodecs, &config, &mut Vec::new()).unwrap();
        let ours = Value::Object(zfpy.to_json(Dialect::Numcodecs).unwrap());
        assert_eq!(same_numbers(&ours), same_numbers(&Value::Object(config)), "{}", case.name);
        let bound = zfpy.bind(&env.chunk(), &env);
        if case.encoded.is_none() {
            let error = bound.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unsupported, "{}: {error}", case.name);
            refused += 1;
            continue;
        }
        let bound = bound.unwrap();
        let ours = check(&case, &bound.coder);
        assert_eq!(check(&case, &Zfpy::coder(&bound.working).unwrap()), ours);
        // The header says it all.
        let bare = Zfpy::coder(&[]).unwrap();
        assert_eq!(decode(&bare, case.encoded.as_ref().unwrap(), case.raw.len()), Ok(case.decoded.unwrap()));
        assert_eq!(bare.decoded_len(case.encoded.as_ref().unwrap()), Ok(Some(case.raw.len())));
        careful += u32::from(ours);
        same += u32::from(!ours);
    }
    assert_eq!((same, careful, refused), (189, 39, 9));
}

/// With each number written in one way: Python's 1e-09 is 1e-9.
fn same_numbers(json: &Value) -> Value {
    match json {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), same_numbers(value))).collect(),
        other => other.as_f64().map_or(other.clone(), Value::from),
    }
}

fn f4(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn coder(mode: Mode, kind: Kind, size: usize, shape: &[u64], container: Container) -> ZfpCoder {
    let env = env(Dtype::little(kind, size), shape, container);
    Zfp { mode }.bind(&env.chunk(), &env).unwrap().coder
}

#[test]
fn what_zfp_would_spoil_in_silence_is_refused() {
    let message = |mode, kind, size, data: &[u8], container| {
        let coder = coder(mode, kind, size, &[(data.len() / size) as u64], container);
        let mut output = vec![0; coder.max_encoded_len(data.len()).unwrap()];
        coder.encode(&mut coder.scratch(), data, &mut output).unwrap_err().to_string()
    };
    let accuracy = Mode::Accuracy(1e-3);
    for (value, text) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        for mode in [accuracy, Mode::Rate(8.0), Mode::Precision(20), Mode::default()] {
            assert_eq!(
                message(mode, Kind::Float, 4, &f4(&[1.0, 2.0, value, 3.0]), Container::Hdf5),
                format!(
                    "not supported: zfp would spoil the numbers around {text}, which is not finite; take reversible"
                )
            );
        }
    }
    assert_eq!(
        message(accuracy, Kind::Float, 4, &f4(&[1.5, 2.0, 9.96921e36, 3.0]), Container::Hdf5),
        "not supported: zfp would make 0 of 1.5, further off than the tolerance, because of a large number near it; take reversible, or set such numbers apart"
    );
    let integers = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(
        message(Mode::Precision(20), Kind::Int, 4, &integers(&[0, 1, 2, 1 << 30]), Container::Hdf5),
        "not supported: zfp would spoil the numbers around 1073741824: with loss it takes integers from -2^30 to 2^30 - 1; take reversible"
    );
    assert_eq!(
        message(accuracy, Kind::Int, 4, &integers(&[0, 1, 2, 3]), Container::Hdf5),
        "not supported: zfp knows no tolerance of integers: it would lose what it likes; take reversible, or a precision"
    );
    // An unsigned number near 0 that comes back as -1 is 4294967295 in HDF5.
    let error =
        message(Mode::Precision(4), Kind::UInt, 4, &integers(&[3, 1 << 29, 1 << 28, 0]), Container::Hdf5);
    assert!(error.contains("negative; take reversible, or more bits"), "{error}");
    assert_eq!(
        message(Mode::Reversible, Kind::UInt, 4, &integers(&[0, -1, 3, 1]), Container::ZarrV3),
        "not supported: zfp takes unsigned numbers below 2^31 only"
    );
    let wrong = coder(accuracy, Kind::Float, 4, &[4], Container::Hdf5);
    assert_eq!(
        *wrong.encode(&mut wrong.scratch(), &[0; 12], &mut [0; 99]).unwrap_err().kind(),
        ErrorKind::Size { want: 16, got: 12 }
    );
}

#[test]
fn unsigned_numbers_that_would_be_negative_are_0_in_zarr_v3() {
    let coder = coder(Mode::Precision(4), Kind::UInt, 4, &[4], Container::ZarrV3);
    let data: Vec<u8> = [3_u32, 1 << 29, 1 << 28, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let decoded = decode(&coder, &encode(&coder, &data), 16).unwrap();
    let decoded: Vec<i32> = decoded.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
    assert!(decoded.contains(&0) && decoded.iter().all(|&number| number >= 0), "{decoded:?}");
}

#[test]
fn failures_are_told_apart() {
    let data = f4(&[0.5; 100]);
    let env = env(Dtype::little(Kind::Float, 4), &[10, 10], Container::ZarrV2);
    let zfpy = Zfpy::default().bind(&env.chunk(), &env).unwrap().coder;
    let stream = round_trip(&zfpy, &data);
    let kind = |bytes: &[u8], capacity| decode(&zfpy, bytes, capacity).unwrap_err().kind().clone();
    for cut in 0..stream.len() - 8 {
        assert_eq!(kind(&stream[..cut], 400), ErrorKind::Truncated, "{cut}");
    }
    assert_eq!(kind(&[&stream[..], &[0; 8]].concat(), 400), ErrorKind::Trailing { extra: 8 });
    assert_eq!(kind(&stream, 399), ErrorKind::OutputFull { need: Some(400) });
    assert_eq!(kind(b"this is no stream of zfp", 400), ErrorKind::Corrupt);
    // Lengths of 2^24 in two dimensions.
    let mut absurd = stream.clone();
    absurd[4..10].fill(0xff);
    assert!(matches!(kind(&absurd, 400), ErrorKind::OutputFull { .. } | ErrorKind::Corrupt));
    let mut bits = stream.clone();
    *bits.last_mut().unwrap() |= 0x80;
    assert_eq!(kind(&bits, 400), ErrorKind::Corrupt);
    let bare = Zfpy::coder(&[]).unwrap();
    assert!(
        bare.encode(&mut bare.scratch(), &data, &mut [0; 999])
            .unwrap_err()
            .to_string()
            .contains("working words")
    );
}

fn any_coder() -> impl Strategy<Value = (ZfpCoder, usize)> {
    let mode = prop_oneof![
        (0..64_u32).prop_map(|rate| Mode::Rate(f64::from(rate) / 2.0 + 1.0)),
        (1..64_u32).prop_map(Mode::Precision),
        Just(Mode::Reversible),
        (1..500_u32, 0..500_u32, 1..64_u32, -1080..20_i32).prop_map(|(min_bits, more, max_prec, min_exp)| {
            Mode::Expert { min_bits, max_bits: min_bits + more, max_prec, min_exp }
        }),
    ];
    let kind = prop_oneof![Just(Kind::Float), Just(Kind::Int)];
    let shape = proptest::collection::vec(1..7_u64, 1..=4);
    let container = prop_oneof![Just(Container::Hdf5), Just(Container::ZarrV3)];
    (mode, kind, prop_oneof![Just(4_usize), Just(8)], shape, container).prop_map(
        |(mode, kind, size, mut shape, container)| {
            shape[0] += 1;
            let bytes = shape.iter().product::<u64>() as usize * size;
            (coder(mode, kind, size, &shape, container), bytes)
        },
    )
}

proptest! {
    #[test]
    fn reversible_streams_give_back_any_bits(
        kind in prop_oneof![Just(Kind::Float), Just(Kind::Int)],
        size in prop_oneof![Just(4_usize), Just(8)],
        shape in proptest::collection::vec(1..6_u64, 1..=4),
        noise in proptest::collection::vec(any::<u8>(), 5 * 5 * 5 * 5 * 8),
        few in any::<bool>(),
    ) {
        let bytes = shape.iter().product::<u64>() as usize * size;
        let data: Vec<u8> = noise[..bytes].iter().map(|byte| if few { byte & 3 } else { *byte }).collect();
        let coder = coder(Mode::Reversible, kind, size, &shape, Container::ZarrV3);
        let stream = round_trip(&coder, &data);
        other_lengths_are_refused(&coder, &stream, bytes);
    }

    #[test]
    fn damage_and_garbage_are_survived(
        (coder, bytes) in any_coder(),
        flips in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        garbage in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let stream = encode(&coder, &vec![0; bytes]);
        damage_is_survived(&coder, &stream, bytes, &flips);
        damage_is_survived(&coder, &garbage, bytes, &[]);
        let zfpy = Zfpy::coder(&[]).unwrap();
        damage_is_survived(&zfpy, &garbage, bytes, &[]);
        damage_is_survived(&zfpy, &[b"zfp\x05", &garbage[..]].concat(), bytes, &[]);
    }

    #[test]
    fn the_tolerance_is_kept(
        values in proptest::collection::vec(-1e6_f32..1e6, 36),
        exponent in -3..6_i32,
    ) {
        let tolerance = 10_f64.powi(exponent);
        let coder = coder(Mode::Accuracy(tolerance), Kind::Float, 4, &[6, 6], Container::Hdf5);
        let data = f4(&values);
        let mut output = vec![0; coder.max_encoded_len(data.len()).unwrap()];
        if let Ok(length) = coder.encode(&mut coder.scratch(), &data, &mut output) {
            let decoded = decode(&coder, &output[..length], data.len()).unwrap();
            for (bytes, value) in decoded.as_chunks().0.iter().zip(&values) {
                let off = f64::from((f32::from_le_bytes(*bytes) - value).abs());
                prop_assert!(off <= tolerance || off <= f64::from(value.abs()) / f64::from(1 << 20), "{off} of {value}");
            }
        }
    }
}
