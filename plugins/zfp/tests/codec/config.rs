//! What the configurations read, write and refuse.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{ByteOrder, Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_zfp::{Mode, Zfp, Zfpy};
use proptest::prelude::*;
use serde_json::{Value, json};

fn zfp(config: Value) -> Result<Zfp> {
    Zfp::from_json(Dialect::ZarrV3, config.as_object().unwrap(), &mut Vec::new())
}

fn zfpy(config: Value) -> Result<Zfpy> {
    Zfpy::from_json(Dialect::Numcodecs, config.as_object().unwrap(), &mut Vec::new())
}

fn env(kind: Kind, size: usize, shape: &[u64], container: Container) -> Env {
    let dtype = Dtype::little(kind, size);
    Env { dtype, array_shape: vec![1000; shape.len()], chunk_shape: shape.to_vec(), container }
}

#[test]
fn working_words_are_those_of_h5z_zfp() {
    // As measured with the filter of hdf5plugin 7.1.0, for chunks of 64 x 48.
    let working = |kind, size, words: &[u32]| {
        let env = env(kind, size, &[64, 48], Container::Hdf5);
        let bound = Zfp::from_params(words).unwrap().bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working[..2], [269504785, 91252346]);
        bound.working[2..].to_vec()
    };
    let rate = [1, 0, 0, 1076101120, 0, 0];
    assert_eq!(working(Kind::Float, 4, &rate), [4026532598, 166723587]);
    assert_eq!(working(Kind::Float, 8, &rate)[0], 4026532599);
    assert_eq!(working(Kind::Int, 4, &rate)[0], 4026532596);
    assert_eq!(working(Kind::UInt, 4, &rate)[0], 4026532596);
    assert_eq!(working(Kind::Int, 8, &rate)[0], 4026532597);
    let f4 = |words: &[u32]| working(Kind::Float, 4, words)[1..].to_vec();
    assert_eq!(f4(&[2, 0, 16]), [2163212291]);
    assert_eq!(f4(&[3, 0, 3539053052, 1062232653]), [3398434819]);
    assert_eq!(f4(&[5, 0, 0, 0, 0, 0]), [2281701379]);
    assert_eq!(f4(&[4, 0, 1, 16657, 64, 4294966222]), [4293918723, 3767009280, 493487]);
    assert_eq!(f4(&[]), [4293918723, 3767042048, 493487]);
}

#[test]
fn words_that_hdf5_stored_give_the_mode_back() {
    for mode in [
        Mode::Rate(10.0),
        Mode::Precision(16),
        Mode::Accuracy(0.0009765625),
        Mode::Reversible,
        Mode::default(),
        Mode::Expert { min_bits: 7, max_bits: 900, max_prec: 20, min_exp: -30 },
    ] {
        let env = env(Kind::Float, 8, &[64, 1, 48], Container::Hdf5);
        let bound = Zfp { mode }.bind(&env.chunk(), &env).unwrap();
        assert_eq!(Zfp::from_params(&bound.working), Ok(Zfp { mode }));
    }
}

#[test]
fn dimensions_of_length_1_go_in_hdf5_only() {
    let working = |shape: &[u64], container| {
        let env = env(Kind::Float, 4, shape, container);
        Zfp { mode: Mode::Reversible }.bind(&env.chunk(), &env).map(|bound| bound.working)
    };
    let squeezed = working(&[64, 48], Container::Hdf5);
    assert_eq!(working(&[1, 64, 1, 48, 1, 1], Container::Hdf5), squeezed);
    let bare = |dims: &[u32]| Ok([&[0, 2], dims, &[1, 16658, 64, -1075_i32 as u32]].concat());
    assert_eq!(working(&[1, 64, 48], Container::ZarrV3), bare(&[48, 64, 1]));
    // No dimension is one of length 1 in Zarr v3, and nothing for HDF5.
    assert_eq!(working(&[], Container::ZarrV3), bare(&[1]));
    let message = |shape: &[u64], container| working(shape, container).unwrap_err().to_string();
    assert_eq!(
        message(&[1, 1], Container::Hdf5),
        "not supported: zfp takes chunks of one to four dimensions longer than 1, not of shape [1, 1]"
    );
    assert_eq!(
        message(&[1, 2, 3, 4, 5], Container::ZarrV3),
        "not supported: zfp takes chunks of one to four dimensions, not of shape [1, 2, 3, 4, 5]"
    );
    assert!(working(&[2, 2, 2, 2, 2], Container::Hdf5).is_err());
    // The header has 12 bits for each of four lengths; Zarr v3 has no header.
    assert!(message(&[2, 2, 2, 4097], Container::Hdf5).contains("header"));
    assert!(working(&[2, 2, 2, 4097], Container::ZarrV3).is_ok());
}

