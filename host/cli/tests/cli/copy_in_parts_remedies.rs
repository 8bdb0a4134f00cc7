use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::bench::{Run, assert_same_data, big_dataset, ncz, ocean, run};
use crate::copy_in_parts::{Place, assert_same_objects};

/// Writes the same bytes again, later.
fn touch(path: &Path) {
    let bytes = fs::read(path).unwrap();
    sleep(Duration::from_millis(20));
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_that_references_lead_to_is_part_of_the_source() {
    for references in ["refs.json", "refs.parq"] {
        let place = Place::new();
        ncz([Path::new("copy"), &ocean(), &place.path("source.nc")]).ends(0);
        place.ncz(&["copy", "source.nc", references]).ends(0);
        // Kerchunk does not note what it has seen.
        let noted = match references.ends_with("json") {
            true => place.path(references),
            false => place.path(references).join(".zmetadata"),
        };
        let text = fs::read_to_string(&noted).unwrap();
        fs::write(&noted, text.replacen("\"ncz_sources\"", "\"others\"", 1)).unwrap();
        place.plan(Path::new(references), "target", "3", &[]).ends(0);
        place.part("0-1").ends(0);
        touch(&place.path("source.nc"));
        let refused = place.part(2).ends(3);
        refused.says(&[references, "has changed since the plan was made", "make a new plan"]);
        place.finish().ends(3).says(&["1 of 3 parts is not complete: 2"]);
    }
}

#[test]
fn numbers_without_a_part_have_nothing_to_do() {
    let place = Place::new();
    place.plan(&ocean(), "target", "1000", &[]).ends(0);
    let plan: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path("plan.json")).unwrap()).unwrap();
    let count = plan["parts"].as_array().unwrap().len();
    assert!(count < 999);
    let says = format!("nothing to do; the plan has {count} parts");
    let done = place.part(999).ends(0);
    assert!(done.stdout.contains(&says), "{}", done.stdout);
    place.part(1000).ends(2).says(&["there is no part 1000"]);
    place.part(format!("0-{}", count + 3)).ends(0);
    place.finish().ends(0);
    assert_same_data(&ocean(), &place.path("target"));
}

#[test]
fn a_copy_is_finished_without_its_source() {
    let place = Place::new();
    ncz([Path::new("copy"), &ocean(), &place.path("source.nc")]).ends(0);
    place.plan(Path::new("source.nc"), "target", "3", &[]).ends(0);
    place.part("0-2").ends(0);
    touch(&place.path("source.nc"));
    let verified = place.ncz(&["copy", "--finish", "plan.json", "--verify"]).ends(3);
    verified.says(&["source.nc has changed since the plan was made"]);
    fs::remove_file(place.path("source.nc")).unwrap();
    place.finish().ends(0);
    assert_same_data(&ocean(), &place.path("target"));
}

#[test]
fn an_object_that_is_gone_or_cut_is_a_part_that_is_not_complete() {
    for (options, object, left) in [
        (&[][..], "sea_surface_temperature/1.0.0", None),
        (&["--format", "zarr3"], "sea_surface_temperature/c/1/0/0", None),
        (&["--format", "zarr3"], "lat/c/0", None),
        (&["--format", "zarr3"], "lat/c/0", Some(0)),
        (&["--codec", "none"], "sea_surface_temperature/1.0.0", Some(5)),
    ] {
        let place = Place::new();
        place.plan(&ocean(), "target", "5", options).ends(0);
        place.part("0-4").ends(0);
        let object = place.path("target.ncz-parts/data").join(object);
        match left {
            None => fs::remove_file(&object).unwrap(),
            Some(len) => fs::File::options().write(true).open(&object).unwrap().set_len(len).unwrap(),
        }
        let missing = place.finish().ends(3).says(&["1 of 5 parts is not complete"]);
        let (_, command) = missing.stderr.split_once("run ncz copy --part ").unwrap();
        let part = command.split_whitespace().next().unwrap().to_owned();
        place.part(part).ends(0);
        place.finish().ends(0);
        place.ncz(&[&["copy", ocean().to_str().unwrap(), "whole"], options].concat()).ends(0);
        assert_same_objects(&place.path("whole"), &place.path("target"));
    }
}

