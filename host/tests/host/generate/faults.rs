use ncz::model::{Format, Value};
use proptest::prelude::*;

use super::fixed_point::sources;
use super::helpers::{explained, made, try_made, values};

/// User-defined types of every kind, and their values.
const TYPES: &str = include_str!("../../../cli/tests/cli/nested_types.cdl");

/// The error of a text, which must say all of this.
#[track_caller]
fn fails(text: &str, wanted: &[&str]) {
    let error = match try_made(text, Format::NCZARR) {
        Ok(_) => panic!("it was taken: {text}"),
        Err(error) => explained(&error),
    };
    for part in wanted {
        assert!(error.contains(part), "{part:?} is missing in\n{error}");
    }
}

#[test]
fn errors_show_the_position_and_what_was_expected() {
    fails("netcdf d {\nvariables:\n\tint v\n}\n", &["line 4, column 1", "got \"}\"", "\n    }\n    ^"]);
    let text = "netcdf d {\ndimensions: x = 2 ;\nvariables: int v(x) ;\ndata: v = 1,, 2 ;\n}";
    fails(text, &["line 4, column 13: expected a value", "\n    data: v = 1,, 2 ;\n                ^"]);
    fails("netcdf d {", &["the end of the text"]);
    fails("hello", &["line 1, column 1: expected the word netcdf"]);
    fails("netcdf d { : a = \"x ; }", &["line 1, column 18: the string that begins here does not end"]);
    fails("netcdf d { /* }", &["the comment that begins here does not end"]);
    fails("netcdf d { } }", &["nothing more"]);
    fails("netcdf d { :ü = 1 ; :b = @ ; }", &["line 1, column 26"]);
}

#[test]
fn numbers_out_of_range_are_refused_and_named() {
    let of =
        |nc_type: &str, value: &str| format!("netcdf d {{ variables: {nc_type} v ; data: v = {value} ; }}");
    for (nc_type, value, wanted) in [
        ("byte", "200", "200 is out of range of byte (-128 to 127)"),
        ("ubyte", "-1", "-1 is out of range of ubyte"),
        ("int", "3000000000", "3000000000 is out of range of int"),
        ("short", "70000s", "70000s is out of range of short"),
        ("int", "3.7", "3.7 is a fraction, but int holds whole numbers"),
        ("float", "1e39", "1e39 is out of range of float"),
        ("double", "1e400", "1e400 is out of range of double"),
        ("int", "08", "a leading 0 makes it octal"),
        ("int", "\"x\"", "expected a number, got a string"),
        ("string", "5", "expected a string in quotes, got a number"),
        ("char", "5", "expected text in quotes, got a number"),
        ("int", "{1}", "braces"),
        ("int", "1, 2", "too many values: variable \"/v\" has 1"),
        ("char", "\"ab\"", "too many values"),
        ("int", "NIL", "got NIL"),
    ] {
        fails(&of(nc_type, value), &["line 1, column", wanted]);
    }
    fails("netcdf d { int :a = 5000000000 ; }", &["5000000000 is out of range of int"]);
    fails("netcdf d { :a = 1, \"x\" ; }", &["only text or only numbers"]);
}

#[test]
fn types_of_the_user_are_refused_by_name() {
    for (types, name, kind) in [
        ("compound obs { int a ; } ;", "/obs", "a compound"),
        ("int enum e { A = 1 } ;", "/e", "an enumeration"),
        ("opaque(11) raw ;", "/raw", "opaque"),
        ("int(*) row ;", "/row", "a row of any length"),
    ] {
        let text = format!("netcdf d {{ types: {types} variables: int v ; }}");
        fails(&text, &["line 1", name, kind, "only netCDF-4 files have"]);
    }
}

