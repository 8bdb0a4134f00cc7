use serde_json::json;

use crate::bench::ncz;

#[test]
fn a_chain_is_shown_in_all_spellings() {
    let run = ncz(["codec", "2|1,6", "--dtype", "f4", "--shape", "721,1440", "--chunks", "100,200"]).ends(0);
    let wanted = r#"2|1,6
  codec       shuffle, HDF5 filter 2, built-in
  codec       deflate, HDF5 filter 1, built-in
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
fn what_is_no_codec_is_told_apart_from_one_that_is_not_here() {
    ncz(["codec", r#"{"id":"#]).ends(2).says(&["is not JSON"]);
    ncz(["codec", "3.14"]).ends(2).says(&["neither a filter id"]);
    ncz(["codec", "categorize"]).ends(3).says(&["categorize cannot be used", "no codec for"]);
    ncz(["codec", "zstd", "--dtype", "f3", "--shape", "2"]).ends(2).says(&["--dtype \"f3\""]);
    ncz(["codec", "zstd", "--dtype", "f4", "--shape", "2,0"]).ends(2).says(&["--shape \"2,0\""]);
    ncz(["codec", "zstd", "--dtype", "f4", "--shape", "2", "--chunks", "1,2"]).ends(2).says(&["--chunks 2"]);
}
