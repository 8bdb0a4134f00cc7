//! What `#[derive(CodecConfig)]` and `#[derive(ConfigEnum)]` read, write and refuse.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use ncz_codec::config::Source;
use ncz_codec::{
    Codec, CodecConfig, CodecError, CodecInfo, Coder, ConfigEnum, ConfigReader, Dialect, Number, Result, Size,
};
use ncz_codec::{Container, Dtype, Env, Kind};
use serde_json::{Map, Value, json};

use Dialect::{Numcodecs, ZarrV3};

/// A configuration with every kind of field.
#[derive(Debug, Clone, PartialEq, CodecConfig)]
#[codec(check = Self::check, max_words = 6)]
struct Everything {
    #[codec(key = "block-size", range = 1..=64, missing = "it is missing: 1 to 64")]
    block: u8,
    #[codec(range(json = -1..=9, params = 0..=9), default(numcodecs = 1, zarr_v3 = 5, params = 3))]
    #[codec(write_word = level_word, label = "effort")]
    level: i32,
    #[codec(default, omit_default(zarr_v3))]
    order: Order,
    #[codec(none = u32::MAX)]
    bits: Option<u32>,
    #[codec(missing(numcodecs = "give the type"))]
    dtype: Option<Number>,
    #[codec(default, only(numcodecs, "Zarr v3 has no such key"), no_word = "there is no word for it")]
    strict: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, ConfigEnum)]
enum Order {
    #[default]
    AsIs = 0,
    #[codec(name = "reverse")]
    Backwards = 2,
}

/// A configuration without fields, with a name in one dialect only.
#[derive(Debug, Clone, PartialEq, CodecConfig)]
struct Nothing;

/// A configuration with hooks, omitted defaults, and a message for a missing JSON name.
#[derive(Debug, Clone, PartialEq, CodecConfig)]
#[codec(omit_default_words, unnamed = "ask for it by its number")]
struct Hooks {
    #[codec(read = read_size, write = write_size, default(params = 4))]
    size: u32,
    #[codec(default = size)]
    step: u32,
}

#[derive(Debug, Clone)]
struct Copies;

macro_rules! codec {
    ($codec:ty, $info:expr) => {
        impl Codec for $codec {
            const INFO: CodecInfo = $info;
            type Coder = Copies;

            fn coder(_: &[u32]) -> Result<Copies> {
                Ok(Copies)
            }
        }
    };
}

codec!(Everything, CodecInfo::new("everything", "").numcodecs(&["everything"]).zarr_v3(&["test.everything"]));
codec!(Nothing, CodecInfo::new("nothing", "").numcodecs(&["nothing"]));
codec!(Hooks, CodecInfo::new("hooks", "").zarr_v3(&["hooks"]));

impl Coder for Copies {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        (len <= 100).then_some(len + 8)
    }

    fn encode(&self, (): &mut (), _: &[u8], _: &mut [u8]) -> Result<usize> {
        Ok(0)
    }

    fn decode(&self, (): &mut (), _: &[u8], _: &mut [u8]) -> Result<usize> {
        Ok(0)
    }
}

impl Everything {
    fn check(&self, source: Source) -> Result<()> {
        if self.bits.is_some_and(|bits| bits > u32::from(self.block)) {
            return Err(CodecError::config(source.key("bits"), "more than the block has"));
        }
        Ok(())
    }
}

fn level_word(level: &i32) -> Result<u32> {
    Ok(if *level < 0 { 6 } else { *level as u32 })
}

fn read_size(reader: &mut ConfigReader<'_>, notes: &mut Vec<String>) -> Result<u32> {
    if reader.raw("size").is_none() {
        notes.push("size 4 is used".to_owned());
    }
    Ok(reader.integer("size", 4, 1..=8)? as u32)
}

fn write_size(size: &u32, dialect: Dialect) -> Result<Value> {
    Ok(json!(format!("{size} in {dialect}")))
}

