//! What only a directory can do wrong: crash points, publishing, foreign things.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::store::StoreExt;
use crate::sys::fault::{Plan, interfere_by, plainly, with};
use crate::temp_names;

const OLD: &[u8] = &[1; 2500];
const NEW: &[u8] = &[2; 3500];

#[test]
fn wherever_a_write_fails_there_is_the_old_or_the_new_object_and_no_rubbish() {
    for mode in [WriteMode::Replace, WriteMode::CreateNew] {
        for staged in [false, true] {
            let (_, steps) = write_with(None, mode, staged);
            assert!(steps >= 6, "{steps}");
            for step in 0..steps {
                let (outcome, _) = write_with(Some(Plan::Once(step)), mode, staged);
                assert!(outcome.whole, "step {step} of {mode:?}");
                assert_eq!(outcome.leftovers, 0, "step {step} of {mode:?}");
                // a mark or a second name that cannot be had is not a failure of the write
                assert!(outcome.failed != outcome.is_new, "step {step} of {mode:?}");
            }
        }
    }
}

#[test]
fn wherever_a_writer_dies_there_is_the_old_or_the_new_object() {
    for mode in [WriteMode::Replace, WriteMode::CreateNew] {
        let (_, steps) = write_with(None, mode, false);
        for step in 0..steps {
            let (outcome, _) = write_with(Some(Plan::From(step)), mode, false);
            assert!(outcome.whole && outcome.leftovers <= 1, "step {step} of {mode:?}");
        }
    }
}

struct Outcome {
    failed: bool,
    /// There is an old object, none (where none was), or a new one.
    whole: bool,
    is_new: bool,
    leftovers: usize,
}

fn write_with(plan: Option<Plan>, mode: WriteMode, staged: bool) -> (Outcome, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let store = if staged {
        FileStore::create(&path, CreateOptions::new()).unwrap()
    } else {
        fs::create_dir(&path).unwrap();
        FileStore::open(&path, Access::ReadWrite).unwrap()
    };
    let key = Key::parse("a/b/0").unwrap();
    if mode == WriteMode::Replace {
        // by another store, so that the one under test makes its first write
        let visible = real_path(folder.path());
        fs::create_dir_all(visible.join("a/b")).unwrap();
        fs::write(visible.join("a/b/0"), OLD).unwrap();
    }
    let (answer, steps) = with(plan, || store.write(key, NEW, mode));
    let there = store.read_vec(key, 1 << 20).unwrap();
    let is_new = there.as_deref() == Some(NEW);
    let old = (mode == WriteMode::Replace).then_some(OLD);
    let outcome = Outcome {
        failed: answer.is_err(),
        whole: is_new || there.as_deref() == old,
        is_new,
        leftovers: count_temporaries(&real_path(folder.path())),
    };
    (outcome, steps)
}

/// The one directory in `folder`, staged or not.
fn real_path(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    path
}

fn count_temporaries(folder: &Path) -> usize {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                count_temporaries(&entry.path())
            } else {
                usize::from(temp_names::is_temporary_object(entry.file_name().as_encoded_bytes()))
            }
        })
        .sum()
}

#[test]
fn wherever_publishing_fails_there_is_the_old_or_the_new_dataset_whole() {
    for plain in [false, true] {
        for exists in [false, true] {
            for dies in [false, true] {
                let mut step = 0;
                loop {
                    let plan = if dies { Plan::From(step) } else { Plan::Once(step) };
                    if publish_with(plan, plain, exists) {
                        break;
                    }
                    step += 1;
                }
                assert!(step >= 3, "{step}");
            }
        }
    }
}

