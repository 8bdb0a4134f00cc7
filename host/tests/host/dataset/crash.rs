//! Programs that stop in the midst of creating, growing or changing a dataset: what is in the store opens as old or
//! as new.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ncz::model::{
    Attribute, DataError, Elements, Format, Hierarchy, MetadataError, NcType, NewFill, Session, Slab, Value,
    VariableBuilder,
};
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{
    Access, CreateOptions, Depth, Durability, EntryKind, FileStore, MemoryStore, Prefix, Store, StoreError,
    StoreExt, WriteMode,
};
use ncz::zarr::Dataset;

use super::helpers::{explained, memory, open, session, spec, values};

const FILL: i32 = -1;
const OLD: u64 = 3;
const NEW: u64 = 6;

/// `a` and `b` grow by writing, `/g/c` because it shares their dimension.
fn hierarchy(session: &Session, format: Format, len: u64) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "t", len, true).unwrap();
    hierarchy.add_dimension("/", "x", 3, false).unwrap();
    hierarchy.add_group("/", "g").unwrap();
    for (group, name, dimensions, chunks) in [
        ("/", "a", vec!["t", "x"], vec![2, 2]),
        ("/", "b", vec!["t"], vec![4]),
        ("/g", "c", vec!["t"], vec![2]),
    ] {
        let new = VariableBuilder::new(name, NcType::Int).dimensions(dimensions).chunks(chunks);
        let variable = hierarchy.add_variable(group, new.fill(NewFill::Value(Value::from(FILL)))).unwrap();
        session.define(variable, format, &spec(r#"{"id":"zstd"}"#)).unwrap();
    }
    hierarchy
}

/// The value at a position in `/a` (column 0 to 2), `/b` (3) or `/g/c` (4).
fn value(t: u64, column: u64) -> i32 {
    (t * 5 + column) as i32
}

fn rows(path: &str, range: std::ops::Range<u64>) -> Vec<u8> {
    let columns = match path {
        "/a" => 0..3,
        "/b" => 3..4,
        _ => 4..5,
    };
    range.flat_map(|t| columns.clone().flat_map(move |column| value(t, column).to_ne_bytes())).collect()
}

fn write_rows(dataset: &mut Dataset, path: &str, range: std::ops::Range<u64>) -> Result<(), DataError> {
    let count = range.end - range.start;
    let slab = if path == "/a" {
        Slab::new([range.start, 0], [count, 3])
    } else {
        Slab::new([range.start], [count])
    };
    dataset.write(path, &slab, Elements::Native, &rows(path, range))
}

fn create(store: Arc<dyn Store>, format: Format) -> Result<(), DataError> {
    let session = session(1);
    let hierarchy = hierarchy(&session, format, OLD);
    let mut dataset = Dataset::create(store, hierarchy, session, true)?;
    for path in ["/a", "/b", "/g/c"] {
        write_rows(&mut dataset, path, 0..OLD)?;
    }
    dataset.finish()
}

fn grow(dataset: &mut Dataset) -> Result<(), DataError> {
    for path in ["/a", "/b"] {
        if !dataset.hierarchy().format.is_nczarr() {
            let shape: &[u64] = if path == "/a" { &[NEW, 3] } else { &[NEW] };
            dataset.resize(path, shape)?;
        }
        write_rows(dataset, path, OLD..NEW)?;
    }
    dataset.flush()
}

fn copy_of(store: &MemoryStore) -> Arc<MemoryStore> {
    let copy = memory();
    for entry in store.list(Prefix::ROOT, Depth::All, 10_000).unwrap().entries {
        if entry.kind == EntryKind::Object {
            let bytes = store.read_vec(entry.key.as_key(), 1 << 20).unwrap().unwrap();
            copy.write(entry.key.as_key(), &bytes, WriteMode::Replace).unwrap();
        }
    }
    copy
}

/// Checks that each variable holds its rows up to `full`, and beyond either its rows or fill; says its length.
fn check(dataset: &Dataset, path: &str, full: u64) -> u64 {
    let array = dataset.array(path).unwrap_or_else(|error| panic!("{}", explained(&error)));
    let len = array.shape()[0];
    assert!(len >= full, "{path}: {len} rows of {full}");
    let found = values(&array);
    let wanted = rows(path, 0..len);
    let row = wanted.len() / len.max(1) as usize;
    let mut lost = false;
    for (t, (found, wanted)) in found.chunks_exact(row).zip(wanted.chunks_exact(row)).enumerate() {
        let is_fill = found.chunks_exact(4).all(|element| element == FILL.to_ne_bytes());
        assert!(found == wanted || t as u64 >= full && is_fill, "{path}, row {t}: {found:?}");
        lost |= found != wanted;
    }
    if lost { full } else { len }
}

fn faults(n: u64) -> [Fault; 3] {
    [Fault::From(n), Fault::Once(n), Fault::AfterDoing(n)]
}

/// Operations of an attempt without faults.
fn operations(attempt: impl Fn(Arc<Faulty<Arc<MemoryStore>>>)) -> u64 {
    let store = Arc::new(Faulty::new(memory(), Fault::Never));
    attempt(store.clone());
    store.operations()
}

const FORMATS: [Format; 3] = [Format::NCZARR, Format::Zarr2, Format::Zarr3];

#[test]
fn a_new_dataset_is_absent_or_whole_whichever_operation_is_the_last() {
    for format in FORMATS {
        let total = operations(|store| create(store, format).unwrap());
        for n in 0..total {
            for fault in faults(n) {
                let store = memory();
                let result = create(Arc::new(Faulty::new(store.clone(), fault)), format);
                assert!(result.is_err(), "{fault:?}");
                match Dataset::open(store, session(1), &Default::default()) {
                    Ok(dataset) => {
                        assert_eq!(dataset.hierarchy().variables().count(), 3, "{fault:?}");
                        for path in ["/a", "/b", "/g/c"] {
                            assert_eq!(check(&dataset, path, OLD), OLD);
                        }
                    }
                    Err(DataError::Metadata(MetadataError::NotADataset)) => {}
                    Err(error) => panic!("{fault:?}: {}", explained(&error)),
                }
            }
        }
    }
}

#[test]
fn a_dataset_has_its_old_or_its_new_length_whichever_operation_of_growth_is_the_last() {
    for format in FORMATS {
        let original = memory();
        create(original.clone(), format).unwrap();
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let dataset = Dataset::open(faulty.clone(), session(1), &Default::default());
            let result = dataset.and_then(|mut dataset| grow(&mut dataset));
            (store, result, faulty.operations())
        };
        let (store, result, total) = attempt(Fault::Never);
        result.unwrap();
        assert!(total > 30, "{total}");
        assert_eq!(check(&open(store, &session(1)), "/b", NEW), NEW);
        for n in 0..total {
            for fault in faults(n) {
                let (store, result, _) = attempt(fault);
                let mut dataset = open(store.clone(), &session(1));
                for path in ["/a", "/b", "/g/c"] {
                    let len = check(&dataset, path, OLD);
                    assert!(len == OLD || len == NEW, "{fault:?}, {path}: {len}");
                    assert!(result.is_err() || len == NEW || path == "/g/c", "{fault:?}, {path}: {len}");
                }
                // The next program does what that one did not.
                grow(&mut dataset).unwrap_or_else(|error| panic!("{fault:?}: {}", explained(&error)));
                if !format.is_nczarr() {
                    dataset.resize("/g/c", &[NEW]).unwrap();
                }
                dataset.finish().unwrap();
                let dataset = open(store, &session(1));
                assert_eq!(check(&dataset, "/a", NEW), NEW);
                assert_eq!(check(&dataset, "/b", NEW), NEW);
                assert_eq!(check(&dataset, "/g/c", OLD), OLD);
                assert!(
                    dataset.hierarchy().warnings.is_empty(),
                    "{fault:?}: {:?}",
                    dataset.hierarchy().warnings
                );
                assert!(
                    dataset.hierarchy().variables().all(|variable| variable.shape[0] == NEW),
                    "{fault:?}"
                );
            }
        }
    }
}