#[test]
fn a_source_that_changed_is_not_a_codec_that_is_wrong() {
    let place = Place::new();
    let source = big_dataset(place.folder.path(), 6, 500);
    place.plan(&source, "target", "3", &["--compress"]).ends(0);
    place.part("0-2").ends(0);
    let chunk = source.join("t/3");
    sleep(Duration::from_millis(20));
    fs::write(&chunk, vec![1; fs::read(&chunk).unwrap().len()]).unwrap();
    let refused = place
        .ncz(&["copy", "--finish", "plan.json", "--verify"])
        .ends(3)
        .says(&["has changed since the plan was made"]);
    assert!(!refused.stderr.contains("codec"), "{}", refused.stderr);
    assert!(!place.path("target").exists());
}

#[test]
fn verifying_names_the_part_that_is_damaged() {
    let damage = |object: &Path| {
        let mut bytes = fs::read(object).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        fs::write(object, bytes).unwrap();
    };
    let place = Place::new();
    let verify = ["copy", "--finish", "plan.json", "--verify"];
    place.plan(&ocean(), "target", "5", &["--codec", "none"]).ends(0);
    place.part("0-4").ends(0);
    let object = "sea_surface_temperature/1.0.0";
    damage(&place.path("target.ncz-parts/data").join(object));
    let refused = place.ncz(&verify).ends(3).says(&["sea_surface_temperature", "makes the part again"]);
    assert!(!refused.stderr.contains("run the same command again"), "{}", refused.stderr);
    let (_, command) = refused.stderr.split_once("ncz copy --part ").unwrap();
    place.part(command.split_whitespace().next().unwrap().to_owned()).ends(0);
    place.ncz(&verify).ends(0);
    damage(&place.path("target").join(object));
    let refused = place.ncz(&verify).ends(3).says(&["finished copy", "remove the target, and copy again"]);
    assert!(!refused.stderr.contains("as it was before"), "{}", refused.stderr);
}

#[test]
fn several_finishes_at_the_same_time_make_one_copy() {
    for _ in 0..4 {
        let place = Place::new();
        place.plan(&ocean(), "target", "3", &[]).ends(0);
        place.part("0-2").ends(0);
        let finish = || run(place.command().args(["copy", "--finish", "plan.json"]));
        let done: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..6).map(|_| scope.spawn(finish)).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        // One that begins when another has ended sees only the metadata.
        let is_late = |done: &Run| done.code == 3 && done.stderr.contains("it was probably finished before");
        assert!(done.iter().all(|done| done.code == 0 || is_late(done)), "{done:#?}");
        assert!(done.iter().any(|done| done.code == 0), "{done:#?}");
        assert_same_data(&ocean(), &place.path("target"));
        assert!(!place.path("target.ncz-parts").exists());
    }
}