#[test]
fn types_of_the_user_and_their_values_are_checked() {
    fails("netcdf d { variables: obs v ; }", &["there is no type \"obs\"; define it under types:"]);
    let of = |types: &str, rest: &str| format!("netcdf d {{ types: {types} variables: {rest} }}");
    for (types, rest, wanted) in [
        ("float enum e { A = 1 } ;", "", "a type of integers before enum, got float"),
        ("byte enum e { A = 300 } ;", "", "300 is out of range of byte"),
        ("byte enum e { A = 1, A = 2 } ;", "", "there is a name \"A\" already"),
        ("compound c { int a ; int a ; } ;", "", "there is a field \"a\" already"),
        ("compound c { int a(0) ; } ;", "", "a length of at least 1, got 0"),
        ("compound c { int a(9000000) ; } ;", "", "more than 1048576 bytes in a value of a type"),
        ("compound c { d a ; } ;", "", "there is no type \"d\""),
        ("opaque(2) o ; opaque(3) o ;", "", "there is a type \"o\" already"),
        ("opaque(2) o ;", "o v ; o v:a = 0X010203 ;", "the opaque value in bytes has 2"),
        ("opaque(2) o ;", "o v ; o v:a = 0X01234 ;", "the opaque value in bytes has 2"),
        ("opaque(2) o ;", "o v ; o v:a = 12 ;", "0X and the bytes"),
        ("byte enum e { A = 1 } ;", "e v ; e v:a = B ;", "there is no integer with the name \"B\""),
        (
            "byte enum e { A = 1 } ;",
            "e v ; v:_FillValue = A, A ;",
            "_FillValue must be one value of the type",
        ),
        (
            "byte enum e { A = 1 } ;",
            "e v ; int v:_FillValue = 1 ;",
            "_FillValue must be one value of the type",
        ),
        ("compound c { int a ; } ;", "c v ; c v:a = {1, 2} ;", "a compound of the type \"c\" has 1"),
        ("compound c { int a(2) ; } ;", "c v ; c v:a = {{1, 2, 3}} ;", "the field \"a\" has 2"),
        ("compound c { int a(2) ; } ;", "c v ; c v:a = {1} ;", "{ before the values of a field"),
        ("compound c { char a ; } ;", "c v ; c v:a = {\"ab\"} ;", "the field \"a\" has 1"),
        ("compound c { int a ; } ;", "c v ; c v:a = {\"x\"} ;", "expected a number, got a string"),
        ("int(*) r ;", "r v ; r v:a = {1, {2}} ;", "expected a value"),
        ("int(*) r ;", "r v ; r v:a = 1 ;", "{ before a row of any length"),
    ] {
        fails(&of(types, rest), &["line 1, column", wanted]);
    }
    let many: String = (0..40).map(|at| format!("compound c{} {{ c{at} a ; }} ", at + 1)).collect();
    fails(&of(&format!("compound c0 {{ int a ; }} {many}"), ""), &["more than 32 types inside one another"]);
    let wide: String = (0..30).map(|at| format!("compound c{} {{ c{at} a, b ; }} ", at + 1)).collect();
    fails(&of(&format!("compound c0 {{ byte a ; }} {wide}"), ""), &["more than"]);
}

#[test]
fn names_are_declared_once_and_before_they_are_used() {
    fails("netcdf d { variables: int v(x) ; }", &["there is no dimension \"x\""]);
    fails("netcdf d { data: v = 1 ; }", &["there is no variable \"v\""]);
    fails("netcdf d { variables: int v ; float v ; }", &["there is a variable \"v\" already"]);
    fails("netcdf d { dimensions: x = 1 ; x = 2 ; }", &["there is a dimension \"x\" already"]);
    fails("netcdf d { :a = 1 ; :a = 2 ; }", &["there is an attribute \"a\" already"]);
    fails("netcdf d { group: g { } group: g { } }", &["there is a group \"g\" already"]);
    fails("netcdf d { dimensions: x = -1 ; }", &["at least 0"]);
    fails(
        "netcdf d {\n variables:\n int v ; v:_Storage = \"tape\" ; }",
        &["line 3", "_Storage must be \"chunked\""],
    );
    fails(
        "netcdf d {\n dimensions: x = 2 ; variables:\n int v(x) ;\n v:_Filter = \"4711,1\" ; }",
        &["line 3", "4711"],
    );
}

#[test]
fn chains_that_contradict_each_other_are_refused() {
    let of = |other: &str| {
        format!(
            "netcdf d {{ dimensions: x = 9 ; variables: int v(x) ; v:{other} ; \
             v:_Codecs = \"[{{\\\"id\\\": \\\"zlib\\\", \\\"level\\\": 5}}]\" ; }}"
        )
    };
    fails(&of("_DeflateLevel = 6"), &["_Codecs and its _DeflateLevel do not say the same"]);
    fails(&of("_Shuffle = \"true\""), &["_Codecs and its _Shuffle"]);
    fails(&of("_Filter = \"307,9\""), &["_Codecs and its _Filter"]);
    drop(made(&of("_DeflateLevel = 5")));
}

