//! netCDF files as sources, against netCDF4, h5py, zarr-python and Debian's ncdump.

use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{Python, program, python};
use tempfile::TempDir;

use crate::bench::{assert_same_text, ncz, run};
use crate::ncdump::tool;

const SCRIPT: &str = include_str!("netcdf_files.py");
const KINDS: [&str; 5] = ["classic", "offset64", "cdf5", "netcdf4-classic", "netcdf4"];

struct Files {
    python: Python,
    folder: TempDir,
}

impl Files {
    /// Makes the files; `None` if there is no Python.
    fn make() -> Option<Self> {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        python.run_code(SCRIPT, &["make", folder.path().to_str().unwrap()], &[]).unwrap();
        Some(Self { python, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn theirs(ncdump: &Path, args: &[&str]) -> String {
    run(Command::new(ncdump).args(args).env("HDF5_PLUGIN_PATH", "")).ends(0).stdout
}

#[test]
fn netcdf_files_are_dumped_as_ncdump_does() {
    let (Some(files), Ok(ncdump)) = (Files::make(), program("ncdump")) else { return };
    for kind in KINDS {
        let path = files.text(&format!("{kind}.nc"));
        for option in ["-k", "-h", "-s", "-c", "-t", "-F", "-bc", "-p4,5", "-l60", "-vvalues"] {
            // ncdump 4.9.0 crashes on special attributes of CDF-5, and calls the classic model no netCDF-4.
            if matches!((kind, option), ("cdf5", "-s" | "-F")) {
                continue;
            }
            let ours = tool("ncdump", [option, &path]).ends(0);
            let wanted = theirs(&ncdump, &[option, &path]).replace(":_IsNetcdf4 = 0 ;", ":_IsNetcdf4 = 1 ;");
            assert_same_text(&ours.stdout, &wanted, &format!("{kind} {option}"));
        }
    }
}

#[test]
fn copies_hold_the_same_values_masks_attributes_and_dimensions() {
    let Some(files) = Files::make() else { return };
    for kind in KINDS {
        let source = files.text(&format!("{kind}.nc"));
        for (format, reader) in [("nczarr", "nczarr"), ("zarr", "plain"), ("zarr3", "plain")] {
            let target = files.text(&format!("{kind}.{format}"));
            ncz(["copy", "--verify", "--format", format, &source, &target]).ends(0);
            files.python.run_code(SCRIPT, &[reader, &source, &target], &[]).unwrap();
            ncz(["verify", &target]).ends(0);
        }
        let zip = files.text(&format!("{kind}.zip"));
        ncz(["copy", &source, &zip]).ends(0);
        let dump = |path: &str| ncz(["dump", "-n", "d", path]).ends(0).stdout;
        assert_same_text(&dump(&zip), &dump(&source), kind);
    }
}

#[test]
fn stored_chunks_pass_and_the_summary_says_which_do_not() {
    let Some(files) = Files::make() else { return };
    let (source, target) = (files.text("plain.h5"), files.text("plain.zarr"));
    let args = ["copy", "--json", "--format", "nczarr", "--exclude", "foreign", &source, &target];
    let summary = ncz(args).ends(0).json();
    let of = |path: &str| {
        let variables = summary["variables"].as_array().unwrap();
        let found = variables.iter().find(|variable| variable["path"] == path).unwrap();
        (found["chunks"].as_u64().unwrap(), found["recoded_chunks"].as_u64().unwrap())
    };
    assert_eq!(of("/a"), (1, 0));
    assert_eq!(of("/missing"), (1, 0), "a chunk that was never written stays so");
    assert_eq!(of("/scaled"), (10, 0));
    assert_eq!(of("/noise"), (4, 1), "one chunk was stored without its filters");
    let stored = |chunk: &str| std::fs::read(files.path("plain.zarr").join("noise").join(chunk)).unwrap();
    assert_ne!(stored("1"), (0..16).collect::<Vec<u8>>());
    let values = |path: &str| ncz(["cat", path, "noise"]).ends(0).stdout;
    assert_eq!(values(&source), values(&target));
}

#[test]
fn what_changes_a_dataset_refuses_a_file_and_names_the_copy() {
    let Some(files) = Files::make() else { return };
    let path = files.text("netcdf4.nc");
    let before = std::fs::read(&path).unwrap();
    let remedy = format!("ncz copy {path} netcdf4.zarr");
    ncz(["verify", "--repair", &path]).ends(3).says(&["is a netCDF or HDF5 file", &remedy]);
    ncz(["copy", &files.text("classic.nc"), &path, "--append", "time"]).ends(3).says(&[&remedy]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn modes_and_names_decide_where_the_content_does_not() {
    let Some(files) = Files::make() else { return };
    let path = files.text("netcdf4.nc");
    let renamed = files.text("no_extension");
    std::fs::copy(&path, &renamed).unwrap();
    for text in [format!("{path}#mode=bytes"), format!("file://{path}#bytes"), renamed] {
        assert_eq!(ncz(["dump", "-k", &text]).ends(0).stdout, "netCDF-4\n", "{text}");
    }
    ncz(["info", &format!("{path}#mode=nczarr")]).ends(3).says(&["leave nczarr out"]);
    ncz(["info", &format!("{path}#mode=bytes,zarr")]).ends(2).says(&["contradicts \"zarr\""]);
    let listed = ncz(["ls", files.folder.path().to_str().unwrap()]).ends(0).stdout;
    for wanted in ["classic.nc", "cdf5.nc", "plain.h5", "no_extension"] {
        assert!(listed.contains(wanted), "{wanted} is not in\n{listed}");
    }
}

#[test]
fn info_names_filters_and_says_which_are_not_found() {
    let Some(files) = Files::make() else { return };
    let info = ncz(["info", "--sizes", &files.text("plain.h5")]).ends(1).stdout;
    for wanted in ["shuffle | zlib 4", "scaleoffset", "HDF5 filter 40000 7 8"] {
        assert!(info.contains(wanted), "{wanted} is not in\n{info}");
    }
    let special = ncz(["dump", "-hs", &files.text("plain.h5")]).ends(0).stdout;
    assert!(special.contains("foreign:_Filter = \"40000,7,8\""), "{special}");
}

#[test]
fn a_variable_that_is_shorter_than_its_dimension_keeps_its_fill() {
    let Some(files) = Files::make() else { return };
    let source = files.text("short.nc");
    let values = |dataset: &str| ncz(["cat", dataset, "short"]).ends(0).stdout;
    let wanted = values(&source);
    assert_eq!(wanted.lines().count(), 6, "{wanted}");
    for format in ["nczarr", "zarr", "zarr3"] {
        let target = files.text(&format!("short.{format}"));
        ncz(["copy", "--verify", "--format", format, &source, &target]).ends(0);
        assert_eq!(values(&target), wanted, "{format}");
    }
    let references = files.text("short.json");
    ncz(["copy", &source, &references]).ends(0);
    assert_eq!(values(&references), wanted);
}

#[test]
fn filters_of_hdf5plugin_are_read_and_what_has_no_elements_is_named() {
    let Some(files) = Files::make() else { return };
    let source = files.text("plugins.h5");
    let values = |path: &str, variable: &str| ncz(["cat", path, variable]).ends(0).stdout;
    let plain = values(&source, "plain");
    let header = ncz(["dump", "-h", &source]).ends(1).stdout;
    assert!(header.contains("// nothing cannot be read: it is empty"), "{header}");
    assert!(header.contains("plain:nothing = \"\" ;"), "{header}");
    for target in [files.text("plugins.zarr"), files.text("plugins.nc")] {
        ncz(["copy", &source, &target]).ends(3).says(&["/nothing", "it is empty", "--exclude"]);
        let copied = ncz(["copy", "--verify", &source, &target, "--exclude", "nothing"]).ends(0).stdout;
        assert!(copied.contains("22 chunks copied as stored, 0 decoded"), "{copied}");
        for filter in ["blosc", "blosc2", "lz4", "zstd", "bzip2", "bitshuffle", "zfp"] {
            assert_eq!(values(&source, filter), plain, "{filter}");
            assert_eq!(values(&target, filter), plain, "{filter}");
        }
    }
}
