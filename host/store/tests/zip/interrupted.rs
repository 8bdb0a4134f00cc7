//! Operations that fail and processes that are killed: the archive is the old or the new one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ncz_store::testing::{Fault, Faulty};
use ncz_store::{
    Access, CreateOptions, Depth, Durability, Prefix, Store, StoreError, StoreExt, WriteMode, ZipLayout,
    ZipStore,
};

use crate::{key, objects, open};

fn create(path: &Path) -> ZipStore {
    let options = CreateOptions::new().durability(Durability::Process);
    ZipStore::create(path, options, ZipLayout::Flat).unwrap()
}

/// One of each operation that a store has; publishing is the last but one.
fn work(store: &dyn Store) -> Result<(), StoreError> {
    store.write(key("a/0"), b"new", WriteMode::Replace)?;
    store.write(key("a/1"), b"new", WriteMode::CreateNew)?;
    store.read_vec(key("a/0"), 10)?;
    store.read_into(key("a/0"), 0, &mut [0; 3])?;
    store.len(key("a/1"))?;
    store.delete(key("b"))?;
    store.list(Prefix::ROOT, Depth::All, 10)?;
    store.sync()?;
    store.publish()?;
    store.len(key("a/0")).map(drop)
}

#[test]
fn whichever_operation_fails_the_archive_is_the_old_or_the_new_one() {
    const PUBLISH: u64 = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let kinds: [fn(u64) -> Fault; 3] = [Fault::Once, Fault::From, Fault::AfterDoing];
    for update in [false, true] {
        for (kind, fault) in kinds.into_iter().enumerate() {
            for n in 0..11 {
                let _ = fs::remove_file(&path);
                let store = if update {
                    let store = create(&path);
                    store.write(key("a/0"), b"old", WriteMode::Replace).unwrap();
                    store.write(key("b"), b"old", WriteMode::Replace).unwrap();
                    store.publish().unwrap();
                    open(&path, Access::ReadWrite).with_durability(Durability::Process)
                } else {
                    create(&path)
                };
                let store = Faulty::new(store, fault(n));
                assert_eq!(work(&store).is_ok(), n == 10, "{:?}", fault(n));
                drop(store);
                let published = n > PUBLISH || n == PUBLISH && kind == 2;
                let expected = match (published, update) {
                    (true, _) => Some([("a/0", "new"), ("a/1", "new")]),
                    (false, true) => Some([("a/0", "old"), ("b", "old")]),
                    (false, false) => None,
                };
                let found = path.exists().then(|| objects(&open(&path, Access::Read)));
                let expected =
                    expected.map(|objects| objects.map(|(name, text)| (name.to_owned(), text.into())).into());
                assert_eq!(found, expected, "{:?}", fault(n));
                assert!(fs::read_dir(folder.path()).unwrap().count() <= 1);
            }
        }
    }
}

/// The path of the archive that a child process changes until it is killed.
const CHANGE: &str = "NCZ_STORE_TEST_CHANGE";

fn change_until_killed(path: &Path) {
    let store = open(path, Access::ReadWrite).with_durability(Durability::Process);
    for round in 0_u32.. {
        let value = round as u8;
        for name in ["v/0", "v/1"] {
            store.write(key(name), &vec![value; 50_000 + usize::from(value)], WriteMode::Replace).unwrap();
        }
        store.publish().unwrap();
    }
}

#[test]
fn a_killed_process_leaves_the_old_or_the_new_archive() {
    if let Some(path) = std::env::var_os(CHANGE) {
        return change_until_killed(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let store = create(&path);
    for name in ["stays", "v/0", "v/1"] {
        store.write(key(name), &[0; 50_000], WriteMode::Replace).unwrap();
    }
    store.publish().unwrap();
    drop(store);
    for round in 0..12 {
        let before = fs::read(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "interrupted::a_killed_process_leaves_the_old_or_the_new_archive",
                "--test-threads=1",
            ])
            .env(CHANGE, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while fs::read(&path).unwrap() == before {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(5 + round * 3));
        child.kill().unwrap();
        child.wait().unwrap();

        // each read checks the bytes against their checksum
        let found = objects(&open(&path, Access::Read));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["stays", "v/0", "v/1"]);
        assert_eq!(found["v/0"], found["v/1"]);
        assert_eq!(found["v/0"].len(), 50_000 + usize::from(found["v/0"][0]));
        assert_eq!(found["stays"], [0; 50_000]);
    }
}