#[test]
fn zarr_v3_has_five_modes() {
    for config in [
        json!({"mode": "reversible"}),
        json!({"mode": "expert", "minbits": 1, "maxbits": 500, "maxprec": 30, "minexp": -20}),
        json!({"mode": "fixed_accuracy", "tolerance": 0.05}),
        json!({"mode": "fixed_rate", "rate": 10.5}),
        json!({"mode": "fixed_precision", "precision": 19}),
    ] {
        let read = zfp(config.clone()).unwrap();
        assert_eq!(Value::Object(read.to_json(Dialect::ZarrV3).unwrap()), config);
        assert_eq!(Zfp::from_params(&read.to_params().unwrap()), Ok(read));
    }
}

#[test]
fn numcodecs_writes_five_keys_of_which_one_counts() {
    assert_eq!(
        serde_json::to_string(&Zfpy::default().to_json(Dialect::Numcodecs).unwrap()).unwrap(),
        r#"{"mode":4,"compression_kwargs":{"tolerance":-1},"tolerance":-1,"rate":-1,"precision":-1}"#
    );
    assert_eq!(
        serde_json::to_string(&Zfpy::default().to_json(Dialect::ZarrV3).unwrap()).unwrap(),
        r#"{"mode":4,"tolerance":-1,"rate":-1,"precision":-1}"#
    );
    assert_eq!(zfpy(json!({})), Ok(Zfpy::default()));
    assert_eq!(Zfpy::from_params(&[]), Ok(Zfpy::default()));
    let limits = |config: Value| {
        let env = env(Kind::Float, 8, &[8, 8], Container::ZarrV2);
        zfpy(config).unwrap().bind(&env.chunk(), &env).unwrap().working[4..].to_vec()
    };
    let reversible = [1, 16658, 64, -1075_i32 as u32];
    assert_eq!(limits(json!({})), reversible);
    assert_eq!(limits(json!({"mode": 2, "tolerance": 0.1})), reversible);
    assert_eq!(limits(json!({"mode": 2, "rate": 8})), [128, 128, 64, -1074_i32 as u32]);
    assert_eq!(limits(json!({"mode": 3, "precision": 9})), [1, 16658, 9, -1074_i32 as u32]);
    assert_eq!(limits(json!({"tolerance": 0.5})), [1, 16658, 64, -1_i32 as u32]);
}

#[test]
fn wrong_input_is_named() {
    let message = |config| zfp(config).unwrap_err().to_string();
    assert_eq!(
        message(json!({})),
        r#"configuration key "mode" is not usable: "" is none of reversible, expert, fixed_accuracy, fixed_rate, fixed_precision"#
    );
    assert_eq!(
        message(json!({"mode": "fixed_rate"})),
        r#"configuration key "rate" is not usable: it is missing, and this mode of zfp needs it"#
    );
    assert_eq!(
        message(json!({"mode": "fixed_rate", "rate": "8"})),
        r#"configuration key "rate" is not usable: expected a number, got "8""#
    );
    assert_eq!(
        message(json!({"mode": "fixed_accuracy", "tolerance": -1})),
        r#"configuration key "tolerance" is not usable: a tolerance of -1 is not a finite number from 0"#
    );
    assert_eq!(
        message(json!({"mode": "reversible", "rate": 8})),
        r#"configuration key "rate" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        zfpy(json!({"mode": 5})).unwrap_err().to_string(),
        r#"configuration key "mode" is not usable: 5 is not within 2 to 4"#
    );
    let message = |words: &[u32]| Zfp::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[6]),
        r#"configuration key "cd_values[0]" is not usable: mode 6 is none of 1 (rate), 2 (precision), 3 (accuracy), 4 (expert), 5 (reversible)"#
    );
    assert_eq!(
        message(&[1, 0]),
        r#"configuration key "cd_values" is not usable: zfp takes 4 to 6 parameters, got 2"#
    );
    assert_eq!(
        message(&[5, 0, 1]),
        r#"configuration key "cd_values" is not usable: mode 5 takes 1 words, and no others"#
    );
    assert_eq!(
        message(&[1, 0, 0, 0x7ff0_0000]),
        r#"configuration key "cd_values[2]" is not usable: a rate of inf is not a finite number from 0"#
    );
    assert!(message(&[269504785, 1, 2, 3]).contains("header magic"), "{}", message(&[269504785, 1, 2, 3]));
    // Codec version 4, which zfp 0.4 had.
    assert!(message(&[269504785, 0x0470_667a, 0, 0]).contains("header magic"));
    for words in
        [&[][..], &[0], &[0, 9, 1, 1, 16658, 64, 0], &[0, 2, 0, 1, 16658, 64, 0], &[0, 2, 5, 9, 2, 64, 0]]
    {
        assert!(Zfp::coder(words).unwrap_err().to_string().contains("not working words of zfp"), "{words:?}");
    }
    assert_eq!(
        Zfp::default().to_json(Dialect::Numcodecs).unwrap_err().to_string(),
        "not supported: zfp has no name in numcodecs, which has the codec zfpy"
    );
    let rate = |rate| {
        let env = env(Kind::Int, 4, &[8], Container::Hdf5);
        Zfp { mode: Mode::Rate(rate) }.bind(&env.chunk(), &env).map(drop).unwrap_err().to_string()
    };
    assert_eq!(rate(0.0), r#"configuration key "rate" is not usable: zfp cannot store 0 bits per number"#);
    assert_eq!(
        rate(1e5),
        r#"configuration key "rate" is not usable: zfp cannot store 100000 bits per number"#
    );
}

