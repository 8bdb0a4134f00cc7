//! `ncz copy SOURCE TARGET.json`.

use std::fs;

use crate::bench::{ncz, ocean};

#[test]
fn references_have_the_values_of_their_source_and_are_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (source, target) = (ocean().to_str().unwrap().to_owned(), path("ocean.json"));
    let run = ncz(["copy", &source, &target]).ends(0);
    assert!(run.stdout.contains("references to"), "{}", run.stdout);
    assert!(run.stdout.contains("0 missing"), "{}", run.stdout);
    for variable in ["air_temperature", "model/salinity", "time"] {
        let values = |dataset: &str| ncz(["cat", dataset, variable]).ends(0).stdout;
        assert_eq!(values(&target), values(&source), "{variable}");
    }
    ncz(["verify", &target]).ends(0);

    let written = fs::read(&target).unwrap();
    let refused = ncz(["copy", &source, &target, "--exclude", "time"]).ends(2);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    assert_eq!(fs::read(&target).unwrap(), written);
    ncz(["copy", &source, &target, "--exclude", "time", "--overwrite"]).ends(0);
    assert!(fs::read(&target).unwrap().len() < written.len());

    let other = path("other.json");
    fs::write(&other, "[1]").unwrap();
    let refused = ncz(["copy", &source, &other, "--overwrite"]).ends(2);
    assert!(refused.stderr.contains("not a file of references"), "{}", refused.stderr);
    assert_eq!(fs::read(&other).unwrap(), b"[1]");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary files are left");
}

#[test]
fn options_that_change_chunks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (ocean(), folder.path().join("ocean.json"));
    let run = ncz(["copy", source.to_str().unwrap(), target.to_str().unwrap(), "--codec", "zstd,3"]).ends(2);
    assert!(run.stderr.contains("--codec does not apply"), "{}", run.stderr);
    assert!(!target.exists());
}

#[test]
fn several_sources_are_joined_in_the_order_of_their_coordinate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ocean, json, zarr) = (ocean().to_str().unwrap().to_owned(), path("two.json"), path("two.zarr"));
    let run = ncz(["copy", &ocean, &ocean, &json]).ends(2);
    assert!(run.stderr.contains("--concat"), "{}", run.stderr);
    for target in [&json, &zarr] {
        let run = ncz(["copy", "--concat", "time", &ocean, &ocean, target]).ends(3);
        assert!(
            run.stderr.contains("is not in order") && run.stderr.contains("--any-order"),
            "{}",
            run.stderr
        );
        ncz(["copy", "--concat", "time", "--any-order", &ocean, &ocean, target]).ends(0);
        let values = |dataset: &str| ncz(["cat", dataset, "time"]).ends(0).stdout;
        assert_eq!(values(target), values(&ocean).repeat(2));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary files are left");
    let run = ncz(["copy", &ocean, &path("none/x.json")]).ends(3);
    assert!(run.stderr.contains("none does not exist") && !run.stderr.contains(".ncz-"), "{}", run.stderr);
}

#[test]
fn references_have_the_notes_of_a_copy_in_their_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, file, target) = (path("d.cdl"), path("d.nc"), path("d.json"));
    let cdl = "netcdf d { types: compound c {int a; float b;}; byte enum e {no = 0, yes = 1}; dimensions: t = UNLIMITED; \
               variables: e v(t); e v:_FillValue = yes; int t(t); c :pair = {1, 2}; data: v = no, yes; t = 1, 2; }";
    fs::write(&text, cdl).unwrap();
    ncz(["gen", &text, "-o", &file]).ends(0);
    let said = [
        "/: its attribute \"pair\" of the user-defined type /c becomes JSON",
        "/v: its attribute \"_FillValue\" of the user-defined type /e becomes integers",
        "pure Zarr has no unlimited dimensions; fixed are: /t",
    ];
    ncz(["copy", &file, &path("d.zarr"), "--format", "zarr"]).ends(0).says(&said);
    ncz(["copy", &file, &target]).ends(0).says(&said);
    let printed = ncz(["copy", &file, &target, "--overwrite", "--json"]).ends(0).json();
    let notes: Vec<&str> =
        printed["notes"].as_array().unwrap().iter().filter_map(|note| note.as_str()).collect();
    assert!(said.iter().all(|note| notes.contains(note)), "{notes:?}");
}

/// A file of CDF-1 with the variable `v` of 1000 integers.
fn classic() -> Vec<u8> {
    let mut header = b"CDF\x01".to_vec();
    let x = u32::from_be_bytes(*b"x\0\0\0");
    let v = u32::from_be_bytes(*b"v\0\0\0");
    let begin = 80;
    // Records; dimensions; attributes; variables: name, dimension, attributes, type, bytes, begin.
    for word in [0, 10, 1, 1, x, 1000, 0, 0, 11, 1, 1, v, 1, 0, 0, 0, 4, 4000, begin] {
        header.extend(u32::to_be_bytes(word));
    }
    assert_eq!(header.len() as u32, begin);
    header.extend((0..1000_u32).flat_map(u32::to_be_bytes));
    header
}

#[test]
fn a_file_that_changed_since_the_references_were_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let file = path("a.nc");
    fs::write(&file, classic()).unwrap();
    let targets: Vec<String> = match cfg!(feature = "parquet") {
        true => vec![path("a.json"), path("a.parq")],
        false => vec![path("a.json")],
    };
    for target in &targets {
        ncz(["copy", &file, target]).ends(0);
        ncz(["dump", target]).ends(0);
    }
    let old = fs::metadata(&file).unwrap().modified().unwrap();
    let set_time = |time| fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    set_time(old + std::time::Duration::from_secs(1));
    for target in &targets {
        for command in ["dump", "info", "verify"] {
            let refused = ncz([command, target]).ends(3);
            let stderr = refused.stderr;
            assert!(
                stderr.contains("a.nc") && stderr.contains("changed") && stderr.contains("stale-ok"),
                "{stderr}"
            );
        }
        ncz(["dump", &format!("file://{target}#mode=stale-ok")]).ends(0);
    }
    set_time(old);
    for target in &targets {
        ncz(["dump", target]).ends(0);
    }
    let mut bytes = fs::read(&file).unwrap();
    bytes.push(0);
    fs::write(&file, bytes).unwrap();
    set_time(old);
    for target in &targets {
        assert!(ncz(["dump", target]).ends(3).stderr.contains("changed"));
    }
}

#[cfg(feature = "http")]
#[test]
fn a_file_on_a_server_that_has_another_etag_is_refused_when_it_is_read() {
    let server = ncz_test_servers::HttpServer::empty(ncz_test_servers::HttpOptions::default()).unwrap();
    let mut file = classic();
    server.put("a.nc", file.clone());
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a.json").to_str().unwrap().to_owned();
    ncz(["copy", &server.url("a.nc"), &target]).ends(0);
    let before = ncz(["cat", &target, "v"]).ends(0).stdout;

    *file.last_mut().unwrap() = 7;
    server.put("a.nc", file);
    let refused = ncz(["cat", &target, "v"]).ends(3).stderr;
    assert!(refused.contains("ETag") && refused.contains("stale-ok"), "{refused}");
    let now = ncz(["cat", &format!("file://{target}#mode=stale-ok"), "v"]).ends(0).stdout;
    assert_ne!(now, before);
}
