//! Stored streams of other programs, and properties of every stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../../../shared/tests/properties.rs"]
mod properties;
#[path = "../../../shared/tests/stored.rs"]
mod stored;

use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, ErrorKind, Kind};
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

/// Checks every stream: of the other lengths, only one that lacks only the zeros of its last word is read.
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
            // Integers have no tolerance; other refusals are of values.
            let is_clean = matches!(error.kind(), ErrorKind::Values | ErrorKind::Unsupported);
            assert!(is_clean, "{}", case.name);
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
        // The words express neither that numbers are unsigned nor that a tolerance was impossible.
        assert!(ours || !by_words, "{}", case.name);
        careful += u32::from(ours);
        same += u32::from(!ours);
    }
    assert_eq!((same, careful, refused), (192, 12, 58));
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
fn streams_of_numcodecs_decode_forever_and_encode_to_the_same_bytes() {
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
        assert!(ours || !check(&case, &Zfpy::coder(&bound.working).unwrap()), "{}", case.name);
        // The header has all parameters.
        let bare = Zfpy::coder(&[]).unwrap();
        assert_eq!(decode(&bare, case.encoded.as_ref().unwrap(), case.raw.len()), Ok(case.decoded.unwrap()));
        assert_eq!(bare.decoded_len(case.encoded.as_ref().unwrap()), Ok(Some(case.raw.len())));
        careful += u32::from(ours);
        same += u32::from(!ours);
    }
    assert_eq!((same, careful, refused), (185, 43, 9));
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
fn chunks_that_zfp_would_silently_corrupt_are_refused() {
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
                    "these values cannot be encoded: zfp would spoil the numbers around {text}, which is not finite; take reversible"
                )
            );
        }
    }
    assert_eq!(
        message(accuracy, Kind::Float, 4, &f4(&[1.5, 2.0, 9.96921e36, 3.0]), Container::Hdf5),
        "these values cannot be encoded: zfp would make 0 of 1.5, further off than the tolerance, because of a large number near it; take reversible, or set such numbers apart"
    );
    let integers = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(
        message(Mode::Precision(20), Kind::Int, 4, &integers(&[0, 1, 2, 1 << 30]), Container::Hdf5),
        "these values cannot be encoded: zfp would spoil the numbers around 1073741824: with loss it takes integers from -2^30 to 2^30 - 1; take reversible"
    );
    assert_eq!(
        message(accuracy, Kind::Int, 4, &integers(&[0, 1, 2, 3]), Container::Hdf5),
        "not supported: zfp has no tolerance for integers: the loss would not be bounded; use reversible, or a precision"
    );
    // An unsigned number near 0 that is decoded to -1 is 4294967295 in HDF5.
    let error =
        message(Mode::Precision(4), Kind::UInt, 4, &integers(&[3, 1 << 29, 1 << 28, 0]), Container::Hdf5);
    assert!(error.contains("take reversible, or more bits"), "{error}");
    // A number at the end that is decoded to one near 0; the shape puts it in its own block.
    let end = integers(&[-1, 100, 200, 300]);
    let error = message(Mode::Precision(8), Kind::UInt, 4, &end, Container::Hdf5);
    assert!(error.contains("another number of the unsigned 4294967295"), "{error}");
    // A tolerance of 0 is a tolerance.
    for (mode, container) in
        [(Mode::Accuracy(0.0), Container::Hdf5), (Mode::Accuracy(5e-324), Container::ZarrV3)]
    {
        let error = message(mode, Kind::Float, 4, &f4(&[1.5, 2.5, 1e36, 3.5]), container);
        assert!(error.contains("further off than the tolerance"), "{error}");
        let error = message(mode, Kind::Int, 4, &integers(&[0, 1, 2, 3]), container);
        assert!(error.contains("no tolerance for integers"), "{error}");
        let error = message(mode, Kind::Float, 4, &f4(&[1.5, 1.0001, 1e5, 3.3]), container);
        assert!(error.contains("further off than the tolerance"), "{error}");
    }
    assert_eq!(
        message(Mode::Reversible, Kind::UInt, 4, &integers(&[0, -1, 3, 1]), Container::ZarrV3),
        "these values cannot be encoded: zfp takes unsigned numbers below 2^31 only"
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
fn small_integers_of_zarrs_are_accepted_and_made_again() {
    let path = ncz_test_support::fixtures().join("codecs/v3/zfp.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(cases.len() > 250, "{}", cases.len());
    for case in cases {
        let bytes = |key: &str| {
            let text = case[key].as_str().unwrap();
            let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>()
        };
        let (raw, encoded, decoded) = (bytes("raw"), bytes("encoded"), bytes("decoded"));
        let shape: Vec<u64> = case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        let dtype = match case["dtype"].as_str().unwrap() {
            "int8" => Dtype::little(Kind::Int, 1),
            "uint8" => Dtype::little(Kind::UInt, 1),
            "int16" => Dtype::little(Kind::Int, 2),
            "uint16" => Dtype::little(Kind::UInt, 2),
            other => panic!("{other}"),
        };
        let env = Env { dtype, array_shape: shape.clone(), chunk_shape: shape, container: Container::ZarrV3 };
        let config = case["configuration"].as_object().unwrap();
        let zfp = Zfp::from_json(Dialect::ZarrV3, config, &mut Vec::new()).unwrap();
        let bound = zfp.bind(&env.chunk(), &env).unwrap();
        let name = format!("{config:?} of {} {:?}", case["dtype"], env.chunk_shape);
        let decoded_by = |coder: &ZfpCoder| {
            assert!(decode(coder, &encoded, raw.len()).as_ref() == Ok(&decoded), "{name}");
            let error = decode(coder, &encoded, raw.len() - 1).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::OutputFull { .. }), "{name}: {error}");
            assert_eq!(coder.decoded_len(&encoded), Ok(Some(raw.len())));
        };
        decoded_by(&bound.coder);
        // zarrs takes a fixed rate for one of three dimensions.
        if config["mode"] == "fixed_rate" && env.chunk_shape.len() != 3 {
            decoded_by(&Zfp::coder(&bound.working).unwrap());
            let ours = encode(&bound.coder, &raw);
            assert_ne!(ours.len(), encoded.len(), "{name}");
            assert_eq!(decode(&bound.coder, &ours, raw.len()).map(|raw| raw.len()), Ok(raw.len()));
        } else {
            let coder = Zfp::coder(&bound.working).unwrap();
            assert!(encode(&bound.coder, &raw) == encoded && encode(&coder, &raw) == encoded, "{name}");
            decoded_by(&coder);
        }
        // HDF5's filter does not know them.
        let hdf5 = Env { container: Container::Hdf5, ..env };
        assert!(zfp.bind(&hdf5.chunk(), &hdf5).is_err());
    }
}

