use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::{Run, assert_same_data, big_dataset, command, ncz, ocean};

fn copy(source: &Path, target: &Path, options: &[&str]) -> Run {
    ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap()].iter().chain(options))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn zarray(target: &Path, variable: &str) -> serde_json::Value {
    serde_json::from_slice(&fs::read(target.join(variable).join(".zarray")).unwrap()).unwrap()
}

#[test]
fn a_part_has_the_variables_that_were_named_and_their_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("part.nczarr");
    let options = ["--variables", "air_temperature", "--slab", "time=0:3,lat=10:20:2", "--verify"];
    copy(&ocean(), &target, &options).ends(0);
    assert_eq!(names(&target), ["air_temperature", "lat", "lon", "time"]);
    assert_eq!(zarray(&target, "air_temperature")["shape"], json!([3, 5, 144]));
    assert_eq!(zarray(&target, "lat")["shape"], json!([5]));
    let whole = ncz([Path::new("dump"), &ocean(), Path::new("-v"), Path::new("lat")]).ends(0).stdout;
    let part = ncz([Path::new("dump"), &target, Path::new("-v"), Path::new("lat")]).ends(0).stdout;
    let values = |text: &str| -> Vec<String> {
        let data = text.split_once("lat = ").unwrap().1.split_once(';').unwrap().0.to_owned();
        // The first is the header's attribute or length; what follows data: are the values.
        let data = text.split_once("data:").map_or(data, |(_, data)| data.to_owned());
        let data = data.split_once("lat = ").unwrap().1.split_once(';').unwrap().0.to_owned();
        data.split(',').map(|value| value.trim().to_owned()).collect()
    };
    let (whole, part) = (values(&whole), values(&part));
    assert_eq!(part, [10, 12, 14, 16, 18].map(|at: usize| whole[at].clone()));
}

#[test]
fn parts_that_do_not_exist_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("part.nczarr");
    for (options, wanted) in [
        (["--variables", "air_temperatur"], "did you mean \"/air_temperature\""),
        (["--exclude", "nothing"], "there is no variable \"nothing\""),
        (["--groups", "modell"], "there is no group \"modell\""),
        (["--slab", "tme=0:3"], "there is no dimension \"tme\"; did you mean \"/time\"? known: /time"),
        (["--slab", "time=0:300"], "index 300 is outside dimension"),
        (["--slab", "time=3:3"], "selects no index"),
        (["--memory", "much"], "is not a size"),
    ] {
        copy(&ocean(), &target, &options).ends(2).says(&[wanted]);
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn what_cannot_be_read_is_named_with_the_way_round_it() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("in.nczarr"), folder.path().join("out.nczarr"));
    copy(&ocean(), &source, &["--codec", "zstd"]).ends(0);
    let text = fs::read_to_string(source.join("lat/.zarray")).unwrap();
    fs::write(source.join("lat/.zarray"), text.replace("zstd", "lz9")).unwrap();
    copy(&source, &target, &[]).ends(3).says(&[
        "the copy would lack /lat",
        "--exclude",
        "--skip-unreadable",
        "lz9",
    ]);
    assert!(!target.exists());
    copy(&source, &target, &["--exclude", "lat"]).ends(0);
    assert!(!names(&target).contains(&"lat".to_owned()));
    let skipped = copy(&source, &target, &["--skip-unreadable", "--overwrite", "--json"]).ends(1);
    assert_eq!(skipped.json()["unreadable"][0]["path"], json!("/lat"));
    skipped.says(&["left out because it cannot be read: /lat: ", "lz9"]);
}

#[test]
fn records_are_appended_and_a_second_time_from_another_location() {
    let folder = tempfile::tempdir().unwrap();
    let (first, rest) = (folder.path().join("first.nczarr"), folder.path().join("rest.zip"));
    copy(&ocean(), &first, &["--slab", "time=0:5"]).ends(0);
    copy(&ocean(), &rest, &["--slab", "time=5:", "--compress"]).ends(0);
    let ran = copy(&rest, &first, &["--append", "time", "--verify", "--json"]).ends(0).json();
    assert_eq!(ran["verified"], json!(true));
    assert_same_data(&ocean(), &first);
    // They are there, so they are not appended a second time.
    let again = copy(&rest, &first, &["--append", "time"]).ends(3);
    again.says(&["the target has its old length", "\"/time\" would not be in order", "--any-order"]);
    assert_same_data(&ocean(), &first);
    copy(&rest, &first, &["--any-order"]).ends(2).says(&["--append"]);
    copy(&first, &first, &["--append", "time"]).ends(2).says(&["cannot append", "to itself"]);
    copy(&rest, &first, &["--append", "depth"]).ends(3).says(&["the target has its old length"]);
    copy(&rest, &first, &["--append", "time", "--overwrite"]).ends(2);
    copy(&rest, &folder.path().join("none.zarr"), &["--append", "time"]).ends(3);
}