#[test]
fn other_types_and_big_endian_numbers_are_refused_by_name() {
    let message = |env: &Env, input: &Repr| {
        let zfp = Zfp::default().bind(input, env).map(drop).unwrap_err().to_string();
        assert_eq!(Zfpy::default().bind(input, env).map(drop).unwrap_err().to_string(), zfp);
        zfp
    };
    for (kind, size) in
        [(Kind::UInt, 1), (Kind::Int, 2), (Kind::Float, 2), (Kind::Complex, 8), (Kind::Opaque, 4)]
    {
        let env = env(kind, size, &[8], Container::ZarrV2);
        assert_eq!(
            message(&env, &env.chunk()),
            format!(
                "not supported: zfp takes integers and floating-point numbers of 4 or 8 bytes, not {kind:?} of {size}"
            )
        );
    }
    let mut big = env(Kind::Float, 4, &[8], Container::ZarrV2);
    big.dtype.order = ByteOrder::Big;
    assert_eq!(
        message(&big, &big.chunk()),
        "not supported: zfp takes little-endian numbers only, also in HDF5 and numcodecs; let the variable be little-endian"
    );
    assert_eq!(
        message(&env(Kind::Int, 4, &[8], Container::ZarrV2), &Repr::Bytes { size: Size::Exact(32) }),
        "not supported: zfp takes numbers, not bytes; put it first, or after codecs that return numbers"
    );
    let unsigned = env(Kind::UInt, 4, &[8], Container::ZarrV2);
    assert_eq!(
        Zfpy::default().bind(&unsigned.chunk(), &unsigned).map(drop).unwrap_err().to_string(),
        "not supported: zfpy takes signed integers and floating-point numbers only"
    );
}

proptest! {
    #[test]
    fn json_and_words_give_back_what_was_read(
        mode in prop_oneof![
            (0.0..1e6).prop_map(Mode::Rate),
            any::<u32>().prop_map(Mode::Precision),
            (0.0..1e30).prop_map(Mode::Accuracy),
            Just(Mode::Reversible),
            (any::<u32>(), any::<u32>(), any::<u32>(), any::<i32>()).prop_map(|(min_bits, max_bits, max_prec, min_exp)| {
                Mode::Expert { min_bits, max_bits, max_prec, min_exp }
            }),
        ],
        number in 2..=4_u32,
        tolerance in -1.0..1e9,
        rate in -1.0..64.0,
        precision: i32,
    ) {
        let zfp = Zfp { mode };
        prop_assert_eq!(Zfp::from_params(&zfp.to_params().unwrap()), Ok(zfp));
        let json = zfp.to_json(Dialect::ZarrV3).unwrap();
        prop_assert_eq!(Zfp::from_json(Dialect::ZarrV3, &json, &mut Vec::new()), Ok(zfp));
        let zfpy = Zfpy { mode: number, tolerance, rate, precision };
        prop_assert_eq!(Zfpy::from_params(&zfpy.to_params().unwrap()), Ok(zfpy));
        for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
            let json = zfpy.to_json(dialect).unwrap();
            prop_assert_eq!(Zfpy::from_json(dialect, &json, &mut Vec::new()), Ok(zfpy));
        }
    }
}
