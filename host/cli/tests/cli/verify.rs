use std::fs;
use std::path::{Path, PathBuf};

use ncz_test_support::{fixtures, unpack};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{assert_same_data, dump, ncz, ocean};

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of the ocean to break.
fn sea() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sea.nczarr");
    copy_folder(&ocean(), &path);
    (folder, path)
}

fn run(path: &Path, options: &[&str]) -> crate::bench::Run {
    ncz(["verify", path.to_str().unwrap()].iter().chain(options))
}

/// Severity, code and key of each finding.
fn printed(json: &Value, list: &str) -> Vec<(String, String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = json[list].as_array().unwrap().iter();
    findings.map(|finding| (text(finding, "severity"), text(finding, "code"), text(finding, "key"))).collect()
}

#[test]
fn a_sound_dataset_ends_with_0_and_says_so_in_a_line() {
    let folder = unpack("zarr-python/v2-none.zip").unwrap();
    let run = run(folder.path(), &[]).ends(0);
    assert!(run.stdout.contains(": good; "), "{}", run.stdout);
    assert!(run.stdout.contains("no checksum"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn what_other_programs_misread_is_a_finding_and_is_repaired_in_place() {
    let (_folder, path) = sea();
    let before = run(&path, &["--json"]).ends(1).json();
    assert_eq!((&before["errors"], &before["warnings"]), (&json!(0), &json!(3)));
    assert_eq!(before["sound"], json!(false));
    let files = |path: &Path| {
        let text = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        [text("air_temperature/.zarray"), text("model/salinity/.zattrs")]
    };
    let untouched = files(&path);
    let dry = run(&path, &["--repair", "--dry-run"]).ends(1).says(&["nothing was changed"]);
    assert!(dry.stdout.contains("would repair /air_temperature"), "{}", dry.stdout);
    assert_eq!(files(&path), untouched);
    let repaired = run(&path, &["--repair", "--json"]).ends(0).json();
    assert_eq!(repaired["sound"], json!(true));
    let codes: Vec<String> = printed(&repaired, "repaired").into_iter().map(|(_, code, _)| code).collect();
    assert_eq!(codes.iter().filter(|code| *code == "shuffle-size-zero").count(), 3);
    // Only the number has changed.
    assert_eq!(files(&path)[0], untouched[0].replace(r#""elementsize": 0"#, r#""elementsize": 4"#));
    assert_same_data(&ocean(), &path);
    let again = run(&path, &["--repair"]).ends(0);
    assert!(!again.stdout.contains("repaired"), "{}", again.stdout);
}

#[test]
fn a_repaired_copy_leaves_the_dataset_as_it_is() {
    let (folder, path) = sea();
    let target = folder.path().join("out.nczarr");
    let before = fs::read_to_string(path.join("air_temperature/.zarray")).unwrap();
    let repaired = run(&path, &["--repair-to", target.to_str().unwrap()]).ends(0);
    assert!(repaired.stdout.contains("out.nczarr: good"), "{}", repaired.stdout);
    assert_eq!(fs::read_to_string(path.join("air_temperature/.zarray")).unwrap(), before);
    assert_same_data(&path, &target);
    run(&target, &[]).ends(0);
    run(&path, &["--repair-to", target.to_str().unwrap()]).ends(3).says(&["replaces nothing"]);
}

#[test]
fn what_a_repaired_copy_has_otherwise_or_not_at_all_is_said() {
    let (folder, path) = sea();
    fs::write(path.join("README"), "x").unwrap();
    let to = |name: &str| folder.path().join(name).display().to_string();
    run(&path, &["--repair-to", &format!("{}#mode=zarr", to("pure.zarr"))])
        .ends(0)
        .says(&["no unlimited dimensions; fixed are: /time", "refer to it: README"]);
    run(&path, &["--repair-to", &format!("{}#mode=nczarr,noxarray", to("nox.zarr"))]).ends(0);
    let zattrs = fs::read_to_string(folder.path().join("nox.zarr/lat/.zattrs")).unwrap();
    assert!(!zattrs.contains("_ARRAY_DIMENSIONS"), "{zattrs}");
    run(&path, &["--repair-to", &format!("{}#mode=v3,noxarray", to("v3.zarr"))]).ends(2).says(&["noxarray"]);
    assert!(!folder.path().join("v3.zarr").exists());
}

#[test]
fn repairing_reads_the_version_that_the_mode_names() {
    let (_folder, path) = sea();
    fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let chosen = format!("{}#mode=v2", path.display());
    let printed = ncz(["verify", &path.display().to_string()]).ends(3);
    let printed = printed.says(&["#mode=v2"]);
    assert_eq!(printed.stdout, "");
    let printed = ncz(["verify", &chosen, "--repair", "--dry-run"]);
    assert!(printed.stdout.contains("would repair /air_temperature"), "{}", printed.stdout);
    ncz(["verify", &chosen, "--repair"]);
    let repaired = ncz(["verify", &chosen, "--json"]).stdout;
    assert!(!repaired.contains("shuffle-size-zero"), "{repaired}");
}

#[test]
fn old_generations_become_new_ones_in_a_copy_only() {
    let source = unpack("netcdf-c-4.9.0/nczarr/simple.zip").unwrap();
    let printed = run(source.path(), &["--repair", "--dry-run"]);
    assert!(printed.stdout.contains("old-generation"), "{}", printed.stdout);
    assert!(printed.stdout.contains("--repair-to"), "{}", printed.stdout);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new.nczarr");
    run(source.path(), &["--repair-to", target.to_str().unwrap()]).ends(0);
    assert!(!run(&target, &["--json"]).stdout.contains("old-generation"));
}

#[test]
fn damage_is_reported_with_its_location_and_unrepairable_damage_stays() {
    let (_folder, path) = sea();
    let chunk = path.join("model/salinity/1.0.1");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[4..]).unwrap();
    let tail = path.join("model/salinity/0.0.0");
    let sound = fs::read(&tail).unwrap();
    fs::write(&tail, [&sound[..], b"older"].concat()).unwrap();
    let shown = run(&path, &[]).ends(1);
    for text in
        ["error /model/salinity chunk 1,0,1 (model/salinity/1.0.1) chunk-damaged", "2 errors, 3 warnings"]
    {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    let json = run(&path, &["--repair", "--json"]).ends(1).json();
    let left: Vec<_> =
        printed(&json, "findings").into_iter().filter(|(severity, ..)| severity == "error").collect();
    assert_eq!(left, [("error".to_owned(), "chunk-damaged".to_owned(), "model/salinity/1.0.1".to_owned())]);
    assert_eq!(fs::read(&tail).unwrap(), sound);
    let finding =
        json["findings"].as_array().unwrap().iter().find(|finding| finding["severity"] == "error").unwrap();
    assert_eq!(finding["chunk"], json!([1, 0, 1]));
    assert_eq!(finding["variable"], "/model/salinity");
    let salinity = json["variables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|variable| variable["path"] == "/model/salinity")
        .unwrap();
    assert_eq!((&salinity["chunks"], &salinity["faulty"]), (&json!(12), &json!(1)));
    let quiet = run(&path, &["-q"]).ends(1);
    assert_eq!(quiet.stdout.lines().count(), 1, "errors only: {}", quiet.stdout);
}

#[test]
fn the_reason_for_a_missing_codec_is_reported_once() {
    let (_folder, path) = sea();
    for variable in ["air_temperature", "sea_surface_temperature", "model/salinity"] {
        let document = path.join(variable).join(".zarray");
        let text = fs::read_to_string(&document).unwrap().replace(r#""id": "zlib""#, r#""id": "nowhere""#);
        fs::write(&document, text).unwrap();
    }
    let shown = run(&path, &["-q"]).ends(1).stdout;
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert_eq!(shown.matches("not built in").count(), 1, "{shown}");
    assert_eq!(shown.matches(": same as for /air_temperature").count(), 2, "{shown}");
    // Each says its own configuration, and programs get the whole of each.
    assert_eq!(shown.matches(r#""level":6"#).count(), 1, "{shown}");
    let json = run(&path, &["--json"]).ends(1).json().to_string();
    assert_eq!(json.matches("not built in").count(), 3, "{json}");
}

#[test]
fn a_dataset_that_does_not_open_is_explained_and_opens_when_it_is_repaired() {
    let (_folder, path) = sea();
    let zattrs = path.join(".zattrs");
    let text = fs::read_to_string(&zattrs).unwrap();
    fs::write(&zattrs, format!("{text}, \"history\": \"older\"}}")).unwrap();
    ncz(["info", path.to_str().unwrap()]).ends(3);
    let printed = run(&path, &[]).ends(1);
    for text in ["document-tail", "does not open", "--repair fixes it"] {
        assert!(printed.stdout.contains(text), "{text}: {}", printed.stdout);
    }
    run(&path, &["--repair"]).ends(0);
    assert_same_data(&ocean(), &path);
    fs::write(&zattrs, "no JSON at all").unwrap();
    let lost = run(&path, &["--repair"]).ends(1);
    assert!(lost.stdout.contains("document-damaged"), "{}", lost.stdout);
    assert_eq!(fs::read_to_string(&zattrs).unwrap(), "no JSON at all");
}

#[test]
fn a_disputed_shuffle_and_a_byte_order_are_settled_by_the_user() {
    let (folder, path) = sea();
    let zarray = path.join("model/salinity/.zarray");
    let text = fs::read_to_string(&zarray).unwrap();
    fs::write(&zarray, text.replace(r#""elementsize": 0"#, r#""elementsize": 2"#)).unwrap();
    let printed = run(&path, &["--repair"]).ends(1);
    assert!(printed.stdout.contains("--repair --shuffle-size fixes it"), "{}", printed.stdout);
    // Chunks would have to be encoded again, and the new ones could not be distinguished from the old.
    let kept = run(&path, &["--repair", "--shuffle-size", "stored"]).ends(1);
    assert!(
        kept.stdout.contains("shuffle-size-disputed") && kept.stdout.contains("--repair-to"),
        "{}",
        kept.stdout
    );
    let target = folder.path().join("out.nczarr");
    run(&path, &["--repair-to", target.to_str().unwrap(), "--shuffle-size", "stored"]).ends(0);
    let stored = ncz(["dump", "-n", "d", "--shuffle-size", "stored", path.to_str().unwrap()]).ends(0).stdout;
    assert_eq!(dump(&target), stored);
    run(&path, &["--repair", "--shuffle-size", "type"]).ends(0);
    assert_same_data(&ocean(), &path);

    fs::write(&zarray, fs::read_to_string(&zarray).unwrap().replace(r#"">f4""#, r#""|f4""#)).unwrap();
    assert!(run(&path, &[]).ends(1).stdout.contains("byte-order-missing"));
    run(&path, &["--repair", "--byte-order", "model/salinity=big"]).ends(0);
    assert_same_data(&ocean(), &path);
    run(&path, &["--repair", "--byte-order", "lat=big"]).ends(2).says(&["not in doubt"]);
    run(&path, &["--byte-order", "lat=big"]).ends(2).says(&["--repair"]);
    run(&path, &["--repair", "--byte-order", "lat=middle"]).ends(2);
}

#[test]
fn variables_are_chosen_by_name_and_unknown_ones_are_refused() {
    let names = run(&ocean(), &["--variables", "lat,model/salinity", "--json"]).ends(1).json();
    let paths: Vec<&str> = names["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["/lat", "/model/salinity"]);
    run(&ocean(), &["--variables", "lattitude"]).ends(2).says(&["lattitude", "lat"]);
    run(Path::new("nowhere.zarr"), &[]).ends(3);
    run(&ocean(), &["--repair", "--repair-to", "x"]).ends(2);
    run(&ocean(), &["--dry-run"]).ends(2);
}

#[test]
fn an_archive_is_repaired_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endian.zip");
    fs::copy(fixtures().join("netcdf-c-4.10.2/nczarr-own-zip/endian.zip"), &path).unwrap();
    let before = run(&path, &["--json"]).ends(1).json();
    assert!(
        printed(&before, "findings").iter().any(|(_, code, _)| code == "shuffle-size-zero"),
        "{before:#}"
    );
    let shown = dump(&path);
    run(&path, &["--repair"]).ends(0);
    run(&path, &[]).ends(0);
    assert_eq!(dump(&path), shown);
}

/// A terminal obeys control characters, and a line end makes a second message of one.
#[test]
fn control_characters_in_names_of_files_are_escaped() {
    let (folder, path) = sea();
    fs::write(path.join("lat/a\x1b[31mb\nerror: c"), "").unwrap();
    let copy = folder.path().join("copy");
    let copied = ncz([Path::new("copy"), &path, &copy]).ends(0);
    let missing = ncz(["info", folder.path().join("no\x1b[2J").to_str().unwrap()]).ends(3);
    let verified = run(&path, &[]);
    for printed in [&verified.stdout, &copied.stderr, &missing.stderr] {
        assert!(!printed.contains('\x1b') && printed.contains("\\u{1b}["), "{printed}");
        assert!(!printed.lines().any(|line| line.starts_with("error: c")), "{printed}");
    }
}