/// Whether everything was done before the fault came.
fn publish_with(plan: Plan, plain: bool, exists: bool) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let new = Key::parse("new/0").unwrap();
    if exists {
        fs::create_dir_all(path.join("old")).unwrap();
        fs::write(path.join("old/0"), OLD).unwrap();
        fs::write(path.join(".zgroup"), "{}").unwrap();
    }
    let store = FileStore::create(&path, CreateOptions::new().replace_if(has_zgroup)).unwrap();
    store.write(new, NEW, WriteMode::Replace).unwrap();
    let publish = || {
        with(Some(plan), || {
            let answer = store.publish();
            // what a dead process does not do
            let store = if matches!(plan, Plan::From(_)) {
                drop(store);
                None
            } else {
                Some(store)
            };
            (answer, store)
        })
    };
    let ((answer, store), steps) = if plain { plainly(publish) } else { publish() };
    let is_new = fs::read(path.join("new/0")).is_ok_and(|bytes| bytes == NEW);
    let is_old = fs::read(path.join("old/0")).is_ok_and(|bytes| bytes == OLD);
    assert!(!(is_new && is_old));
    let said_so =
        matches!(answer, Ok(()) | Err(StoreError::NotDurable { .. } | StoreError::NotRemoved { .. }));
    assert_eq!(said_so, is_new, "{plan:?}: {answer:?}");
    if is_new {
        assert!(!path.join("old").exists());
    } else {
        assert!(answer.is_err(), "{plan:?}");
        if exists {
            // set aside and not put back happens only to a process that dies without exchange
            let aside = || {
                fs::read_dir(folder.path()).unwrap().any(|entry| {
                    let path = entry.unwrap().path();
                    path.to_string_lossy().contains(".ncz-old-") && path.join("old/0").exists()
                })
            };
            assert!(is_old || (plain && matches!(plan, Plan::From(_)) && aside()), "{plan:?}");
        } else {
            assert!(!path.exists());
        }
    }
    if let Some(store) = store {
        if answer.is_err() && !is_new {
            // nothing is lost: the same may be tried again
            store.publish().unwrap();
            assert_eq!(fs::read(path.join("new/0")).unwrap(), NEW);
        }
        drop(store);
        let count = fs::read_dir(folder.path()).unwrap().count();
        let is_kept = matches!(
            answer,
            Err(StoreError::NotRemoved { .. } | StoreError::NotDurable { old: Some(_), .. })
        );
        let expected = if is_kept { 2 } else { 1 };
        assert_eq!(count, expected, "{answer:?}");
    }
    match plan {
        Plan::Once(n) | Plan::From(n) => steps <= n,
    }
}

fn has_zgroup(store: &dyn Store) -> Result<bool, StoreError> {
    store.exists(Key::parse(".zgroup")?)
}

#[test]
fn a_new_dataset_is_invisible_until_published_and_gone_if_it_never_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.zarr");
    let store = FileStore::create(&path, CreateOptions::new()).unwrap();
    let key = Key::parse("a/0").unwrap();
    store.write(key, b"1", WriteMode::Replace).unwrap();
    assert!(!path.exists());
    assert_eq!(store.to_string(), path.display().to_string());
    drop(store);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let store = FileStore::create(&path, CreateOptions::new()).unwrap();
    store.write(key, b"2", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    store.write(Key::parse("a/1").unwrap(), b"3", WriteMode::Replace).unwrap();
    drop(store);
    assert_eq!(fs::read(path.join("a/0")).unwrap(), b"2");
    assert_eq!(fs::read(path.join("a/1")).unwrap(), b"3");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "no mark is left");
}

