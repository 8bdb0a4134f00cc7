use std::path::Path;

use ncz_test_support::{Python, python};
use serde_json::{Value, json};

use crate::bench::ncz;

const SCRIPT: &str = include_str!("verify_peers.py");

fn script(python: &Python, args: &[&str]) -> String {
    python.run_code(SCRIPT, args, &[]).unwrap().stdout_text()
}

/// What netcdf-c and zarr-python read.
fn read(python: &Python, path: &Path) -> [Value; 2] {
    let both: Value = serde_json::from_str(&script(python, &["read", path.to_str().unwrap()])).unwrap();
    [both["netcdf-c"].clone(), both["zarr-python"].clone()]
}

/// Makes a fault, verifies, repairs, and shows what both read before and after.
fn repaired(case: &str, code: &str) -> Option<[[Value; 2]; 2]> {
    let Ok(python) = python() else { return None };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.zarr");
    let name = path.to_str().unwrap();
    script(&python, &["make", case, name]);
    let before = read(&python, &path);
    let found = ncz(["verify", "--json", name]).ends(1).json();
    let codes: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&code), "{case}: {found:#}");
    ncz(["verify", "--repair", name]).ends(0);
    ncz(["verify", name]).ends(0);
    let after = read(&python, &path);
    for answer in &after {
        assert!(answer.get("error").is_none(), "{case}: {answer}");
    }
    assert_eq!(after[0]["values"], after[1]["values"], "{case}");
    Some([before, after])
}

/// 0, 1.5, 3 ...
fn numbers() -> Value {
    (0..60).map(|i| 1.5 * f64::from(i)).collect()
}

#[test]
fn the_shuffle_of_netcdf_c_is_read_right_by_zarr_python_when_it_is_repaired() {
    let Some([before, after]) = repaired("shuffle", "shuffle-size-zero") else { return };
    assert_eq!(before[0]["values"], numbers());
    assert_ne!(before[1]["values"], numbers(), "the trap is there");
    assert_eq!(after[1]["values"], numbers());
}

#[test]
fn texts_that_look_like_numbers_come_back_whole() {
    let Some([before, after]) = repaired("words", "document-words") else { return };
    assert!(before[1].get("error").is_some(), "zarr-python refuses it: {}", before[1]);
    assert_eq!(before[0]["attributes"]["number"], "1", "netcdf-c cuts it");
    let wanted = json!({"units": "nan", "code": "0x10", "version": "5.", "limit": "-inf", "number": "17", "flag": "true"});
    assert_eq!((&after[0]["attributes"], &after[1]["attributes"]), (&wanted, &wanted));
    assert_eq!(after[0]["values"], numbers());
}

#[test]
fn a_document_that_netcdf_c_wrote_over_a_longer_one_is_read_by_all_again() {
    let Some([before, after]) = repaired("document", "document-tail") else { return };
    assert!(before.iter().all(|answer| answer.get("error").is_some()), "{before:?}");
    for answer in after {
        assert_eq!(answer, json!({"values": numbers(), "attributes": {"units": "K"}}));
    }
}

#[test]
fn chunks_that_netcdf_c_wrote_over_longer_ones_are_cut() {
    let mut wanted = numbers();
    wanted.as_array_mut().unwrap()[20..40].fill(json!(7.0));
    for case in ["chunks", "chunks-bzip2", "chunks-zstd", "chunks-blosc"] {
        let Some([before, after]) = repaired(case, "chunk-tail") else { return };
        // Both refuse zstd with something after it.
        assert_eq!(
            before.iter().any(|answer| answer.get("error").is_some()),
            case == "chunks-zstd",
            "{before:?}"
        );
        assert_eq!(after[0]["values"], wanted, "{case}");
    }
}

#[test]
fn stale_consolidated_metadata_hide_nothing_any_more() {
    let Some([before, after]) = repaired("stale", "consolidated-stale") else { return };
    let len = |answer: &Value| answer["values"].as_array().unwrap().len();
    assert_eq!(before.each_ref().map(len), [80, 60]);
    assert_eq!(after.each_ref().map(len), [80, 80]);
}

#[test]
fn attributes_that_netcdf_c_refuses_are_shown_and_mean_the_same_to_zarr_python() {
    let Some([before, after]) = repaired("json-type", "attribute-refused") else { return };
    assert!(before[0].get("error").is_some(), "{}", before[0]);
    let wanted = json!({"object": "{\"k\": [1,2.5]}", "number": "17", "none": "[]", "mixed": "[1,\"a\"]"});
    assert_eq!(after[0]["attributes"], wanted);
    for name in ["object", "none", "mixed"] {
        assert_eq!(after[1]["attributes"][name], before[1]["attributes"][name]);
    }
    assert_eq!(after[0]["values"], numbers());
}

#[test]
fn metadata_that_some_readers_refuse_or_crash_on_are_read_by_all() {
    for (case, code, refused, value) in [
        ("text-fill", "fill-text-zero", [true, true], json!("")),
        ("list-fill", "fill-list", [false, true], json!(7)),
        ("no-fill", "fill-missing", [false, true], json!(0)),
        ("no-level", "zlib-level", [true, false], json!(0)),
        ("negative-level", "zlib-level", [true, false], json!(0)),
    ] {
        let Some([before, after]) = repaired(case, code) else { return };
        assert_eq!(
            before.each_ref().map(|answer| answer.get("error").is_some()),
            refused,
            "{case}: {before:?}"
        );
        assert_eq!(after[0]["values"], json!(vec![value; 4]), "{case}");
    }
}