fn read<C: CodecConfig>(dialect: Dialect, config: Value) -> Result<C, String> {
    C::from_json(dialect, config.as_object().unwrap(), &mut Vec::new()).map_err(text)
}

fn text(error: CodecError) -> String {
    error.to_string().replace("configuration key ", "").replace(" is not usable", "")
}

fn all() -> Everything {
    Everything {
        block: 8,
        level: -1,
        order: Order::Backwards,
        bits: Some(3),
        dtype: Some(Number::DOUBLE),
        strict: true,
    }
}

#[test]
fn keys_are_written_in_order_and_read_again() {
    let json =
        json!({"block-size": 8, "level": -1, "order": "reverse", "bits": 3, "dtype": "<f8", "strict": true});
    assert_eq!(read(Numcodecs, json.clone()), Ok(all()));
    assert_eq!(Value::Object(all().to_json(Numcodecs).unwrap()).to_string(), json.to_string());
    let plain = Everything { order: Order::AsIs, strict: false, ..all() };
    let json = json!({"block-size": 8, "level": -1, "bits": 3, "dtype": "<f8"});
    assert_eq!(Value::Object(plain.to_json(ZarrV3).unwrap()).to_string(), json.to_string());
    assert_eq!(read(ZarrV3, json), Ok(plain));
}

#[test]
fn missing_keys_take_the_default_of_their_dialect() {
    let given =
        |dialect| read::<Everything>(dialect, json!({"block-size": 8, "dtype": "<f8", "order": null}));
    let common = Everything { level: 1, order: Order::AsIs, bits: None, strict: false, ..all() };
    assert_eq!(given(Numcodecs), Ok(common.clone()));
    assert_eq!(given(ZarrV3), Ok(Everything { level: 5, ..common }));
    assert_eq!(read(ZarrV3, json!({"block-size": 1})).map(|config: Everything| config.dtype), Ok(None));
}

