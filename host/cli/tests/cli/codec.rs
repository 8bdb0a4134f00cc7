use serde_json::json;

use crate::bench::ncz;

#[test]
fn a_chain_is_shown_in_all_spellings() {
    let run = ncz(["codec", "2|1,6", "--dtype", "f4", "--shape", "721,1440", "--chunks", "100,200"]).ends(0);
    let wanted = r#"2|1,6
  codec       shuffle, HDF5 filter 2, built-in
  codec       deflate, HDF5 filter 1, built-in
  read by     shuffle: netcdf-c (HDF5 files, Zarr v2); HDF5; zarr-python (Zarr v2, Zarr v3); zarrs (Zarr v2, Zarr v3)
  read by     deflate: netcdf-c (HDF5 files, Zarr v2); HDF5; zarr-python (Zarr v2, Zarr v3); zarrs (Zarr v2, Zarr v3); tensorstore (Zarr v2)
  text        2|1,6
  parameters  2: none; 1: 6
  numcodecs   [{"id":"shuffle","elementsize":0},{"id":"zlib","level":6}]
  Zarr v3     [{"name":"numcodecs.shuffle","configuration":{}},{"name":"numcodecs.zlib","configuration":{"level":6}}]
              for f4, 721 x 1440 in chunks of 100 x 200:
  stored      2: 4; 1: 6
  working     2: 4; 1: 6
  numcodecs   [{"id":"shuffle","elementsize":4},{"id":"zlib","level":6}]
  Zarr v3     [{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib","configuration":{"level":6}}]
"#;
    assert_eq!(run.stdout, wanted);
}

#[test]
fn a_lossy_codec_is_called_so() {
    let bitround = r#"{"id":"bitround","keepbits":9}"#;
    let run = ncz(["codec", bitround]).ends(0);
    assert!(run.stdout.contains("note        bitround can be lossy"), "{}", run.stdout);
    for (spec, dtype, lossy) in [
        (bitround, "f4", true),
        (bitround, "f8", true),
        (r#"{"id":"bitround","keepbits":23}"#, "f4", false),
        (r#"{"id":"bitround","keepbits":23}"#, "f8", true),
        (r#"{"id":"delta","dtype":"<i4"}"#, "i4", false),
        (r#"{"id":"delta","dtype":"<i4","astype":"<i2"}"#, "i4", false),
        (r#"{"id":"astype","decode_dtype":"<i8","encode_dtype":"<f4"}"#, "i8", false),
        (r#"{"id":"astype","decode_dtype":"<f8","encode_dtype":"<f4"}"#, "f8", true),
        (r#"{"id":"delta","dtype":"<f4"}"#, "f4", true),
        ("32013,5", "f8", false),
        ("32013,3,0,0,1072693248", "f8", true),
        (r#"{"id":"zfpy"}"#, "f8", false),
    ] {
        let run = ncz(["codec", spec, "--dtype", dtype, "--shape", "8,8", "--json"]).ends(0).json();
        assert_eq!(run["codecs"][0]["codecs"][0]["lossy"], json!(lossy), "{spec} of {dtype}");
        let notes = run["codecs"][0]["notes"].to_string();
        assert_eq!(notes.contains(" is lossy: decoded values can differ"), lossy, "{notes}");
    }
    let codecs = ncz(["codec", bitround, "zstd,3", "--json"]).ends(0).json();
    let lossy = |at: usize| codecs["codecs"][at]["codecs"][0]["lossy"].clone();
    assert_eq!([lossy(0), lossy(1)], [json!(true), json!(false)]);
    assert_eq!(codecs["codecs"][1]["notes"], json!([]));
    for (name, words) in [("bitround", "yes: decoded values"), ("zstd", "no\n")] {
        let shown = ncz(["plugins", "show", name]).ends(0).stdout;
        assert!(shown.contains(&format!("  lossy         {words}")), "{shown}");
        let shown = ncz(["plugins", "show", name, "--json"]).ends(0).json();
        assert_eq!(shown["codecs"][0]["lossy"], json!(name == "bitround"));
    }
    let listed = ncz(["plugins", "list", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let zfp = listed["codecs"].as_array().unwrap().iter().find(|codec| codec["id"] == 32013).unwrap();
    assert_eq!(zfp["lossy"], json!(true));
}

#[test]
fn one_codec_leads_from_each_spelling_to_all_the_others() {
    for spec in
        ["32015,3", "zstd,3", r#"{"id":"zstd","level":3}"#, r#"{"name":"zstd","configuration":{"level":3}}"#]
    {
        let answer = ncz(["codec", spec, "--json"]).ends(0).json();
        let codec = &answer["codecs"][0];
        assert_eq!(codec["text"], json!("32015,3"), "{spec}");
        assert_eq!(codec["parameters"], json!([{"filter_id": 32015, "words": [3]}]));
        assert_eq!(codec["numcodecs"], json!([{"id": "zstd", "level": 3}]));
        assert_eq!(codec["zarr_v3"][0]["configuration"]["level"], json!(3));
    }
}

#[test]
fn every_name_that_is_shown_can_be_typed_and_a_bare_one_has_defaults() {
    for (name, filter, text) in [
        ("deflate", 1, "1,1"),
        ("zlib", 1, "1,1"),
        ("bzip2", 307, "307,1"),
        ("bz2", 307, "307,1"),
        ("numcodecs.bz2", 307, "307,1"),
        ("shuffle", 2, "2"),
        ("fletcher32", 3, "3"),
    ] {
        let answer = ncz(["codec", name, "--json"]).ends(0).json();
        assert_eq!(answer["codecs"][0]["codecs"][0]["filter_id"], json!(filter), "{name}");
        assert_eq!(answer["codecs"][0]["text"], json!(text), "{name}");
    }
}

#[test]
fn working_parameters_depend_on_the_container() {
    let words = |container: &str| {
        let args = [
            "codec",
            "4,32,8",
            "--dtype",
            "i4",
            "--shape",
            "4,400",
            "--chunks",
            "4,16",
            "--json",
            "--container",
            container,
        ];
        ncz(args).ends(0).json()["codecs"][0]["bound"]["working"][0]["words"].clone()
    };
    // The fourth word is the scanline: of the array in NCZarr, of the chunk in HDF5.
    assert_eq!(words("nczarr")[3], json!(400));
    assert_eq!(words("hdf5")[3], json!(16));
}

#[test]
fn negative_levels_are_negative() {
    let answer = ncz(["codec", "32015,4294967291", "--json"]).ends(0).json();
    assert_eq!(answer["codecs"][0]["numcodecs"], json!([{"id": "zstd", "level": -5}]));
}

#[test]
fn an_invalid_codec_is_distinguished_from_one_that_is_not_found() {
    ncz(["codec", r#"{"id":"#]).ends(2).says(&["is not JSON"]);
    ncz(["codec", "3.14"]).ends(2).says(&["neither a filter id"]);
    ncz(["codec", "zsdt,3"])
        .ends(3)
        .says(&["no codec for numcodecs codec \"zsdt\" (did you mean \"zstd\"?)"]);
    let unknown = ncz(["codec", "imagecodecs_webp"]).ends(3);
    assert!(!unknown.stderr.contains("did you mean"), "{unknown:#?}");
    ncz(["codec", "categorize"]).ends(3).says(&["cannot use categorize", "no codec for"]);
    ncz(["codec", "zstd", "--dtype", "f3", "--shape", "2"]).ends(2).says(&["--dtype \"f3\""]);
    ncz(["codec", "zstd", "--dtype", "f4", "--shape", "2,0"]).ends(2).says(&["--shape \"2,0\""]);
    ncz(["codec", "zstd", "--dtype", "f4", "--shape", "2", "--chunks", "1,2"])
        .ends(2)
        .says(&["expected 1 lengths in --chunks, as many as in --shape, got 2"]);
}
