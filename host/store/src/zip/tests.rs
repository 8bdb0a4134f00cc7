//! What only an archive can do wrong: crash points, publishing, bytes that are read or left.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::time::{Duration, SystemTime};

use super::*;
use crate::store::StoreExt;
use crate::sys::fault::{Plan, counting_reads, plainly, with};

const OLD: &[u8] = &[1; 2500];
const NEW: &[u8] = &[2; 3500];

fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}

fn put(store: &ZipStore, text: &str, bytes: &[u8]) {
    store.write(key(text), bytes, WriteMode::Replace).unwrap();
}

fn make(path: &Path, objects: &[(&str, &[u8])]) {
    let store = ZipStore::create(path, CreateOptions::new(), ZipLayout::Flat).unwrap();
    for (text, bytes) in objects {
        put(&store, text, bytes);
    }
    store.publish().unwrap();
}

fn open(path: &Path, access: Access) -> ZipStore {
    ZipStore::open(path, access, ZipLayout::Automatic).unwrap()
}

fn read(path: &Path, text: &str) -> Option<Vec<u8>> {
    let store = ZipStore::open(path, Access::Read, ZipLayout::Automatic).ok()?;
    store.read_vec(key(text), 1 << 20).unwrap()
}

fn is_dataset(store: &dyn Store) -> Result<bool, StoreError> {
    store.exists(Key::parse(".zgroup")?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Create,
    Replace,
    Update,
}

#[test]
fn wherever_a_write_or_publishing_fails_there_is_the_old_or_the_new_archive_whole() {
    for plain in [false, true] {
        for case in [Case::Create, Case::Replace, Case::Update] {
            for dies in [false, true] {
                let mut step = 0;
                while !fails_at(if dies { Plan::From(step) } else { Plan::Once(step) }, plain, case) {
                    step += 1;
                }
                assert!(step >= 8, "{step} of {case:?}");
            }
        }
    }
}

/// Whether everything was done before the fault came.
fn fails_at(plan: Plan, plain: bool, case: Case) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    if case != Case::Create {
        make(&path, &[(".zgroup", b"{}"), ("a/0", OLD), ("b", b"stays")]);
    }
    let store = match case {
        Case::Update => open(&path, Access::ReadWrite),
        _ => {
            let options = CreateOptions::new().replace_if(is_dataset);
            ZipStore::create(&path, options, ZipLayout::Flat).unwrap()
        }
    };
    let act = || {
        with(Some(plan), || {
            // what is overwritten makes a second file necessary
            let written = store.write(key("a/0"), &NEW[..100], WriteMode::Replace).and_then(|()| {
                store.write(key("a/0"), NEW, WriteMode::Replace)?;
                store.delete(key("gone"))
            });
            let answer = written.and_then(|_| store.publish());
            // what a dead process does not do
            if matches!(plan, Plan::From(_)) {
                drop(store);
                return (answer, None);
            }
            (answer, Some(store))
        })
    };
    let ((answer, store), steps) = if plain { plainly(act) } else { act() };
    let context = format!("{plan:?} of {case:?}, plain {plain}: {answer:?}");
    let there = read(&path, "a/0");
    let is_new = there.as_deref() == Some(NEW);
    let said_so =
        matches!(answer, Ok(()) | Err(StoreError::NotDurable { .. } | StoreError::NotRemoved { .. }));
    assert_eq!(said_so, is_new, "{context}");
    if !is_new {
        assert_eq!(there.as_deref(), (case != Case::Create).then_some(OLD), "{context}");
        assert_eq!(path.exists(), case != Case::Create, "{context}");
    }
    if case != Case::Create && !(is_new && case == Case::Replace) {
        assert_eq!(read(&path, "b").as_deref(), Some(&b"stays"[..]), "{context}");
    }
    if let Some(store) = store {
        // nothing is lost: the same may be tried again
        put(&store, "a/0", NEW);
        store.publish().unwrap();
        drop(store);
        assert_eq!(read(&path, "a/0").as_deref(), Some(NEW), "{context}");
        // it may be a removal that failed
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert!(left <= 2, "{left}: {context}");
    }
    match plan {
        Plan::Once(n) | Plan::From(n) => steps <= n,
    }
}