#[test]
fn nothing_is_visible_after_a_failure() {
    // The values are wrong, which is found when the metadata are written already.
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x.zarr");
    let place = ncz::location::DatasetUrl::parse(target.to_str().unwrap()).unwrap();
    let text =
        "netcdf d { dimensions: x = 3 ; variables: int a(x), b(x) ; data: a = 1, 2, 3 ; b = 1, 2, 3, 4 ; }";
    let mut file = ncz::cdl::CdlFile::open(std::io::Cursor::new(text)).unwrap();
    let options = ncz::generate::GenerateOptions::default();
    let session = super::helpers::session();
    let plan = ncz::generate::Plan::new(file.cdl(), &session, &options).unwrap();
    let store = place.create_store(false).unwrap();
    ncz::generate::generate(&mut file, plan, store, session, &options, &()).unwrap_err();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn names_strings_and_characters_are_read_with_their_escapes() {
    let dataset = made(
        "netcdf a\\ b { dimensions: d\\ 1 = 3 ; \\2 = 2 ; variables: int v\\:1(\\2) ; int data(d\\ 1) ; data :u = 1 ; \
         char c(d\\ 1) ; char e(d\\ 1) ; byte b(d\\ 1) ; string s ; \
         :t = \"a\\x41\\101\\n\\?\\q\" ; :é = 'a' ; data: v\\:1 = 1, 2 ; data = 4, 5, 6 ; c = 'a', '\\x42', '\\0' ; \
         e = \"x\", 66b ; b = '\\377', 'a', -1 ; s = NIL ; }",
    );
    assert_eq!(dataset.hierarchy().root.attribute("t").unwrap().value, Value::text("aAA\n\u{7f}q"));
    assert_eq!(dataset.hierarchy().root.attribute("é").unwrap().value, Value::from(97i8));
    assert_eq!(values(&dataset, "/data").unwrap(), Value::from(vec![4, 5, 6]));
    assert_eq!(values(&dataset, "/c").unwrap(), Value::Char(b"aB\0".to_vec()));
    assert_eq!(values(&dataset, "/e").unwrap(), Value::Char(b"xB\0".to_vec()));
    assert_eq!(values(&dataset, "/b").unwrap(), Value::from(vec![-1i8, 97, -1]));
    assert_eq!(values(&dataset, "/s").unwrap(), Value::strings([""]));
}

#[test]
fn rows_of_characters_are_filled_up() {
    let dataset = made(
        "netcdf d { dimensions: t = UNLIMITED ; u = UNLIMITED ; n = 4 ; variables: char a(t, n) ; char b(t, u) ; \
         char c(n, n) ; c:_FillValue = \"-\" ; data: a = \"ab\", \"\", \"abcdef\" ; b = {\"x\", \"yz\"}, {\"1\"} ; \
         c = \"ab\", 'c', 'd' ; }",
    );
    assert_eq!(values(&dataset, "/a").unwrap(), Value::Char(b"ab\0\0\0\0\0\0abcdef\0\0".to_vec()));
    assert_eq!(values(&dataset, "/b").unwrap(), Value::Char(b"xyz1\0\0\0\0\0\0\0\0".to_vec()));
    assert_eq!(values(&dataset, "/c").unwrap(), Value::Char(b"ab--cd----------".to_vec()));
}

#[test]
fn attributes_get_the_types_that_ncgen_gives_them() {
    for (value, wanted) in [
        ("1b, 300", Value::from(vec![1, 300])),
        ("1b, 2u", Value::from(vec![1u32, 2])),
        ("1ub, 2b", Value::from(vec![1i8, 2])),
        ("2b, 1ub", Value::from(vec![2u8, 1])),
        ("5000000000", Value::from(5_000_000_000u64)),
        ("-5000000000", Value::from(-5_000_000_000i64)),
        ("10000000000LL, 1us", Value::from(vec![10_000_000_000i64, 1])),
        ("1.5f, 2", Value::from(vec![1.5f32, 2.0])),
        ("1.5f, 2.5", Value::from(vec![1.5, 2.5])),
        ("\"abc\", \"def\"", Value::text("abcdef")),
        ("017", Value::from(15)),
        ("0x1F", Value::from(31)),
    ] {
        let dataset = made(&format!("netcdf d {{ :a = {value} ; }}"));
        assert_eq!(dataset.hierarchy().root.attribute("a").unwrap().value, wanted, "{value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_texts_never_do_harm(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<u8>(), 0usize..12), 1..6),
    ) {
        let mut sources = sources();
        sources.push(("types".to_owned(), TYPES.to_owned()));
        let mut text = sources[which.index(sources.len())].1.clone().into_bytes();
        for (place, kind, byte, len) in changes {
            let at = place.index(text.len().max(1));
            let end = (at + len).min(text.len());
            const BYTES: &[u8] = b"{}();:,=\"'\\/_-.0x*\nUN";
            match kind {
                0 if at < text.len() => text[at] = BYTES[usize::from(byte) % BYTES.len()],
                1 => drop(text.drain(at..end)),
                2 => text.insert(at, byte),
                _ => {
                    let copied = text[at..end].to_vec();
                    text.splice(at..at, copied);
                }
            }
        }
        // A length that asks for terabytes is none of a text's that has few values, so this is quick.
        if let Ok(mut file) = ncz::cdl::CdlFile::open(std::io::Cursor::new(text)) {
            let count = file.cdl().variables.len();
            for number in 0..count {
                let lengths = file.cdl().lengths_of(&file.cdl().variables[number]);
                let (most, block) = match file.cdl().variables[number].user_type() {
                    None => (1 << 20, 64),
                    // Their values can be large.
                    Some(_) => (64, 1),
                };
                if lengths.iter().map(|&(len, _)| len).fold(1, u64::saturating_mul) < most {
                    let _ = file.values::<ncz::cdl::CdlError>(number, block, &mut |_, _| Ok(block));
                }
            }
        }
    }
}