#[test]
fn growth_that_failed_once_succeeds_when_it_is_tried_again() {
    let original = memory();
    create(original.clone(), Format::NCZARR).unwrap();
    let attempt = |fault| {
        let store = copy_of(&original);
        let faulty = Arc::new(Faulty::new(store.clone(), fault));
        let mut dataset = match Dataset::open(faulty.clone(), session(1), &Default::default()) {
            Ok(dataset) => dataset,
            Err(_) => return faulty.operations(),
        };
        if grow(&mut dataset).is_err() {
            grow(&mut dataset).unwrap_or_else(|error| panic!("{fault:?}: {}", explained(&error)));
        }
        drop(dataset);
        let dataset = open(store, &session(1));
        assert_eq!(check(&dataset, "/a", NEW), NEW, "{fault:?}");
        assert_eq!(check(&dataset, "/b", NEW), NEW, "{fault:?}");
        assert!(dataset.hierarchy().warnings.is_empty(), "{fault:?}: {:?}", dataset.hierarchy().warnings);
        faulty.operations()
    };
    for n in 0..attempt(Fault::Never) {
        attempt(Fault::Once(n));
        attempt(Fault::AfterDoing(n));
    }
}

#[test]
fn a_dataset_grows_on_after_a_flush_that_failed() {
    for format in [Format::NCZARR, Format::Zarr3] {
        let original = memory();
        create(original.clone(), format).unwrap();
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let Ok(mut dataset) = Dataset::open(faulty.clone(), session(1), &Default::default()) else {
                return faulty.operations();
            };
            let failed = grow(&mut dataset).is_err();
            let longer = |dataset: &mut Dataset| {
                dataset.resize("/a", &[NEW + 9, 3])?;
                dataset.flush()
            };
            let grown =
                longer(&mut dataset).or_else(|error| if failed { Err(error) } else { longer(&mut dataset) });
            grown.unwrap_or_else(|error| panic!("{format:?}, {fault:?}: {}", explained(&error)));
            assert_eq!(open(store, &session(1)).array("/a").unwrap().shape(), [NEW + 9, 3], "{fault:?}");
            faulty.operations()
        };
        for n in 0..attempt(Fault::Never) {
            attempt(Fault::Once(n));
            attempt(Fault::AfterDoing(n));
        }
    }
}

