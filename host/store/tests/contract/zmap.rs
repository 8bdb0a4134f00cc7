//! The view of netcdf-c on every store.

use std::fs;

use ncz_store::{
    Access, Clobber, CreateOptions, FileStore, MemoryStore, Store, StoreError, StoreExt, WriteMode, ZMap,
    ZipLayout, ZipStore,
};

use super::stores::{key, stores};

fn code<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> i32 {
    answer.unwrap_err().netcdf_code()
}

#[test]
fn operations_answer_as_those_of_netcdf_c() {
    for fixture in stores() {
        let map = ZMap::create(fixture.store, Clobber::No).unwrap();
        assert!(map.is_empty().unwrap());
        assert_eq!(map.search("/").unwrap(), [""; 0]);
        assert_eq!(code(map.exists("/")), -141);
        for (name, bytes) in
            [("/.zgroup", "{}"), ("/b/0", "01234"), ("/B", ""), ("/b/a/x", "1"), ("/a.b", "1")]
        {
            map.write(name, bytes.as_bytes()).unwrap();
            assert_eq!(map.len(name).unwrap(), bytes.len() as u64);
            map.exists(name).unwrap();
        }
        assert_eq!(map.search("/").unwrap(), [".zgroup", "B", "a.b", "b"]);
        assert_eq!(map.search("/b").unwrap(), ["0", "a"]);
        assert_eq!(map.search("/c").unwrap(), [""; 0]);
        let mut out = Vec::new();
        map.read("/b/0", 1, 3, &mut out).unwrap();
        assert_eq!(out, b"123");
        map.read("/b/0", 5, 0, &mut out).unwrap();
        assert!(out.is_empty());
        assert_eq!(code(map.read("/b/0", 3, 3, &mut out)), -57);
        assert_eq!(code(map.read("/b/0", u64::MAX, 2, &mut out)), -57);
        for (without, number) in [("/", -139), ("/b", -139), ("/b/a", -139), ("/c", -141), ("/b/0/x", -141)] {
            assert_eq!(code(map.exists(without)), number, "{without}");
            assert_eq!(code(map.len(without)), number, "{without}");
            assert_eq!(code(map.read(without, 0, 0, &mut out)), number, "{without}");
        }
        for bad in ["", "b", "//", "/b/", "/../b", "/b//0"] {
            assert_eq!(code(map.exists(bad)), -36, "{bad:?}");
            assert_eq!(code(map.write(bad, b"")), -36, "{bad:?}");
            assert_eq!(code(map.search(bad)), -36, "{bad:?}");
        }
        assert_eq!(code(map.write("/b", b"")), -140);
        // a shorter content leaves no tail
        map.write("/b/0", b"9").unwrap();
        assert_eq!(map.len("/b/0").unwrap(), 1);
        assert_eq!(map.store().read_vec(key("b/0"), 10).unwrap().unwrap(), b"9");
        map.close(false).unwrap();
    }
}

#[test]
fn what_exists_is_kept_unless_clobbering_was_asked_for() {
    let store = std::sync::Arc::new(MemoryStore::new("there"));
    store.write(key("a/0"), b"1", WriteMode::Replace).unwrap();
    assert_eq!(code(ZMap::create(store.clone(), Clobber::No)), -140);
    assert!(store.exists(key("a/0")).unwrap());
    let map = ZMap::create(store.clone(), Clobber::Yes).unwrap();
    assert!(map.is_empty().unwrap());
    map.write("/b", b"1").unwrap();
    map.close(true).unwrap();
    assert!(!store.exists(key("b")).unwrap(), "an aborted creation leaves nothing");

    // at a path the store says so, before it touches anything
    let folder = tempfile::tempdir().unwrap();
    let (directory, archive) = (folder.path().join("d"), folder.path().join("d.zip"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(".zgroup"), "{}").unwrap();
    fs::write(&archive, "not even an archive").unwrap();
    assert_eq!(code(FileStore::create(&directory, CreateOptions::new())), -140);
    assert_eq!(code(ZipStore::create(&archive, CreateOptions::new(), ZipLayout::Flat)), -140);
    assert_eq!(fs::read_to_string(&archive).unwrap(), "not even an archive");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_does_not_exist_or_is_empty_has_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.zip");
    for access in [Access::Read, Access::ReadWrite] {
        assert_eq!(code(ZipStore::open(&path, access, ZipLayout::Automatic)), -141);
        assert_eq!(code(FileStore::open(&path, access)), -141);
    }
    ZMap::open(ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat).unwrap()).close(false).unwrap();
    for access in [Access::Read, Access::ReadWrite] {
        let error = ZipStore::open(&path, access, ZipLayout::Automatic).unwrap_err();
        assert!(matches!(error, StoreError::EmptyArchive { .. }), "{error}");
        assert_eq!(error.netcdf_code(), -139);
    }
    fs::write(&path, "no archive").unwrap();
    assert_eq!(code(ZipStore::open(&path, Access::Read, ZipLayout::Automatic)), -137);
}
