//! Datasets that one program made and others let grow in turn: every program reads them equal each time.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{Attribute, Elements, Pool, Session, Slab};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz_test_support::python;
use serde_json::{Value, json};

use crate::harness::{builtins, explained, run_json};

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

/// We ourselves and all programs, which found `theirs`, find this many rows.
fn compare(theirs: &Value, kind: &str, path: &Path, len: u64, programs: usize, title: &str) {
    let dataset = opened(path);
    for name in ["a", "b"] {
        let array = dataset.array(name).unwrap();
        assert_eq!(array.stored_shape()[0], len, "{kind}");
        let mut out = vec![0; array.shape().iter().product::<u64>() as usize * 4];
        array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut out).unwrap();
        let wanted: Vec<u8> = rows(name, 0, len).concat().into_iter().flat_map(i32::to_ne_bytes).collect();
        assert_eq!(out, wanted, "{kind} {name}");
    }
    let found = theirs.as_object().unwrap();
    assert_eq!(found.len(), programs, "{found:?}");
    let wanted: Value = json!({"a": rows("a", 0, len), "b": rows("b", 0, len).concat(), "title": title});
    for (program, found) in found {
        assert_eq!(*found, wanted, "{kind} by {program}");
    }
}

#[test]
fn what_netcdf_c_xarray_and_zarr_python_made_grows_by_us_and_by_them_in_turn() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kinds = [("netcdf", 3), ("xarray2", 4), ("xarray3", 3), ("sharded", 2)];
    let theirs = |action: &str, rows: &[&str]| {
        run_json(&python, SCRIPT, &[&[action, folder.path().to_str().unwrap()], rows].concat(), None)
    };
    let all_find = |len: u64, title: &dyn Fn(&str) -> &'static str| {
        let found = theirs("read", &[]);
        for (kind, programs) in kinds {
            compare(&found[kind], kind, &folder.path().join(kind), len, programs, title(kind));
        }
    };
    let append_to_all =
        |start, end| kinds.iter().for_each(|(kind, _)| append(&folder.path().join(kind), start, end));
    theirs("make", &["3"]);
    all_find(3, &|_| "grown");
    append_to_all(3, 5);
    all_find(5, &|_| "5 rows");
    theirs("append", &["5", "8"]);
    all_find(8, &|kind| if kind.starts_with("xarray") { "grown" } else { "5 rows" });
    append_to_all(8, 9);
    all_find(9, &|_| "9 rows");
}
