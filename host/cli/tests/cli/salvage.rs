use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{Python, program, python};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Run, ncz, ocean, run};

const SCRIPT: &str = include_str!("salvage.py");
const REMEDY: &str = "ncz copy --salvage";

fn copy(source: &Path, target: &Path, options: &[&str]) -> Run {
    ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap()].iter().chain(options))
}

fn truncate(path: &Path, by: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - by]).unwrap();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn report_of(target: &Path) -> Value {
    let name = format!("{}.salvage.json", target.file_name().unwrap().to_str().unwrap());
    serde_json::from_slice(&fs::read(target.with_file_name(name)).unwrap()).unwrap()
}

/// The paths and the indices of lost chunks.
fn lost(report: &Value) -> Vec<(String, Value)> {
    let variables = report["variables"].as_array().unwrap().iter();
    variables
        .flat_map(|variable| {
            let path = variable["path"].as_str().unwrap().to_owned();
            let chunks = variable["chunks"].as_array().unwrap().iter();
            chunks.map(move |chunk| (path.clone(), chunk["chunk"].clone()))
        })
        .collect()
}

#[test]
fn damage_that_is_seen_without_decoding_is_not_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.zarr");
    // The codecs, and the damage: bytes that are cut, or else a byte with a wrong bit.
    for (number, (codec, cut)) in [
        ("none", 1),
        ("zstd", 1),
        ("blosc", 1),
        ("gzip", 3),
        ("32004", 200),
        ("fletcher32", 4),
        ("fletcher32", 0),
        ("{\"id\":\"crc32c\"}", 0),
        ("zstd|fletcher32", 0),
        ("lz4", 0),
    ]
    .into_iter()
    .enumerate()
    {
        let source = folder.path().join(format!("{number}.nczarr"));
        let options = ["--variables", "air_temperature", "--codec", codec];
        let made = copy(&ocean(), &source, &options);
        assert!(made.code == 0, "{codec}: {}", made.stderr);
        let chunk = source.join("air_temperature/0.0.0");
        match cut {
            0 => flip(&chunk, 1),
            cut => truncate(&chunk, cut),
        }
        let wanted = ["variable \"/air_temperature\"", "air_temperature/0.0.0", REMEDY, "ncz verify"];
        let ran = copy(&source, &target, &[]);
        assert!(ran.code == 3, "{codec}, {cut}: {}", ran.stderr);
        ran.says(&wanted);
        assert!(!target.exists());
        copy(&source, &target, &["--salvage", "--verify"]).ends(1).says(&["cannot be read"]);
        let report = report_of(&target);
        assert_eq!(lost(&report), [("/air_temperature".to_owned(), json!([0, 0, 0]))], "{codec}");
        assert!(!target.join("air_temperature/0.0.0").exists());
        ncz([Path::new("verify"), &target]).ends(0);
        fs::remove_dir_all(&target).unwrap();
        fs::remove_file(folder.path().join("out.zarr.salvage.json")).unwrap();
    }
}

/// Datasets of other programs, each with the same damage: two chunks of `t`, one of `n` and one of `s`.
struct Damaged {
    python: Python,
    good: TempDir,
    bad: TempDir,
}