#[test]
fn what_exists_and_is_no_dataset_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join(".zgroup"), "{}").unwrap();
    let path = folder.path().join("target");
    let create = |replace: bool| {
        let options = CreateOptions::new();
        FileStore::create(&path, if replace { options.replace_if(has_zgroup) } else { options }).map(drop)
    };
    let makers: [&dyn Fn(); 4] = [
        &|| fs::write(&path, "a file").unwrap(),
        &|| symlink(elsewhere.path(), &path).unwrap(),
        &|| symlink("nowhere", &path).unwrap(),
        &|| fs::create_dir(&path).unwrap(),
    ];
    for make in makers {
        make();
        assert!(matches!(create(false), Err(StoreError::AlreadyExists { .. })));
        assert!(matches!(create(true), Err(StoreError::NotADataset { .. })));
        assert!(path.symlink_metadata().is_ok());
        assert!(elsewhere.path().join(".zgroup").exists());
        let _ = fs::remove_file(&path);
    }
    fs::write(path.join("letter.txt"), "dear").unwrap();
    assert!(matches!(create(true), Err(StoreError::NotADataset { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn replacing_a_dataset_does_not_follow_links_in_it_and_keeps_its_mode() {
    for plain in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("precious"), "1").unwrap();
        let path = folder.path().join("data");
        fs::create_dir_all(path.join("x/y/z")).unwrap();
        fs::write(path.join(".zgroup"), "{}").unwrap();
        symlink(elsewhere.path(), path.join("x/link")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();

        let store = FileStore::create(&path, CreateOptions::new().replace_if(has_zgroup)).unwrap();
        store.write(Key::parse("n").unwrap(), b"1", WriteMode::Replace).unwrap();
        assert!(path.join("x/y/z").exists(), "the old one is there until the new one is");
        if plain {
            plainly(|| store.publish()).unwrap()
        } else {
            store.publish().unwrap()
        }
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(elsewhere.path().join("precious").exists());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o750);
    }
}

#[test]
fn what_appears_at_the_target_meanwhile_is_not_replaced() {
    for plain in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let makers: [&dyn Fn(); 3] =
            [&|| fs::write(&path, "a file").unwrap(), &|| symlink("nowhere", &path).unwrap(), &|| {
                fs::create_dir(&path).unwrap()
            }];
        for make in makers {
            let store = FileStore::create(&path, CreateOptions::new()).unwrap();
            make();
            let publish = || store.publish();
            let answer = if plain { plainly(publish) } else { publish() };
            assert!(matches!(answer, Err(StoreError::AlreadyExists { .. })), "{answer:?}");
            drop(store);
            assert!(path.symlink_metadata().is_ok());
            let _ = fs::remove_file(&path);
        }
        // a dataset became something else between the question and the answer
        fs::write(path.join(".zgroup"), "{}").unwrap();
        let store = FileStore::create(&path, CreateOptions::new().replace_if(has_zgroup)).unwrap();
        fs::remove_file(path.join(".zgroup")).unwrap();
        fs::write(path.join("letter.txt"), "dear").unwrap();
        assert!(matches!(store.publish(), Err(StoreError::NotADataset { .. })));
        drop(store);
        assert!(path.join("letter.txt").exists());
    }
}

#[test]
fn a_missing_object_of_a_dataset_that_was_removed_or_replaced_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let key = Key::parse("a/0").unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join(".zgroup"), "{}").unwrap();
    let reader = FileStore::open(&path, Access::ReadWrite).unwrap();
    assert_eq!(reader.len(key).unwrap(), None);
    let writer = FileStore::create(&path, CreateOptions::new().replace_if(has_zgroup)).unwrap();
    writer.publish().unwrap();
    let gone = |error: StoreError| assert!(matches!(error, StoreError::Gone { .. }), "{error}");
    gone(reader.len(key).unwrap_err());
    gone(reader.read_vec(key, 10).unwrap_err());
    gone(reader.read_into(key, 0, &mut [0]).unwrap_err());
    gone(reader.list(Prefix::parse("a").unwrap(), Depth::One, 10).unwrap_err());
    gone(reader.delete(key).unwrap_err());
    gone(reader.write(key, b"1", WriteMode::Replace).unwrap_err());
    assert_eq!(writer.len(key).unwrap(), None);
    fs::remove_dir_all(&path).unwrap();
    gone(writer.len(key).unwrap_err());
}

#[test]
fn opening_tells_nothing_from_a_file_and_reading_from_writing() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| FileStore::open(folder.path().join(name), Access::Read);
    fs::write(folder.path().join("file.nc"), "x").unwrap();
    assert!(matches!(open("none"), Err(StoreError::NotFound { .. })));
    assert!(matches!(open("file.nc"), Err(StoreError::NotADataset { .. })));
    assert!(matches!(
        FileStore::create(folder.path().join("none/new"), CreateOptions::new()),
        Err(StoreError::NotFound { .. })
    ));
    let store = open(".").unwrap();
    let key = Key::parse("file.nc").unwrap();
    assert!(matches!(store.write(key, b"", WriteMode::Replace), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(store.delete(key), Err(StoreError::ReadOnly { .. })));
    assert!(!store.capabilities().writable);
    assert_eq!(store.read_vec(key, 10).unwrap().unwrap(), b"x");
}