#[test]
fn an_append_that_was_interrupted_is_not_made_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (first, rest) = (folder.path().join("first.nczarr"), folder.path().join("rest.nczarr"));
    copy(&ocean(), &first, &["--slab", "time=0:5"]).ends(0);
    copy(&ocean(), &rest, &["--slab", "time=5:"]).ends(0);
    copy(&rest, &first, &["--append", "time"]).ends(0);
    let journal = first.join(".ncz-journal");
    assert!(!journal.exists());
    let on = |verb: &str, options: &[&str]| ncz([verb, first.to_str().unwrap()].iter().chain(options));
    on("info", &[]).ends(0);
    // As a program leaves it that is stopped before it has said that all is written.
    let leave = |source: &str| {
        let zattrs = fs::read_to_string(first.join(".zattrs")).unwrap();
        let left = json!({
            "version": 1, "id": "1", "lengths": [], "whole": false,
            "writer": {"host": "elsewhere", "boot": "", "process": 1, "started": 1},
            "append": {"source": source, "part": "all", "dimension": "/time", "old": 5, "new": 16},
            "documents": [{"key": ".zattrs", "was": null, "text": zattrs}],
        });
        fs::write(&journal, left.to_string()).unwrap();
    };
    leave(rest.canonicalize().unwrap().to_str().unwrap());
    let printed = "along \"/time\", from 5 to 16, was interrupted when all was written";
    let info = on("info", &[]).ends(1);
    assert!(
        info.stdout.contains(printed) && info.stdout.contains("appends nothing twice"),
        "{}",
        info.stdout
    );
    let verified = on("verify", &["--json"]).ends(1).json();
    assert_eq!(verified["findings"][0]["code"], json!("interrupted-growth"));
    on("verify", &["--repair", "--dry-run"]).ends(1);
    assert!(journal.exists());
    let again = copy(&rest, &first, &["--append", "time", "--json"]).ends(0);
    assert_eq!(again.json()["variables"], json!([]));
    again.says(&[printed, "nothing was appended a second time"]);
    assert!(!journal.exists());
    assert_same_data(&ocean(), &first);

    leave("elsewhere");
    on("verify", &["--repair"]).ends(0);
    assert!(!journal.exists());

    // Other records go after those that were.
    leave("elsewhere");
    copy(&ocean(), &first, &["--append", "time", "--slab", "time=0:1", "--any-order"])
        .ends(0)
        .says(&[printed, "it is finished"]);
    assert!(!journal.exists());
    assert_eq!(zarray(&first, "time")["shape"], json!([17]));
}

#[test]
fn records_that_a_lossy_codec_encodes_again_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (first, rest) = (folder.path().join("first.nczarr"), folder.path().join("rest.nczarr"));
    copy(&ocean(), &rest, &["--slab", "time=5:"]).ends(0);
    let bitround = r#"air_temperature={"id":"bitround","keepbits":9}"#;
    for (chunk, again) in [("time/4", 1), ("time/5", 0)] {
        let options = ["--slab", "time=0:5", "-c", chunk, "--codec", bitround, "--overwrite"];
        copy(&ocean(), &first, &options).ends(0);
        let ran = copy(&rest, &first, &["--append", "time", "--json"]).ends(0);
        let printed = "encoded again with bitround, because new records share their chunks: 1 record of /air_temperature";
        assert_eq!(ran.stderr.contains(printed), again == 1, "{}", ran.stderr);
        let variables = ran.json()["variables"].clone();
        for variable in variables.as_array().unwrap() {
            let is_lossy = variable["path"] == "/air_temperature";
            assert_eq!(variable["encoded_again"], json!(if is_lossy { again } else { 0 }), "{variable}");
        }
    }
}

/// A copy that takes long, with one thread.
fn slow(source: &Path, target: &Path) -> std::process::Command {
    let mut command = command();
    command.arg("copy").args([source, target]).args(["--codec", "bz2,9", "--threads", "1", "--resume"]);
    command
}