impl Damaged {
    fn make() -> Option<Self> {
        let python = python().ok()?;
        let made = Self { python, good: tempfile::tempdir().unwrap(), bad: tempfile::tempdir().unwrap() };
        for folder in [&made.good, &made.bad] {
            made.python.run_code(SCRIPT, &["make", folder.path().to_str().unwrap()], &[]).unwrap();
        }
        let at = |name: &str| made.bad.path().join(name);
        truncate(&at("v2.zarr/t/0.1"), 3);
        // The length in the header of blosc.
        flip(&at("v2.zarr/t/2.0"), 12);
        truncate(&at("v2.zarr/s/1"), 2);
        // A read that fails.
        fs::remove_file(at("v2.zarr/n/1.1")).unwrap();
        symlink("1.1", at("v2.zarr/n/1.1")).unwrap();
        // The first bytes of shards are those of their first chunk; the last are the index.
        flip(&at("v3.zarr/t/c/0/0"), 1);
        let index = fs::read(at("v3.zarr/n/c/1/0")).unwrap().len() - 10;
        flip(&at("v3.zarr/n/c/1/0"), index);
        truncate(&at("v3.zarr/s/c/1"), 2);
        let file = at("file.nc");
        let zip = at("v2.zip");
        made.python.run_code(SCRIPT, &["damage", zip.to_str().unwrap(), "t", "0.1"], &[]).unwrap();
        for (variable, number) in [("t", "1"), ("t", "4"), ("n", "3")] {
            made.python.run_code(SCRIPT, &["damage", file.to_str().unwrap(), variable, number], &[]).unwrap();
        }
        Some(made)
    }

    fn source(&self, name: &str) -> PathBuf {
        self.bad.path().join(name)
    }

    /// Compares salvaged copies with the source without damage, as other programs read them. The name of a variable
    /// that a copy does not have follows a colon.
    fn check(&self, source: &str, targets: &[String]) {
        let source = self.good.path().join(source);
        let args: Vec<&str> = ["check", source.to_str().unwrap()]
            .into_iter()
            .chain(targets.iter().map(String::as_str))
            .collect();
        self.python.run_code(SCRIPT, &args, &[]).unwrap();
    }
}

#[test]
fn other_programs_read_a_salvaged_copy_with_fill_for_lost_chunks_only() {
    let Some(damaged) = Damaged::make() else { return };
    let chunk = |path: &str, index: Value| (path.to_owned(), index);
    for (source, wanted) in [
        (
            "v2.zarr",
            vec![
                chunk("/n", json!([1, 1])),
                chunk("/s", json!([1])),
                chunk("/t", json!([0, 1])),
                chunk("/t", json!([2, 0])),
            ],
        ),
        (
            "v3.zarr",
            vec![
                chunk("/n", json!([2, 0])),
                chunk("/n", json!([2, 1])),
                chunk("/s", json!([1])),
                chunk("/t", json!([0, 0])),
            ],
        ),
        ("v2.zip", vec![chunk("/t", json!([0, 1]))]),
        ("file.nc", vec![chunk("/n", json!([1, 1])), chunk("/t", json!([0, 1])), chunk("/t", json!([2, 0]))]),
    ] {
        let mut targets = Vec::new();
        for (number, (name, options)) in [
            ("out.zarr", &["--format", "zarr"][..]),
            ("out.zarr", &["--format", "zarr3"]),
            ("out.nczarr", &["--format", "nczarr"]),
            ("out.zip", &["--format", "zarr"]),
            ("out.nc", &[]),
            ("out.nc", &["--format", "classic", "--exclude", "s"]),
            ("out.zarr", &["--format", "zarr", "-c", "time/3,x/5", "--compress"]),
            ("out.nc", &["-c", "time/6,x/8"]),
        ]
        .into_iter()
        .enumerate()
        {
            let folder = damaged.bad.path().join(format!("{source}-{number}"));
            fs::create_dir(&folder).unwrap();
            let (from, target) = (damaged.source(source), folder.join(name));
            let excluded = if options.contains(&"--exclude") { ":s" } else { "" };
            let options: Vec<&str> = options.iter().copied().chain(["--salvage", "--verify"]).collect();
            let ran = copy(&from, &target, &options);
            assert!(ran.code == 1, "{source} {options:?}: {}", ran.stderr);
            let mut found = lost(&report_of(&target));
            found.sort_by_key(|(path, index)| (path.clone(), index.to_string()));
            let is_wanted = |(path, _): &&(String, Value)| excluded.is_empty() || path != "/s";
            let wanted: Vec<_> = wanted.iter().filter(is_wanted).cloned().collect();
            assert_eq!(found, wanted, "{source} {options:?}");
            targets.push(format!("{}{excluded}", target.display()));
            let verified = ncz([Path::new("verify"), &target]);
            assert!(!verified.stdout.contains("error"), "{}", verified.stdout);
        }
        damaged.check(source, &targets);
        // A wrong bit in a deflate stream is only seen by decoding it.
        let options: &[&str] = if source == "file.nc" { &["--codec", "none"] } else { &[] };
        copy(&damaged.source(source), &damaged.bad.path().join("no.zarr"), options).ends(3).says(&[REMEDY]);
    }
}

