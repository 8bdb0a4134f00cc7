//! Appends and other growth that are interrupted: what was begun is finished once, or given up, by the next writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ncz::copy::{Appended, CopyError, CopyOptions, append_with_receipt};
use ncz::model::{Appending, Interrupted, Reached};
use ncz::model::{Attribute, Consolidated, DataError, Elements, Format, Slab};
use ncz::repair::{Choices, plan};
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{
    Access, Capabilities, CreateOptions, Depth, Durability, FileStore, Key, Listing, MemoryStore, Prefix,
    ReadInto, ReadRange, Store, StoreError, StoreExt, WriteMode, ZipLayout, ZipStore,
};
use ncz::verify::{Code, VerifyOptions, verify};
use ncz::zarr::Dataset;
use ncz::zarr::journal::{finish_or_discard, interrupted};
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_test_support::takes_all;
use serde_json::{Value as Json, json};

use super::copy_append::{Side, check, copy_of, ints, side};
use super::helpers::{explained, faults_of, objects, open, session};

const OLD: i32 = 3;
const NEW: i32 = 8;

const FORMATS: [Format; 3] = [Format::NCZARR, Format::Zarr2, Format::Zarr3];

fn target(format: Format, consolidated: bool) -> Arc<MemoryStore> {
    Side { format, consolidated, ..side(0..OLD) }.store()
}

fn source() -> Dataset {
    side(OLD..NEW).dataset()
}

fn append_from(source: &Dataset, store: Arc<dyn Store>) -> Result<Appended, CopyError> {
    let target = Dataset::open(store, session(1), &Default::default())?;
    append_with_receipt(source, target, "time", &CopyOptions::default(), &())
}

#[track_caller]
fn appended(source: &Dataset, store: &Arc<MemoryStore>) -> Appended {
    append_from(source, store.clone()).unwrap_or_else(|error| panic!("{}", explained(&error)))
}

/// Appends whatever the order of the coordinate.
#[track_caller]
fn append_anyhow(source: &Dataset, store: &Arc<MemoryStore>) -> Appended {
    let options = CopyOptions { any_order: true, ..CopyOptions::default() };
    append_with_receipt(source, open(store.clone(), &session(1)), "time", &options, &()).unwrap()
}

/// As a reader sees it, who cannot write and finishes nothing.
#[derive(Debug)]
struct ReadOnly<S>(S);