/// Starts it, and waits until `chunks` of its chunks are there.
fn started(source: &Path, target: &Path, chunks: u64) -> (std::process::Child, PathBuf) {
    let partial = target.with_file_name("copy.zarr.ncz-partial");
    let mut child = slow(source, target).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while !partial.join(format!("data/t/{}", chunks - 1)).exists() {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none(), "the copy did not start");
        std::thread::sleep(Duration::from_millis(2));
    }
    (child, partial)
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let source = big_dataset(folder.path(), 60, 1 << 15);
    let targets = folder.path().join("targets");
    fs::create_dir(&targets).unwrap();
    let target = targets.join("copy.zarr");
    let (mut child, partial) = started(&source, &target, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!target.exists() && partial.exists());
    let chunk = partial.join("data/t/0");
    let made = fs::metadata(&chunk).unwrap().modified().unwrap();

    let (child, _) = started(&source, &target, 5);
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("resuming the copy in") && stderr.contains("run the same command again to resume"),
        "{stderr}"
    );
    assert_eq!(fs::metadata(&chunk).unwrap().modified().unwrap(), made, "what was there is kept");

    let other =
        ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap(), "--resume", "--codec", "zstd"]);
    other.ends(2).says(&["it was begun with other options", "remove that folder"]);
    let output = slow(&source, &target).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(names(&targets), ["copy.zarr"], "nothing else is left");
    assert_eq!(fs::metadata(target.join("t/0")).unwrap().modified().unwrap(), made);
    assert_eq!(
        fs::read_dir(&target)
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".ncz") })
            .count(),
        0
    );
    assert_same_data(&source, &target);
    let again = ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap(), "--resume"]);
    again.ends(2).says(&["exists already"]);
}

#[test]
fn a_source_that_changed_meanwhile_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let source = big_dataset(folder.path(), 60, 1 << 15);
    let target = folder.path().join("copy.zarr");
    let (mut child, partial) = started(&source, &target, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let chunk = source.join("t/59");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, bytes.iter().map(|byte| !byte).collect::<Vec<u8>>()).unwrap();
    let output = slow(&source, &target).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the source has changed since"), "{stderr}");
    fs::remove_dir_all(partial).unwrap();
    let zip = folder.path().join("copy.zip");
    assert_eq!(slow(&source, &zip).output().unwrap().status.code(), Some(0));
    assert_same_data(&source, &zip);
    assert!(!folder.path().join("copy.zip.ncz-partial").exists());
}

/// The most memory that a child of this process had, in KiB; nextest gives each test a process of its own.
#[cfg(target_os = "linux")]
fn peak() -> i64 {
    nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()
}

#[test]
#[cfg(target_os = "linux")]
fn rows_become_columns_in_the_memory_that_was_given() {
    const ROWS: usize = 2048;
    const COLUMNS: usize = 8192;
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("rows.zarr"), folder.path().join("columns.zarr"));
    fs::create_dir_all(source.join("v")).unwrap();
    fs::write(source.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(
        source.join("v/.zarray"),
        format!(
            r#"{{"zarr_format": 2, "shape": [{ROWS}, {COLUMNS}], "chunks": [1, {COLUMNS}], "dtype": "<i4", "fill_value": 0, "order": "C", "compressor": null, "filters": null}}"#
        ),
    )
    .unwrap();
    for row in 0..ROWS {
        let values: Vec<u8> =
            (0..COLUMNS).flat_map(|at| ((row * COLUMNS + at) as i32).to_le_bytes()).collect();
        fs::write(source.join(format!("v/{row}.0")), values).unwrap();
    }
    let chunks = format!("v:{ROWS},1");
    copy(&source, &target, &["-c", &chunks, "--memory", "8MiB", "-q"]).ends(0);
    // 64 MiB go through 8 MiB and what the program is by itself.
    let most = peak();
    assert!(most < 48 << 10, "{most} KiB");
    for column in [0, 1, COLUMNS / 2, COLUMNS - 1] {
        let wanted: Vec<u8> =
            (0..ROWS).flat_map(|row| ((row * COLUMNS + column) as i32).to_le_bytes()).collect();
        assert!(fs::read(target.join(format!("v/0.{column}"))).unwrap() == wanted, "column {column}");
    }
    assert_eq!(names(folder.path()), ["columns.zarr", "rows.zarr"], "the scratch file has no name");
}
