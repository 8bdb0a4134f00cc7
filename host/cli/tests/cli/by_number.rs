use std::fs;
use std::path::{Path, PathBuf};

use ncz_test_support::build_examples;
use serde_json::{Value, json};

use crate::bench::{Run, command, dump, ncz, run};

/// Smooth numbers in 2 x 2 chunks: `CDL` for `ncz gen`.
fn field(folder: &Path) -> PathBuf {
    let values: Vec<String> = (0..32 * 24)
        .map(|at| format!("{:.4}", (f64::from(at % 24) / 9.0).sin() * (f64::from(at / 24) / 7.0).cos()))
        .collect();
    let cdl = format!(
        "netcdf field {{ dimensions: y = 32 ; x = 24 ; variables: float t(y, x) ; t:_ChunkSizes = 16, 12 ; data: t = {} ; }}",
        values.join(", ")
    );
    let (text, dataset) = (folder.join("field.cdl"), folder.join("field.zarr"));
    fs::write(&text, cdl).unwrap();
    ncz([Path::new("gen"), &text, Path::new("-o"), &dataset]).ends(0);
    dataset
}

fn with(plugins: &Path, args: &[&dyn AsRef<std::ffi::OsStr>]) -> Run {
    let mut command = command();
    command.env("HDF5_PLUGIN_PATH", plugins);
    for arg in args {
        command.arg(arg.as_ref());
    }
    run(&mut command)
}

fn metadata(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_filter_without_json_is_written_and_read_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("plugins");
    let library = &build_examples("ncz-bad-plugins").unwrap()["good_hdf5_only"];
    fs::create_dir(&plugins).unwrap();
    fs::copy(library, plugins.join(library.file_name().unwrap())).unwrap();
    let dataset = field(folder.path());
    let plain = dump(&dataset);
    for (format, file) in [("nczarr", "t/.zarray"), ("zarr", "t/.zarray"), ("zarr3", "t/zarr.json")] {
        let copy = folder.path().join(format);
        let copied =
            with(&plugins, &[&"copy", &dataset, &copy, &"--format", &format, &"--codec", &"40200,5"]);
        let copied = copied.ends(0);
        let said = format!("{}{}", copied.stdout, copied.stderr);
        assert!(
            said.contains(r#"filter 40200 is written as "ncz.hdf5_filter", which no other program reads"#),
            "{said}"
        );
        let words = json!([5]);
        let text = metadata(&copy.join(file));
        match format {
            "zarr3" => assert_eq!(
                text["codecs"].as_array().unwrap().last().unwrap(),
                &json!({"name": "ncz.hdf5_filter", "configuration": {"filter": 40200, "cd_values": words}})
            ),
            _ => assert_eq!(
                text["compressor"],
                json!({"id": "ncz.hdf5_filter", "filter": 40200, "cd_values": words}),
                "{format}"
            ),
        }
        // Every command reads it, and the values are those of before.
        with(&plugins, &[&"verify", &copy]).ends(0);
        let shown = with(&plugins, &[&"info", &copy]).ends(0).stdout;
        assert!(shown.contains("HDF5 filter 40200 5"), "{shown}");
        let back = folder.path().join(format!("{format}-back"));
        with(&plugins, &[&"copy", &copy, &back, &"--format", &"nczarr", &"--codec", &"none"]).ends(0);
        // In version 3 netCDF's default fill value is masked only if the attribute says so.
        let back = dump(&back);
        let back = back.lines().skip(1).filter(|line| !line.contains("_FillValue"));
        assert_eq!(back.collect::<Vec<_>>(), plain.lines().skip(1).collect::<Vec<_>>());
        // A copy keeps it as it is.
        let kept = folder.path().join(format!("{format}-kept"));
        with(&plugins, &[&"copy", &copy, &kept]).ends(0);
        assert_eq!(metadata(&kept.join(file)), text);

        let missing = || {
            let missing = ncz([Path::new("verify"), &copy]);
            assert_ne!(missing.code, 0);
            format!("{}{}", missing.stdout, missing.stderr)
        };
        let said = missing();
        assert!(said.contains("HDF5 filter 40200"), "{said}");
        // A known one: the message names its package.
        let known = fs::read_to_string(copy.join(file)).unwrap().replace("40200", "32028");
        fs::write(copy.join(file), known).unwrap();
        let said = missing();
        assert!(said.contains("HDF5 filter 32028 (SPERR)") && said.contains("hdf5plugin"), "{said}");
    }
}

#[test]
fn json_by_number_is_taken_as_written_and_what_is_wrong_with_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = field(folder.path());
    let copy = folder.path().join("copy");
    let by_number = |json: &str| {
        ncz(["copy".as_ref(), dataset.as_os_str(), copy.as_os_str(), "--codec".as_ref(), json.as_ref()])
    };
    // Even if a name would work: the user requested it.
    by_number(r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[6]}"#).ends(0);
    assert_eq!(
        metadata(&copy.join("t/.zarray"))["compressor"],
        json!({"id": "ncz.hdf5_filter", "filter": 1, "cd_values": [6]})
    );
    assert_eq!(
        dump(&copy).lines().skip(1).collect::<Vec<_>>(),
        dump(&dataset).lines().skip(1).collect::<Vec<_>>()
    );
    fs::remove_dir_all(&copy).unwrap();
    for (wrong, names) in [
        (r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[6.0]}"#, "cd_values[0]"),
        (r#"{"id":"ncz.hdf5_filter","filter":1}"#, "cd_values"),
        (r#"{"id":"ncz.hdf5_filter","filter":70000,"cd_values":[]}"#, "filter"),
        (r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[6],"level":6}"#, "level"),
    ] {
        let run = by_number(wrong);
        assert!(run.code != 0 && run.stderr.contains(names), "{wrong}: {run:#?}");
        assert!(!copy.exists());
    }
}

#[test]
fn elements_without_bytes_are_a_clear_error_whatever_the_codec() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("none.zarr");
    fs::create_dir_all(dataset.join("t")).unwrap();
    fs::write(dataset.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    let codecs =
        [32008, 32001, 32004, 2, 3].map(|id| json!({"id": "ncz.hdf5_filter", "filter": id, "cd_values": []}));
    for (dtype, codec) in
        ["|V0", "|S0", "<U0"].into_iter().flat_map(|dtype| codecs.clone().map(|codec| (dtype, codec)))
    {
        let array = json!({
            "zarr_format": 2, "shape": [1, 1, 1], "chunks": [1, 1, 1], "dtype": dtype, "fill_value": null, "order": "C",
            "filters": [codec], "compressor": null
        });
        fs::write(dataset.join("t/.zarray"), array.to_string()).unwrap();
        fs::write(dataset.join("t/0.0.0"), "x").unwrap();
        ncz([Path::new("dump"), &dataset]).ends(0);
        let raw = [Path::new("cat"), Path::new("--raw"), &dataset, Path::new("t")];
        for run in [ncz([Path::new("info"), &dataset]), ncz([Path::new("verify"), &dataset]), ncz(raw)] {
            assert!([1, 3].contains(&run.code), "{array}: {run:?}");
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains(&format!("its element type {dtype} has no size")), "{array}: {said}");
        }
    }
}
