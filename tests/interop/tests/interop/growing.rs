//! Datasets that one program made and others let grow in turn: every program reads them equal each time.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{Attribute, Elements, Pool, Session, Slab};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz_test_support::{Python, python};
use serde_json::{Value, json};

use crate::harness::{builtins, explained, run_json, run_script};

const SCRIPT: &str = "growing.py";

fn rows(name: &str, start: u64, end: u64) -> Vec<Vec<i32>> {
    let columns = if name == "a" { 0..3 } else { 3..4 };
    (start..end).map(|t| columns.clone().map(|column| t as i32 * 5 + column).collect()).collect()
}

fn opened(path: &Path) -> Dataset {
    let store = FileStore::open(path, Access::ReadWrite).unwrap();
    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    Dataset::open(Arc::new(store), session, &Default::default())
        .unwrap_or_else(|error| panic!("{}", explained(&error)))
}

/// Appends the rows from `start` to before `end`, and says so in the title.
fn append(path: &Path, start: u64, end: u64) {
    let mut dataset = opened(path);
    for name in ["a", "b"] {
        let data: Vec<u8> = rows(name, start, end).concat().into_iter().flat_map(i32::to_ne_bytes).collect();
        let result = if !dataset.hierarchy().format.is_nczarr() && name == "a" {
            dataset.append(name, 0, Elements::Native, &data).map(|range| assert_eq!(range, start..end))
        } else {
            let slab = if name == "a" {
                Slab::new([start, 0], [end - start, 3])
            } else {
                Slab::new([start], [end - start])
            };
            dataset.write(name, &slab, Elements::Native, &data)
        };
        result.unwrap_or_else(|error| panic!("{}", explained(&error)));
    }
    let title = Attribute::new("title", format!("{end} rows").as_str());
    dataset.change(|hierarchy| Ok(hierarchy.root.set_attribute(title)?)).unwrap();
    dataset.finish().unwrap_or_else(|error| panic!("{}", explained(&error)));
}

/// All programs, and we ourselves, find this many rows.
fn compare(python: &Python, kind: &str, path: &Path, len: u64, programs: usize, title: &str) {
    let dataset = opened(path);
    for name in ["a", "b"] {
        let array = dataset.array(name).unwrap();
        assert_eq!(array.stored_shape()[0], len, "{kind}");
        let mut out = vec![0; array.shape().iter().product::<u64>() as usize * 4];
        array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut out).unwrap();
        let wanted: Vec<u8> = rows(name, 0, len).concat().into_iter().flat_map(i32::to_ne_bytes).collect();
        assert_eq!(out, wanted, "{kind} {name}");
    }
    let found = run_json(python, SCRIPT, &["read", kind, path.to_str().unwrap()], None);
    let found = found.as_object().unwrap();
    assert_eq!(found.len(), programs, "{found:?}");
    let wanted: Value = json!({"a": rows("a", 0, len), "b": rows("b", 0, len).concat(), "title": title});
    for (program, found) in found {
        assert_eq!(*found, wanted, "{kind} by {program}");
    }
}

#[test]
fn what_netcdf_c_xarray_and_zarr_python_made_grows_by_us_and_by_them_in_turn() {
    let Ok(python) = python() else { return };
    for (kind, programs) in [("netcdf", 3), ("xarray2", 4), ("xarray3", 3), ("sharded", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grown.zarr");
        let text = path.to_str().unwrap();
        let theirs = |arguments: &[&str]| {
            run_script(&python, SCRIPT, arguments, None)
                .success(kind)
                .unwrap_or_else(|error| panic!("{error}"));
        };
        theirs(&["make", kind, text, "3"]);
        compare(&python, kind, &path, 3, programs, "grown");
        append(&path, 3, 5);
        compare(&python, kind, &path, 5, programs, "5 rows");
        theirs(&["append", kind, text, "5", "8"]);
        let title = if kind.starts_with("xarray") { "grown" } else { "5 rows" };
        compare(&python, kind, &path, 8, programs, title);
        append(&path, 8, 9);
        compare(&python, kind, &path, 9, programs, "9 rows");
    }
}