#[test]
fn words_come_in_the_order_of_the_fields() {
    assert_eq!(all().to_params().map_err(text).unwrap_err(), r#""strict": there is no word for it"#);
    let config = Everything { strict: false, ..all() };
    let words = [8, 6, 2, 3, Number::DOUBLE.word()];
    assert_eq!(config.to_params().unwrap(), words);
    assert_eq!(Everything::from_params(&words), Ok(Everything { level: 6, ..config.clone() }));
    let short = Everything { level: 3, order: Order::AsIs, bits: None, dtype: None, ..config };
    assert_eq!(Everything::from_params(&[8]), Ok(short.clone()));
    assert_eq!(short.to_params().unwrap(), [8, 3, 0, u32::MAX]);
    // Words beyond the fields are ignored, up to the limit.
    assert!(Everything::from_params(&[8, 3, 0, u32::MAX, words[4], 99]).is_ok());
}

#[test]
fn wrong_input_is_named() {
    for (config, expected) in [
        (json!({}), r#""block-size": it is missing: 1 to 64"#),
        (json!({"block-size": 65}), r#""block-size": 65 is not within 1 to 64"#),
        (json!({"block-size": "x"}), r#""block-size": expected an integer, got "x""#),
        (json!({"block-size": 1, "level": 10}), r#""level": 10 is not within -1 to 9"#),
        (json!({"block-size": 1, "order": "up"}), r#""order": "up" is none of as_is, reverse"#),
        (json!({"block-size": 1, "order": 2}), r#""order": expected a string, got 2"#),
        (json!({"block-size": 1}), r#""dtype": give the type"#),
        (json!({"block-size": 1, "dtype": "<f4", "strict": 1}), r#""strict": expected true or false, got 1"#),
        (json!({"block-size": 1, "dtype": "<f4", "bits": 2}), r#""bits": more than the block has"#),
    ] {
        assert_eq!(read::<Everything>(Numcodecs, config), Err(expected.to_owned()));
    }
    for (words, expected) in [
        (&[][..], r#""cd_values": everything takes 1 to 6 parameters, got 0"#),
        (&[0], r#""cd_values[0]": block-size 0 is not within 1 to 64"#),
        (&[1, 10], r#""cd_values[1]": effort 10 is not within 0 to 9"#),
        (&[1, 3, 1], r#""cd_values[2]": order 1 is none of 0 (as_is), 2 (reverse)"#),
        (&[1, 3, 0, 2], r#""cd_values[3]": more than the block has"#),
    ] {
        assert_eq!(Everything::from_params(words).map_err(text), Err(expected.to_owned()));
    }
    let block = Everything { block: 0, strict: false, ..all() }.to_params();
    assert_eq!(block.map_err(text), Err(r#""block-size": block-size 0 is not within 1 to 64"#.to_owned()));
}

#[test]
fn what_a_dialect_lacks_is_refused() {
    assert_eq!(all().to_json(ZarrV3).map_err(text), Err(r#""strict": Zarr v3 has no such key"#.to_owned()));
    let unread = read::<Everything>(ZarrV3, json!({"block-size": 1, "strict": true}));
    assert!(unread.unwrap_err().contains("Zarr v3 defines no such key for this codec"));
    let typeless = Everything { dtype: None, ..all() };
    assert_eq!(typeless.to_json(Numcodecs).map_err(text), Err(r#""dtype": it is not known yet"#.to_owned()));
    let error = read::<Nothing>(ZarrV3, json!({})).unwrap_err();
    assert_eq!(error, "not supported: nothing has no name in Zarr v3");
    assert_eq!(read::<Hooks>(Numcodecs, json!({})).unwrap_err(), "not supported: ask for it by its number");
}

#[test]
fn unknown_keys_are_notes_in_numcodecs_and_errors_in_zarr_v3() {
    let mut notes = Vec::new();
    let config = Map::from_iter([("extra".to_owned(), json!(1))]);
    assert_eq!(Nothing::from_json(Numcodecs, &config, &mut notes), Ok(Nothing));
    assert_eq!(notes, [r#"unknown key "extra" is ignored"#]);
    assert_eq!(Nothing.to_json(Numcodecs), Ok(Map::new()));
    assert_eq!((Nothing::from_params(&[]), Nothing.to_params()), (Ok(Nothing), Ok(vec![])));
    assert!(read::<Hooks>(ZarrV3, json!({"extra": 1})).unwrap_err().contains("extra"));
}

#[test]
fn hooks_read_and_write_and_words_with_defaults_are_left_out() {
    let mut notes = Vec::new();
    assert_eq!(Hooks::from_json(ZarrV3, &Map::new(), &mut notes), Ok(Hooks { size: 4, step: 4 }));
    assert_eq!(notes, ["size 4 is used"]);
    let config = Hooks { size: 2, step: 7 };
    assert_eq!(Value::Object(config.to_json(ZarrV3).unwrap()), json!({"size": "2 in Zarr v3", "step": 7}));
    assert_eq!(config.to_params(), Ok(vec![2, 7]));
    for (words, config) in [(vec![], Hooks { size: 4, step: 4 }), (vec![2], Hooks { size: 2, step: 2 })] {
        assert_eq!((Hooks::from_params(&words), config.to_params()), (Ok(config), Ok(words)));
    }
}

#[test]
fn a_codec_from_bytes_to_bytes_needs_no_bind() {
    let env = |len| Env {
        dtype: Dtype::little(Kind::UInt, 1),
        array_shape: vec![len],
        chunk_shape: vec![len],
        container: Container::ZarrV2,
    };
    let config = Hooks { size: 2, step: 7 };
    let bound = config.bind(&env(100).chunk(), &env(100)).unwrap();
    assert_eq!((bound.stored, bound.working), (config.clone(), vec![2, 7]));
    assert_eq!(bound.output.size(), Ok(Size::AtMost(108)));
    let error = config.bind(&env(101).chunk(), &env(101)).unwrap_err().to_string();
    assert_eq!(error, "not supported: 101 bytes are more than hooks takes at once");
}