#[test]
fn a_change_is_seen_by_its_store_alone_until_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    make(&path, &[(".zgroup", b"{}"), ("a/0", OLD), ("a/1", OLD)]);
    let before = fs::read(&path).unwrap();
    let reader = open(&path, Access::Read);
    let store = open(&path, Access::ReadWrite);
    assert!(store.capabilities().deferred_writes && !reader.capabilities().writable);
    assert!(matches!(reader.write(key("a"), b"", WriteMode::Replace), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.delete(key("a/0")), Err(StoreError::ReadOnly { .. })));
    put(&store, "a/0", NEW);
    assert!(store.delete(key("a/1")).unwrap());
    assert!(!store.delete(key("a/1")).unwrap());
    store.sync().unwrap();
    assert_eq!(store.read_vec(key("a/0"), 1 << 20).unwrap().unwrap(), NEW);
    assert!(!store.exists(key("a/1")).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before, "dropped unpublished it leaves no trace");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let store = open(&path, Access::ReadWrite);
    put(&store, "a/0", NEW);
    store.publish().unwrap();
    assert_eq!(read(&path, "a/0").unwrap(), NEW);
    assert_eq!(reader.read_vec(key("a/0"), 1 << 20).unwrap().unwrap(), OLD, "who has it open reads on");
    put(&store, "a/2", NEW);
    store.publish().unwrap();
    assert_eq!(read(&path, "a/2").unwrap(), NEW);
    assert_eq!(read(&path, "a/1").unwrap(), OLD);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn nothing_is_rewritten_where_nothing_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    make(&path, &[("a", OLD)]);
    let inode = fs::metadata(&path).unwrap().ino();
    let store = open(&path, Access::ReadWrite);
    put(&store, "b", NEW);
    assert!(store.delete(key("b")).unwrap());
    store.publish().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn an_archive_that_was_changed_replaced_or_removed_meanwhile_is_not_published_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let other = folder.path().join("other.zip");
    let tamper: [&dyn Fn(); 3] = [
        &|| {
            make(&other, &[("a", NEW)]);
            fs::rename(&other, &path).unwrap();
        },
        &|| fs::File::options().append(true).open(&path).unwrap().set_len(3000).unwrap(),
        &|| fs::remove_file(&path).unwrap(),
    ];
    for plain in [false, true] {
        for tamper in tamper {
            let _ = fs::remove_file(&path);
            make(&path, &[("a", OLD)]);
            let store = open(&path, Access::ReadWrite);
            put(&store, "b", NEW);
            tamper();
            let then = fs::read(&path).ok();
            let publish = || store.publish();
            let error = if plain { plainly(publish) } else { publish() }.unwrap_err();
            assert!(matches!(error, StoreError::Gone { .. }), "{error}");
            assert_eq!(error.netcdf_code(), -141);
            drop(store);
            assert_eq!(fs::read(&path).ok(), then);
        }
    }
    assert!(fs::read_dir(folder.path()).unwrap().count() <= 1);
}

