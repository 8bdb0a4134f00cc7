use std::fs;

use ncz::model::{ByteOrder, Format, Storage, Value};
use ncz_test_support::fixtures;

use super::helpers::{assert_same_text, dump, made, text, try_made, values};

/// The CDL of the fixtures, each with its name.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut sources: Vec<_> = fs::read_dir(fixtures().join("cdl"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "cdl"))
        .map(|path| {
            (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    sources.sort();
    assert!(sources.len() >= 9, "{sources:?}");
    sources
}

#[test]
fn every_fixture_prints_the_same_again_in_every_format() {
    for (name, source) in sources() {
        for format in [Format::NCZARR, Format::Zarr2, Format::Zarr3] {
            let again = |text: &str| {
                let made = try_made(text, format);
                dump(&made.unwrap_or_else(|error| panic!("{name} {format:?}: {error}\n{text}")))
            };
            // Pure Zarr has no char: it becomes string, which prints otherwise.
            let first = if format == Format::NCZARR { again(&source) } else { again(&again(&source)) };
            assert_same_text(&first, &again(&first));
        }
    }
}

#[test]
fn a_text_without_special_attributes_prints_as_it_is() {
    let source = r#"netcdf d {
dimensions:
	t = UNLIMITED ; // (2 currently)
	x = 3 ;
	u = UNLIMITED ; // (4 currently)
variables:
	float f(t, x) ;
		f:_FillValue = -999.f ;
		f:units = "K" ;
		string f:names = "one", "" ;
		f:valid = 1b, 2b ;
	int i(t, u) ;
	char c(t, x) ;
	string s(x) ;
	uint64 big ;

// global attributes:
		:title = "a\nb \"q\" \\" ;
		:nan = NaN, -Infinity ;
		:small = 1.5f ;
data:

 f = 1, _, 3.5,
  -0, 1e-30, NaNf ;

 i =
  {1, 2, 3, 4},
  {5, _, _, _} ;

 c =
  "abc",
  "d" ;

 s = "x", "two words", "ü" ;

 big = 18446744073709551615 ;

group: g\ 1 {
  dimensions:
  	x = 2 ;
  variables:
  	short v(x, /x) ;
  data:

   v =
  1, 2, 3,
  4, 5, 6 ;
  } // group g\ 1
}
"#;
    let dataset = made(source);
    let printed = text(&dataset, false);
    // Layout is ncdump's business; the words are the same.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut wanted = words(source);
    // An empty string is the fill value.
    let found = words(&printed);
    wanted.retain(|word| !word.is_empty());
    assert_eq!(found, wanted, "{printed}");
}

#[test]
fn special_attributes_are_applied_and_the_whole_chain_is_kept() {
    let dataset = made(
        r#"netcdf d { dimensions: y = 8 ; x = 6 ; variables:
        int a(y, x) ; a:_Storage = "chunked" ; a:_ChunkSizes = 4, 3 ; a:_Endianness = "big" ; a:_Shuffle = "true" ;
            a:_DeflateLevel = 5 ; a:_Fletcher32 = "true" ;
        float b(y, x) ; b:_Filter = "2,4|32015,3" ; b:_NoFill = "true" ;
        short c(x) ; c:_Storage = "contiguous" ;
        double e(y, x) ; e:_Codecs = "[{\"id\": \"shuffle\", \"elementsize\": 8}, {\"id\": \"gzip\", \"level\": 2}]" ;
            e:_Shuffle = "true" ;
        float q(x) ; q:_QuantizeBitRoundNumberOfSignificantBits = 2 ;
        :_NCProperties = "version=2" ; :_Format = "netCDF-4" ; :_IsNetcdf4 = 1 ; :_SuperblockVersion = 2 ;
        data: a = 1, 2, 3 ; q = 1.1, 2.2 ; }"#,
    );
    let hierarchy = dataset.hierarchy();
    let ids = |path: &str| -> Vec<String> {
        let filters = &hierarchy.variable(path).unwrap().filters;
        filters.iter().map(|filter| filter["id"].as_str().unwrap().to_owned()).collect()
    };
    let a = hierarchy.variable("/a").unwrap();
    assert_eq!(a.chunk_shape, [4, 3]);
    assert_eq!(a.dtype.order(), ByteOrder::Big);
    assert_eq!(ids("/a"), ["fletcher32", "shuffle", "zlib"]);
    assert_eq!(ids("/b"), ["shuffle", "zstd"]);
    assert!(hierarchy.variable("/b").unwrap().fill.is_none());
    let c = hierarchy.variable("/c").unwrap();
    assert_eq!((c.storage, c.chunk_shape.as_slice()), (Storage::Contiguous, &[6][..]));
    assert_eq!(ids("/e"), ["shuffle", "gzip"]);
    assert!(hierarchy.root.attributes.is_empty());
    let Value::Float(q) = values(&dataset, "/q").unwrap() else { panic!() };
    assert_eq!(&q[..2], [1.0, 2.0], "of 1.1 and 2.2 two bits are kept");
    let Value::Int(a) = values(&dataset, "/a").unwrap() else { panic!() };
    assert_eq!(a[..4], [1, 2, 3, -2_147_483_647], "what is missing is fill");
}

#[test]
fn rows_of_text_with_newlines_and_nul_bytes_come_back_as_they_are() {
    let source = "netcdf d { dimensions: y = 2 ; x = 4 ; variables: char c(y, x) ; char f(y, x) ; f:_FillValue = \"-\" ;\n\
        data: c = \"a\\nb\", \"\\n\" ; f = \"ab\\000\\000\", \"\\n\\000\\000\\000\" ; }";
    let first = made(source);
    let again = made(&dump(&first));
    for (path, wanted) in [("/c", *b"a\nb\0\n\0\0\0"), ("/f", *b"ab\0\0\n\0\0\0")] {
        assert_eq!(values(&first, path).unwrap(), Value::Char(wanted.to_vec()), "{path}, from the source");
        assert_eq!(values(&again, path).unwrap(), Value::Char(wanted.to_vec()), "{path}, from the dump");
    }
}
