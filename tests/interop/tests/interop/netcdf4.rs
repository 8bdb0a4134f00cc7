//! netcdf-c, by netCDF4, with `HDF5_PLUGIN_PATH` at our shared libraries: all seven codecs and chains of them in NCZarr.
//!
//! netcdf-c's NCZarr has no codecs of its own: every one comes from a plugin. Each test says how it knows that it was ours.

use std::path::{Path, PathBuf};

use ncz_test_support::{Python, build_plugins, python, unpack};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{mapped_from, run_json, run_script, with_one_damaged};
use crate::third_party::OPENED;

const SCRIPT: &str = "nczarr.py";
/// Our plugins, and the name of a variable of the script that needs only this one.
const CODECS: [(&str, &str); 7] = [
    ("blosc", "blosc_lz4_le_f4"),
    ("bzip2", "bzip2_le_f4"),
    ("deflate", "zlib_le_f4"),
    ("fletcher32", "fletcher32_le_f4"),
    ("shuffle", "shuffle_le_f4"),
    ("szip", "szip_nn_le_f4"),
    ("zstd", "zstd_le_f4"),
];

/// A dataset that the script wrote.
struct Written {
    folder: TempDir,
    printed: Value,
}

impl Written {
    fn by(python: &Python, plugins: Option<&Path>, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut written = Self { folder, printed: Value::Null };
        written.printed = written.run(python, "write", plugins, options);
        written
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("dataset")
    }

    fn run(&self, python: &Python, action: &str, plugins: Option<&Path>, options: &[&str]) -> Value {
        let path = self.path().display().to_string();
        let args: Vec<&str> = [action, &path].into_iter().chain(options.iter().copied()).collect();
        run_json(python, SCRIPT, &args, plugins)
    }
}

#[test]
fn netcdf_c_with_our_plugins_reads_what_it_wrote_with_its_own_and_the_reverse() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let foreign = python.plugin_dir("netCDF4").unwrap();
    let theirs = Written::by(&python, None, &[]);
    let ours = Written::by(&python, Some(&plugins), &[]);
    assert_eq!(mapped_from(&theirs.printed, &foreign).len(), 9, "netcdf-c's own plugins");
    assert_eq!(mapped_from(&ours.printed, &foreign), [""; 0]);
    assert_eq!(mapped_from(&ours.printed, &plugins).len(), OPENED, "our plugins");
    for written in [&theirs, &ours] {
        all_the_same(&written.run(&python, "read", None, &[]), |_| true);
        let by_ours = written.run(&python, "read", Some(&plugins), &[]);
        assert_eq!(mapped_from(&by_ours, &foreign), [""; 0]);
        all_the_same(&by_ours, |_| true);
    }
}

#[test]
fn data_that_do_not_shrink_are_written_through_our_plugins_and_read_by_netcdf_cs_own() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let ours = Written::by(&python, Some(&plugins), &["--noise"]);
    all_the_same(&ours.run(&python, "read", None, &["--noise"]), |_| true);
    all_the_same(&ours.run(&python, "read", Some(&plugins), &["--noise"]), |_| true);
}

#[test]
fn zarr_python_reads_what_netcdf_c_writes_through_our_plugins() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let ours = Written::by(&python, Some(&plugins), &["--negative"]);
    // zarr-python has no szip, and refuses the type that netcdf-c gives one-byte integers
    let readable = |name: &str| !name.contains("szip") && !name.ends_with("_i1") && !name.ends_with("_u1");
    all_the_same(&ours.run(&python, "zarr", None, &["--negative"]), readable);
    // which it can since the element size is the true one
    for (dtype, size) in [("le_i2", 2), ("be_i2", 2), ("le_f4", 4), ("be_i8", 8), ("le_f8", 8)] {
        let codecs = &ours.printed[format!("shuffle_zlib_{dtype}")];
        assert_eq!(codecs[0]["elementsize"], size, "{codecs}");
    }
}

