//! A full disk and a killed process.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use ncz_store::{Access, CreateOptions, Durability, FileStore, Store, StoreError, StoreExt, WriteMode};
use ncz_test_support::SmallDisk;

use super::stores::key;

/// The path that a child process writes to until it is killed.
const WRITE_TO: &str = "NCZ_STORE_TEST_WRITE_TO";

#[test]
fn a_full_disk_leaves_the_old_object_whole_and_no_rubbish() {
    let Ok(disk) = SmallDisk::mount("1m") else { return };
    let path = disk.path().join("data.zarr");
    fs::create_dir(&path).unwrap();
    let store = FileStore::open(&path, Access::ReadWrite).unwrap();
    let a = key("t/0.0");
    store.write(a, &[1; 600_000], WriteMode::Replace).unwrap();
    let error = store.write(a, &[2; 600_000], WriteMode::Replace).unwrap_err();
    assert!(matches!(error, StoreError::NoSpace { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("disk is full") && text.contains("t/0.0") && text.contains("data.zarr"), "{text}");
    assert_eq!(store.read_vec(a, 1 << 20).unwrap().unwrap(), [1; 600_000]);
    assert_eq!(fs::read_dir(path.join("t")).unwrap().count(), 1, "the temporary file has gone");
    store.write(key("t/0.1"), &[3; 300_000], WriteMode::Replace).unwrap();
}

#[test]
fn a_disk_that_fills_while_a_dataset_is_created_leaves_nothing() {
    let Ok(disk) = SmallDisk::mount("1m") else { return };
    let store = FileStore::create(disk.path().join("new.zarr"), CreateOptions::new()).unwrap();
    let failure =
        (0..100).find_map(|n| store.write(key(&format!("t/{n}")), &[1; 100_000], WriteMode::Replace).err());
    assert!(matches!(failure, Some(StoreError::NoSpace { .. })), "{failure:?}");
    drop(store);
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
}

fn write_until_killed(path: &str) {
    let store = FileStore::open(path, Access::ReadWrite).unwrap().with_durability(Durability::Process);
    for round in 0_u32.. {
        let value = round as u8;
        store.write(key("v/0"), &vec![value; 200_000 + usize::from(value)], WriteMode::Replace).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_an_old_or_a_new_object() {
    if let Ok(path) = std::env::var(WRITE_TO) {
        return write_until_killed(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "disk::a_killed_writer_leaves_an_old_or_a_new_object", "--test-threads=1"])
            .env(WRITE_TO, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let object = folder.path().join("v/0");
        while !object.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(20 + round * 3));
        child.kill().unwrap();
        child.wait().unwrap();

        let store = FileStore::open(folder.path(), Access::Read).unwrap();
        let bytes = store.read_vec(key("v/0"), 1 << 20).unwrap().unwrap();
        assert_eq!(bytes.len(), 200_000 + usize::from(bytes[0]));
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(
            super::objects::keys(&store, ncz_store::Prefix::ROOT, ncz_store::Depth::All),
            ["v/", "v/0"]
        );
    }
}