#[test]
fn what_exists_and_is_no_dataset_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target.zip");
    let elsewhere = folder.path().join("elsewhere.zip");
    make(&elsewhere, &[(".zgroup", b"{}")]);
    let create = |replace: bool| {
        let options = CreateOptions::new();
        let options = if replace { options.replace_if(is_dataset) } else { options };
        ZipStore::create(&path, options, ZipLayout::Flat).map(drop)
    };
    let makers: [&dyn Fn(); 7] = [
        &|| fs::write(&path, "a file").unwrap(),
        &|| fs::write(&path, "").unwrap(),
        &|| symlink(&elsewhere, &path).unwrap(),
        &|| symlink("nowhere", &path).unwrap(),
        &|| fs::create_dir(&path).unwrap(),
        &|| make(&path, &[("d/.zgroup", b"{}"), ("letter.txt", b"dear")]),
        &|| make(&path, &[("letter.txt", b"dear")]),
    ];
    for make in makers {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir(&path);
        make();
        assert!(matches!(create(false), Err(StoreError::AlreadyExists { .. })));
        let error = create(true).unwrap_err();
        assert!(matches!(error, StoreError::NotADataset { .. }), "{error:?}");
        assert!(path.symlink_metadata().is_ok());
    }
    assert_eq!(read(&path, "letter.txt").unwrap(), b"dear");
    // a dataset that is all there is may lie in a folder, and come from macOS
    fs::remove_file(&path).unwrap();
    make(&path, &[("d/.zgroup", b"{}"), ("__MACOSX/d/._.zgroup", b"")]);
    create(true).unwrap();
    // what appears meanwhile is not replaced either
    fs::remove_file(&path).unwrap();
    let store = ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat).unwrap();
    fs::write(&path, "mine").unwrap();
    for plain in [false, true] {
        let publish = || store.publish();
        let error = if plain { plainly(publish) } else { publish() }.unwrap_err();
        assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_replaced_and_an_updated_archive_keep_their_owner_and_mode_and_a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let link = folder.path().join("link.zip");
    make(&path, &[(".zgroup", b"{}")]);
    // only root can give the file away
    let _ = chown(&path, Some(12_345), Some(12_346));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let owner = || fs::metadata(&path).map(|found| (found.uid(), found.gid())).unwrap();
    let before = owner();
    symlink("data.zip", &link).unwrap();
    let store = open(&link, Access::ReadWrite);
    put(&store, "a", NEW);
    store.publish().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(read(&path, "a").unwrap(), NEW);
    let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
    assert_eq!(mode(), 0o640);
    let options = CreateOptions::new().replace_if(is_dataset);
    ZipStore::create(&path, options, ZipLayout::Flat).unwrap().publish().unwrap();
    assert_eq!(mode(), 0o640);
    assert_eq!(owner(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_part_of_a_stored_object_costs_its_bytes_and_one_look_at_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
    make(&path, &[("a", OLD), ("big", &bytes), ("c", OLD)]);
    let (store, opened) = counting_reads(|| open(&path, Access::Read));
    assert!(opened < 200_000, "{opened}");
    let mut out = Vec::new();
    let range = ReadRange::Bounded { offset: 1_000_000, len: 1_000_000 };
    let (answer, first) = counting_reads(|| store.read(key("big"), range, 1 << 20, &mut out));
    assert!(answer.unwrap() && out == bytes[1_000_000..2_000_000]);
    assert_eq!(first, 1_000_030);
    let (answer, second) = counting_reads(|| store.read(key("big"), range, 1 << 20, &mut out));
    assert!(answer.unwrap());
    assert_eq!(second, 1_000_000);
    let (answer, part) = counting_reads(|| store.read_into(key("big"), 2_999_990, &mut [0; 100]));
    assert_eq!((answer.unwrap().unwrap().filled, part), (10, 10));
    let (answer, none) = counting_reads(|| store.len(key("big")));
    assert_eq!((answer.unwrap(), none), (Some(3_000_000), 0));
    let (_, none) = counting_reads(|| store.list(Prefix::ROOT, Depth::All, 10).unwrap());
    assert_eq!(none, 0);
}

#[test]
fn what_was_overwritten_or_deleted_is_not_in_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let store = ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat).unwrap();
    let holds = |needle: &[u8]| {
        fs::read(&path)
            .unwrap()
            .windows(needle.len())
            .filter(|buffered_file| *buffered_file == needle)
            .count()
    };
    put(&store, "a", b"first version");
    put(&store, "a", b"second version");
    put(&store, "b", b"deleted again");
    store.delete(key("b")).unwrap();
    store.publish().unwrap();
    assert_eq!((holds(b"first version"), holds(b"second version"), holds(b"deleted again")), (0, 1, 0));
    put(&store, "a", b"third version");
    put(&store, "c", b"new");
    store.publish().unwrap();
    assert_eq!((holds(b"second version"), holds(b"third version"), holds(b"new")), (0, 1, 1));
    let len = fs::metadata(&path).unwrap().len();
    store.delete(key("c")).unwrap();
    store.publish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < len);
    assert_eq!(read(&path, "a").unwrap(), b"third version");
}

#[test]
fn stages_of_dead_writers_are_removed_once_they_are_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let dead = folder.path().join(".data.zip.ncz-0123456789abcdef");
    let young = folder.path().join(".data.zip.ncz-0123456789abcde0");
    let foreign = folder.path().join(".data.zip.ncz-notes");
    for file in [&dead, &young, &foreign] {
        fs::write(file, "half").unwrap();
    }
    let old = SystemTime::now() - Duration::from_secs(48 * 3600);
    for file in [&dead, &foreign] {
        fs::File::options().write(true).open(file).unwrap().set_modified(old).unwrap();
    }
    let store = ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat).unwrap();
    assert!(!dead.exists() && young.exists() && foreign.exists());
    put(&store, "a", NEW);
    let other = ZipStore::create(&path, CreateOptions::new(), ZipLayout::Flat).unwrap();
    let Contents::PendingChanges(changing) = &other.contents else { panic!() };
    changing.parent.clean_stages(Duration::ZERO);
    assert!(!young.exists() && foreign.exists());
    store.publish().unwrap();
    assert_eq!(read(&path, "a").unwrap(), NEW, "somebody lived in that one");
}