fn change(dataset: &mut Dataset) -> Result<(), DataError> {
    let session = dataset.session().clone();
    dataset.change(|hierarchy| {
        let format = hierarchy.format;
        hierarchy.root.set_attribute(Attribute::new("title", "new"))?;
        hierarchy.variable_mut("/g/c")?.set_attribute(Attribute::new("units", "new"))?;
        hierarchy.add_group("/g", "h")?;
        let variable =
            hierarchy.add_variable("/g/h", VariableBuilder::new("d", NcType::Int).dimensions(["/x"]))?;
        session.define(variable, format, &spec(r#"{"id":"zstd"}"#))?;
        Ok(())
    })
}

#[test]
fn metadata_are_as_before_or_as_after_whichever_operation_of_a_change_is_the_last() {
    for format in FORMATS {
        let original = memory();
        create(original.clone(), format).unwrap();
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let dataset = Dataset::open(faulty.clone(), session(1), &Default::default());
            let result = dataset.and_then(|mut dataset| {
                let again = matches!(fault, Fault::Once(_) | Fault::AfterDoing(_));
                change(&mut dataset).or_else(|error| if again { change(&mut dataset) } else { Err(error) })
            });
            (store, result, faulty.operations())
        };
        let total = attempt(Fault::Never).2;
        for n in 0..total {
            for fault in faults(n) {
                let (store, result, _) = attempt(fault);
                let mut dataset = open(store.clone(), &session(1));
                let title = dataset.hierarchy().root.attribute("title").is_some();
                let units = dataset.hierarchy().variable("/g/c").unwrap().attribute("units").is_some();
                assert_eq!(dataset.hierarchy().unreadable().count(), 0, "{fault:?}");
                if result.is_ok() {
                    assert!(title && units && dataset.is_defined("/g/h/d"), "{fault:?}");
                }
                for path in ["/a", "/b", "/g/c"] {
                    assert_eq!(check(&dataset, path, OLD), OLD, "{fault:?}");
                }
                // The next program does what that one did not.
                if !dataset.is_defined("/g/h/d") && dataset.hierarchy().group("/g/h").is_err() {
                    change(&mut dataset).unwrap_or_else(|error| panic!("{fault:?}: {}", explained(&error)));
                    let dataset = open(store, &session(1));
                    assert!(dataset.is_defined("/g/h/d"));
                    assert!(
                        dataset.hierarchy().warnings.is_empty(),
                        "{fault:?}: {:?}",
                        dataset.hierarchy().warnings
                    );
                }
            }
        }
    }
}

const STARTED: &str = "started";
const WRITTEN: &str = "written";

/// The path of the dataset that a child process writes until it is killed.
const CRASH: &str = "NCZ_TEST_CRASH";
const KILLED: &str = "dataset::crash::two_hundred_killed_programs_leave_a_dataset_that_is_absent_or_whole_with_an_old_or_a_new_length";

/// Creates a dataset unless it exists, and grows it.
fn write_until_killed(path: &Path) {
    let session = session(2);
    println!("{STARTED}");
    if !path.exists() {
        let store = FileStore::create(path, CreateOptions::new().durability(Durability::Process)).unwrap();
        let hierarchy = hierarchy(&session, Format::NCZARR, 0);
        let mut dataset = Dataset::create(Arc::new(store), hierarchy, session.clone(), true).unwrap();
        for path in ["/a", "/b"] {
            write_rows(&mut dataset, path, 0..20).unwrap();
        }
        dataset.finish().unwrap();
    }
    let store = FileStore::open(path, Access::ReadWrite).unwrap().with_durability(Durability::Process);
    let mut dataset = open(Arc::new(store), &session);
    let mut at = dataset.array("/a").unwrap().shape()[0];
    while at < 1_000_000 {
        let next = at + 1 + at % 3;
        for path in ["/a", "/b"] {
            write_rows(&mut dataset, path, at..next).unwrap();
        }
        if at.is_multiple_of(2) {
            dataset.flush().unwrap();
        }
        println!("{WRITTEN}");
        at = next;
    }
}

/// Starts the child, and kills it at a moment that `random` chooses: up to 15 ms after it started where `creating`,
/// else up to 1 ms after any of its first eight writes, however slow the machine.
fn start_and_kill(path: &Path, creating: bool, random: &mut u64) {
    // xorshift64*
    let mut below = |limit: u64| {
        *random ^= *random >> 12;
        *random ^= *random << 25;
        *random ^= *random >> 27;
        random.wrapping_mul(0x2545_F491_4F6C_DD1D) % limit
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([KILLED, "--exact", "--nocapture", "--test-threads=1"])
        .env(CRASH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let (word, times, micros) =
        if creating { (STARTED, 1, below(15_000)) } else { (WRITTEN, 1 + below(8), below(1_000)) };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..times {
        // The line of the test harness may end in the first word.
        let found = lines.by_ref().any(|line| line.unwrap().ends_with(word));
        assert!(found, "the child ended before it said `{word}` {times} times");
    }
    std::thread::sleep(Duration::from_micros(micros));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "it was not stopped but ended: {status}");
}

#[test]
fn two_hundred_killed_programs_leave_a_dataset_that_is_absent_or_whole_with_an_old_or_a_new_length() {
    // In the child process, which runs the same test.
    if let Some(path) = std::env::var_os(CRASH) {
        return write_until_killed(Path::new(&path));
    }
    let seed = std::env::var("NCZ_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1
    });
    println!("NCZ_TEST_SEED={seed}");
    let mut random = seed;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.zarr");
    let (mut before, mut absent, mut grown) = (0, 0, 0);
    for round in 0..200 {
        // One of four while it creates the dataset, if that is how long it takes.
        start_and_kill(&path, round % 4 == 0, &mut random);
        match FileStore::open(&path, Access::Read) {
            Ok(store) => {
                let dataset = open(Arc::new(store), &session(1));
                let len = check(&dataset, "/a", before.max(20));
                check(&dataset, "/b", 20.min(len));
                grown += u32::from(len > before);
                before = len;
            }
            Err(StoreError::NotFound { .. }) => {
                assert_eq!(before, 0);
                absent += 1;
            }
            Err(error) => panic!("{error}"),
        }
        if round % 4 == 3 && path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
            before = 0;
        }
    }
    println!("absent {absent}, grown {grown}");
    assert!(absent > 0 && grown > 50, "absent {absent}, grown {grown}");
}
