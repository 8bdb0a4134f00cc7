//! Whole arrays of both versions of Zarr with every codec of numcodecs, single and in chains, plain and in shards:
//! arrays that zarr-python wrote, and arrays that `ncz copy` wrote for zarr-python, zarrs and tensorstore.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{Elements, Pool, Session, Slab};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{python, takes_all};
use serde_json::Value;

use crate::harness::{builtins, explained, ncz_ok, run_script};

const SCRIPT: &str = "numcodecs_arrays.py";

#[test]
fn arrays_with_every_codec_of_numcodecs_are_exchanged_with_zarr_python_zarrs_and_tensorstore() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action.as_ref(), folder.path().as_os_str()];
        run_script(&python, SCRIPT, &args, None).success(SCRIPT).unwrap().stdout_text()
    };
    act("make");
    let made: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("cases.json")).unwrap()).unwrap();
    // zarr-python stores numbers of one byte without a byte order, even if a codec makes longer ones from them.
    let refused: Vec<&str> = made["refused"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(refused.len(), 6, "{refused:#?}");
    assert!(refused.iter().all(|text| text.starts_with("v3 int8") && text.contains("Invalid endianness")));
    let cases = made["cases"].as_array().unwrap();
    let is_all = takes_all("NCZ_MATRIX");
    assert!(cases.len() > if is_all { 800 } else { 400 }, "{}", cases.len());
    let (mut faults, mut spoiled) = (Vec::new(), 0);
    for version in ["v2", "v3"] {
        let path = |name: &str| folder.path().join(version).join(name);
        let theirs = open(&path("theirs"));
        let mut copy = ["copy", path("plain").to_str().unwrap(), path("ours").to_str().unwrap(), "--quiet"]
            .map(str::to_owned)
            .to_vec();
        for case in cases.iter().filter(|case| case[0] == version) {
            let name = case[1].as_str().unwrap();
            copy.extend(["--codec".to_owned(), format!("{name}={}", case[2])]);
            let raw = std::fs::read(folder.path().join(format!("{version}.{name}.raw"))).unwrap();
            if case[3] == true {
                spoiled += 1;
                continue;
            }
            match read(&theirs, name) {
                Err(error) => faults.push(format!("{version} {}: {error}", case[2])),
                Ok(bytes) if bytes != raw => faults.push(format!("{version} {}: other values", case[2])),
                Ok(_) => {}
            }
        }
        assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
        ncz_ok(&copy);
    }
    // pcodec after transpose, which we write as it should be.
    assert_eq!(spoiled, 10);
    let checked = act("check");
    let (counts, faults) = checked.lines().partition::<Vec<_>, _>(|line| line.starts_with('{'));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let counts: Value = serde_json::from_str(counts[0]).unwrap();
    assert_eq!(counts["zarr-python"], cases.len());
    // Of zarrs and tensorstore those with codecs that they have.
    for (reader, least) in [("zarrs", 100), ("tensorstore", 60)] {
        let least = if is_all { least } else { least / 3 };
        assert!(counts[reader].as_u64() >= Some(least), "{counts}");
    }
}

fn read(dataset: &Dataset, name: &str) -> Result<Vec<u8>, String> {
    let array = dataset.array(&format!("/{name}")).map_err(|error| explained(&error))?;
    let elements: u64 = array.shape().iter().product();
    let mut bytes = vec![0; elements as usize * array.dtype().size()];
    let slab = Slab::whole(array.shape());
    array.read_bytes(&slab, Elements::Native, &mut bytes).map_err(|error| explained(&error))?;
    Ok(bytes)
}

fn open(path: &Path) -> Dataset {
    let store = Arc::new(FileStore::open(path, Access::Read).unwrap());
    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    Dataset::open(store, session, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}", explained(&error)))
}