#[test]
fn foreign_things_are_neither_objects_nor_dropped_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("a")).unwrap();
    fs::write(path.join("a/0"), "1").unwrap();
    fs::write(path.join("line\nbreak"), "1").unwrap();
    symlink("nowhere", path.join("a/dangling")).unwrap();
    symlink("a", path.join("link")).unwrap();
    fs::write(path.join(".ncz-0123456789abcdef"), "half").unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(path.join("fifo")).status().unwrap();
    assert!(fifo.success());
    let store = FileStore::open(path, Access::ReadWrite).unwrap();
    let key = |text| Key::parse(text).unwrap();
    assert!(matches!(store.read_vec(key("fifo"), 10), Err(StoreError::NotAnObject { .. })));
    assert!(matches!(store.len(key("fifo")), Err(StoreError::NotAnObject { .. })));
    assert_eq!(store.read_vec(key("a"), 10).unwrap(), None);
    // bytes that are elsewhere are not bytes that were never written
    assert!(matches!(store.read_vec(key("a/dangling"), 10), Err(StoreError::NotAnObject { .. })));
    assert!(matches!(store.read_into(key("a/dangling"), 0, &mut [0]), Err(StoreError::NotAnObject { .. })));
    assert!(matches!(store.len(key("a/dangling")), Err(StoreError::NotAnObject { .. })));
    assert_eq!(store.read_vec(key("link/0"), 10).unwrap().unwrap(), b"1");
    let listing = store.list(Prefix::ROOT, Depth::All, 100).unwrap();
    let keys: Vec<_> = listing.entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["a", "a/0", "link", "link/0"]);
    let mut skipped = listing.skipped.clone();
    skipped.sort();
    assert_eq!(skipped, ["a/dangling", "fifo", "line\nbreak", "link/dangling"]);
    // a link to a directory represents the keys below it
    assert!(matches!(store.write(key("link"), b"", WriteMode::Replace), Err(StoreError::KeyConflict { .. })));
    assert!(path.join("link/0").exists());
    // an empty directory represents none
    fs::create_dir(path.join("empty")).unwrap();
    store.write(key("empty"), b"1", WriteMode::CreateNew).unwrap();
}

#[test]
fn an_object_that_is_longer_or_shorter_than_it_says_is_not_read_in_part() {
    // files of /proc say that they are empty, which is as false as a length can be
    let store = FileStore::open("/proc/self", Access::Read).unwrap();
    assert_eq!(store.read_vec(Key::parse("status").unwrap(), 10).unwrap(), Some(Vec::new()));

    // a length of 2^40 is refused before memory is taken for it
    let folder = tempfile::tempdir().unwrap();
    fs::File::create(folder.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let store = FileStore::open(folder.path(), Access::Read).unwrap();
    let key = Key::parse("sparse").unwrap();
    let error = store.read_vec(key, 1 << 30).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { len: 0x100_0000_0000, .. }), "{error}");
    let mut out = Vec::new();
    assert!(store.read(key, ReadRange::Suffix(10), 10, &mut out).unwrap());
}

#[test]
fn an_object_that_changes_its_length_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let store = FileStore::open(folder.path(), Access::Read).unwrap();
    let key = Key::parse("a").unwrap();
    let changed = |answer: Result<(), StoreError>| {
        assert!(matches!(answer, Err(StoreError::Changed { .. })), "{answer:?}")
    };
    for len in [0, 1, 99, 101, 200_000] {
        let truncate = || {
            fs::write(&path, [7; 100]).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            interfere_by(move || file.set_len(len).unwrap());
        };
        let mut out = Vec::with_capacity(1000);
        for range in [ReadRange::All, ReadRange::From(50), ReadRange::Suffix(30)] {
            truncate();
            changed(store.read(key, range, 1000, &mut out).map(drop));
            assert!(out.is_empty());
        }
        for room in [100, 101, 1000] {
            truncate();
            changed(store.read_into(key, 0, &mut vec![0; room]).map(drop));
        }
        // what lies inside both the old and the new object is read
        truncate();
        let part = store.read(key, ReadRange::Bounded { offset: 10, len: 80 }, 1000, &mut out);
        if len < 90 {
            changed(part.map(drop));
        } else {
            assert!(part.unwrap() && out == [7; 80]);
        }
    }
}

#[test]
fn what_dead_writers_left_is_removed_once_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::create_dir_all(path.join("a")).unwrap();
    let rubbish = path.join("a/.ncz-0123456789abcdef");
    let foreign = path.join("a/.ncz-notes");
    fs::write(&rubbish, "half").unwrap();
    fs::write(&foreign, "mine").unwrap();
    let reopen = |age| {
        let store = FileStore::open(&path, Access::ReadWrite).unwrap();
        leftovers::clean(&store, age);
    };
    reopen(Duration::ZERO);
    assert!(rubbish.exists(), "nobody died: there is no mark");

    fs::write(path.join(temp_names::WRITER), "").unwrap();
    reopen(leftovers::OLD);
    assert!(rubbish.exists() && path.join(temp_names::WRITER).exists(), "too young");

    let living = FileStore::open(&path, Access::ReadWrite).unwrap();
    living.write(Key::parse("b").unwrap(), b"1", WriteMode::Replace).unwrap();
    reopen(Duration::ZERO);
    assert!(rubbish.exists(), "somebody is alive");
    drop(living);
    assert!(path.join(temp_names::WRITER).exists(), "a mark that was found stays for the next");

    reopen(Duration::ZERO);
    assert!(!rubbish.exists() && !path.join(temp_names::WRITER).exists());
    assert!(foreign.exists());
}