/// The comparison of the book says so.
#[test]
fn nccopy_and_h5repack_stop_at_a_damaged_chunk() {
    let (Ok(nccopy), Ok(h5repack)) = (program("nccopy"), program("h5repack")) else { return };
    let Some(damaged) = Damaged::make() else { return };
    let (good, bad) = (damaged.good.path().join("file.nc"), damaged.source("file.nc"));
    let target = damaged.bad.path().join("other.nc");
    for (program, options) in [(&nccopy, &[][..]), (&h5repack, &["-f", "GZIP=5"][..])] {
        let code = |source: &Path| run(Command::new(program).args(options).arg(source).arg(&target)).code;
        assert_eq!(code(&good), 0, "{program:?}");
        assert_ne!(code(&bad), 0, "{program:?}");
    }
}

#[test]
fn variables_that_cannot_be_read_at_all_are_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("in.nczarr"), folder.path().join("out.nczarr"));
    copy(&ocean(), &source, &["--codec", "zstd"]).ends(0);
    let text = fs::read_to_string(source.join("lat/.zarray")).unwrap();
    fs::write(source.join("lat/.zarray"), text.replace("zstd", "lz9")).unwrap();
    let report = folder.path().join("lost.json");
    let options = ["--salvage", "--salvage-report", report.to_str().unwrap(), "--json"];
    let ran = copy(&source, &target, &options).ends(1).json();
    let written: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(written["unreadable"][0]["path"], json!("/lat"));
    assert_eq!((&written["lost_chunks"], &ran["variables"][0]["lost_chunks"]), (&json!(0), &json!(0)));
    let again: Vec<&str> = options.iter().copied().chain(["--overwrite"]).collect();
    copy(&source, &target, &options).ends(2).says(&["exists already", "--salvage-report"]);
    copy(&source, &target, &again).ends(1);
    // A dataset is never replaced by a report.
    let file = folder.path().join("in.nc");
    copy(&ocean(), &file, &[]).ends(0);
    let options = ["--salvage", "--salvage-report", file.to_str().unwrap(), "--overwrite"];
    copy(&file, &target, &options).ends(2).says(&["is a dataset of this copy"]);
}

#[test]
fn a_damaged_index_of_chunks_loses_its_variable_and_nothing_else_in_every_format() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("in.nc");
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as file:
    for name in ("good", "bad", "after"):
        # netCDF's default fill value, as netcdf-c has it in its files
        fill = np.float32(9.96921e36)
        file.create_dataset(name, data=np.arange(40, dtype="f4"), chunks=(4,), fillvalue=fill)
        file.flush()
data = bytearray(open(sys.argv[1], "rb").read())
# the B-trees of chunks, in the order of the variables
trees = [at for at in range(len(data)) if data[at:at + 5] == b"TREE\x01"]
assert len(trees) == 3, trees
data[trees[1]:trees[1] + 4] = b"XXXX"
open(sys.argv[1], "wb").write(data)
"#;
    python.run_code(code, &[&source], &[]).unwrap();
    for format in ["zarr", "zarr3", "nczarr", "netcdf4"] {
        let target = folder.path().join(format!("out.{format}"));
        copy(&source, &target, &["--format", format]).ends(3).says(&["B-tree of chunks"]);
        assert!(!target.exists(), "{format}");
        copy(&source, &target, &["--format", format, "--salvage"]).ends(1);
        let lost = lost(&report_of(&target));
        assert!(lost.len() == 10 && lost.iter().all(|(path, _)| path == "/bad"), "{format}: {lost:?}");
        let code = r#"
import sys, numpy as np, xarray
engine = {"engine": "netcdf4"} if sys.argv[1].endswith("4") else {"engine": "zarr", "consolidated": False}
with xarray.open_dataset(sys.argv[1], **engine) as copy:
    for name in ("good", "after"):
        assert copy[name].values.tolist() == list(range(40)), copy[name]
    assert np.isnan(copy.bad.values).all(), copy.bad
"#;
        python.run_code(code, &[&target], &[]).unwrap();
    }
}