#[test]
fn an_archive_has_the_permissions_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let options = CreateOptions::new().permissions(FilePermissions { directory: 0o700, file: 0o600 });
    ZipStore::create(&path, options, ZipLayout::Flat).unwrap().publish().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_a_dead_writer_left_goes_with_the_next_one_and_what_a_living_one_uses_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let target = path.file_name().unwrap();
    make(&path, &[(".zgroup", b"{}")]);
    let names = crate::temp_names::TempNames::default();
    let beside = |name: &std::ffi::OsStr| folder.path().join(name);
    let dead = [names.stage(target), names.stage(target)].map(|name| beside(&name));
    fs::write(&dead[0], "half an archive").unwrap();
    fs::create_dir(&dead[1]).unwrap();
    fs::write(dead[1].join("0"), "half a dataset").unwrap();
    let elsewhere = beside(std::ffi::OsStr::new(".data.zip.ncz-00000000ffffffff"));
    fs::write(&elsewhere, "of another machine").unwrap();
    let kept = beside(&names.aside(target));
    fs::write(&kept, "the old archive").unwrap();
    let alive =
        ZipStore::create(&path, CreateOptions::new().replace_if(is_dataset), ZipLayout::Flat).unwrap();

    let left = |path: &Path| {
        let mut left: Vec<_> = open(path, Access::Read)
            .leftovers()
            .into_iter()
            .map(|left| (left.path, left.is_removed))
            .collect();
        left.sort();
        left
    };
    let named = |path: &Path, is_removed| (path.display().to_string(), is_removed);
    // the first writer has removed what was left in this start of the system
    assert!(dead.iter().all(|path| !path.exists()));
    let mut wanted = [named(&elsewhere, true), named(&kept, false)];
    wanted.sort();
    assert_eq!(left(&path), wanted, "what a living writer uses is not named");

    fs::write(&dead[0], "half an archive").unwrap();
    assert!(left(&path).contains(&named(&dead[0], true)));
    let other = open(&path, Access::ReadWrite);
    assert!(!dead[0].exists() && elsewhere.exists() && kept.exists());
    put(&alive, ".zgroup", b"{}");
    alive.publish().unwrap();
    drop(other);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn the_journal_is_a_file_beside_the_archive_and_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    make(&path, &[(".zgroup", b"{}")]);
    let beside = folder.path().join(".data.zip.ncz-journal");
    let writer = open(&path, Access::ReadWrite);
    assert_eq!(writer.read_vec(Key::JOURNAL, 100).unwrap(), None);
    writer.write(Key::JOURNAL, b"one", WriteMode::CreateNew).unwrap();
    assert_eq!(fs::read(&beside).unwrap(), b"one");
    let error = writer.write(Key::JOURNAL, b"two", WriteMode::CreateNew).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error:?}");
    writer.write(Key::JOURNAL, b"other", WriteMode::Replace).unwrap();
    let reader = open(&path, Access::Read);
    assert_eq!(reader.read_vec(Key::JOURNAL, 100).unwrap().unwrap(), b"other");
    let mut part = Vec::new();
    assert!(reader.read(Key::JOURNAL, ReadRange::Suffix(2), 100, &mut part).unwrap());
    assert_eq!(part, b"er");
    assert!(matches!(reader.read_vec(Key::JOURNAL, 4), Err(StoreError::TooLarge { .. })));
    assert!(matches!(reader.delete(Key::JOURNAL), Err(StoreError::ReadOnly { .. })));

    // It outlives what is published, and is never listed.
    put(&writer, "a", b"new");
    writer.publish().unwrap();
    assert_eq!(fs::read(&beside).unwrap(), b"other");
    assert_eq!(writer.list(Prefix::ROOT, Depth::All, 10).unwrap().entries.len(), 2);
    assert!(writer.delete(Key::JOURNAL).unwrap() && !writer.delete(Key::JOURNAL).unwrap());
    assert!(!beside.exists());

    // A new archive has no journal of the one before it.
    fs::write(&beside, b"of the old one").unwrap();
    let options = CreateOptions::new().replace_if(is_dataset);
    let store = ZipStore::create(&path, options, ZipLayout::Flat).unwrap();
    put(&store, ".zgroup", b"{}");
    store.publish().unwrap();
    assert!(!beside.exists());
}
