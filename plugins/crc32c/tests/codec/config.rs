//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, Kind, Repr, Result, Size};
use ncz_crc32c::{Crc32c, Location};
use serde_json::{Value, json};

const END: Crc32c = Crc32c { location: Location::End };
const START: Crc32c = Crc32c { location: Location::Start };

fn parse(dialect: Dialect, config: Value) -> Result<Crc32c> {
    Crc32c::from_json(dialect, config.as_object().unwrap(), &mut Vec::new())
}

#[test]
fn the_location_is_written_only_where_it_is_not_the_end() {
    for (crc, config) in [(END, json!({})), (START, json!({"location": "start"}))] {
        assert_eq!(Some(&crc.to_json(Dialect::Numcodecs).unwrap()), config.as_object());
        assert_eq!(parse(Dialect::Numcodecs, config), Ok(crc));
        assert_eq!(Crc32c::from_params(&crc.to_params().unwrap()), Ok(crc));
    }
    assert_eq!(parse(Dialect::Numcodecs, json!({"location": "end"})), Ok(END));
    assert_eq!(parse(Dialect::ZarrV3, json!({})), Ok(END));
    assert_eq!(END.to_json(Dialect::ZarrV3), Ok(serde_json::Map::new()));
}

#[test]
fn wrong_input_is_named() {
    let message = |dialect, config| parse(dialect, config).unwrap_err().to_string();
    assert_eq!(
        message(Dialect::Numcodecs, json!({"location": "middle"})),
        r#"configuration key "location" is not usable: "middle" is none of end, start"#
    );
    assert_eq!(
        message(Dialect::ZarrV3, json!({"location": "end"})),
        r#"configuration key "location" is not usable: Zarr v3 defines no such key for this codec; other readers refuse it too"#
    );
    assert_eq!(
        START.to_json(Dialect::ZarrV3).unwrap_err().to_string(),
        r#"configuration key "location" is not usable: Zarr v3 has the checksum after the data only"#
    );
    assert_eq!(
        Crc32c::from_params(&[2]).unwrap_err().to_string(),
        r#"configuration key "cd_values[0]" is not usable: location 2 is none of 0 (end), 1 (start)"#
    );
}

#[test]
fn four_bytes_are_added_and_overflow_is_refused() {
    let dtype = Dtype::little(Kind::Float, 4);
    let container = Container::ZarrV3;
    let env = Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let size = |input: Repr| END.bind(&input, &env).map(|bound| bound.output.size().unwrap());
    assert_eq!(size(env.chunk()), Ok(Size::Exact(12292)));
    assert_eq!(size(Repr::Bytes { size: Size::AtMost(10) }), Ok(Size::AtMost(14)));
    assert_eq!(size(Repr::Bytes { size: Size::Unknown }), Ok(Size::Unknown));
    assert!(size(Repr::Bytes { size: Size::AtMost(usize::MAX) }).is_err());
}