#[test]
fn nothing_lost_is_said_by_the_exit_code_and_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.nczarr");
    copy(&ocean(), &target, &["--salvage"]).ends(0);
    let report = report_of(&target);
    assert_eq!((&report["lost_chunks"], &report["variables"]), (&json!(0), &json!([])));
}

#[test]
fn missing_chunks_are_listed_when_asked_and_are_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.nczarr");
    copy(&ocean(), &target, &["-c", "time/5", "--codec", "zstd"]).ends(0);
    fs::remove_file(target.join("air_temperature/1.0.0")).unwrap();
    let verify = |options: &[&str]| ncz(["verify", target.to_str().unwrap()].iter().chain(options));
    assert!(verify(&["--missing"]).ends(0).stdout.contains("missing /air_temperature chunk 1,0,0\n"));
    assert!(!verify(&[]).ends(0).stdout.contains("missing"));
    let report = verify(&["--missing", "--json", "--variables", "air_temperature"]).ends(0).json();
    assert_eq!(report["variables"][0]["missing_chunks"], json!([[1, 0, 0]]));
    assert!(verify(&["--json"]).ends(0).json()["variables"][0].get("missing_chunks").is_none());
}

#[test]
fn lost_floats_are_nan_where_readers_of_the_copy_mask_no_number() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let make = r#"
import os, sys, h5py, numpy as np, zarr
os.chdir(sys.argv[1])
with h5py.File("a.h5", "w") as file:
    for name, dtype in [("f", "f4"), ("big", ">f8")]:
        data = file.create_dataset(name, data=np.arange(4, dtype=dtype), chunks=(2,), fletcher32=True)
        at = data.id.get_chunk_info(0).byte_offset
        file.flush()
        with open("a.h5", "r+b") as raw:
            raw.seek(at)
            raw.write(b"\xff")
group = zarr.create_group("v2.zarr", zarr_format=2)
for name, dtype in [("f", "f4"), ("big", ">f8")]:
    array = group.create_array(name, shape=4, chunks=2, dtype=dtype, fill_value=0)
    array.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    array[:] = np.arange(4)
    os.truncate(f"v2.zarr/{name}/0", 3)
"#;
    let check = r#"
import sys, netCDF4, numpy as np, xarray as xr
for name in ["f", "big"]:
    if sys.argv[1].endswith(".nc"):
        with netCDF4.Dataset(sys.argv[1]) as data:
            values = np.ma.filled(data[name][:], np.nan)
    else:
        values = xr.open_zarr(sys.argv[1], consolidated=False)[name].values
    assert np.isnan(values[:2]).all() and values[2:].tolist() == [2, 3], values
"#;
    python.run_code(make, &[folder.path()], &[]).unwrap();
    for source in ["a.h5", "v2.zarr"] {
        for (number, format) in ["zarr", "zarr3", "nczarr", "netcdf4"].iter().enumerate() {
            let ending = if *format == "netcdf4" { "nc" } else { "zarr" };
            let copied = at(&format!("{source}{number}.{ending}"));
            copy(at(source).as_ref(), copied.as_ref(), &["--format", format, "--salvage"]).ends(1);
            python.run_code(check, &[copied], &[]).unwrap();
        }
    }
}
