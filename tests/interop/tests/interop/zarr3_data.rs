//! Data of Zarr version 3: shards, orders, types and keys, exchanged with zarr-python and tensorstore.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{Elements, Pool, Session, Slab};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::python;
use serde_json::Value;

use crate::harness::{builtins, explained, run_script};

#[test]
fn zarr_python_tensorstore_and_we_read_what_the_others_wrote() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action.as_ref(), folder.path().as_os_str()];
        run_script(&python, "zarr3_data.py", &args, None).success("zarr3_data.py").unwrap().stdout_text()
    };
    act("make");
    let file = |name: &str| folder.path().join(name);
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(file("cases.json")).unwrap()).unwrap();
    assert!(cases.len() > 60, "{}", cases.len());
    let (zarr, tensorstore) = (open(&file("zarr"), Access::Read), open(&file("tensorstore"), Access::Read));
    let ours = open(&file("ours"), Access::ReadWrite);
    let mut faults = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let path = format!("/{name}");
        let wanted = std::fs::read(file(&format!("{name}.raw"))).unwrap();
        for (writer, dataset) in [("zarr", &zarr), ("tensorstore", &tensorstore)] {
            let array = match dataset.array(&path) {
                Ok(array) => array,
                Err(error) => {
                    faults.push(format!("{name} of {writer}: {}", explained(&error)));
                    continue;
                }
            };
            let mut bytes = vec![0; wanted.len()];
            match array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut bytes) {
                Err(error) => faults.push(format!("{name} of {writer}: {}", explained(&error))),
                Ok(()) if bytes != wanted => faults.push(format!("{name} of {writer}: other values")),
                Ok(()) => {}
            }
        }
        let Ok(array) = ours.array(&path) else { continue };
        let (start, count) = (lengths(&case["start"]), lengths(&case["count"]));
        let data = part(&wanted, array.shape(), &start, &count);
        // Row by row of the first dimension: all but the first changes a shard that is there.
        match count.first() {
            None => {
                array.write_bytes(&Slab::new(start, count), Elements::Native, &data).unwrap();
            }
            Some(&rows) => {
                let row = data.len() / rows as usize;
                for (number, data) in data.chunks(row * 3).enumerate() {
                    let (mut start, mut count) = (start.clone(), count.clone());
                    start[0] += number as u64 * 3;
                    count[0] = (data.len() / row) as u64;
                    array.write_bytes(&Slab::new(start, count), Elements::Native, data).unwrap();
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let refused = act("check");
    assert!(refused.is_empty(), "{refused}");
}

fn open(path: &Path, access: Access) -> Dataset {
    let store = Arc::new(FileStore::open(path, access).unwrap());
    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    Dataset::open(store, session, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}", explained(&error)))
}

fn lengths(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|len| len.as_u64().unwrap()).collect()
}

/// A box out of an array in C order.
fn part(bytes: &[u8], shape: &[u64], start: &[u64], count: &[u64]) -> Vec<u8> {
    let ([len, inner @ ..], [first, starts @ ..], [many, counts @ ..]) = (shape, start, count) else {
        return bytes.to_vec();
    };
    let step = bytes.len() / *len as usize;
    let rows = bytes.chunks(step).skip(*first as usize).take(*many as usize);
    rows.flat_map(|row| part(row, inner, starts, counts)).collect()
}