#[test]
fn failures_are_distinguished() {
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
    assert_eq!(kind(b"this is not a stream of zfp", 400), ErrorKind::Corrupt);
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

#[test]
fn blocks_that_ask_for_more_bits_than_zfp_can_state_are_refused_before_memory_is_taken() {
    let bind = |min_bits: u32, container| {
        let max_bits = min_bits.max(0x8000);
        let mode = Mode::Expert { min_bits, max_bits, max_prec: 64, min_exp: -1074 };
        let env = env(Dtype::little(Kind::Float, 4), &[4], container);
        Zfp { mode }.bind(&env.chunk(), &env)
    };
    for container in [Container::Hdf5, Container::ZarrV3] {
        // H5Z-ZFP writes blocks of this many.
        let bound = bind(0x8000, container).unwrap();
        assert_eq!(encode(&bound.coder, &[0; 16]).len(), 4096);
        assert!(Zfp::coder(&bound.working).is_ok());
        for min_bits in [0x8001, u32::MAX] {
            let error = bind(min_bits, container).unwrap_err().to_string();
            let wanted = format!(r#"key "minbits" is not usable: {min_bits} bits are more than the 32768"#);
            assert!(error.contains(&wanted), "{error}");
        }
    }
    let mut words = bind(0x8000, Container::ZarrV3).unwrap().working;
    let at = words.len() - 4;
    assert_eq!(words[at], 0x8000);
    words[at] = 0x8001;
    assert!(Zfp::coder(&words).is_err());
}

/// Numbers of one block, with loss: by the rate, and by the number of bits that the specification and zarrs give the
/// block.
fn of_one_bit(shape: &[u64], size: usize) -> [ZfpCoder; 3] {
    let by = |mode| coder(mode, Kind::Int, size, shape, Container::ZarrV3);
    let expert = |bits| {
        by(Mode::Expert { min_bits: bits, max_bits: bits, max_prec: 64, min_exp: zfp_rs::ZFP_MIN_EXP })
    };
    [by(Mode::Rate(1.0)), expert(4_u32.pow(shape.len() as u32)), expert(64)]
}

#[test]
fn streams_that_are_as_long_for_zarrs_are_read_only_where_both_mean_the_same() {
    for (shape, size) in [(&[4, 4][..], 4), (&[4, 4], 1), (&[4, 4], 2), (&[4], 8)] {
        let [coder, specified, zarrs] = of_one_bit(shape, size);
        let len = shape.iter().product::<u64>() as usize * size;
        let (mut same, mut other, mut by_zarrs) = (0, 0, 0);
        for bits in (0..1_u64 << 18).step_by(13) {
            let stream = bits.to_le_bytes();
            let read = decode(&coder, &stream, len);
            match (decode(&specified, &stream, len), decode(&zarrs, &stream, len)) {
                (Ok(a), Ok(b)) if a != b => {
                    let error = read.unwrap_err();
                    assert_eq!(*error.kind(), ErrorKind::Unsupported);
                    assert!(error.to_string().contains("as in zarrs, which stand for other"), "{error}");
                    other += 1;
                }
                (Ok(a), _) => {
                    assert_eq!(read, Ok(a));
                    same += 1;
                }
                (Err(_), b) => {
                    assert_eq!(read, b);
                    by_zarrs += 1;
                }
            }
        }
        assert!(same > 0 && by_zarrs > 0, "{shape:?} of {size}: {same} {other} {by_zarrs}");
        assert!(other > 0 || size < 4 || shape.len() == 1, "{shape:?} of {size}: {same} {other} {by_zarrs}");
    }
}

#[test]
fn what_zarrs_would_read_as_other_numbers_is_not_written() {
    let [coder, specified, _] = of_one_bit(&[4, 4], 4);
    let (mut written, mut refused) = (0, 0);
    for seed in 1..200_i32 {
        let numbers: Vec<u8> = (1..17)
            .flat_map(|n: i32| (seed.wrapping_mul(n * n * 7919) >> (seed % 7)).to_le_bytes())
            .collect();
        let numbers: Vec<u8> = numbers
            .as_chunks()
            .0
            .iter()
            .flat_map(|bytes| (i32::from_le_bytes(*bytes) >> 2).to_le_bytes())
            .collect();
        let mut output = [0; 64];
        match coder.encode(&mut coder.scratch(), &numbers, &mut output) {
            Ok(8) => {
                assert_eq!(encode(&specified, &numbers), output[..8]);
                assert_eq!(decode(&coder, &output[..8], 64), decode(&specified, &output[..8], 64));
                written += 1;
            }
            Ok(len) => panic!("{len}"),
            Err(error) => {
                assert_eq!(
                    error.to_string(),
                    "not supported: the 8 bytes of a zfp stream can have 16 bits per block, as in the specification, or 64, \
                     as in zarrs, which would be read as other numbers; set minbits and maxbits of the mode expert \
                     to choose"
                );
                refused += 1;
            }
        }
    }
    assert!(written > 0 && refused > 0, "{written} {refused}");
}

#[test]
fn words_of_another_codec_version_are_refused() {
    let words = [0x1010_5111, 0x0570_667a, 0x0100_0030, 0];
    assert!(Zfp::coder(&words).is_ok());
    for wrong in [0x0470_667a, 0x0670_667a, 0x0570_667b] {
        let mut words = words;
        words[1] = wrong;
        let error = Zfp::coder(&words).unwrap_err();
        assert!(error.to_string().contains("cd_values"), "{error}");
    }
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
        exponent in -4..6_i32,
    ) {
        let tolerance = if exponent == -4 { 0.0 } else { 10_f64.powi(exponent) };
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