#[test]
fn stages_of_dead_creators_are_removed_once_they_are_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let dead = folder.path().join(".data.ncz-0123456789abcdef");
    let foreign = folder.path().join(".data.ncz-old-0123456789abcdef");
    fs::create_dir_all(dead.join("a")).unwrap();
    fs::create_dir_all(&foreign).unwrap();
    let living = FileStore::create(&path, CreateOptions::new()).unwrap();
    living.write(Key::parse("a/0").unwrap(), b"1", WriteMode::Replace).unwrap();
    assert!(dead.exists(), "too young");
    living.parent.as_ref().unwrap().clean_stages(Duration::ZERO);
    assert!(!dead.exists() && foreign.exists());
    living.publish().unwrap();
    assert_eq!(fs::read(path.join("a/0")).unwrap(), b"1");
}

#[test]
fn modes_are_what_the_umask_leaves() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reference"), "").unwrap();
    fs::create_dir(folder.path().join("reference.d")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode();
    let path = folder.path().join("data");
    let store = FileStore::create(&path, CreateOptions::new()).unwrap();
    store.write(Key::parse("a/0").unwrap(), b"1", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    assert_eq!(mode(&path), mode(&folder.path().join("reference.d")));
    assert_eq!(mode(&path.join("a")), mode(&folder.path().join("reference.d")));
    assert_eq!(mode(&path.join("a/0")), mode(&folder.path().join("reference")));
}

#[test]
fn modes_are_those_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let permissions = FilePermissions { directory: 0o700, file: 0o600 };
    let store = FileStore::create(&path, CreateOptions::new().permissions(permissions)).unwrap();
    store.write(Key::parse("a/0").unwrap(), b"1", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    assert_eq!([&path, &path.join("a"), &path.join("a/0")].map(|path| mode(path)), [0o700, 0o700, 0o600]);
    let store = FileStore::open(&path, Access::ReadWrite)
        .unwrap()
        .with_permissions(FilePermissions { directory: 0o750, file: 0o640 });
    store.write(Key::parse("b/0").unwrap(), b"1", WriteMode::Replace).unwrap();
    assert_eq!([&path.join("b"), &path.join("b/0")].map(|path| mode(path)), [0o750, 0o640]);
}

#[test]
fn temporary_objects_of_a_dead_writer_are_named_and_those_of_a_living_one_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::create_dir_all(path.join("a")).unwrap();
    let key = Key::parse("a/0").unwrap();
    let alive = FileStore::open(&path, Access::ReadWrite).unwrap();
    alive.write(key, b"1", WriteMode::Replace).unwrap();
    let temporary =
        String::from_utf8(temp_names::TempNames::default().beside(key).as_bytes().to_vec()).unwrap();
    fs::write(path.join(&temporary), "half").unwrap();
    let left = || FileStore::open(&path, Access::Read).unwrap().leftovers();
    assert_eq!(left(), []);
    // a process that dies removes nothing, and its locks go
    drop(alive);
    fs::write(path.join(temp_names::WRITER), "").unwrap();
    let found: Vec<String> = left().into_iter().map(|left| left.path).collect();
    let named = |name: &str| path.join(name).display().to_string();
    assert_eq!(found, [named(temp_names::WRITER), named(&temporary)]);
}

#[test]
fn a_directory_that_is_its_own_ancestor_is_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::create_dir_all(path.join("a/b")).unwrap();
    fs::write(path.join("a/b/0"), "1").unwrap();
    symlink(path.join("a/b"), path.join("link")).unwrap();
    symlink("a/b", path.join("again")).unwrap();
    let store = FileStore::open(&path, Access::Read).unwrap();
    assert_eq!(store.list(Prefix::ROOT, Depth::All, 100).unwrap().entries.len(), 7);
    symlink("../..", path.join("a/b/up")).unwrap();
    let error = store.list(Prefix::ROOT, Depth::All, 100).unwrap_err();
    assert!(
        matches!(&error, StoreError::LinkLoop { at, .. } if at.key.as_deref().is_some_and(|key| key.ends_with("/up"))),
        "{error}"
    );
    let below = Prefix::parse("a/b/up/a").unwrap();
    assert!(matches!(store.list(below, Depth::All, 100), Err(StoreError::LinkLoop { .. })));
    assert_eq!(store.list(Prefix::ROOT, Depth::One, 100).unwrap().entries.len(), 3);
}
