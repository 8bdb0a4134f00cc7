use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ncz_test_servers::S3Server;
use ncz_test_support::{fixtures, python, takes_all};
use serde_json::{Value, json};

use crate::bench::{Run, assert_same_data, big_dataset, command, ncz, ocean, run};

/// A folder with a plan.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = command();
        command.current_dir(self.folder.path());
        command
    }

    pub(crate) fn ncz(&self, args: &[&str]) -> Run {
        run(self.command().args(args))
    }

    /// Plans a copy to `target`.
    pub(crate) fn plan(&self, source: &Path, target: &str, parts: &str, options: &[&str]) -> Run {
        let plan = ["copy", source.to_str().unwrap(), target, "--plan", parts, "plan.json"];
        self.ncz(&[&plan, options].concat())
    }

    /// The number of parts of the plan.
    fn parts(&self) -> usize {
        self.json()["parts"].as_array().unwrap().len()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("plan.json")).unwrap()).unwrap()
    }

    pub(crate) fn part(&self, part: impl ToString) -> Run {
        self.ncz(&["copy", "--part", &part.to_string(), "plan.json"])
    }

    pub(crate) fn finish(&self) -> Run {
        self.ncz(&["copy", "--finish", "plan.json"])
    }
}

/// All objects of a dataset in a directory.
fn objects(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[track_caller]
pub(crate) fn assert_same_objects(one: &Path, other: &Path) {
    let (one, other) = (objects(one), objects(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let differing: Vec<_> = one.keys().filter(|key| one[*key] != other[*key]).collect();
    assert!(differing.is_empty(), "{differing:?}");
}

/// Copies once in one process and once in parts, from the last part to the first, and compares all objects. Returns the
/// number of parts; `None` if the copy is refused, which must be so in parts too.
#[track_caller]
fn compare(source: &Path, parts: &str, options: &[&str]) -> Option<usize> {
    let place = Place::new();
    let whole = run(place.command().arg("copy").arg(source).arg("whole").args(options));
    let planned = place.plan(source, "target", parts, options);
    assert_eq!(whole.code, planned.code, "{source:?} {options:?}: {whole:#?} {planned:#?}");
    if whole.code > 1 {
        assert!(!place.path("plan.json").exists() && !place.path("target.ncz-parts").exists());
        return None;
    }
    let count = place.parts();
    let numbers: Vec<String> = (0..count).rev().map(|part| part.to_string()).collect();
    if count > 0 {
        place.part(numbers.join(",")).ends(0);
    }
    assert!(!place.path("target").exists());
    place.finish().ends(whole.code);
    assert_same_objects(&place.path("whole"), &place.path("target"));
    let left: Vec<_> =
        fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    Some(count)
}

#[test]
fn parts_make_the_same_bytes_as_one_copy() {
    let rechunked = ["-c", "time/5,lat/20,lon/50", "--format", "zarr3", "--compress"];
    for (parts, options) in [
        ("5", &[][..]),
        ("auto", &[]),
        ("1", &["--format", "zarr3", "--consolidated"]),
        ("4", &rechunked),
        ("200", &["-c", "lat/7,lon/40,depth/2"]),
        ("6", &["--slab", "time=3:15:2,lat=10:60", "--format", "zarr", "--consolidated"]),
        ("6", &["--slab", "time=6:", "--deflate", "5", "--shuffle"]),
        ("3", &["--variables", "model/salinity", "--no-coordinates", "--for", "zarr-python"]),
        ("3", &["--values", "lat,lon", "--fixed"]),
        ("7", &["--exclude", "lat", "--codec", "none", "--format", "nczarr3"]),
        (
            "5",
            &["--codec", "air_temperature=bitround,9|zstd,3", "--verify", "--memory", "100k", "-c", "lat/3"],
        ),
    ] {
        let count = compare(&ocean(), parts, options).expect("the copy works");
        if let Ok(wanted) = parts.parse::<usize>() {
            assert!(
                count <= wanted && (wanted > 100 || count + 1 >= wanted),
                "{count} of {parts} {options:?}"
            );
        }
    }
}

#[test]
fn parts_of_every_fixture_make_the_same_bytes() {
    let mut sources: Vec<PathBuf> = vec![fixtures().join("nczarr-v3-draft")];
    for folder in [
        "zarr-python",
        "strings",
        "netcdf-files",
        "netcdf-c-4.8.0/nczarr",
        "netcdf-c-4.9.2/nczarr",
        "netcdf-c-4.10.2/nczarr",
        "netcdf-c-4.10.2/zarr",
    ] {
        let entries = fs::read_dir(fixtures().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let is_dataset = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ["zip", "nc", "h5"].iter().any(|known| ending == *known))
        };
        sources.extend(entries.filter(is_dataset));
    }
    // Each dataset is copied in one of three ways; with `NCZ_PARTS=all` in all.
    let ways: [(&str, &[&str]); 3] =
        [("5", &[]), ("4", &["--format", "zarr3", "--compress"]), ("3", &["--format", "nczarr", "-c", "/"])];
    let tried = AtomicUsize::new(0);
    let copied = AtomicUsize::new(0);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(source) = sources.get(number) else { break };
                    let is_taken = |way: &usize| takes_all("NCZ_PARTS") || number % ways.len() == *way;
                    for (parts, options) in (0..ways.len()).filter(is_taken).map(|way| ways[way]) {
                        tried.fetch_add(1, Relaxed);
                        copied.fetch_add(usize::from(compare(source, parts, options).is_some()), Relaxed);
                    }
                }
            });
        }
    });
    let (copied, tried, all) = (copied.into_inner(), tried.into_inner(), sources.len());
    assert!(
        all > 90 && tried >= all && 3 * copied > 2 * tried,
        "{copied} of {tried} copies of {all} datasets"
    );
}

