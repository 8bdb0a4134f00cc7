//! `ncz copy` from end to end: what netcdf-c and zarr-python wrote, copied with every codec and chains of them, is read
//! equal by both.

use std::path::{Path, PathBuf};

use ncz_test_support::{Python, arrays, build_plugins, fixtures, python, unpack};
use tempfile::TempDir;

use crate::harness::{ncz, ncz_ok, run_json, run_script};

/// Options of `ncz copy`: each codec, chains, and what else shapes the chunks.
const COPIES: [&[&str]; 20] = [
    &[],
    &["--codec", "none"],
    &["--compress"],
    &["-d", "6", "-s"],
    &["-d", "1"],
    &["--codec", r#"{"id":"zlib","level":9}"#],
    &["--codec", r#"{"id":"bz2","level":5}"#],
    &["--codec", r#"{"id":"fletcher32"}"#],
    &["--codec", r#"{"id":"shuffle"}"#],
    &["--codec", r#"{"id":"blosc","cname":"blosclz","clevel":5,"shuffle":1}"#],
    &["--codec", r#"{"id":"blosc","cname":"lz4","clevel":9,"shuffle":0}"#],
    &["--codec", r#"{"id":"blosc","cname":"lz4hc","clevel":3,"shuffle":2}"#],
    &["--codec", r#"{"id":"blosc","cname":"zlib","clevel":1,"shuffle":1}"#],
    &["--codec", r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":2,"blocksize":0}"#],
    &["--codec", r#"[{"id":"shuffle"},{"id":"zlib","level":4},{"id":"fletcher32"}]"#],
    &["--codec", r#"[{"id":"fletcher32"},{"id":"zstd","level":1}]"#],
    &["-F", "*,shuffle|bzip2,9|zstd,3"],
    &["-F", "*,blosc|fletcher32"],
    &["--compress", "--consolidated"],
    &["--compress", "--threads", "1"],
];

/// Copies of one original, in one folder.
struct Copies {
    folder: TempDir,
    paths: Vec<PathBuf>,
}

impl Copies {
    fn of(original: &Path, options: &[&[&str]]) -> Self {
        let mut copies = Self { folder: tempfile::tempdir().unwrap(), paths: Vec::new() };
        for options in options {
            copies.add(original, options);
        }
        copies
    }

    fn add(&mut self, original: &Path, options: &[&str]) -> PathBuf {
        let path =
            self.folder.path().join(format!("{} {}", self.paths.len(), options.join(" ").replace('/', ":")));
        let mut args =
            vec!["copy", original.to_str().unwrap(), path.to_str().unwrap(), "--verify", "--quiet"];
        args.extend(options);
        let output = ncz_ok(&args);
        assert!(output.stdout.is_empty(), "--quiet prints {}", output.text());
        self.paths.push(path.clone());
        path
    }

    /// Both peers read the copies and the original equal.
    fn compare(&self, python: &Python, kind: &str, original: &Path) {
        self.compare_with(python, None, kind, original);
    }

    /// The same with `plugins` for netcdf-c.
    fn compare_with(&self, python: &Python, plugins: Option<&Path>, kind: &str, original: &Path) {
        let mut args = vec![kind.as_ref(), original.as_os_str()];
        args.extend(self.paths.iter().map(|path| path.as_os_str()));
        let output = run_script(python, "compare.py", &args, plugins);
        assert!(output.status.success(), "{}", output.text());
    }
}

/// A dataset that a script wrote.
fn made(python: &Python, script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("original");
    run_script(python, script, &[&path], None).success(script).unwrap();
    (folder, path)
}

#[test]
fn a_dataset_of_netcdf_c_copied_with_every_codec_is_read_equal_by_netcdf_c_and_zarr_python() {
    let Ok(python) = python() else { return };
    let (_folder, original) = made(&python, "make_nczarr.py");
    let mut copies = Copies::of(&original, &COPIES);
    // szip wants chunks of some elements
    copies
        .add(&original, &["-F", "v_i1&v_be_i2&v_le_u4&v_be_i8&v_le_f4&v_be_f8&grown&inner/packed,szip,32,8"]);
    copies.add(&original, &["-F", "v_u1&v_le_i2&v_be_u4&v_le_i8&v_be_f4&v_le_f8&grown,2|4,4,16|3"]);
    copies.compare(&python, "netcdf", &original);
}

#[test]
fn the_ocean_copied_with_every_codec_is_read_equal_by_netcdf_c_and_zarr_python() {
    let Ok(python) = python() else { return };
    let original = fixtures().join("ocean.nczarr");
    let some: Vec<&[&str]> = COPIES.iter().copied().step_by(4).collect();
    let mut copies = Copies::of(&original, &some);
    copies.add(&original, &["--compress", "-c", "time/1,lat/20,lon/50"]);
    copies.add(&original, &["-c", "model/salinity:5,73,1", "-F", "model/salinity,zstd,9"]);
    let szip = "air_temperature&sea_surface_temperature&model/salinity,szip,32,16";
    copies.add(&original, &["-F", szip]);
    copies.add(&original, &["-F", szip, "-c", "air_temperature:16,10,7"]);
    copies.compare(&python, "netcdf", &original);
}

#[test]
fn a_dataset_of_zarr_python_copied_with_every_codec_is_read_equal_by_zarr_python_and_netcdf_c() {
    let Ok(python) = python() else { return };
    let (_folder, original) = made(&python, "make_zarr.py");
    let mut copies = Copies::of(&original, &COPIES);
    copies.add(&original, &["-F", "zstd_C_le_i4&bz2_F_le_u4&group/none_C_be_f8,szip,32,8"]);
    copies.add(&original, &["--compress", "--format", "nczarr"]);
    copies.compare(&python, "zarr", &original);
}

#[test]
fn made_up_datasets_of_netcdf_c_are_copied_as_both_peers_read_them() {
    const DATASETS: usize = 12;
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let args = [folder.path().as_os_str(), DATASETS.to_string().as_ref()].map(std::ffi::OsStr::to_owned);
    run_script(&python, "make_random.py", &args, None).success("make_random.py").unwrap();
    for (number, options) in COPIES.iter().enumerate().take(DATASETS) {
        let original = folder.path().join(number.to_string());
        Copies::of(&original, &[options, &["--compress"]]).compare(&python, "netcdf", &original);
    }
}

#[test]
fn records_missing_in_consolidated_metadata_are_copied_and_reported() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [original, copy, consolidated] =
        ["original", "copy", "consolidated"].map(|name| folder.path().join(name).display().to_string());
    let steps = run_json(&python, "append.py", &[&original], None);
    assert_eq!((&steps["netcdf-c"], &steps["zarr-python"]), (&12.into(), &4.into()));
    let output = ncz_ok(&["copy", &original, &copy]);
    assert!(output.text().contains(".zmetadata: it is out of date"), "{}", output.text());
    ncz_ok(&["copy", &original, &consolidated, "-q", "--consolidated"]);
    let code = "import sys, zarr\n\
                for path in sys.argv[1:]: print(zarr.open_group(path, mode='r', zarr_format=2)['v'][...].tolist())";
    let read = python.run_code(code, &[&copy, &consolidated], &[]).unwrap().stdout_text();
    let wanted = format!("{:.1?}\n", (0..12).map(f64::from).collect::<Vec<_>>());
    assert_eq!(read, wanted.repeat(2));
}

#[test]
fn types_and_codecs_that_only_zarr_has_are_copied_as_zarr_python_reads_them() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut args = Vec::new();
    let mut refused = Vec::new();
    for entry in std::fs::read_dir(fixtures().join("zarr-python")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|ending| ending != "zip") || !name.starts_with("v2-") {
            continue;
        }
        let original = unpack(&path).unwrap();
        let copy = folder.path().join(&name).display().to_string();
        let output = ncz(&["copy", original.path().to_str().unwrap(), &copy, "-q", "--compress", "--verify"]);
        if output.status.success() {
            args.extend([copy, path.with_extension("npz").display().to_string()]);
        } else {
            refused.push(name);
        }
    }
    refused.sort();
    // the codecs that are not ours
    let foreign = crate::zarr_python::FOREIGN.map(|(name, _)| name);
    assert_eq!(refused, foreign);
    let output = run_script(&python, "zarr_values.py", &args, None).success("zarr_values.py").unwrap();
    assert_eq!(output.stdout_text(), "");
}

#[test]
fn tensorstore_reads_copies_with_the_codecs_that_it_has() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut args = Vec::new();
    for (name, codec) in [
        ("v2-dtype-be-f8", r#"{"id":"zlib","level":9}"#),
        ("v2-dtype-le-i8", r#"{"id":"bz2","level":1}"#),
        ("v2-zlib", r#"{"id":"zstd","level":3}"#),
        ("v2-dtype-le-u2", r#"{"id":"zstd","level":-5}"#),
        ("v2-zstd", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#),
        ("v2-dtype-be-i4", r#"{"id":"blosc","cname":"zstd","clevel":9,"shuffle":2}"#),
        ("v2-bz2", "none"),
        ("v2-none", r#"{"id":"gzip","level":5}"#),
    ] {
        let original = unpack(format!("zarr-python/{name}.zip")).unwrap();
        let copy = folder.path().join(name).display().to_string();
        ncz_ok(&["copy", original.path().to_str().unwrap(), &copy, "-q", "--codec", codec]);
        args.extend([copy, fixtures().join(format!("zarr-python/{name}.npz")).display().to_string()]);
    }
    let output = run_script(&python, "tensorstore_values.py", &args, None);
    assert_eq!(output.success("tensorstore_values.py").unwrap().stdout_text(), "");
}

#[test]
fn copies_of_datasets_of_every_generation_are_read_by_netcdf_c_with_the_same_numbers() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (generation, mode) in [
        ("netcdf-c-4.10.2/nczarr", "nczarr,file"),
        ("netcdf-c-4.10.2/noxarray", "nczarr,file"),
        ("netcdf-c-4.9.2/nczarr", "nczarr,file"),
        ("netcdf-c-4.9.0/nczarr", "nczarr,file"),
        ("netcdf-c-4.8.0/nczarr", "nczarr,file"),
        ("netcdf-c-4.10.2/zarr", "zarr,file"),
    ] {
        let mut originals = Vec::new();
        let mut args = vec![mode.to_owned()];
        for entry in std::fs::read_dir(fixtures().join(generation)).unwrap() {
            let path = entry.unwrap().path();
            // a list of numbers and text in pure Zarr crashes netcdf-c
            let crashes = !generation.ends_with("nczarr") && path.ends_with("attrs.zip");
            if path.extension().is_none_or(|ending| ending != "zip") || crashes {
                continue;
            }
            let original = unpack(&path).unwrap();
            let name =
                format!("{} {}", generation.replace('/', " "), path.file_stem().unwrap().to_string_lossy());
            let copy = folder.path().join(&name).display().to_string();
            ncz_ok(&["copy", original.path().to_str().unwrap(), &copy, "-q", "--compress", "--verify"]);
            let npz = folder.path().join(format!("{name}.npz")).display().to_string();
            args.extend([copy, npz.clone()]);
            originals.push((name, original, npz));
        }
        let output = run_script(&python, "netcdf_values.py", &args, None);
        assert!(output.status.success(), "{}", output.text());
        for (name, original, npz) in &originals {
            for read in arrays(npz).unwrap() {
                let stored =
                    crate::zarr_python::read(original.path(), &read.name, read.dtype.starts_with('>'));
                assert!(stored == read.bytes, "{name}: netcdf-c reads other numbers of {}", read.name);
            }
        }
    }
}

#[test]
fn an_element_size_that_netcdf_c_did_not_use_is_refused_until_somebody_says_who_is_right() {
    let Ok(python) = python() else { return };
    let (folder, original) = made(&python, "false_size.py");
    let copy = folder.path().join("copy").display().to_string();
    let source = original.to_str().unwrap();
    let output = ncz(&["copy", source, &copy, "-q"]);
    assert_eq!(output.status.code(), Some(3));
    for word in ["\"/v\"", "netcdf-c", "numcodecs", "--shuffle-size"] {
        assert!(output.text().contains(word), "{}", output.text());
    }
    let mut copies = Copies::of(&original, &[]);
    copies.add(&original, &["--shuffle-size", "type"]);
    copies.add(&original, &["--shuffle-size", "type", "--codec", "none"]);
    copies.compare(&python, "netcdf", &original);
}

#[test]
fn a_negative_level_of_zstd_is_read_by_zarr_python_and_with_our_plugin_by_netcdf_c() {
    let Ok(python) = python() else { return };
    let original = fixtures().join("ocean.nczarr");
    let copies = Copies::of(&original, &[&["--codec", r#"{"id":"zstd","level":-5}"#]]);
    copies.compare_with(&python, Some(&build_plugins().unwrap()), "netcdf", &original);
}

#[test]
fn a_copy_of_a_copy_by_plugins_is_the_copy_by_the_built_in_codecs() {
    let original = fixtures().join("ocean.nczarr");
    let plugins = build_plugins().unwrap();
    let copies = Copies::of(&original, &[]);
    for (number, spec) in
        ["2|1,6", "blosc", "bzip2,9", "shuffle|zstd,3|fletcher32", "4,32,4"].into_iter().enumerate()
    {
        let [built_in, by_plugins] = ["built-in", "plugins"]
            .map(|name| copies.folder.path().join(format!("{name} {number}")).to_str().unwrap().to_owned());
        let filter = format!("*,{spec}");
        let source = original.to_str().unwrap();
        ncz_ok(&["copy", source, &built_in, "-F", &filter, "-q", "--no-plugins"]);
        let path = plugins.to_str().unwrap();
        ncz_ok(&[
            "copy",
            source,
            &by_plugins,
            "-F",
            &filter,
            "-q",
            "--plugin-path",
            path,
            "--prefer",
            "plugins",
        ]);
        assert_eq!(files(Path::new(&built_in)), files(Path::new(&by_plugins)), "{spec}");
        let codecs = ncz_ok(&["codec", spec, "--plugin-path", path, "--prefer", "plugins"]).text();
        let ours = codecs.matches("libncz_h5").count();
        assert_eq!(ours, spec.split('|').count(), "not our plugins but others would run: {codecs}");
    }
}

#[test]
fn text_and_numbers_of_attributes_are_kept_to_the_digit() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    std::fs::create_dir_all(original.join("v")).unwrap();
    let attributes = r#"{"a":0.1,"b":1e-300,"c":123456789.123456789,"d":9007199254740993,"e":"17","f":"[1, 2.5]","g":"true","h":"","i":"a\u0000b","j":[1.0,2.50],"k":-0.0,"l":NaN,"m":[Infinity,-Infinity],"n":{"o":[null,true]}}"#;
    std::fs::write(original.join(".zgroup"), r#"{"zarr_format":2}"#).unwrap();
    std::fs::write(original.join(".zattrs"), attributes).unwrap();
    std::fs::write(original.join("v/.zattrs"), attributes).unwrap();
    let array = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<f8","fill_value":0.1,"order":"C","filters":null,"compressor":null}"#;
    std::fs::write(original.join("v/.zarray"), array).unwrap();
    let copy = folder.path().join("copy");
    ncz_ok(&["copy", original.to_str().unwrap(), copy.to_str().unwrap(), "-q", "--compress"]);
    for document in [".zattrs", "v/.zattrs"] {
        let copied = std::fs::read_to_string(copy.join(document)).unwrap();
        for pair in attributes.trim_matches(['{', '}']).split(",\"") {
            let (name, value) = pair.split_once(':').unwrap();
            let value = value.trim_matches('"');
            let without_blanks = copied.replace(' ', "");
            assert!(
                without_blanks.contains(&value.replace(' ', "")),
                "{document}: {name} {value} not in {copied}"
            );
        }
    }
}

#[test]
fn a_target_that_is_there_is_replaced_only_if_it_is_a_dataset_and_asked_for() {
    let original = fixtures().join("ocean.nczarr");
    let source = original.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let path = target.to_str().unwrap();
    // a folder with somebody's files
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("thesis.tex"), "years of work").unwrap();
    for options in [&["-q"][..], &["-q", "--overwrite"]] {
        let output = ncz(&[&["copy", source, path], options].concat());
        assert!(matches!(output.status.code(), Some(2 | 3)), "{}", output.text());
        assert!(output.text().contains(path), "{}", output.text());
        assert_eq!(std::fs::read_to_string(target.join("thesis.tex")).unwrap(), "years of work");
    }
    // a file
    let file = folder.path().join("file");
    std::fs::write(&file, "also work").unwrap();
    for options in [&["-q"][..], &["-q", "--overwrite"]] {
        assert!(!ncz(&[&["copy", source, file.to_str().unwrap()], options].concat()).status.success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "also work");
    }
    // a dataset
    let dataset = folder.path().join("dataset");
    let path = dataset.to_str().unwrap();
    ncz_ok(&["copy", source, path, "-q"]);
    let before = files(&dataset);
    assert!(!ncz(&["copy", source, path, "-q", "--compress"]).status.success());
    assert_eq!(files(&dataset), before);
    ncz_ok(&["copy", source, path, "-q", "--compress", "--overwrite"]);
    assert_ne!(files(&dataset), before);
    // itself, in place
    let print = || ncz_ok(&["dump", path]).stdout_text();
    let data = print();
    ncz_ok(&["copy", path, path, "-q", "--overwrite", "--codec", "none"]);
    assert_eq!(print(), data);
    assert_eq!(entries(folder.path()), ["dataset", "file", "target"], "leftovers");
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The names in a folder, hidden ones too.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