impl<S: Store> fmt::Display for ReadOnly<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<S: Store> Store for ReadOnly<S> {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.0.capabilities();
        capabilities.writable = false;
        capabilities
    }

    fn read(
        &self,
        key: Key<'_>,
        range: ReadRange,
        max_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.0.read(key, range, max_len, out)
    }

    fn read_into(&self, key: Key<'_>, offset: u64, out: &mut [u8]) -> Result<Option<ReadInto>, StoreError> {
        self.0.read_into(key, offset, out)
    }

    fn len(&self, key: Key<'_>) -> Result<Option<u64>, StoreError> {
        self.0.len(key)
    }

    fn write(&self, _: Key<'_>, _: &[u8], _: WriteMode) -> Result<(), StoreError> {
        panic!("a reader writes")
    }

    fn delete(&self, _: Key<'_>) -> Result<bool, StoreError> {
        panic!("a reader deletes")
    }

    fn list(&self, prefix: Prefix<'_>, depth: Depth, max_entries: usize) -> Result<Listing, StoreError> {
        self.0.list(prefix, depth, max_entries)
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn publish(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Readers of consolidated metadata and of the documents see whole records, of the old or of the new length.
fn check_readers(store: &Arc<MemoryStore>, what: &dyn fmt::Debug) {
    for consolidated in [ConsolidatedPolicy::Ignore, ConsolidatedPolicy::Only] {
        let options = ReadOptions { consolidated, ..ReadOptions::default() };
        let dataset = Dataset::open(Arc::new(ReadOnly(store.clone())), session(1), &options).unwrap();
        for (path, row, sign) in [("/time", 1, 1), ("/t", 3, 1), ("/g/q", 1, -1)] {
            let found = ints(&dataset, path);
            assert!([OLD * row, NEW * row].contains(&(found.len() as i32)), "{what:?}, {path}: {found:?}");
            for (at, value) in (0..).zip(&found) {
                let is_fill = at >= OLD * row && *value == -1;
                assert!(*value == sign * at || is_fill, "{what:?}, {path}: {found:?}");
            }
        }
    }
}

/// All objects except for consolidated metadata: a fault that hides them when a dataset is opened lets it lose them.
fn all_objects(store: &dyn Store) -> BTreeMap<String, Vec<u8>> {
    let mut all = objects(store, true);
    all.remove(".zmetadata");
    all.extend(objects(store, false));
    if let Some(root) = all.get_mut("zarr.json") {
        let mut document: Json = serde_json::from_slice(root).unwrap();
        document.as_object_mut().unwrap().remove("consolidated_metadata");
        *root = document.to_string().into_bytes();
    }
    all
}

/// Compares two stores, and names what differs.
#[track_caller]
fn check_same(one: &dyn Store, other: &dyn Store, what: &dyn fmt::Debug) {
    let (one, other) = (all_objects(one), all_objects(other));
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ: Vec<&String> = keys.into_iter().filter(|key| one.get(*key) != other.get(*key)).collect();
    assert!(differ.is_empty(), "{what:?}: {differ:?}");
}

/// Consolidated metadata say what the documents say.
fn check_consolidated(store: &Arc<MemoryStore>, what: &dyn fmt::Debug) {
    let dataset = Dataset::open(Arc::new(ReadOnly(store.clone())), session(1), &Default::default()).unwrap();
    assert_ne!(dataset.hierarchy().consolidated, Consolidated::Stale, "{what:?}");
    assert!(dataset.hierarchy().warnings.is_empty(), "{what:?}: {:?}", dataset.hierarchy().warnings);
}

#[test]
fn the_same_append_again_appends_once_whichever_operation_was_the_last() {
    let targets = FORMATS.into_iter().flat_map(|format| [(format, true), (format, false)]);
    for (turn, (format, consolidated)) in targets.enumerate() {
        let (original, source) = (target(format, consolidated), source());
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let appended = append_from(&source, faulty.clone());
            let confirmed = appended.as_ref().map(|_| ()).map_err(explained_error);
            let was_left = match appended {
                Ok(appended) => appended.receipt.confirm(&*faulty).is_err(),
                Err(_) => true,
            };
            (store, confirmed, was_left, faulty.operations())
        };
        let (good, result, _, total) = attempt(Fault::Never);
        result.unwrap();
        check(&open(good.clone(), &session(1)), NEW);
        assert!(interrupted(&*good).unwrap().is_none());
        let mut finished = 0;
        for fault in faults_of(total, turn) {
            let what = (format, consolidated, fault);
            let (store, result, was_left, _) = attempt(fault);
            check_readers(&store, &what);
            let left = interrupted(&*store).unwrap();
            if left.is_none() && result.is_ok() {
                // It is over, if the answer that says so was not lost.
                assert!(!was_left || matches!(fault, Fault::AfterDoing(_)), "{what:?}");
                check_same(&*store, &*good, &what);
                continue;
            }
            let again = appended(&source, &store);
            let printed = again.recovered.map(|interrupted| interrupted.to_string());
            finished += u32::from(again.already_appended);
            again.receipt.confirm(&*store).unwrap();
            assert!(interrupted(&*store).unwrap().is_none(), "{what:?}");
            check_same(&*store, &*good, &(what, printed));
            check_consolidated(&store, &what);
        }
        assert!(finished > if takes_all("NCZ_INTERRUPTED") { 10 } else { 3 }, "{format:?}: {finished}");
    }
}

fn explained_error(error: &CopyError) -> String {
    explained(error)
}

#[test]
fn the_same_append_on_purpose_appends_again() {
    let (store, source) = (target(Format::NCZARR, true), source());
    let done = appended(&source, &store);
    done.receipt.confirm(&*store).unwrap();
    let before = objects(&*store, true);
    let error = append_from(&source, store.clone()).unwrap_err();
    assert!(matches!(error, CopyError::Order { .. }), "{error:?}");
    assert_eq!(error.remedy(), Some(ncz::Remedy::AnyOrder));
    assert_eq!(objects(&*store, true), before);
    let done = append_anyhow(&source, &store);
    assert!(!done.already_appended && done.recovered.is_none());
    done.receipt.confirm(&*store).unwrap();
    assert_eq!(ints(&open(store, &session(1)), "/time"), [0, 1, 2, 3, 4, 5, 6, 7, 3, 4, 5, 6, 7]);
}

/// The target of an append that was interrupted when some of its documents were written.
fn half_done(format: Format) -> Arc<MemoryStore> {
    let (original, source) = (target(format, true), source());
    for n in 0.. {
        let store = copy_of(&original);
        assert!(append_from(&source, Arc::new(Faulty::new(store.clone(), Fault::From(n)))).is_err());
        let left = interrupted(&*store).unwrap();
        let is_half = objects(&*store, true) != objects(&*original, true) || format.is_v3();
        if left.is_some_and(|left| left.reached == Reached::Lengths) && is_half {
            return store;
        }
    }
    unreachable!()
}

#[test]
fn another_append_finishes_the_interrupted_one_first() {
    for format in FORMATS {
        let store = half_done(format);
        let elsewhere = Arc::new(MemoryStore::new("other"));
        side(NEW..NEW + 2).make(elsewhere.clone()).unwrap();
        let other = open(elsewhere, &session(1));
        let done = appended(&other, &store);
        assert!(!done.already_appended, "{format:?}");
        let first = done.recovered.unwrap();
        assert_eq!(first.append.map(|append| (append.old, append.new)), Some((OLD as u64, NEW as u64)));
        done.receipt.confirm(&*store).unwrap();
        check(&open(store.clone(), &session(1)), NEW + 2);
        check_consolidated(&store, &format);
    }
}

#[test]
fn a_source_that_changed_after_an_interruption_is_refused_once() {
    let store = half_done(Format::NCZARR);
    // At the same location as the first source: all memory stores have that name.
    let changed = side(OLD + 1..NEW + 1).dataset();
    let error = append_from(&changed, store.clone()).unwrap_err();
    assert!(matches!(&error, CopyError::SourceChanged { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("no longer gives the records") && text.contains("from 3 to 8"), "{text}");
    check(&open(store.clone(), &session(1)), NEW);
    let done = append_anyhow(&changed, &store);
    assert!(!done.already_appended);
    done.receipt.confirm(&*store).unwrap();
    assert_eq!(ints(&open(store, &session(1)), "/time").len(), 2 * NEW as usize - OLD as usize);
}

#[test]
fn whatever_writes_finishes_what_was_interrupted() {
    let whole = {
        let store = target(Format::NCZARR, true);
        appended(&source(), &store).receipt.confirm(&*store).unwrap();
        store
    };
    type Write<'a> = &'a dyn Fn(Arc<MemoryStore>);
    let writers: [(&str, Write<'_>); 3] = [
        ("change", &|store| {
            let mut dataset = open(store, &session(1));
            dataset.change(|hierarchy| Ok(hierarchy.root.set_attribute(Attribute::new("a", 1))?)).unwrap();
        }),
        ("growth", &|store| {
            let mut dataset = open(store, &session(1));
            dataset
                .write("/g/q", &Slab::new([NEW as u64], [1]), Elements::Native, &7i32.to_ne_bytes())
                .unwrap();
            dataset.finish().unwrap();
        }),
        ("repair", &|store| {
            let plan = plan(store, &session(1), &Choices::default(), &()).unwrap();
            assert_eq!(plan.steps[0].finding.code, Code::Interrupted);
            plan.apply().unwrap();
        }),
    ];
    for (name, write) in writers {
        let store = half_done(Format::NCZARR);
        write(store.clone());
        assert!(interrupted(&*store).unwrap().is_none(), "{name}");
        check_consolidated(&store, &name);
        let dataset = open(store.clone(), &session(1));
        assert_eq!(ints(&dataset, "/t")[..3 * NEW as usize], (0..3 * NEW).collect::<Vec<_>>(), "{name}");
        if name == "repair" {
            check_same(&*store, &*whole, &name);
        }
    }
}

#[test]
fn verify_says_what_was_interrupted_and_what_to_do() {
    let store = half_done(Format::Zarr2);
    let reader =
        || Dataset::open(Arc::new(ReadOnly(store.clone())), session(1), &Default::default()).unwrap();
    let report = verify(&reader(), &VerifyOptions::default(), &()).unwrap();
    let finding = report.findings.iter().find(|finding| finding.code == Code::Interrupted).unwrap();
    let text = finding.to_string();
    assert!(text.contains("along \"/time\", from 3 to 8,"), "{text}");
    assert_eq!(finding.remedy, Some(ncz::Remedy::Repair));
    assert!(!report.is_sound());
    let found = finish_or_discard(&*store).unwrap().unwrap();
    assert_eq!(found.reached, Reached::Lengths);
    let report = verify(&reader(), &VerifyOptions::default(), &()).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    check(&reader(), NEW);
}

/// Changes an attribute of a document as another program would.
fn touch(store: &MemoryStore, key: &str) {
    let key = Key::parse(key).unwrap();
    let mut document: Json = serde_json::from_slice(&store.read_vec(key, 1 << 20).unwrap().unwrap()).unwrap();
    match document.get_mut("attributes") {
        Some(attributes) => attributes["theirs"] = json!(1),
        None => document["theirs"] = json!(1),
    }
    store.write(key, document.to_string().as_bytes(), WriteMode::Replace).unwrap();
}

#[test]
fn an_append_is_known_after_another_program_changed_what_it_wrote() {
    let (store, source) = (target(Format::Zarr3, false), source());
    let done = appended(&source, &store);
    assert!(!done.already_appended);
    for key in ["time/zarr.json", "t/zarr.json", "g/q/zarr.json"] {
        touch(&store, key);
    }
    assert_eq!(interrupted(&*store).unwrap().unwrap().reached, Reached::All);
    let again = appended(&source, &store);
    assert!(again.already_appended);
    again.receipt.confirm(&*store).unwrap();
    check(&open(store.clone(), &session(1)), NEW);
    assert!(text(&store, "t/zarr.json").contains("theirs"));
}

#[test]
fn what_another_program_changed_is_never_overwritten() {
    // Nothing is visible: it is given up.
    let (original, source) = (target(Format::Zarr3, true), source());
    let before = |n| {
        let store = copy_of(&original);
        let faulty = Arc::new(Faulty::new(store.clone(), Fault::From(n)));
        append_from(&source, faulty).unwrap_err();
        store
    };
    let is_begun = |n: &u64| {
        let store = before(*n);
        let left = interrupted(&*store).unwrap();
        left.is_some_and(|left| left.reached == Reached::Lengths)
            && objects_v3(&store) == objects_v3(&original)
    };
    let store = before((0..).find(is_begun).unwrap());
    touch(&store, "t/zarr.json");
    let dataset = open(store.clone(), &session(1));
    assert_eq!(dataset.recovered().unwrap().reached, Reached::Data);
    check(&dataset, OLD);
    drop(dataset);
    assert!(text(&store, "t/zarr.json").contains("theirs"));

    // Something is: only a person can say.
    let store = before((0..).find(|n| !is_begun(n) && is_half(&before(*n))).unwrap());
    let left: Vec<&str> = ["time/zarr.json", "t/zarr.json", "g/q/zarr.json"]
        .into_iter()
        .filter(|key| text(&store, key) == text(&original, key))
        .collect();
    touch(&store, left[0]);
    let documents = objects_v3(&store);
    let mut dataset = open(store.clone(), &session(1));
    let error = dataset.resize("/time", &[20]).and_then(|()| dataset.flush()).unwrap_err();
    assert!(matches!(&error, DataError::Journal { .. }), "{error:?}");
    let printed = error.to_string();
    assert!(printed.contains(left[0]), "{printed}");
    assert_eq!(error.remedy(), Some(ncz::Remedy::Repair));
    assert_eq!(objects_v3(&store), documents);
    let plan = plan(store.clone(), &session(1), &Choices::default(), &()).unwrap();
    plan.apply().unwrap();
    assert!(interrupted(&*store).unwrap().is_none());
    assert!(text(&store, left[0]).contains("theirs"));
}

fn is_half(store: &Arc<MemoryStore>) -> bool {
    interrupted(&**store).unwrap().is_some_and(|left| left.reached == Reached::Lengths)
}

fn text(store: &MemoryStore, key: &str) -> String {
    String::from_utf8(store.read_vec(Key::parse(key).unwrap(), 1 << 20).unwrap().unwrap()).unwrap()
}

/// The documents of version 3.
fn objects_v3(store: &MemoryStore) -> Vec<(String, Vec<u8>)> {
    objects(store, false).into_iter().filter(|(key, _)| key.ends_with("zarr.json")).collect()
}

#[test]
fn a_journal_that_cannot_be_read_is_refused_by_name_and_removed_by_repair() {
    for bytes in
        [&b"{"[..], b"{\"version\": 2}", b"[]", b"{\"version\": 1, \"documents\": [{\"key\": \"t/0.0\"}]}"]
    {
        let store = target(Format::NCZARR, true);
        store.write(Key::JOURNAL, bytes, WriteMode::Replace).unwrap();
        let error = append_from(&source(), store.clone()).unwrap_err();
        assert!(explained(&error).contains(".ncz-journal"), "{error}");
        let report = verify(&open(store.clone(), &session(1)), &VerifyOptions::default(), &()).unwrap();
        assert!(report.findings.iter().any(|finding| finding.code == Code::Interrupted));
        plan(store.clone(), &session(1), &Choices::default(), &()).unwrap().apply().unwrap();
        appended(&source(), &store).receipt.confirm(&*store).unwrap();
        check(&open(store, &session(1)), NEW);
    }
}

/// Puts another writer into the journal.
fn sign(store: &MemoryStore, change: impl FnOnce(&mut Json)) {
    let bytes = store.read_vec(Key::JOURNAL, 1 << 20).unwrap().unwrap();
    let mut journal: Json = serde_json::from_slice(&bytes).unwrap();
    change(&mut journal["writer"]);
    store.write(Key::JOURNAL, journal.to_string().as_bytes(), WriteMode::Replace).unwrap();
}

fn started(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().parse().unwrap()
}

/// A dataset to which this process has begun to append.
fn begun() -> Arc<MemoryStore> {
    let store = target(Format::NCZARR, true);
    let mut dataset = open(store.clone(), &session(1));
    let append = Appending {
        source: "memory:test".to_owned(),
        part: "all".to_owned(),
        dimension: "/time".to_owned(),
        old: OLD as u64,
        new: NEW as u64,
    };
    dataset.begin_append(append).unwrap();
    store
}

#[test]
fn two_do_not_append_at_once() {
    let store = begun();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    sign(&store, |writer| {
        writer["process"] = json!(child.id());
        writer["started"] = json!(started(&child));
    });
    let before = copy_of(&store);
    let error = append_from(&source(), store.clone()).unwrap_err();
    let CopyError::Data(DataError::Busy { interrupted, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(interrupted.running, Some(true));
    assert!(error.to_string().contains(&format!("process {}", child.id())), "{error}");
    // Other growth is refused, too, and so is repairing.
    let mut dataset = open(store.clone(), &session(1));
    dataset.resize("/time", &[20]).unwrap();
    assert!(matches!(dataset.flush(), Err(DataError::Busy { .. })));
    plan(store.clone(), &session(1), &Choices::default(), &()).unwrap_err();
    check_same(&*store, &*before, &"refused");
    // It has ended even before it is reaped.
    child.kill().unwrap();
    while !std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    appended(&source(), &store).receipt.confirm(&*store).unwrap();
    check(&open(store, &session(1)), NEW);
    child.wait().unwrap();
}

#[test]
fn of_an_append_on_another_machine_only_the_same_one_goes_on() {
    let elsewhere = |writer: &mut Json| writer["host"] = json!("elsewhere");
    let store = begun();
    sign(&store, elsewhere);
    let other = side(OLD..NEW + 1).dataset();
    let error = append_from(&other, store.clone()).unwrap_err();
    let CopyError::Data(DataError::Busy { interrupted, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(interrupted.running, None);
    assert_eq!(error.remedy(), Some(ncz::Remedy::Repair), "{error}");
    appended(&source(), &store).receipt.confirm(&*store).unwrap();
    check(&open(store, &session(1)), NEW);

    // What counts already is finished, wherever it was begun.
    let store = half_done(Format::NCZARR);
    sign(&store, elsewhere);
    check(&open(store, &session(1)), NEW);
    // A machine that was started anew runs nothing of before.
    let store = begun();
    sign(&store, |writer| writer["boot"] = json!("another"));
    appended(&other, &store).receipt.confirm(&*store).unwrap();
    check(&open(store, &session(1)), NEW + 1);
}

#[test]
fn an_append_that_was_taken_for_dead_is_not_committed() {
    let store = begun();
    let mut slow = open(store.clone(), &session(1));
    // Opening has discarded what `begun` started; this one starts again, and is taken over.
    slow.begin_append(Appending {
        source: "slow".to_owned(),
        part: "all".to_owned(),
        dimension: "/time".to_owned(),
        old: OLD as u64,
        new: 20,
    })
    .unwrap();
    appended(&source(), &store).receipt.confirm(&*store).unwrap();
    slow.resize("/time", &[20]).unwrap_err();
    let mut slow_but_first = open(store.clone(), &session(1));
    slow_but_first
        .begin_append(Appending {
            source: "slow".to_owned(),
            part: "all".to_owned(),
            dimension: "/time".to_owned(),
            old: NEW as u64,
            new: 20,
        })
        .unwrap();
    slow_but_first.resize("/time", &[20]).unwrap();
    finish_or_discard(&*store).unwrap();
    let error = slow_but_first.finish_append().unwrap_err();
    assert!(matches!(error, DataError::Changed { .. }), "{error:?}");
    check(&open(store, &session(1)), NEW);
}

/// Growth by writing, without an append.
fn grow(dataset: &mut Dataset) -> Result<(), DataError> {
    let rows = (OLD..NEW).flat_map(i32::to_ne_bytes).collect::<Vec<u8>>();
    dataset.append("/time", 0, Elements::Native, &rows)?;
    for (path, shape) in [("/t", &[NEW as u64, 3][..]), ("/g/q", &[NEW as u64])] {
        dataset.resize(path, shape)?;
    }
    dataset.flush()
}

#[test]
fn a_flush_that_was_interrupted_is_whole_or_undone_for_the_next_writer() {
    for (format, consolidated) in FORMATS.into_iter().flat_map(|format| [(format, true), (format, false)]) {
        let original = target(format, consolidated);
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let result = Dataset::open(faulty.clone(), session(1), &Default::default())
                .and_then(|mut dataset| grow(&mut dataset));
            (store, result, faulty.operations())
        };
        let (good, result, total) = attempt(Fault::Never);
        result.unwrap();
        let documents = |store: &Arc<MemoryStore>| -> Vec<(String, Vec<u8>)> {
            let is_document = |key: &str| key.contains(".z") || key.ends_with("zarr.json");
            all_objects(&**store).into_iter().filter(|(key, _)| is_document(key)).collect()
        };
        for fault in (0..total).flat_map(|n| [Fault::From(n), Fault::Once(n), Fault::AfterDoing(n)]) {
            let (store, result, _) = attempt(fault);
            let dataset = open(store.clone(), &session(1));
            assert!(interrupted(&*store).unwrap().is_none(), "{format:?}, {fault:?}");
            check_consolidated(&store, &(format, fault));
            let found = documents(&store);
            assert!(found == documents(&original) || found == documents(&good), "{format:?}, {fault:?}");
            assert!(result.is_err() || found == documents(&good), "{format:?}, {fault:?}");
            assert!([OLD as usize, NEW as usize].contains(&ints(&dataset, "/time").len()));
        }
    }
}

fn opened_zip(path: &Path) -> ZipStore {
    ZipStore::open(path, Access::ReadWrite, ZipLayout::Automatic).unwrap()
}

#[test]
fn the_same_append_to_an_archive_appends_once_whichever_operation_was_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original.zip");
    let made = ZipStore::create(&original, CreateOptions::new(), ZipLayout::Flat).unwrap();
    side(0..OLD).make(Arc::new(made)).unwrap();
    let path = folder.path().join("t.zip");
    let attempt = |fault| {
        std::fs::copy(&original, &path).unwrap();
        let faulty = Arc::new(Faulty::new(opened_zip(&path), fault));
        let result = append_from(&source(), faulty.clone())
            .and_then(|appended| Ok(appended.receipt.confirm(&*faulty)?));
        (result, faulty.operations())
    };
    let (result, total) = attempt(Fault::Never);
    result.unwrap();
    let mut finished = 0;
    for fault in faults_of(total, 0) {
        let (result, _) = attempt(fault);
        let reader = || Arc::new(ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap());
        let len = ints(&open(reader(), &session(1)), "/time").len() as i32;
        check(&open(reader(), &session(1)), len);
        assert!(len == NEW || len == OLD && result.is_err(), "{fault:?}: {len}");
        let left = interrupted(&*reader()).unwrap();
        if let Some(Interrupted { reached, .. }) = &left {
            assert_eq!(*reached, if len == NEW { Reached::All } else { Reached::Data }, "{fault:?}");
        }
        if len == OLD || left.is_some() {
            let again = append_from(&source(), Arc::new(opened_zip(&path))).unwrap();
            assert_eq!(again.already_appended, len == NEW, "{fault:?}");
            finished += u32::from(again.already_appended);
            again.receipt.confirm(&opened_zip(&path)).unwrap();
        }
        check(&open(reader(), &session(1)), NEW);
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["original.zip", "t.zip"], "{fault:?}");
    }
    assert!(finished > 1, "{finished}");
}

/// Appends in a child process, and kills it at one of the operations.
fn append_until_killed(path: &Path) {
    let last: u64 = std::env::var("NCZ_TEST_OPERATION").unwrap().parse().unwrap();
    let store = FileStore::open(path, Access::ReadWrite).unwrap().with_durability(Durability::Process);
    let store = Arc::new(Faulty::new(store, Fault::From(last)));
    // Nothing reaches the directory from the last operation on.
    let result = append_from(&source(), store.clone());
    if result.map(|appended| appended.receipt.confirm(&*store)).is_ok_and(|confirmed| confirmed.is_ok()) {
        return;
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
}

#[test]
fn an_append_to_a_directory_that_is_killed_anywhere_and_run_again_appends_once() {
    const NAME: &str =
        "dataset::interrupted::an_append_to_a_directory_that_is_killed_anywhere_and_run_again_appends_once";
    // In the child process, which runs the same test.
    if let Some(path) = std::env::var_os("NCZ_TEST_KILLED_APPEND") {
        return append_until_killed(Path::new(&path));
    }
    // It dies at every third operation; with `NCZ_INTERRUPTED=all` at each.
    let step = if takes_all("NCZ_INTERRUPTED") { 1 } else { 3 };
    for (first, format) in [Format::NCZARR, Format::Zarr3].into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.zarr");
        let mut killed = 0;
        for last in (first % step..).step_by(step) {
            let made =
                FileStore::create(&path, CreateOptions::new().durability(Durability::Process)).unwrap();
            Side { format, ..side(0..OLD) }.make(Arc::new(made)).unwrap();
            let status = Command::new(std::env::current_exe().unwrap())
                .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
                .env("NCZ_TEST_KILLED_APPEND", &path)
                .env("NCZ_TEST_OPERATION", last.to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            if status.success() {
                break;
            }
            assert_eq!(status.signal(), Some(9));
            killed += 1;
            let store = Arc::new(FileStore::open(&path, Access::ReadWrite).unwrap());
            let again = append_from(&source(), store.clone()).unwrap();
            again.receipt.confirm(&*store).unwrap();
            let dataset = open(store, &session(1));
            check(&dataset, NEW);
            assert!(dataset.hierarchy().warnings.is_empty(), "{last}: {:?}", dataset.hierarchy().warnings);
            drop(dataset);
            std::fs::remove_dir_all(&path).unwrap();
        }
        assert!(killed > 50 / step, "{killed}");
    }
}
