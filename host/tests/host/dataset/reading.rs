//! Values that other programs wrote.

use std::sync::Arc;

use ncz::model::Consolidated;
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_test_support::{arrays, fixtures, unpack};
use serde_json::Value as Json;

use super::helpers::{open_file, session, values};

const FOLDERS: [&str; 6] = [
    "netcdf-c-4.10.2/nczarr",
    "netcdf-c-4.10.2/noxarray",
    "netcdf-c-4.10.2/zarr",
    "netcdf-c-4.9.2/nczarr",
    "netcdf-c-4.9.0/nczarr",
    "netcdf-c-4.8.0/nczarr",
];

/// The fixture `name` of each generation and dialect that has it.
fn each(name: &str, check: impl Fn(&str, &Dataset)) {
    let mut seen = 0;
    for folder in FOLDERS {
        let zip = format!("{folder}/{name}.zip");
        if fixtures().join(&zip).exists() {
            let unpacked = unpack(&zip).unwrap();
            check(folder, &open_file(unpacked.path()));
            seen += 1;
        }
    }
    assert!(seen > 0, "{name}");
}

/// The values of a variable, each of `N` bytes.
fn elements<const N: usize, T>(dataset: &Dataset, path: &str, from: impl Fn([u8; N]) -> T) -> Vec<T> {
    let array = dataset.array(path).unwrap_or_else(|error| panic!("{}", super::helpers::explained(&error)));
    values(&array).as_chunks::<N>().0.iter().map(|bytes| from(*bytes)).collect()
}

#[test]
fn every_type_has_the_values_of_its_cdl() {
    each("types", |at, dataset| {
        assert_eq!(elements(dataset, "/b", i8::from_ne_bytes), [-128, 0, -1, 127], "{at}");
        assert_eq!(elements(dataset, "/ub", u8::from_ne_bytes), [0, 1, 254, 255], "{at}");
        assert_eq!(elements(dataset, "/s", i16::from_ne_bytes), [-32768, -1, 0, 32767], "{at}");
        assert_eq!(elements(dataset, "/us", u16::from_ne_bytes), [0, 1, 2, 65535], "{at}");
        let ints: Vec<i32> = (1..12).chain([-12]).collect();
        assert_eq!(elements(dataset, "/i", i32::from_ne_bytes), ints, "{at}");
        assert_eq!(elements(dataset, "/ui", u32::from_ne_bytes), [0, 1, 2, u32::MAX], "{at}");
        assert_eq!(elements(dataset, "/l", i64::from_ne_bytes), [i64::MIN, -1, 0, i64::MAX], "{at}");
        assert_eq!(elements(dataset, "/ul", u64::from_ne_bytes), [0, 1, 2, u64::MAX], "{at}");
        let floats = elements(dataset, "/f", f32::from_ne_bytes);
        assert_eq!(floats[..2], [1.5, 0.0], "{at}");
        assert!(floats[1].is_sign_negative() && floats[2].is_nan(), "{at}");
        let rest = [f32::INFINITY, f32::NEG_INFINITY, 1e-30, 3.4e38, -999.0, 9.0, 10.0, 11.0, 12.0];
        assert_eq!(floats[3..], rest, "{at}");
        let doubles = elements(dataset, "/d", f64::from_ne_bytes);
        assert_eq!(doubles[..3], [1e300, -1e-300, 0.1], "{at}");
        assert!(doubles[3].is_nan(), "{at}");
        assert_eq!(elements(dataset, "/c", u8::from_ne_bytes), *b"abcd", "{at}");
        let array = dataset.array("/str").unwrap();
        let size = array.dtype().size();
        for (text, wanted) in values(&array).chunks(size).zip(["one", "", "three \"q\" \\ \n", "vier ü"]) {
            assert_eq!(std::str::from_utf8(text).unwrap().trim_end_matches('\0'), wanted, "{at}");
        }
    });
}

#[test]
fn what_was_never_written_is_fill() {
    each("fill", |at, dataset| {
        assert_eq!(elements(dataset, "/b", i8::from_ne_bytes), [-127; 35], "{at}");
        assert_eq!(elements(dataset, "/us", u16::from_ne_bytes), [7; 35], "{at}");
        assert!(elements(dataset, "/f", f32::from_ne_bytes).iter().all(|value| value.is_nan()), "{at}");
        assert_eq!(elements(dataset, "/c", u8::from_ne_bytes), [0; 35], "{at}");
        assert_eq!(elements(dataset, "/never", i32::from_ne_bytes), [0; 0], "{at}");
    });
}

#[test]
fn groups_byte_orders_and_edge_chunks_are_read_in_every_generation() {
    each("groups", |at, dataset| {
        let temp: Vec<f32> = (0..120u8).map(f32::from).collect();
        assert_eq!(elements(dataset, "/temp", f32::from_ne_bytes), temp, "{at}");
        let q: Vec<i16> = (1..=36).collect();
        assert_eq!(elements(dataset, "/g1/q", i16::from_ne_bytes), q, "{at}");
        let n: Vec<i32> = (1..=9).collect();
        assert_eq!(elements(dataset, "/g1/g2/n", i32::from_ne_bytes), n, "{at}");
        assert!(dataset.hierarchy().group("/empty").is_ok(), "{at}");
    });
    each("endian", |at, dataset| {
        let little = elements(dataset, "/little", i32::from_ne_bytes);
        assert_eq!(little, [1, 2, 3, -4, 5, 6], "{at}");
        // Old netcdf-c stored other bytes than it declared. All readers believe it; ours says so.
        let old = at.contains("4.9.");
        let big = if old { little.iter().map(|value: &i32| value.swap_bytes()).collect() } else { little };
        assert_eq!(elements(dataset, "/big", i32::from_ne_bytes), big, "{at}");
        for variable in ["/big", "/dbig", "/sbig"] {
            let warned = dataset.hierarchy().warnings.iter().any(|warning| warning.at == variable);
            assert_eq!(warned, old, "{at} {variable}");
        }
    });
}

/// What zarr-python wrote with consolidated metadata, made longer by a program that does not know of them.
#[test]
fn stale_consolidated_metadata_hide_no_values() {
    let folder = unpack("zarr-python/v2-consolidated.zip").unwrap();
    let name = arrays("zarr-python/v2-consolidated.npz").unwrap()[0].name.replace("__", "/");
    let path = format!("/{name}");
    let fresh = open_file(folder.path());
    assert_eq!(fresh.hierarchy().consolidated, Consolidated::Current);
    let before = fresh.array(&path).unwrap();
    let file = folder.path().join(&name).join(".zarray");
    let mut zarray: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    zarray["shape"][0] = Json::from(before.shape()[0] + 3);
    std::fs::write(&file, zarray.to_string()).unwrap();

    let dataset = open_file(folder.path());
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
    assert!(dataset.hierarchy().warnings.iter().any(|warning| warning.at == ".zmetadata"));
    let after = dataset.array(&path).unwrap();
    assert_eq!(after.shape()[0], before.shape()[0] + 3);
    assert!(values(&after).starts_with(&values(&before)));

    let store = Arc::new(FileStore::open(folder.path(), Access::Read).unwrap());
    let only = ReadOptions { consolidated: ConsolidatedPolicy::Only, ..ReadOptions::default() };
    let trusting = Dataset::open(store, session(1), &only).unwrap();
    assert_eq!(trusting.hierarchy().consolidated, Consolidated::Only);
    assert_eq!(trusting.array(&path).unwrap().shape(), before.shape());
}
