//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_crc32::{Crc32, Location};
use serde_json::{Value, json};

const START: Crc32 = Crc32 { location: Location::Start };
const END: Crc32 = Crc32 { location: Location::End };

fn parse(dialect: Dialect, config: Value) -> Result<Crc32> {
    Crc32::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn the_location_is_written_only_where_it_is_not_the_start() {
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        for (checksum, config) in [(START, json!({})), (END, json!({"location": "end"}))] {
            assert_eq!(Some(&checksum.to_json(dialect).unwrap()), config.as_object());
            assert_eq!(parse(dialect, config), Ok(checksum));
            assert_eq!(Crc32::from_params(&checksum.to_params().unwrap()), Ok(checksum));
        }
        assert_eq!(parse(dialect, json!({"location": "start"})), Ok(START));
        // as numcodecs' constructor takes it
        assert_eq!(parse(dialect, json!({"location": null})), Ok(START));
    }
}

#[test]
fn wrong_input_is_named() {
    let message = |dialect, config| parse(dialect, config).unwrap_err().to_string();
    assert_eq!(
        message(Dialect::Numcodecs, json!({"location": "middle"})),
        r#"configuration key "location" is not usable: "middle" is none of start, end"#
    );
    assert_eq!(
        message(Dialect::Numcodecs, json!({"location": 1})),
        r#"configuration key "location" is not usable: expected a string, got 1"#
    );
    assert_eq!(
        message(Dialect::ZarrV3, json!({"place": "end"})),
        r#"configuration key "place" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        Crc32::from_params(&[2]).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: location 2 is none of 0 (start), 1 (end)"#
    );
    assert_eq!(
        Crc32::coder(&[0, 0]).unwrap_err().to_string(),
        r#"configuration key "cd_values" is not usable: crc32 takes 0 to 1 parameters, got 2"#
    );
}

#[test]
fn four_bytes_are_added_and_overflow_is_refused() {
    let dtype = Dtype::little(Kind::Float, 4);
    let container = Container::ZarrV2;
    let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let size = |input: Repr| END.bind(&input, &env).map(|bound| bound.output.size().unwrap());
    assert_eq!(size(env.chunk()), Ok(Size::Exact(12292)));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(10) }), Ok(Size::AtMost(14)));
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert!(size(Repr::Bytes { size: Size::AtMost(usize::MAX) }).is_err());
}