#[test]
fn shards_are_not_divided() {
    let source = fixtures().join("zarr-python/v3-sharded.zip");
    assert!(compare(&source, "100", &[]).unwrap() > 1);
    assert!(compare(&source, "100", &["--format", "zarr"]).unwrap() > 1);
    // Every object of the copy belongs to one region of one part.
    let place = Place::new();
    place.plan(&ocean(), "target", "9", &["-c", "time/4,lat/30,lon/40"]).ends(0);
    let plan = place.json();
    let mut owners: BTreeMap<(String, Vec<u64>), u64> = BTreeMap::new();
    for region in
        plan["parts"].as_array().unwrap().iter().flat_map(|part| part["regions"].as_array().unwrap())
    {
        let name = region["variable"].as_str().unwrap().to_owned();
        let document = &plan["documents"][format!("{}/.zarray", name.trim_start_matches('/'))];
        let zarray: Value = serde_json::from_str(document.as_str().unwrap()).unwrap();
        let lens =
            |of: &Value| -> Vec<u64> { of.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect() };
        let (chunks, shape) = (lens(&zarray["chunks"]), lens(&zarray["shape"]));
        let (start, count) = (lens(&region["start"]), lens(&region["shape"]));
        let mut indices = vec![Vec::new()];
        for d in 0..chunks.len() {
            assert_eq!(start[d] % chunks[d], 0, "{region}");
            let end = start[d] + count[d];
            assert!(end % chunks[d] == 0 || end == shape[d], "{region}");
            let all = start[d] / chunks[d]..end.div_ceil(chunks[d]);
            indices = indices
                .iter()
                .flat_map(|index| all.clone().map(move |i| [&index[..], &[i]].concat()))
                .collect();
        }
        indices.into_iter().for_each(|index| *owners.entry((name.clone(), index)).or_default() += 1);
    }
    assert!(owners.len() > 50 && owners.values().all(|parts| *parts == 1), "{owners:?}");
}

#[test]
fn chunks_that_are_missing_stay_missing() {
    let place = Place::new();
    let source = big_dataset(place.folder.path(), 40, 500);
    (0..40)
        .filter(|chunk| chunk % 7 > 1)
        .for_each(|chunk| fs::remove_file(source.join(format!("t/{chunk}"))).unwrap());
    assert_eq!(compare(&source, "6", &[]), Some(6));
    assert_eq!(compare(&source, "6", &["--compress", "--format", "zarr3"]), Some(6));
    // Where chunks differ, a box has all of its chunks or none; the values are the same.
    let options = ["-c", "t:300", "--codec", "zstd"];
    place.plan(&source, "target", "6", &options).ends(0);
    place.part("0-5").ends(0);
    place.ncz(&["copy", "--finish", "plan.json", "--verify"]).ends(0);
    assert_same_data(&source, &place.path("target"));
}