#[test]
fn a_negative_level_of_zstd_is_read_however_it_is_written() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    for (writer, level) in
        [(None, serde_json::json!(4_294_967_291_u32)), (Some(&*plugins), serde_json::json!(-5))]
    {
        let written = Written::by(&python, writer, &["--negative"]);
        assert_eq!(written.printed["zstd_negative_le_f4"][0]["level"], level);
        all_the_same(&written.run(&python, "read", Some(&plugins), &["--negative"]), |_| true);
    }
}

#[test]
fn a_dataset_is_not_read_where_our_library_is_damaged() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let ours = Written::by(&python, Some(&plugins), &[]);
    for (plugin, variable) in CODECS {
        let damaged = with_one_damaged(&plugins, plugin);
        let read = ours.run(&python, "read", Some(damaged.path()), &[]);
        assert_ne!(read[variable], "same", "{variable} was read without {plugin}");
        let others = CODECS.iter().filter(|(other, _)| *other != plugin);
        others.for_each(|(_, other)| assert_eq!(read[*other], "same", "{other} without {plugin}"));
    }
}

#[test]
fn a_cut_chunk_is_an_error_and_our_code_says_so() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let ours = Written::by(&python, Some(&plugins), &[]);
    for (_, variable) in CODECS {
        let chunk = ours.path().join(variable).join("0.0");
        let chunk = if chunk.is_file() { chunk } else { ours.path().join(variable).join("0.0.0") };
        let mut bytes = std::fs::read(&chunk).unwrap();
        bytes.truncate(bytes.len() * 2 / 3);
        std::fs::write(&chunk, bytes).unwrap();
    }
    let path = ours.path().display().to_string();
    let output = run_script(&python, SCRIPT, &["read", &path], Some(&plugins)).success(SCRIPT).unwrap();
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trace = String::from_utf8_lossy(&output.stderr);
    for (plugin, variable) in CODECS {
        let verdict = read[variable].as_str().unwrap();
        // shuffled bytes have no frame that could be found cut, and netcdf-c fills up short chunks in silence
        if plugin == "shuffle" {
            assert_eq!(verdict, "differs");
        } else {
            assert!(verdict.contains("Error"), "{variable}: {verdict}");
            assert!(trace.contains(&format!("ncz: {plugin}: decode")), "{plugin} did not run: {trace}");
        }
    }
}

#[test]
fn szip_takes_its_scanline_from_the_array_as_netcdf_c_does() {
    let Ok(python) = python() else { return };
    let plugins = build_plugins().unwrap();
    let dataset = unpack("netcdf-c-4.10.2/nczarr/filters.zip").unwrap();
    let path = dataset.path().display().to_string();
    let code = "import sys, json, netCDF4, numpy\n\
                d = netCDF4.Dataset('file://' + sys.argv[1] + '#mode=nczarr,file')\n\
                d.set_auto_mask(False)\n\
                print(json.dumps({n: numpy.asarray(v[...]).tolist() for n, v in d.variables.items()}))";
    let read = |plugins: Option<&Path>| {
        let env: Vec<_> = plugins.iter().map(|folder| ("HDF5_PLUGIN_PATH", folder.as_os_str())).collect();
        python.run_code(code, &[&path], &env).unwrap().stdout_text()
    };
    let (own, ours) = (read(None), read(Some(&plugins)));
    assert!(own.contains("szip"), "{own}");
    assert_eq!(own, ours);
}

/// Every selected variable was read as it was written.
fn all_the_same(read: &Value, wanted: impl Fn(&str) -> bool) {
    let variables = read.as_object().unwrap().iter().filter(|(name, _)| !name.is_empty() && wanted(name));
    let (same, others): (Vec<_>, Vec<_>) = variables.partition(|(_, verdict)| *verdict == "same");
    assert!(others.is_empty(), "{} of {}: {others:?}", others.len(), others.len() + same.len());
    assert!(same.len() > 100);
}
