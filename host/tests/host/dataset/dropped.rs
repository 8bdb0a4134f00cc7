use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ncz::model::{Elements, Format, Hierarchy, NcType, Slab, VariableBuilder};
use ncz::store::{Access, CreateOptions, FileStore, Store, ZipLayout, ZipStore};
use ncz::zarr::Dataset;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::helpers::{memory, open, session};

/// Keeps the events at `error`.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(format!("{} ", event.metadata().target()));
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The events at `error` while `act` runs.
fn errors(act: impl FnOnce()) -> Vec<String> {
    let errors = Errors::default();
    tracing::subscriber::with_default(errors.clone(), act);
    errors.0.lock().unwrap().clone()
}

fn growing() -> Hierarchy {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "time", 0, true).unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("t", NcType::Int).dimensions(["time"]).chunks([4]))
        .unwrap();
    hierarchy
}

fn new(store: Arc<dyn Store>) -> Dataset {
    Dataset::create(store, growing(), session(1), false).unwrap()
}

fn grow(dataset: &mut Dataset) {
    dataset.append("/t", 0, Elements::Native, &1i32.to_ne_bytes()).unwrap();
}

#[track_caller]
fn assert_said(errors: &[String], times: usize) {
    assert_eq!(errors.len(), times, "{errors:?}");
    assert!(errors.iter().all(|text| text.starts_with("ncz_zarr ")), "{errors:?}");
    assert!(errors.iter().all(|text| text.contains("dropped without finish()")), "{errors:?}");
}

#[test]
fn a_dataset_that_is_dropped_with_changes_says_so_and_one_that_is_finished_or_discarded_does_not() {
    let store = memory();
    assert_said(&errors(|| drop(new(store.clone()))), 1);
    let store = memory();
    assert_said(&errors(|| new(store.clone()).finish().unwrap()), 0);
    assert_said(&errors(|| drop(open(store.clone(), &session(1)))), 0);
    let grown = |end: fn(Dataset)| {
        errors(|| {
            let mut dataset = open(store.clone(), &session(1));
            grow(&mut dataset);
            end(dataset);
        })
    };
    assert_said(&grown(drop), 1);
    assert_said(&grown(Dataset::discard), 0);
    let len = || open(store.clone(), &session(1)).array("/t").unwrap().shape().to_vec();
    assert_eq!(len(), [0]);
    let flushed = |mut dataset: Dataset| dataset.flush().unwrap();
    assert_said(&grown(flushed), 0);
    assert_eq!(len(), [1]);
    assert_said(&grown(|dataset| dataset.finish().unwrap()), 0);
    assert_eq!(len(), [2]);
}

#[test]
fn a_new_dataset_that_was_never_published_is_lost_with_a_word_even_if_it_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, zip) = (folder.path().join("d.nczarr"), folder.path().join("d.zip"));
    let directory_store = |path: &Path| -> Arc<dyn Store> {
        Arc::new(FileStore::create(path, CreateOptions::default()).unwrap())
    };
    let zip_store = |path: &Path| -> Arc<dyn Store> {
        Arc::new(ZipStore::create(path, CreateOptions::default(), ZipLayout::default()).unwrap())
    };
    for (path, store) in
        [(&directory, &directory_store as &dyn Fn(&Path) -> Arc<dyn Store>), (&zip, &zip_store)]
    {
        let flushed = || {
            let mut dataset = new(store(path));
            dataset.flush().unwrap();
        };
        assert_said(&errors(flushed), 1);
        assert!(!path.exists());
        assert_said(&errors(|| new(store(path)).finish().unwrap()), 0);
        assert!(path.exists());
    }
    // What is changed in a zip file waits until it is finished.
    let changed = |end: fn(Dataset)| {
        errors(|| {
            let mut dataset = open(
                Arc::new(ZipStore::open(&zip, Access::ReadWrite, ZipLayout::default()).unwrap()),
                &session(1),
            );
            grow(&mut dataset);
            dataset.flush().unwrap();
            end(dataset);
        })
    };
    assert_said(&changed(drop), 1);
    assert_said(&changed(|dataset| dataset.finish().unwrap()), 0);
    let dataset =
        open(Arc::new(ZipStore::open(&zip, Access::Read, ZipLayout::default()).unwrap()), &session(1));
    let array = dataset.array("/t").unwrap();
    let mut bytes = [0; 4];
    array.read_bytes(&Slab::whole(array.shape()), Elements::Native, &mut bytes).unwrap();
    assert_eq!(i32::from_ne_bytes(bytes), 1);
}