#[test]
fn a_part_may_run_twice_and_at_the_same_time() {
    let place = Place::new();
    ncz(["copy", ocean().to_str().unwrap(), place.path("whole").to_str().unwrap(), "--compress"]).ends(0);
    place.plan(&ocean(), "target", "3", &["--compress", "--json"]).ends(0);
    let children: Vec<_> = ["0", "1", "2", "1", "0"]
        .iter()
        .map(|part| place.command().args(["copy", "--part", part, "plan.json", "-q"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let data = place.path("target.ncz-parts/data");
    // The mark of writers comes and goes.
    let written = || {
        let mut found = objects(&data);
        found.retain(|path, _| path != Path::new(".ncz-writer"));
        found
    };
    let before = written();
    let again = place
        .ncz(&["copy", "--part", "0-2", "plan.json", "--json", "--verify", "--threads", "1"])
        .ends(0)
        .json();
    assert_eq!((&again["parts"], &again["verified"]), (&json!([0, 1, 2]), &json!(true)));
    assert!(before.len() > 20 && written() == before);
    let finished = place.ncz(&["copy", "--finish", "plan.json", "--json", "--verify"]).ends(0).json();
    let ordinary: Value = ncz([
        "copy",
        ocean().to_str().unwrap(),
        place.path("again").to_str().unwrap(),
        "--compress",
        "--verify",
        "--json",
    ])
    .ends(0)
    .json();
    for key in ["format", "verified", "chunks", "decoded_bytes", "stored_bytes", "stored_bytes_before"] {
        assert_eq!(finished[key], ordinary[key], "{key}");
    }
    assert_same_objects(&place.path("whole"), &place.path("target"));
}

#[test]
fn a_part_that_was_killed_runs_again() {
    let place = Place::new();
    let source = big_dataset(place.folder.path(), 16, 30_000);
    let options = ["--codec", "lzma", "--format", "zarr3"];
    place.plan(&source, "target", "2", &options).ends(0);
    let mut child =
        place.command().args(["copy", "--part", "1", "plan.json"]).stdout(Stdio::null()).spawn().unwrap();
    let data = place.path("target.ncz-parts/data");
    let start = Instant::now();
    while objects(&data).len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "the part writes nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.part(0).ends(0);
    place.finish().ends(3).says(&["1 of 2 parts is not complete: 1", "run ncz copy --part 1 plan.json"]);
    assert!(!place.path("target").exists() && !data.join("zarr.json").exists());
    place.part(1).ends(0);
    place.finish().ends(0);
    ncz([&["copy", source.to_str().unwrap(), place.path("whole").to_str().unwrap()], &options[..]].concat())
        .ends(0);
    assert_same_objects(&place.path("whole"), &place.path("target"));
    let whole = objects(&place.path("target"));
    let probably =
        ["target has the metadata of this copy, so it was probably finished", "plan.json --verify"];
    place.finish().ends(3).says(&probably);
    let verified = place.ncz(&["copy", "--finish", "plan.json", "--verify", "--json"]).ends(0).json();
    assert_eq!(
        (&verified["verified"], &verified["notes"][0]),
        (&json!(true), &json!("the copy is finished already"))
    );
    for step in ["--part=0", "--discard"] {
        let step = step.replace('=', " ");
        let args: Vec<&str> = ["copy"].into_iter().chain(step.split(' ')).chain(["plan.json"]).collect();
        place.ncz(&args).ends(3).says(&probably);
    }
    assert!(objects(&place.path("target")) == whole);
    // Somebody changes the copy: nobody can say any more whose it is.
    fs::write(place.path("target/zarr.json"), "{}").unwrap();
    place.finish().ends(3).says(&["target.ncz-parts is not there", "was changed"]);
}

#[test]
fn a_finish_that_was_killed_ends_when_it_runs_again() {
    let place = Place::new();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.part("0,1").ends(0);
    // As a program leaves it that is killed after the rename.
    fs::create_dir(place.path("aside")).unwrap();
    let copy = |from: &str, to: &str| {
        assert!(
            Command::new("cp").arg("-r").args([place.path(from), place.path(to)]).status().unwrap().success()
        );
    };
    copy("target.ncz-parts", "aside/parts");
    place.finish().ends(0);
    fs::remove_dir_all(place.path("aside/parts/data")).unwrap();
    copy("aside/parts", "target.ncz-parts");
    let done = place.finish().ends(0);
    assert!(done.stdout.contains("chunks in"), "{}", done.stdout);
    assert!(!place.path("target.ncz-parts").exists() && place.path("target/.zgroup").exists());
}

#[test]
fn another_dataset_with_the_same_metadata_is_not_the_copy() {
    let place = Place::new();
    let source = place.path("source");
    let script = "import sys, numpy as np, zarr\n\
                  for path, start in zip(sys.argv[1:], (0, 1)):\n    \
                      group = zarr.open_group(path, mode='w', zarr_format=2)\n    \
                      x = group.create_array('x', shape=40, chunks=10, dtype='<f8', compressors=None)\n    \
                      x[:] = np.arange(40.0) + start\n";
    let Ok(python) = python() else { return };
    let (one, other) = (source.to_str().unwrap(), place.path("other"));
    python.run_code(script, &[one, other.to_str().unwrap()], &[]).unwrap();
    place.plan(&source, "target", "2", &[]).ends(0);
    place.part("0,1").ends(0);
    fs::remove_dir_all(place.path("target.ncz-parts")).unwrap();
    place.ncz(&["copy", "other", "target"]).ends(0);
    place.finish().ends(3).says(&["probably finished before; its values were not compared"]);
    let differs = place.ncz(&["copy", "--finish", "plan.json", "--verify"]);
    assert!(differs.code > 1, "{differs:#?}");
    fs::remove_dir_all(place.path("target")).unwrap();
    place.ncz(&["copy", "source", "target"]).ends(0);
    let same = place.ncz(&["copy", "--finish", "plan.json", "--verify"]).ends(0);
    assert!(same.stdout.contains("the copy is finished already; verified"), "{}", same.stdout);
}

#[test]
fn nobody_opens_a_copy_that_is_not_finished() {
    let place = Place::new();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.part(0).ends(0);
    place.ncz(&["info", "target"]).ends(3);
    place.ncz(&["info", "target.ncz-parts/data"]).ends(3);
    let names: Vec<String> = objects(&place.path("target.ncz-parts/data"))
        .keys()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(!names.is_empty() && names.iter().all(|name| !name.starts_with(".z")), "{names:?}");
}

#[test]
fn a_source_that_changed_is_refused() {
    for name in ["source.nczarr", "source.nc", "source.zip"] {
        let place = Place::new();
        let source = place.path(name);
        ncz([Path::new("copy"), &ocean(), &source]).ends(0);
        place.plan(&source, "target", "2", &[]).ends(0);
        place.part(0).ends(0);
        let changed =
            if source.is_dir() { source.join("sea_surface_temperature/1.0.0") } else { source.clone() };
        let bytes = fs::read(&changed).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&changed, bytes).unwrap();
        let refused = place.part("0,1").ends(3);
        refused.says(&[name, "has changed since the plan was made", "make a new plan"]);
        if source.is_dir() {
            let zarray = source.join("lat/.zattrs");
            let text = fs::read_to_string(&zarray).unwrap();
            fs::write(&zarray, text.replace("degrees_north", "degrees_south")).unwrap();
            place.part(0).ends(3).says(&["its metadata differ"]);
        }
        assert!(!place.path("target").exists());
    }
}

#[test]
fn other_codecs_are_refused_before_anything_is_written() {
    let Ok(python) = python() else { return };
    let place = Place::new();
    let library = python.plugin_dir("hdf5plugin").unwrap().join("libh5zstd.so");
    fs::create_dir(place.path("plugins")).unwrap();
    fs::copy(&library, place.path("plugins/libh5zstd.so")).unwrap();
    let with = ["--plugin-path", "plugins", "--prefer", "plugins"];
    let refused = |options: &[&str], says: &[&str]| {
        place.ncz(&[&["copy", "--part", "0", "plan.json"], options].concat()).ends(3).says(says);
        assert_eq!(objects(&place.path("target.ncz-parts/data")).len(), 0);
    };
    place.plan(&ocean(), "target", "2", &["--codec", "zstd"]).ends(0);
    refused(&with, &["the codecs differ from those of the plan: zstd", "libh5zstd.so", "expected built in"]);
    place.ncz(&["copy", "--discard", "plan.json"]).ends(0);
    assert!(!place.path("target.ncz-parts").exists());
    fs::remove_file(place.path("plan.json")).unwrap();

    place.plan(&ocean(), "target", "2", &[&["--codec", "zstd"], &with[..]].concat()).ends(0);
    refused(&[], &["built in", "expected of libh5zstd.so"]);
    // The same file elsewhere is the same codec, another file of the same name is not.
    fs::rename(place.path("plugins"), place.path("elsewhere")).unwrap();
    let elsewhere = ["--plugin-path", "elsewhere", "--prefer", "plugins"];
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(0);
    fs::write(place.path("elsewhere/libh5zstd.so"), bytes).unwrap();
    refused(&elsewhere, &["expected of libh5zstd.so"]);
    fs::copy(&library, place.path("elsewhere/libh5zstd.so")).unwrap();
    place.ncz(&[&["copy", "--part", "0-1", "plan.json"], &elsewhere[..]].concat()).ends(0);
    place.ncz(&["copy", "--finish", "plan.json", "--verify"]).ends(3).says(&["expected of libh5zstd.so"]);
    // Nothing is coded.
    place.finish().ends(0);
}

#[test]
fn plans_that_do_not_fit_are_refused_by_name() {
    let place = Place::new();
    for (target, says) in [
        ("target.nc", "is a netCDF file, which cannot be written in parts"),
        ("target.zip", "is a zip file, which cannot be written in parts"),
        ("target.json", "is a name for references, which cannot be written in parts"),
        ("target.parq#mode=zarr", "is a name for references, which cannot be written in parts"),
    ] {
        place.plan(&ocean(), target, "2", &[]).ends(2).says(&[says, "copy to a directory or to S3 in parts"]);
    }
    place.plan(&ocean(), "target", "none", &[]).ends(2).says(&["expected a number of parts, or auto"]);
    place.plan(&ocean(), "target", "0", &[]).ends(2);
    for option in
        [&["--resume"][..], &["--overwrite"], &["--salvage"], &["--append", "time"], &["--concat", "time"]]
    {
        place.plan(&ocean(), "target", "2", option).ends(2).says(&["--plan", option[0]]);
    }
    place.plan(&ocean(), "s3://bucket", "2", &[]).ends(3).says(&["has no name"]);
    let secret = "s3://bucket/a.zarr#aws.access_key_id=AKIAX&aws.secret_access_key=7hf93hf9";
    let refused =
        place.plan(&ocean(), secret, "2", &[]).ends(3).says(&["a plan must not hold", "AWS_PROFILE"]);
    assert!(!refused.stderr.contains("7hf93hf9"));
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);

    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.plan(&ocean(), "other", "2", &[]).ends(2).says(&["plan.json exists already"]);
    fs::rename(place.path("plan.json"), place.path("first.json")).unwrap();
    place.plan(&ocean(), "target", "2", &[]).ends(3).says(&[
        "another copy in parts is being made in",
        "its plan is",
        "target.ncz-parts/plan.json",
    ]);
    for (args, says) in [
        (&["--part", "2", "first.json"][..], "there is no part 2; the plan has 2 parts, from 0 on"),
        (&["--part", "x", "first.json"], "expected the number of a part"),
        (&["--part", "0", "first.json", "--codec", "zstd"], "--codec"),
        (&["--part", "0", "first.json", "--finish", "first.json"], "--finish"),
        (&["--part", "0", "first.json", "a", "b"], "SOURCE"),
        (&["--finish", "first.json", "--format", "zarr"], "--format"),
    ] {
        place.ncz(&[&["copy"], args].concat()).ends(2).says(&[says]);
    }
    // Who has lost the plan finds it there.
    place.ncz(&["copy", "--part", "0-1", "target.ncz-parts/plan.json"]).ends(0);
    place.ncz(&["copy", "--finish", "target.ncz-parts/plan.json"]).ends(0);
    assert!(place.path("target").exists() && !place.path("target.ncz-parts").exists());
    place.ncz(&["copy", "--part", "0", "no.json"]).ends(3).says(&["cannot read the plan no.json"]);
}

#[test]
fn damaged_and_foreign_plans_are_refused() {
    let place = Place::new();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    let text = fs::read_to_string(place.path("plan.json")).unwrap();
    let bytes = text.len();
    for (damaged, says) in [
        (text[..bytes / 2].to_owned(), "this is not the plan of a copy"),
        ("[]".to_owned(), "this is not the plan of a copy"),
        ("\u{0}".to_owned(), "this is not the plan of a copy"),
        (text.replacen("\"schema\":1", "\"schema\":7", 1), "has version 7 of its form"),
        (text.replacen("\"lossy_guard\":true", "\"lossy_guard\":false", 1), "was changed after it was made"),
        (text.replacen("/lat", "/lon", 1), "was changed after it was made"),
    ] {
        assert_ne!(damaged, text);
        fs::write(place.path("plan.json"), damaged).unwrap();
        place.part(0).ends(3).says(&[says]);
        place.finish().ends(3).says(&[says]);
    }
    // The folder is that of another plan of the same copy.
    fs::write(place.path("first.json"), &text).unwrap();
    fs::remove_file(place.path("plan.json")).unwrap();
    fs::remove_dir_all(place.path("target.ncz-parts")).unwrap();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.ncz(&["copy", "--part", "0", "first.json"]).ends(3).says(&["belongs to another plan"]);
    place.part("0-1").ends(0);
    // A record of another plan counts for nothing.
    let record = place.path("target.ncz-parts/done/1.json");
    let noted = fs::read_to_string(&record).unwrap();
    fs::write(&record, noted.replace(place.json()["token"].as_str().unwrap(), "another")).unwrap();
    place.finish().ends(3).says(&["1 of 2 parts is not complete: 1"]);
    fs::write(&record, noted).unwrap();
    // Something appears at the target meanwhile.
    fs::create_dir(place.path("target")).unwrap();
    place.finish().ends(3).says(&["exists already"]);
    fs::remove_dir(place.path("target")).unwrap();
    place.finish().ends(0);
}

#[test]
fn a_plan_means_the_same_in_every_folder() {
    let place = Place::new();
    for folder in ["here/deep", "there"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let run_in =
        |folder: &str, args: &[&str]| run(place.command().current_dir(place.path(folder)).args(args));
    run_in("here", &["copy", ocean().to_str().unwrap(), "in.zarr", "--format", "zarr"]).ends(0);
    let source = "deep/../in.zarr#mode=zarr";
    run_in(
        "here",
        &["copy", source, "deep/../../there/./out.zarr#mode=v3,zarr", "--plan", "2", "../plan.json"],
    )
    .ends(0);
    run_in("there", &["copy", "--part", "0-1", "../plan.json"]).ends(0);
    run_in(".", &["copy", "--finish", "plan.json"]).ends(0);
    run_in("here", &["copy", source, "whole.zarr", "--format", "zarr3"]).ends(0);
    assert_same_objects(&place.path("here/whole.zarr"), &place.path("there/out.zarr"));
}

#[test]
fn parts_are_copied_to_s3_and_from_there() {
    let server = S3Server::start_with("bucket").unwrap();
    let place = Place::new();
    let in_s3 = |args: &[&str]| {
        let keys = ncz_test_servers::Credentials::default();
        run(place
            .command()
            .env("AWS_ACCESS_KEY_ID", keys.key)
            .env("AWS_SECRET_ACCESS_KEY", keys.secret)
            .env("AWS_ENDPOINT_URL_S3", format!("http://{}", server.address()))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", "/nowhere/config")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials")
            .args(args))
    };
    let all = |prefix: &str| -> BTreeMap<String, Vec<u8>> {
        let objects = server.objects("bucket").into_iter();
        objects
            .filter_map(|(key, bytes)| Some((key.strip_prefix(prefix)?.to_owned(), bytes.to_vec())))
            .collect()
    };
    let ocean = ocean();
    let options = ["--format", "zarr3", "--consolidated", "--compress"];
    in_s3(&[&["copy", ocean.to_str().unwrap(), "s3://bucket/whole"], &options[..]].concat()).ends(0);
    let plan = ["copy", ocean.to_str().unwrap(), "s3://bucket/air/target", "--plan", "3", "plan.json"];
    in_s3(&[&plan, &options[..]].concat()).ends(0);
    in_s3(&["copy", "--part", "0", "plan.json"]).ends(0);
    assert!(!all("air/").is_empty());
    in_s3(&["copy", "--discard", "plan.json"]).ends(0);
    assert_eq!(all("air/"), BTreeMap::new(), "nothing is left of a copy that is given up");
    fs::remove_file(place.path("plan.json")).unwrap();
    in_s3(&[&plan, &options[..]].concat()).ends(0);
    in_s3(&["copy", ocean.to_str().unwrap(), "s3://bucket/air/target"]).ends(3);
    in_s3(&["copy", "--part", "2", "plan.json"]).ends(0);
    in_s3(&["copy", "--finish", "plan.json"])
        .ends(3)
        .says(&["2 of 3 parts are not complete: 0-1", "--part 0-1"]);
    assert!(all("air/target/").keys().all(|key| !key.ends_with("zarr.json")));
    in_s3(&["info", "s3://bucket/air/target"]).ends(3);
    in_s3(&["copy", "--part", "1,0,2", "plan.json"]).ends(0);
    // An object is lost; the plan is also kept in S3.
    let kept = "s3://bucket/air/target.ncz-parts/plan.json";
    let lost = all("air/target/").into_keys().find(|key| key.contains("/c/")).unwrap();
    server.remove("bucket", &format!("air/target/{lost}"));
    let missing = in_s3(&["copy", "--finish", kept]).ends(3).says(&["1 of 3 parts is not complete"]);
    let (_, command) = missing.stderr.split_once("run ncz copy --part ").unwrap();
    let part = command.split_whitespace().next().unwrap().to_owned();
    in_s3(&["copy", "--part", &part, kept]).ends(0);
    in_s3(&["copy", "--finish", kept, "--verify"]).ends(0);
    assert!(all("whole/").len() > 20);
    assert_eq!(all("whole/"), all("air/target/"));
    assert_eq!(all("air/target.ncz-parts"), BTreeMap::new(), "records are left");
    for step in [["--part", "0", "plan.json"].as_slice(), &["--finish", "plan.json"]] {
        in_s3(&[&["copy"], step].concat()).ends(3).says(&["it was probably finished before"]);
    }
    in_s3(&["copy", "--finish", "plan.json", "--verify"]).ends(0);
    fs::remove_file(place.path("plan.json")).unwrap();
    in_s3(&plan).ends(3).says(&["s3://bucket/air/target exists already"]);
    assert!(!place.path("plan.json").exists());

    // Another program takes the target: nothing of it is taken for this copy.
    let taken = ["copy", ocean.to_str().unwrap(), "s3://bucket/taken", "--plan", "2", "taken.json"];
    in_s3(&taken).ends(0);
    in_s3(&["copy", "--part", "0-1", "taken.json"]).ends(0);
    in_s3(&["copy", ocean.to_str().unwrap(), "s3://bucket/taken", "--overwrite", "--codec", "none"]).ends(0);
    let before = all("taken/");
    in_s3(&["copy", "--finish", "taken.json"]).ends(3).says(&["another program has written there"]);
    in_s3(&["copy", "--part", "0", "taken.json"]).ends(3);
    assert_eq!(all("taken/"), before);

    // A chunk in S3 is replaced while the parts run.
    in_s3(&["copy", "s3://bucket/whole", "back", "--plan", "2", "plan.json"]).ends(0);
    in_s3(&["copy", "--part", "0", "plan.json"]).ends(0);
    let other = [
        "copy",
        ocean.to_str().unwrap(),
        "s3://bucket/whole",
        "--overwrite",
        "--codec",
        "none",
        "--format",
        "zarr3",
    ];
    in_s3(&other).ends(0);
    in_s3(&["copy", "--part", "1", "plan.json"]).ends(3).says(&["has changed since the plan was made"]);
    assert!(!place.path("back").exists());
}
