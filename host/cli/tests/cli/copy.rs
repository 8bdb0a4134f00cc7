use std::fs;
use std::path::{Path, PathBuf};

use ncz_test_support::{fixtures, unpack};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Run, assert_same_data, assert_same_text, dump, ncz, ocean};

/// A folder for targets.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("copy.nczarr")
    }

    /// Copies `source` with these options.
    fn copy(&self, source: &Path, options: &[&str]) -> Run {
        let target = self.target();
        ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap()].iter().chain(options))
    }

    /// Checks that a refused copy leaves no files, not even hidden ones.
    #[track_caller]
    fn assert_empty(&self) {
        let left: Vec<_> = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// The chain in the metadata of a variable: filters, then compressor.
    fn chain(&self, variable: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.target().join(variable).join(".zarray")).unwrap();
        let zarray: Value = serde_json::from_str(&text).unwrap();
        let filters = zarray["filters"].as_array().cloned().unwrap_or_default();
        filters
            .into_iter()
            .chain(Some(zarray["compressor"].clone()).filter(|codec| !codec.is_null()))
            .collect()
    }

    fn chunks(&self, variable: &str) -> Value {
        let text = fs::read_to_string(self.target().join(variable).join(".zarray")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["chunks"].clone()
    }
}

#[test]
fn the_readme_example_keeps_every_value_and_says_what_it_did() {
    let place = Place::new();
    let run = place.copy(&ocean(), &["--codec", r#"{"id":"zstd","level":3}"#, "--verify"]).ends(0);
    assert_eq!(run.stderr, "", "no progress bar without a terminal");
    assert!(run.stdout.contains("verified: every value is the same"), "{}", run.stdout);
    assert!(run.stdout.contains("22 chunks"), "{}", run.stdout);
    assert_same_data(&ocean(), &place.target());
    for variable in ["air_temperature", "model/salinity", "time"] {
        assert_eq!(place.chain(variable), [json!({"id": "zstd", "level": 3})]);
    }
}

#[test]
fn a_lossy_codec_is_reported_once_and_its_values_are_verified() {
    let place = Place::new();
    // Nine bits are what the fill value -999 needs.
    let bitround = r#"{"id":"bitround","keepbits":9}"#;
    let one = format!("air_temperature={bitround}");
    let other = format!("model/salinity={bitround}");
    let run = place.copy(&ocean(), &["--codec", &one, "--codec", &other, "--verify"]).ends(0);
    let note = "note: /air_temperature, /model/salinity: has the codec bitround; netcdf-c does not read it; choose another \
                with --codec\nnote: bitround is a lossy codec: values of /air_temperature, /model/salinity can differ from those of the \
                source\n";
    assert_eq!(run.stderr, note);
    let wanted =
        "differ from the source exactly as the lossy codecs change them; everything else is the same\n";
    assert!(run.stdout.contains("verified: values of 2 of "), "{}", run.stdout);
    assert!(run.stdout.contains(wanted), "{}", run.stdout);
    let options = ["--codec", &one, "--overwrite", "--verify", "--json"];
    let summary = place.copy(&ocean(), &options).ends(0).json();
    for variable in summary["variables"].as_array().unwrap() {
        let is_rounded = variable["path"] == "/air_temperature";
        assert_eq!(variable["verified"], json!(if is_rounded { "repeated" } else { "same" }), "{variable}");
    }
    let summary = place.copy(&ocean(), &["--overwrite", "--json"]).ends(0).json();
    assert_eq!(summary["variables"][0]["verified"], json!(null));
    place.copy(&ocean(), &["--codec", &one, "--codec", &other, "--overwrite"]).ends(0);
    // As it is stored nothing is lost any more.
    let again = place.target().with_file_name("again.zarr");
    let run = ncz(["copy".as_ref(), place.target().as_path(), &again, "--verify".as_ref()]).ends(0);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("verified: every value is the same\n"), "{}", run.stdout);
    assert_same_data(&place.target(), &again);
}

#[test]
fn a_lossy_codec_that_makes_data_of_missing_values_is_refused() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let (cdl, source) = (folder.path().join("v.cdl"), folder.path().join("v.nczarr"));
    let text = "netcdf v { dimensions: x = 4; variables: float v(x); v:_FillValue = -999.1f; data: v = 1.25, _, 2.5, _; }";
    fs::write(&cdl, text).unwrap();
    ncz([Path::new("gen"), &cdl, Path::new("-o"), &source]).ends(0);
    let spoilt = [
        (r#"{"id":"quantize","digits":1,"dtype":"<f4"}"#, "nczarr", "-999.125"),
        (r#"{"id":"bitround","keepbits":3}"#, "nczarr", "-1024.0"),
        (
            r#"{"name":"cast_value","configuration":{"data_type":"int16","out_of_range":"clamp"}}"#,
            "zarr3",
            "-999.0",
        ),
        (r#"{"name":"scale_offset","configuration":{"scale":0.01}}"#, "zarr3", "-999.0999"),
    ];
    for (codec, format, read) in spoilt {
        let run = place.copy(&source, &["--codec", codec, "--format", format]).ends(3);
        run.says(&["/v", "fill value -999.1 would be read as", read, "missing values become data", "choose"]);
        place.assert_empty();
    }
    // HDF5's BitRound preserves the fill value, and a codec for integers that keeps it is accepted.
    place.copy(&source, &["-F", "v,32032,3"]).ends(0);
    assert!(dump(&place.target()).contains("1.25, _, 2.5, _"), "{}", dump(&place.target()));
}

/// A Zarr v3 array `v` of four elements, none of them stored.
fn array_of(folder: &Path, data_type: &str, fill: &serde_json::Value, attributes: &serde_json::Value) {
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    let array = json!({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": data_type, "fill_value": fill,
        "attributes": attributes, "dimension_names": ["x"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    fs::create_dir_all(folder.join("v")).unwrap();
    fs::write(folder.join("zarr.json"), group.to_string()).unwrap();
    fs::write(folder.join("v/zarr.json"), array.to_string()).unwrap();
}

#[test]
fn all_missing_values_are_tried_with_a_lossy_codec_and_nothing_else() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let bitround = r#"{"name":"bitround","configuration":{"keepbits":3}}"#;
    let cast = |to: &str| format!(r#"{{"name":"cast_value","configuration":{{"data_type":"{to}"}}}}"#);
    // xarray writes -999 in version 3 so
    let encoded = json!({"_FillValue": "AAAAAAA4j8A="});
    for (data_type, fill, attributes, codec, says) in [
        ("float32", json!(-9999.0), json!({}), bitround, "its fill value -9999.0 would be read as -10240.0"),
        (
            "float32",
            json!(0.0),
            json!({"missing_value": -9999}),
            bitround,
            "its missing_value -9999.0 would be read as -10240.0",
        ),
        (
            "float64",
            json!(0.0),
            json!({"missing_value": [1.0, -9999.0]}),
            bitround,
            "its missing_value -9999.0 would be read as -10240.0",
        ),
        ("float16", json!(0.0), encoded, bitround, "its fill value -999.0 would be read as -1024.0"),
        (
            "complex64",
            json!([-9999.0, 0.0]),
            json!({}),
            bitround,
            "its fill value -9999.0 and 0.0 would be read as -10240.0 and 0.0",
        ),
    ] {
        array_of(&source, data_type, &fill, &attributes);
        let run = place.copy(&source, &["--codec", codec]).ends(3);
        run.says(&["/v", says, "after the codec bitround, so that missing values become data"]);
        place.assert_empty();
    }
    for (data_type, fill, to) in
        [("int64", json!(i64::MAX), "float64"), ("uint32", json!(u32::MAX), "float32")]
    {
        array_of(&source, data_type, &fill, &json!({}));
        // Data with the fill value are refused when they are written; that they can be read is known before.
        place.copy(&source, &["-F", &format!("v,{}", cast(to)), "--overwrite"]).ends(0);
        let run = ncz(["verify".as_ref(), place.target().as_path()]).ends(0);
        assert_eq!(run.stderr, "");
        fs::remove_dir_all(place.target()).unwrap();
    }
    // Version 3 has a fill value in any case: a zero by itself was not chosen by a writer.
    array_of(&source, "float32", &json!(0.0), &json!({}));
    let offset = r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":273.15,"scale":10,"astype":"<i2"}}"#;
    place.copy(&source, &["--codec", offset]).ends(0);
    array_of(&source, "float32", &json!(0.0), &json!({"_FillValue": "AAAAAAAAAAA="}));
    let run = place.copy(&source, &["--codec", offset, "--overwrite"]).ends(3);
    run.says(&["its fill value 0.0 would be read as -0.0"]);
}

#[test]
fn a_filter_replaces_the_deflate_of_the_input() {
    let place = Place::new();
    place.copy(&ocean(), &["-F", "air_temperature,307,9", "-F", "/model/salinity,none"]).ends(0);
    assert_eq!(place.chain("air_temperature"), [json!({"id": "bz2", "level": 9})]);
    assert_eq!(place.chain("model/salinity"), Vec::<Value>::new());
    let kept = place.chain("sea_surface_temperature");
    assert_eq!(kept.len(), 2, "not named, so kept: {kept:?}");
    assert_same_data(&ocean(), &place.target());
}

#[test]
fn what_is_kept_passes_unchanged_and_gets_its_true_element_size() {
    let place = Place::new();
    let run = place.copy(&ocean(), &["--json"]).ends(0);
    let summary = run.json();
    for variable in summary["variables"].as_array().unwrap() {
        assert_eq!(variable["unchanged"], json!(true), "{variable}");
    }
    // 0 means "the type's size" to netcdf-c and "do nothing" to numcodecs.
    assert_eq!(place.chain("sea_surface_temperature")[0], json!({"id": "shuffle", "elementsize": 2}));
    let same =
        |key: &str| fs::read(ocean().join(key)).unwrap() == fs::read(place.target().join(key)).unwrap();
    assert!(same("air_temperature/1.0.0") && same("model/salinity/2.1.1"));
}

#[test]
fn the_summary_as_json_has_the_figures() {
    let place = Place::new();
    let summary =
        place.copy(&ocean(), &["--compress", "--json", "--threads", "1", "--verify"]).ends(0).json();
    assert_eq!(summary["schema"], json!(1));
    assert_eq!(summary["threads"], json!(1));
    assert_eq!(summary["verified"], json!(true));
    assert_eq!(summary["chunks"], json!(22));
    let salinity =
        summary["variables"].as_array().unwrap().iter().find(|v| v["path"] == "/model/salinity").unwrap();
    assert_eq!(salinity["filters"], json!("2,4|32015,3"));
    assert_eq!(salinity["decoded_bytes"], json!(5 * 73 * 144 * 4));
    let stored: u64 = (0..3)
        .flat_map(|i| (0..2).flat_map(move |j| (0..2).map(move |k| format!("model/salinity/{i}.{j}.{k}"))))
        .map(|key| fs::metadata(place.target().join(key)).unwrap().len())
        .sum();
    assert_eq!(salinity["stored_bytes"], json!(stored));
}

#[test]
fn several_variables_a_star_and_names_of_codecs() {
    let place = Place::new();
    let options =
        ["-F", "lat&lon,shuffle|zstd,9", "-F", "*,zstd", "--codec", r#"time=[{"id":"zlib","level":1}]"#];
    place.copy(&ocean(), &options).ends(0);
    let shuffled = [json!({"id": "shuffle", "elementsize": 4}), json!({"id": "zstd", "level": 9})];
    assert_eq!(place.chain("lat"), shuffled);
    assert_eq!(place.chain("lon"), shuffled);
    assert_eq!(place.chain("time"), [json!({"id": "zlib", "level": 1})]);
    assert_eq!(place.chain("air_temperature")[0]["id"], json!("zstd"));
}

#[test]
fn global_none_yields_to_a_variable_that_is_named() {
    let place = Place::new();
    place.copy(&ocean(), &["-F", "none", "-F", "model/salinity,32015,3"]).ends(0);
    assert_eq!(place.chain("air_temperature"), Vec::<Value>::new());
    assert_eq!(place.chain("model/salinity"), [json!({"id": "zstd", "level": 3})]);
}

#[test]
fn deflate_and_shuffle_as_nccopy_takes_them() {
    let place = Place::new();
    place.copy(&ocean(), &["-d", "9", "-s"]).ends(0);
    assert_eq!(
        place.chain("model/depth"),
        [json!({"id": "shuffle", "elementsize": 4}), json!({"id": "zlib", "level": 9})]
    );
    assert_same_data(&ocean(), &place.target());
}

#[test]
fn codecs_that_the_readers_of_the_copy_lack_are_replaced_in_zarr_and_noted_in_nczarr() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let copy = |source: &Path, name: &str, options: &[&str]| {
        let target = folder.path().join(name);
        let run = ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap()].iter().chain(options));
        (target, run.ends(0).stderr)
    };
    let szip = "air_temperature&model/salinity=szip,32,32";
    let (source, _) = copy(&ocean(), "in", &["--codec", szip, "--codec", "sea_surface_temperature=32000"]);
    let szip = |why: &str, chain: &str| {
        format!("note: /air_temperature, /model/salinity: codec szip: {why}; stored with {chain} instead\n")
    };
    let lzf = |why: &str, chain: &str| {
        format!("note: /sea_surface_temperature: codec lzf: {why}; stored with {chain} instead\n")
    };
    let lacks = "zarr-python does not read it";
    let chain = "shuffle | zstd 3";
    for (format, of_lzf) in
        [("zarr", "zarr-python reads it only with the package imagecodecs"), ("zarr3", lacks)]
    {
        let said = place.copy(&source, &["--format", format, "--overwrite", "--verify"]).ends(0).stderr;
        assert!(said.contains(&szip(lacks, chain)) && said.contains(&lzf(of_lzf, chain)), "{format}: {said}");
        let info = ncz(["info", "--json", place.target().to_str().unwrap()]).ends(0).json();
        let readers = info["readers"].as_array().unwrap();
        assert_eq!(readers.iter().find(|reader| reader["name"] == "zarr-python").unwrap()["reads"], true);
        for options in [
            &["--format", format, "--codec", "zlib,1", "--overwrite"][..],
            &[
                "--format",
                format,
                "--exclude",
                "air_temperature,sea_surface_temperature,model/salinity",
                "--overwrite",
            ],
        ] {
            let said = place.copy(&source, options).ends(0).stderr;
            assert!(!said.contains("instead") && !said.contains("the codec"), "{options:?}: {said}");
        }
    }
    assert_eq!(place.copy(&source, &["--overwrite"]).ends(0).stderr, "", "nothing changes for its readers");
    // The other way round, and by number.
    let (zarr, _) = copy(
        &ocean(),
        "gzip.zarr",
        &["--format", "zarr", "--codec", r#"{"id":"gzip","level":1}"#, "--codec", "lat=32008,0,2"],
    );
    let (_, said) = copy(&zarr, "back", &["--format", "nczarr"]);
    assert!(
        said.contains("keeps the codec gzip; netcdf-c does not read it; choose another with --codec"),
        "{said}"
    );
    assert!(
        said.contains("/lat: keeps the codec bitshuffle; only ncz reads it; choose another with --codec"),
        "{said}"
    );
}

#[test]
fn notes_and_warnings_are_about_what_is_copied() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("in.zarr");
    let zarray = |dtype: &str, fill: Value| {
        json!({
            "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": dtype, "fill_value": fill, "order": "C",
            "compressor": null, "filters": null, "spare": 1,
        })
    };
    fs::create_dir_all(source.join("flag")).unwrap();
    fs::create_dir_all(source.join("t")).unwrap();
    fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(source.join("flag/.zarray"), zarray("|b1", json!(false)).to_string()).unwrap();
    fs::write(source.join("flag/.zattrs"), r#"{"none": null}"#).unwrap();
    fs::write(source.join("t/.zarray"), zarray("<i4", json!(0)).to_string()).unwrap();
    let said = place.copy(&source, &["--format", "nczarr"]).ends(0).stderr;
    for about_flag in
        ["note: /flag: bool becomes ubyte", "warning: /flag", "attribute \"none\" of /flag", "warning: /t"]
    {
        assert!(said.contains(about_flag), "{about_flag} is missing in\n{said}");
    }
    let said =
        place.copy(&source, &["--format", "nczarr", "--exclude", "flag", "--overwrite"]).ends(0).stderr;
    assert!(said.contains("warning: /t") && !said.contains("flag"), "{said}");
}

#[test]
fn other_chunks_hold_the_same_values() {
    let place = Place::new();
    let options = ["-c", "time/1,lat/40,lon/", "-c", "model/salinity:5,73,7", "--compress", "--verify"];
    place.copy(&ocean(), &options).ends(0);
    assert_eq!(place.chunks("air_temperature"), json!([1, 40, 144]));
    assert_eq!(place.chunks("model/salinity"), json!([5, 73, 7]));
    assert_eq!(place.chunks("lat"), json!([40]));
    assert_same_data(&ocean(), &place.target());
}

#[test]
fn pure_zarr_has_no_keys_of_nczarr_and_consolidated_metadata_when_asked() {
    for form in ["--format=zarr", "mode"] {
        let place = Place::new();
        let target = place.target().display().to_string();
        let target = if form == "mode" { format!("file://{target}#mode=zarr,file") } else { target };
        let mut args =
            vec!["copy".to_owned(), ocean().display().to_string(), target, "--consolidated".to_owned()];
        args.extend((form != "mode").then(|| form.to_owned()));
        ncz(args).ends(0);
        let consolidated = fs::read_to_string(place.target().join(".zmetadata")).unwrap();
        assert!(!consolidated.contains("_nczarr") && !consolidated.contains("_NCProperties"));
        assert!(consolidated.contains("_ARRAY_DIMENSIONS"));
        // Variables come in another order and dimensions from other groups, so one at a time.
        for variable in
            ["time", "air_temperature", "sea_surface_temperature", "model/depth", "model/salinity"]
        {
            let name = variable.trim_start_matches("model/");
            let values = |path: &Path| {
                let text = ncz(["dump", "-v", variable, path.to_str().unwrap()]).ends(0).stdout;
                let start = format!("\n {}{} =", if variable.contains('/') { "  " } else { "" }, name);
                let (_, values) = text.split_once(&start).unwrap();
                values.split(';').next().unwrap().to_owned()
            };
            assert_same_text(&values(&place.target()), &values(&ocean()), variable);
        }
    }
}

#[test]
fn every_generation_of_netcdf_c_is_copied_value_for_value() {
    for version in
        ["4.10.2/nczarr", "4.9.2/nczarr", "4.9.0/nczarr", "4.8.0/nczarr", "4.10.2/zarr", "4.10.2/noxarray"]
    {
        let folder = fixtures().join(format!("netcdf-c-{version}"));
        let mut copied = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "zip") {
                continue;
            }
            let source = unpack(path.strip_prefix(fixtures()).unwrap()).unwrap();
            let place = Place::new();
            let run = place.copy(source.path(), &["--compress", "--verify"]).ends(0);
            // A scalar cannot carry a chain, which `--compress` knows.
            assert!(!run.stderr.contains("error"), "{path:?}: {}", run.stderr);
            assert_same_data(source.path(), &place.target());
            copied += 1;
        }
        assert!(copied >= 2, "{folder:?} has {copied} datasets");
    }
}

#[test]
fn scalars_are_skipped_by_a_star_and_refused_by_name() {
    let source = unpack("netcdf-c-4.10.2/nczarr/scalars.zip").unwrap();
    let place = Place::new();
    place
        .copy(source.path(), &["--codec", "zstd"])
        .ends(0)
        .says(&["note: /answer is a scalar, which has no filters"]);
    assert_eq!(place.chain("answer"), Vec::<Value>::new());
    let place = Place::new();
    place
        .copy(source.path(), &["-F", "answer,zstd"])
        .ends(2)
        .says(&["-F answer,zstd", "\"/answer\" is a scalar"]);
    place.assert_empty();
}

#[test]
fn what_has_no_meaning_is_refused_before_anything_is_written() {
    for (options, code, wanted) in [
        (
            &["-F", "air_temprature,zstd"][..],
            2,
            &["no variable \"/air_temprature\"", "did you mean \"/air_temperature\"?", "/model/salinity"][..],
        ),
        (&["-F", "zstd,3"], 2, &["no variable \"/zstd\"", "'*,FILTERS' for all variables"]),
        (&["-F", "zstd"], 2, &["write VARIABLE,FILTERS"]),
        (&["-F", "time,5000000000"], 2, &["neither a filter id"]),
        (&["-F", "time,307,5000000000"], 2, &["does not fit 32 bits", "because:"]),
        (
            &["-F", "time,zstd", "-F", "lat&time,none"],
            2,
            &["\"/time\" has codecs already, from -F time,zstd"],
        ),
        (&["--compress", "--codec", "zstd"], 2, &["every variable has codecs already, from --codec zstd"]),
        (&["--codec", r#"{"id":"zstd","leve":9}"#], 2, &["unknown key \"leve\"; did you mean \"level\"?\n"]),
        (&["--codec", r#"{"id":"zstd","frob":9}"#], 2, &["unknown key \"frob\"; correct"]),
        (&["--codec", r#"{"id":"zstd","level":99}"#], 2, &["level 99 is not within -131072 to 22; correct"]),
        (&["--codec", "zstd,99"], 2, &["level 99 is not within -131072 to 22; correct"]),
        (
            &["--format", "zarr3", "--codec", r#"{"name":"gzip"}"#],
            2,
            &["level is missing, which tensorstore refuses; correct"],
        ),
        (
            &["--codec", r#"{"id":"imagecodecs_lz4h5","level":3}"#],
            2,
            &["the HDF5 filter has no parameter \"level\"; correct"],
        ),
        (&["--codec", r#"{"level":9}"#], 2, &["is not of the form {\"id\":\"zstd\",\"level\":3}"]),
        (&["--codec", r#"{"id":"#], 2, &["is not JSON"]),
        (&["--codec", "40000,1"], 3, &["no codec for HDF5 filter 40000", "HDF5_PLUGIN_PATH"]),
        (&["-F", "time,zip"], 3, &["cannot use -F time,zip", "no codec for numcodecs codec \"zip\""]),
        (&["-c", "tim/5"], 2, &["no dimension \"tim\"", "did you mean \"/time\"?"]),
        (&["-c", "/lat:80"], 2, &["chunk length 80", "longer than its dimension \"/lat\" (73)"]),
        (
            &["-c", "time:12"],
            2,
            &["-c \"time:12\"", "write time/12 for the dimension, or /time:12 for the variable"],
        ),
        (&["-c", "time:1,lat:100"], 2, &["write a slash: time/1,lat/100"]),
        (&["-c", "salinity/12"], 2, &["no dimension \"salinity\"", "write model/salinity:LENGTH,..."]),
        (&["-c", "salnity:1,1,1"], 2, &["no variable \"/salnity\"", "did you mean \"/model/salinity\"?"]),
        (&["-c", "model/salinity:1,1"], 2, &["expected 3 lengths for variable"]),
        (&["-c", "lat:contiguous"], 2, &["Zarr stores every array in chunks"]),
        (&["-c", "nothing:1"], 2, &["no variable \"/nothing\""]),
        (&["-c", "lat"], 2, &["is not a chunk specification"]),
        (&["-s"], 2, &["--deflate"]),
        (&["-d", "10"], 2, &["10"]),
    ] {
        let place = Place::new();
        place.copy(&ocean(), options).ends(code).says(wanted);
        place.assert_empty();
    }
}

#[test]
fn a_target_that_exists_is_replaced_on_request_and_only_if_it_is_a_dataset() {
    let place = Place::new();
    place.copy(&ocean(), &["-F", "none"]).ends(0);
    place.copy(&ocean(), &["--compress"]).ends(3).says(&["exists already", "--overwrite"]);
    assert_eq!(place.chain("time"), Vec::<Value>::new(), "the target is as it was");
    place.copy(&ocean(), &["--compress", "--overwrite"]).ends(0);
    assert_eq!(place.chain("time").len(), 2);

    for (content, is_file) in [("precious", true), ("precious", false)] {
        let place = Place::new();
        let kept = if is_file { place.target() } else { place.target().join("precious.txt") };
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::write(&kept, content).unwrap();
        for options in [&[][..], &["--overwrite"]] {
            place.copy(&ocean(), options).ends(3);
            assert_eq!(fs::read_to_string(&kept).unwrap(), content);
        }
    }
}

#[test]
fn a_dataset_can_be_recompressed_in_place() {
    let place = Place::new();
    place.copy(&ocean(), &[]).ends(0);
    let target = place.target();
    ncz([
        "copy",
        target.to_str().unwrap(),
        target.to_str().unwrap(),
        "--overwrite",
        "--compress",
        "--verify",
    ])
    .ends(0);
    assert_eq!(place.chain("model/salinity")[1]["id"], json!("zstd"));
    assert_same_data(&ocean(), &target);
}

#[test]
fn a_target_inside_the_source_is_refused() {
    let place = Place::new();
    place.copy(&ocean(), &[]).ends(0);
    let inner = place.target().join("inner.zarr");
    ncz(["copy", place.target().to_str().unwrap(), inner.to_str().unwrap()])
        .ends(2)
        .says(&["the target is inside the source"]);
    ncz([
        "copy",
        place.target().join("model").to_str().unwrap(),
        place.target().to_str().unwrap(),
        "--overwrite",
    ])
    .ends(2)
    .says(&["the source is inside the target"]);
    assert!(!inner.exists());
    assert_same_data(&ocean(), &place.target());
}

#[test]
fn a_damaged_chunk_names_variable_chunk_codec_and_leaves_no_target() {
    let source = tempfile::tempdir().unwrap();
    let place = Place(source);
    place.copy(&ocean(), &["--codec", "zstd,3"]).ends(0);
    let damaged = place.target();
    let chunk = damaged.join("air_temperature/1.0.0");
    let mut bytes = fs::read(&chunk).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&chunk, bytes).unwrap();

    let beside = Place::new();
    let run = beside.copy(&damaged, &["--codec", "bz2"]).ends(3);
    let run = run.says(&[
        "\"/air_temperature\"",
        "air_temperature/1.0.0",
        "codec zstd",
        "the target is as it was before",
    ]);
    let (causes, remedy) = run.stderr.trim_end().rsplit_once('\n').unwrap();
    assert!(causes.lines().skip(1).all(|line| line.starts_with("  because: ")), "{}", run.stderr);
    assert!(remedy.starts_with("  remedy: ") && remedy.contains("--salvage"), "{remedy}");
    beside.assert_empty();
    ncz(["dump", damaged.to_str().unwrap()]).ends(1).says(&["air_temperature/1.0.0"]);
}

#[test]
fn readers_that_disagree_about_shuffle_are_named_and_one_can_be_chosen() {
    let folder = Place::new();
    folder.copy(&ocean(), &[]).ends(0);
    let zarray = folder.target().join("air_temperature/.zarray");
    let text = fs::read_to_string(&zarray).unwrap();
    let changed = text
        .replace("\"elementsize\": 4", "\"elementsize\": 2")
        .replace("\"elementsize\":4", "\"elementsize\":2");
    assert_ne!(text, changed);
    fs::write(&zarray, changed).unwrap();

    let place = Place::new();
    place.copy(&folder.target(), &[]).ends(3).says(&["element size 2", "4 bytes", "--shuffle-size type"]);
    place.assert_empty();
    place.copy(&folder.target(), &["--shuffle-size", "type", "--codec", "zstd"]).ends(0);
    assert_same_data(&ocean(), &place.target());
    let place = Place::new();
    place.copy(&folder.target(), &["--shuffle-size", "stored", "--codec", "zstd"]).ends(0);
    assert!(dump(&ocean()) != dump(&place.target()));
}

#[test]
fn what_the_copy_has_otherwise_or_not_at_all_is_said() {
    let place = Place::new();
    let source = place.0.path().join("source.zarr");
    let write = |file: &str, text: &str| {
        let path = source.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(".zgroup", r#"{"zarr_format": 2}"#);
    write(".zattrs", r#"{"none": null, "big": 99999999999999999999, "ok": [1, null], "text": "null"}"#);
    let zarray = r#"{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "order": "F",
        "fill_value": 0, "filters": null, "compressor": null}"#;
    write("v/.zarray", zarray);
    write("v/0.0", "adbe");
    write("b/.zarray", &zarray.replace("|u1", "|b1").replace("\"F\"", "\"C\"").replace(": 0", ": false"));
    write("README", "x");
    write(
        ".zmetadata",
        &format!(r#"{{"zarr_consolidated_format": 1, "metadata": {{"v/.zarray": {zarray}}}}}"#),
    );

    let zarr = place.copy(&source, &[]).ends(0);
    let common = ["not copied, because no metadata of the source refer to it: README"];
    assert!(place.target().join(".zmetadata").exists());
    let zarr = zarr.says(&common).says(&["/v: kept in order F, which netcdf-c reads as if it were C"]);
    assert!(!zarr.stderr.contains("becomes text"), "{}", zarr.stderr);
    let chunk = || fs::read(place.target().join("v/0.0")).unwrap();
    assert_eq!(chunk(), b"adbe");

    let nczarr = place.copy(&source, &["--format", "nczarr", "--overwrite"]).ends(0).says(&common).says(&[
        r#"attribute "none" of / becomes text: netCDF has no type for null"#,
        r#"attribute "big" of / becomes text: netCDF has no type for 99999999999999999999"#,
        "/v: stored in order C, because netcdf-c reads order F as if it were C",
        "/b: bool becomes ubyte, with the attribute dtype = \"bool\", by which xarray reads truth values",
    ]);
    assert_eq!(nczarr.stderr.matches("becomes text").count(), 2, "{}", nczarr.stderr);
    assert_eq!(chunk(), b"abde");
    let quiet = place.copy(&source, &["-q", "--overwrite"]).ends(0);
    assert_eq!((quiet.stdout, quiet.stderr), Default::default());

    let ocean = place.copy(&ocean(), &["--format", "zarr", "--overwrite", "--json"]).ends(0);
    let wanted = json!(["pure Zarr has no unlimited dimensions; fixed are: /time"]);
    assert_eq!(ocean.json()["notes"], wanted);
}

#[test]
fn metadata_that_pure_zarr_cannot_store_are_reported() {
    for (name, wanted) in [
        ("types", "numbers become int or double in: /:a_byte (byte), /:a_short (short), /:a_float (float), "),
        ("types", "pure Zarr has no char; one-byte strings are: /c\n"),
        ("groups", "pure Zarr has no unlimited dimensions; fixed are: /time, /g1/g2/obs\n"),
    ] {
        let source = unpack(format!("netcdf-c-4.10.2/nczarr/{name}.zip")).unwrap();
        for format in ["zarr", "zarr3"] {
            Place::new().copy(source.path(), &["--format", format]).ends(0).says(&[wanted]);
        }
        let same = Place::new().copy(source.path(), &[]).ends(0);
        assert!(!same.stderr.contains("note:"), "{}", same.stderr);
    }
    let pure = unpack("netcdf-c-4.10.2/zarr/types.zip").unwrap();
    let wanted = "one-byte strings (S1) become char in netCDF: /c\n";
    Place::new().copy(pure.path(), &["--format", "nczarr"]).ends(0).says(&[wanted]);

    let alone = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(alone.path().join(file), text).unwrap();
    write(".zgroup", r#"{"zarr_format": 2}"#);
    let group = json!({"dimensions": {"spare": 3}, "arrays": [], "groups": []});
    let superblock = json!({"version": "2.0.0", "format": "NETCDF4"});
    write(".zattrs", &json!({"_nczarr_superblock": superblock, "_nczarr_group": group}).to_string());
    let wanted = "pure Zarr has no dimensions without variables; left out are: /spare\n";
    Place::new().copy(alone.path(), &["--format", "zarr"]).ends(0).says(&[wanted]);
}

#[test]
fn the_mode_of_the_target_is_heeded_or_refused() {
    let place = Place::new();
    let to = |mode: &str| format!("{}#mode={mode}", place.target().display());
    let copy = |source: &Path, mode: &str, options: &[&str]| {
        let target = to(mode);
        let paths = ["copy", source.to_str().unwrap(), &target, "--overwrite"];
        ncz(paths.iter().chain(options))
    };
    let names = |file: &str| {
        let zattrs: Value = serde_json::from_slice(&fs::read(place.target().join(file)).unwrap()).unwrap();
        zattrs.get("_ARRAY_DIMENSIONS").cloned()
    };
    copy(&ocean(), "nczarr,noxarray", &["--verify"]).ends(0);
    for file in ["lat/.zattrs", "model/salinity/.zattrs"] {
        assert_eq!(names(file), None, "{file}");
    }
    assert_same_data(&ocean(), &place.target());
    copy(&ocean(), "nczarr", &[]).ends(0);
    assert_eq!(names("lat/.zattrs"), Some(json!(["lat"])));
    copy(&ocean(), "zarr,noxarray", &[]).ends(0).says(&["no dimension names"]);
    copy(&ocean(), "zarr,v3,noxarray", &[]).ends(2).says(&["noxarray", "remove it from the mode"]);

    let version3 = unpack("zarr-python/v3-zstd.zip").unwrap();
    copy(version3.path(), "v2", &["--verify"]).ends(0);
    assert!(place.target().join(".zarray").exists() || place.target().join(".zgroup").exists());
    for (mode, format) in [("v2", "zarr3"), ("v3", "zarr"), ("zarr", "nczarr"), ("nczarr", "zarr3")] {
        copy(version3.path(), mode, &["--format", format]).ends(2).says(&["different formats"]);
    }
    copy(version3.path(), "v3", &["--format", "nczarr3"]).ends(0);
}

#[test]
fn a_level_out_of_range_and_a_file_in_s3_are_refused() {
    let place = Place::new();
    for codec in
        ["zstd,99", r#"{"id":"zstd","level":99}"#, "zlib,10", "bzip2,0", r#"{"id":"blosc","clevel":10}"#]
    {
        place.copy(&ocean(), &["--codec", codec]).says(&["is not within"]);
        place.assert_empty();
    }
    ncz(["copy", ocean().to_str().unwrap(), "s3://bucket/out.nc"]).ends(2).says(&["write a local .nc file"]);
    place.assert_empty();
}
