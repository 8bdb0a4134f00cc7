//! Outdated consolidated metadata, read from a remote store.

use std::sync::Arc;

use ncz::model::{Consolidated, Elements, Format, Hierarchy};
use ncz::store::MemoryStore;
use ncz::zarr::Dataset;

use super::far::{Objects, PREFER, far, objects, open, session, thirty, written};

/// The dataset after a change by a program that does not know of consolidated metadata, as netcdf-c appends.
fn changed(hierarchy: Hierarchy, change: impl FnOnce(&mut Dataset)) -> (Objects, Objects) {
    let old = written(hierarchy, true);
    let store = Arc::new(MemoryStore::new("changed"));
    for (key, bytes) in &old {
        use ncz::store::{Key, Store, WriteMode};
        store.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
    }
    let mut dataset = Dataset::open(store.clone(), session(), &Default::default()).unwrap();
    change(&mut dataset);
    dataset.finish().unwrap();
    let mut new = objects(&*store);
    let documents = new.keys().filter(|key| key.contains(".z")).count();
    assert_eq!(documents, old.len());
    new.insert(".zmetadata".to_owned(), old[".zmetadata"].clone());
    (old, new)
}

fn append(path: &'static str) -> impl FnOnce(&mut Dataset) {
    move |dataset| {
        dataset.append(path, 0, Elements::Native, &[1, 0, 2, 0]).unwrap();
    }
}

#[test]
fn nczarr_that_netcdf_made_longer_is_read_by_its_documents() {
    let (old, new) = changed(thirty(Format::NCZARR), append("/g1/g2/v3"));
    let (dataset, cost) = open(far(&new), &PREFER);
    let dataset = dataset.unwrap();
    assert_eq!(dataset.array("/g1/g2/v3").unwrap().shape(), [2]);
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
    let [warning] = &dataset.hierarchy().warnings[..] else { panic!("{:?}", dataset.hierarchy().warnings) };
    assert_eq!(warning.at, ".zmetadata");
    assert!(warning.text.contains("\".zattrs\""), "{warning:?}");
    // All documents, and zarr.json.
    assert_eq!((cost.gets, cost.lists), (old.len() + 1, 0));
}

#[test]
fn a_group_that_has_an_unlimited_dimension_of_its_own_is_looked_at_too() {
    let hierarchy = || {
        let mut hierarchy = thirty(Format::NCZARR);
        hierarchy.add_dimension("/g1", "level", 0, true).unwrap();
        let new = ncz::model::VariableBuilder::new("w", ncz::model::NcType::Short);
        hierarchy.add_variable("/g1", new.dimensions(["level"]).chunks([4])).unwrap();
        hierarchy
    };
    let (old, new) = changed(hierarchy(), append("/g1/w"));
    assert_eq!(old[".zattrs"], new[".zattrs"]);
    let (dataset, _) = open(far(&new), &PREFER);
    let dataset = dataset.unwrap();
    assert_eq!(dataset.array("/g1/w").unwrap().shape(), [2]);
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
    let (dataset, cost) = open(far(&old), &PREFER);
    assert_eq!(dataset.unwrap().hierarchy().consolidated, Consolidated::Only);
    // zarr.json, .zmetadata, and in the same round trip .zattrs and g1/.zattrs.
    assert_eq!((cost.gets, cost.round_trips), (4, 2));
}

#[test]
fn consolidated_metadata_that_cannot_be_read_are_a_warning() {
    for format in [Format::NCZARR, Format::Zarr2] {
        let mut objects = written(thirty(format), true);
        objects.insert(".zmetadata".to_owned(), b"{".to_vec());
        let (dataset, _) = open(far(&objects), &PREFER);
        let dataset = dataset.unwrap();
        assert_eq!(dataset.hierarchy().variables().count(), 30);
        assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
        assert_eq!(dataset.hierarchy().warnings.len(), 1, "{:?}", dataset.hierarchy().warnings);
    }
    let mut objects = written(thirty(Format::Zarr3), true);
    let root = String::from_utf8(objects["zarr.json"].clone()).unwrap();
    let other = root.replace("\"inline\"", "\"elsewhere\"");
    assert_ne!(root, other);
    objects.insert("zarr.json".to_owned(), other.into_bytes());
    let (dataset, _) = open(far(&objects), &PREFER);
    let dataset = dataset.unwrap();
    assert_eq!(dataset.hierarchy().variables().count(), 30);
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
    assert_eq!(dataset.hierarchy().warnings.len(), 1, "{:?}", dataset.hierarchy().warnings);
}

#[test]
fn consolidated_metadata_may_be_all_there_is() {
    for format in [Format::NCZARR, Format::Zarr2] {
        let mut objects = written(thirty(format), true);
        objects.retain(|key, _| key == ".zmetadata");
        let (dataset, _) = open(far(&objects), &PREFER);
        let dataset = dataset.unwrap();
        assert_eq!(dataset.hierarchy().variables().count(), 30);
        assert_eq!(dataset.hierarchy().consolidated, Consolidated::Only);
    }
}
