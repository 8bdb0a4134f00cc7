//! What the configuration reads, writes and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use ncz_codec::{Codec, CodecConfig, Container, Dialect, Dtype, Env, ErrorKind, Kind, Repr, Size};
use ncz_nbit::Nbit;
use serde_json::Map;

fn env(dtype: Dtype) -> Env {
    Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container: Container::Hdf5 }
}

#[test]
fn nothing_is_given_and_the_words_say_that_all_bits_are_kept() {
    let codec = Nbit::from_params(&[]).unwrap();
    assert_eq!(codec, Nbit::default());
    assert!(codec.to_params().unwrap().is_empty());
    for (dtype, words) in [
        (Dtype::little(Kind::Int, 2), vec![8, 1, 3072, 1, 2, 0, 16, 0]),
        (Dtype::big(Kind::Float, 8), vec![8, 1, 3072, 1, 8, 1, 64, 0]),
        (Dtype::little(Kind::Opaque, 5), vec![3, 1, 3072]),
    ] {
        let env = env(dtype);
        let bound = codec.bind(&env.chunk(), &env).unwrap();
        assert_eq!(bound.working, words);
        assert_eq!(bound.output.size(), env.chunk().size());
    }
}

#[test]
fn words_that_hdf5_stored_are_taken_as_they_are() {
    let stored = [8, 0, 10, 1, 4, 0, 17, 3];
    let codec = Nbit::from_params(&stored).unwrap();
    assert_eq!(codec.to_params().unwrap(), stored);
    let env = env(Dtype::little(Kind::UInt, 1));
    let bound = codec.bind(&Repr::Bytes { size: Size::Exact(40) }, &env).unwrap();
    assert_eq!(bound.working, stored);
    assert_eq!(bound.output, Repr::Bytes { size: Size::AtMost(40) });
    assert_eq!(
        codec.bind(&env.chunk(), &env).unwrap_err().to_string(),
        "not supported: nbit expected 40 bytes, got 3072; it must be the first of its chain"
    );
}

#[test]
fn wrong_words_are_named() {
    let message = |words: &[u32]| Nbit::from_params(words).unwrap_err().to_string();
    assert_eq!(
        message(&[1]),
        r#"configuration key "cd_values" is not usable: nbit works with at least 3 parameters, got 1"#
    );
    assert_eq!(
        message(&[9, 0, 10, 1, 4, 0, 17, 3]),
        r#"configuration key "cd_values[0]" is not usable: expected 9 parameters as stated, got 8"#
    );
    for (element, what) in [
        (&[][..], "the words of the element are cut"),
        (&[1, 4, 0, 17], "the words of the element are cut"),
        (&[1, 4, 0, 17, 3, 0], "1 words follow those of the element"),
        (&[1, 4, 2, 17, 3], "2 is not a byte order"),
        (&[1, 4, 0, 17, 16], "17 bits from bit 16 on are none of a number of 4 bytes"),
        (&[1, 4, 0, 0, 3], "0 bits from bit 3 on are none of a number of 4 bytes"),
        (&[5, 4], "5 is not a class of elements"),
        (&[4, 0], "a part of the element has no bytes"),
        (&[2, 7, 4, 2], "an array of 7 bytes has no whole number of parts of 2"),
        (&[3, 8, 1, 5, 4, 4], "a member of 4 bytes at 5 has no room in a compound of 8"),
        (&[3, 8, 2, 0, 4, 7, 0, 4, 2], "a member of 2 bytes at 0 has no room in a compound of 8"),
        (&[3, 8, 2, 0, 4, 4], "the words of the element are cut"),
    ] {
        let words = [&[element.len() as u32 + 3, 0, 10], element].concat();
        assert_eq!(message(&words), format!(r#"configuration key "cd_values" is not usable: {what}"#));
    }
    let deep = [&[203, 0, 1][..], &[2, 4].repeat(99), &[4, 4]].concat();
    assert_eq!(
        message(&deep),
        r#"configuration key "cd_values" is not usable: elements are too deep within each other"#
    );
    let large = Nbit::coder(&[5, 0, u32::MAX, 4, u32::MAX]).unwrap_err();
    assert_eq!(*large.kind(), ErrorKind::Unsupported, "{large}");
    for dialect in [Dialect::Numcodecs, Dialect::ZarrV3] {
        let error = Nbit::from_json(dialect, &Map::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not supported: nbit has no JSON form; packbits of numcodecs is another format"
        );
        assert!(Nbit::default().to_json(dialect).is_err());
    }
}

#[test]
fn compounds_that_hdf5_spoils_are_refused() {
    let number = [1, 2, 0, 11, 1];
    let array = [&[2, 6][..], &number].concat();
    let arrays = [&[2, 12][..], &array].concat();
    let compounds = [&[2, 18, 3, 9, 1, 0][..], &number].concat();
    let compound = |members: &[&[u32]]| {
        let members: Vec<_> =
            (0..).zip(members).map(|(at, member)| [&[20 * at][..], member].concat()).collect();
        [&[3, 20 * members.len() as u32, members.len() as u32][..], &members.concat()].concat()
    };
    let coder = |element: &[u32]| {
        Nbit::coder(&[&[element.len() as u32 + 3, 0, 10], element].concat())
            .map_err(|error| error.to_string())
    };
    let spoiled = "not supported: HDF5 spoils members of a compound after an array of arrays or of compounds as it \
                   writes them with nbit; take another filter for such data";
    for parts in [arrays, compounds] {
        for element in [compound(&[&parts]), compound(&[&number, &parts]), compound(&[&array, &parts])] {
            coder(&element).unwrap();
        }
        assert_eq!(coder(&compound(&[&parts, &number])).unwrap_err(), spoiled);
        let within = [&[2, 40][..], &compound(&[&number, &parts])].concat();
        coder(&within).unwrap();
        let inner = [&[3, 40, 2, 0][..], &compound(&[&parts]), &[20], &number].concat();
        assert_eq!(coder(&inner).unwrap_err(), spoiled);
    }
}