#[test]
fn a_part_that_still_runs_says_that_the_copy_is_finished() {
    let place = Place::new();
    let source = big_dataset(place.folder.path(), 16, 60_000);
    let options = ["--codec", "lzma", "--format", "zarr3"];
    place.plan(&source, "target", "2", &options).ends(0);
    place.part("0-1").ends(0);
    let mut again = place.command();
    again
        .args(["copy", "--part", "0", "plan.json", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let again = again.spawn().unwrap();
    // It writes its first chunk once more.
    let chunk = place.path("target.ncz-parts/data/t/c/0");
    let before = fs::metadata(&chunk).unwrap().modified().unwrap();
    let start = Instant::now();
    while fs::metadata(&chunk).is_ok_and(|now| now.modified().unwrap() == before) {
        assert!(start.elapsed() < Duration::from_secs(60), "the part writes nothing");
        sleep(Duration::from_millis(2));
    }
    place.finish().ends(0);
    let said = again.wait_with_output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(3), "{text}");
    assert!(text.contains("it was probably finished before"), "{text}");
    assert!(!place.path("target.ncz-parts").exists());
    assert_same_data(&source, &place.path("target"));
}

#[test]
fn a_folder_that_belongs_to_no_plan_may_be_removed() {
    let place = Place::new();
    let says = ["target.ncz-parts is there, but not all of what says which plan it is of", "remove it"];
    let staging = place.path("target.ncz-parts");
    // As a program leaves it that is killed at once.
    fs::create_dir(&staging).unwrap();
    place.plan(&ocean(), "target", "2", &[]).ends(3).says(&says);
    fs::remove_dir(&staging).unwrap();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.part("0").ends(0);
    fs::remove_file(staging.join("claim.json")).unwrap();
    for step in [&["copy", "--part", "0", "plan.json"][..], &["copy", "--discard", "plan.json"]] {
        place.ncz(step).ends(3).says(&says);
    }
    let source = ocean();
    let other = ["copy", source.to_str().unwrap(), "target", "--plan", "2", "other.json"];
    place.ncz(&other).ends(3).says(&says);
    fs::remove_dir_all(&staging).unwrap();
    place.ncz(&other).ends(0);
    // As one leaves it that is killed when it removes the parts.
    for name in ["data", "plan.json"] {
        let path = staging.join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    place.plan(&ocean(), "target", "2", &[]).ends(2).says(&["plan.json exists already"]);
    place.ncz(&["copy", "--discard", "other.json"]).ends(0);
    assert!(!staging.exists());
}

#[test]
fn a_copy_that_cannot_be_removed_is_not_complete() {
    let place = Place::new();
    place.plan(&ocean(), "target", "2", &[]).ends(0);
    place.part("0").ends(0);
    let plan = place.path("target.ncz-parts/plan.json");
    fs::remove_file(&plan).unwrap();
    fs::create_dir(&plan).unwrap();
    let refused = place
        .ncz(&["copy", "--discard", "plan.json"])
        .ends(3)
        .says(&["target.ncz-parts could not be removed as a whole"]);
    assert!(!refused.stderr.contains("complete"), "{}", refused.stderr);
    fs::remove_dir(&plan).unwrap();
    place.ncz(&["copy", "--discard", "plan.json"]).ends(0);
    assert!(!place.path("target.ncz-parts").exists());
}

#[test]
fn a_plan_never_replaces_a_file() {
    let place = Place::new();
    let source = ocean();
    let source = source.to_str().unwrap();
    // FILE and SOURCE in the other order.
    let refused = place
        .ncz(&["copy", "--plan", "64", source, "target", "plan.json"])
        .ends(2)
        .says(&["exists already", "ncz copy SOURCE TARGET --plan N FILE"]);
    assert!(!refused.stderr.contains("remove"), "{}", refused.stderr);
    // Of several plans at the same time in one file there is one.
    let plan = |number: usize| {
        let target = format!("target{number}");
        run(place.command().args(["copy", source, &target, "--plan", "3", "plan.json"]))
    };
    let done: Vec<_> = std::thread::scope(|scope| {
        let plan = &plan;
        let calls: Vec<_> = (0..6).map(|number| scope.spawn(move || plan(number))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let codes: Vec<i32> = done.iter().map(|done| done.code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{done:#?}");
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 5, "{done:#?}");
    place.part("0-2").ends(0);
    place.finish().ends(0);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 2, "the plan and its target");
}

#[test]
fn folders_may_have_a_hash_in_their_names() {
    for folder in ["r#1", "m#mode=zarr"] {
        let place = Place::new();
        fs::create_dir(place.path(folder)).unwrap();
        let here = |args: &[&str]| run(place.command().current_dir(place.path(folder)).args(args)).ends(0);
        here(&["copy", ocean().to_str().unwrap(), "b.nc"]);
        here(&["copy", "b.nc", "whole", "--format", "zarr"]);
        for (source, target) in [("b.nc", "o1#mode=zarr"), ("b.nc#mode=bytes", "o2"), ("b.nc", "o3")] {
            let name = target.get(..2).unwrap();
            here(&["copy", source, target, "--format", "zarr", "--plan", "2", &format!("{name}.json")]);
            here(&["copy", "--part", "0,1", &format!("{name}.ncz-parts/plan.json")]);
            here(&["copy", "--finish", &format!("{name}.json")]);
            assert_same_objects(&place.path(folder).join("whole"), &place.path(folder).join(name));
        }
    }
}
