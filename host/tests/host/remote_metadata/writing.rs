//! What writing metadata far away costs, and in which order they are written.

use std::sync::Arc;
use std::time::Duration;

use ncz::model::{Attribute, DataError, Format, Hierarchy, Value};
use ncz::store::testing::{Fault, Faulty, Remote};
use ncz::store::{Key, MemoryStore, Store, WriteMode};
use ncz::zarr::Dataset;

use super::far::{Log, far, objects, session, thirty, written};

fn depth(key: &str) -> usize {
    key.matches('/').count()
}

fn renamed(dataset: &mut Dataset) -> Result<(), DataError> {
    dataset.change(|hierarchy: &mut Hierarchy| {
        let paths: Vec<String> = hierarchy.variables().map(|variable| variable.path.clone()).collect();
        for path in paths {
            hierarchy.variable_mut(&path)?.set_attribute(Attribute::new("units", Value::text("C")))?;
        }
        Ok(())
    })
}

#[test]
fn a_new_dataset_is_written_without_reading_what_is_inside_first() {
    for (format, consolidated) in
        [(Format::NCZARR, false), (Format::NCZARR, true), (Format::Zarr3, true), (Format::Zarr2, false)]
    {
        let store = Arc::new(far(&Default::default()).with_latency(Duration::from_millis(5)));
        let dataset = Dataset::create(store.clone(), thirty(format), session(), consolidated).unwrap();
        dataset.finish().unwrap();
        // Whether somebody has consolidated meanwhile.
        let looked: &[&str] = if consolidated || format.is_v3() { &[] } else { &[".zmetadata"] };
        assert_eq!(store.inner().reads(), looked, "{format:?}");
        let counts = store.inner().inner.counts();
        assert_eq!((counts.lists, counts.lens), (1, 0), "{format:?}");
        let written_objects = objects(store.inner());
        assert_eq!(written_objects, written(thirty(format), consolidated), "{format:?}");
        let writes = store.inner().writes();
        assert_eq!(writes.len(), written_objects.len(), "{format:?}");
        assert!(store.most_waiting() > 10, "{format:?}: one after the other");

        let is_group = |key: &str| {
            let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
            !folder.rsplit('/').next().unwrap_or_default().starts_with('v') && key != ".zmetadata"
        };
        let at = |wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..writes.len()).filter(|&at| wanted(&writes[at])).collect()
        };
        let variables = at(&|key| !is_group(key) && key != ".zmetadata");
        let groups = at(&is_group);
        assert_eq!(
            variables.len() + groups.len() + usize::from(consolidated && !format.is_v3()),
            writes.len()
        );
        assert!(variables.iter().max() < groups.iter().min(), "{writes:?}");
        let depths: Vec<usize> = groups.iter().map(|&at| depth(&writes[at])).collect();
        assert!(depths.is_sorted_by(|one, next| one >= next), "{writes:?}");
        if !format.is_v3() {
            for number in 0..10 {
                let own = at(&|key| key.starts_with(&format!("v{number}/")));
                assert_eq!(writes[own[0]].rsplit('/').next(), Some(".zattrs"));
                assert_eq!(writes[own[1]].rsplit('/').next(), Some(".zarray"));
            }
            let last = if consolidated { ".zmetadata" } else { ".zgroup" };
            assert_eq!(writes.last().map(String::as_str), Some(last));
        }
    }
}

#[test]
fn a_change_reads_what_it_replaces_in_one_round_trip() {
    let store = Arc::new(far(&written(thirty(Format::NCZARR), true)));
    let mut dataset = Dataset::open(store.clone(), session(), &Default::default()).unwrap();
    store.inner().forget();
    let before = store.round_trips();
    renamed(&mut dataset).unwrap();
    let (reads, writes) = (store.inner().reads(), store.inner().writes());
    // The attributes of 30 variables, and the consolidated metadata.
    assert_eq!((reads.len(), writes.len()), (31, 31), "{reads:?} {writes:?}");
    assert_eq!(store.round_trips() - before, 2 + 31);
    assert_eq!(writes.last().map(String::as_str), Some(".zmetadata"));
}

#[test]
fn what_another_program_changed_is_seen_before_anything_is_written() {
    let store = Arc::new(far(&written(thirty(Format::NCZARR), false)));
    let mut dataset = Dataset::open(store.clone(), session(), &Default::default()).unwrap();
    let theirs = Key::parse("g1/g2/v9/.zattrs").unwrap();
    store.write(theirs, br#"{"units": "theirs"}"#, WriteMode::Replace).unwrap();
    store.inner().forget();
    let error = renamed(&mut dataset).unwrap_err();
    assert!(matches!(&error, DataError::Changed { key, .. } if key == theirs.as_str()), "{error:?}");
    assert_eq!(store.inner().writes(), [""; 0]);
}

#[test]
fn a_dataset_that_somebody_else_creates_meanwhile_is_not_overwritten() {
    let store = Arc::new(far(&Default::default()));
    let dataset = Dataset::create(store.clone(), thirty(Format::NCZARR), session(), false).unwrap();
    let theirs = Key::parse(".zgroup").unwrap();
    store.write(theirs, br#"{"zarr_format": 2, "theirs": 1}"#, WriteMode::Replace).unwrap();
    let error = dataset.finish().unwrap_err();
    assert!(matches!(&error, DataError::Changed { key, .. } if key == ".zgroup"), "{error:?}");
    assert!(objects(store.inner())[".zgroup"].ends_with(b"\"theirs\": 1}"));
}

type FaultyFar = Remote<Log<Faulty<Arc<MemoryStore>>>>;

fn faulty(memory: &Arc<MemoryStore>, fault: Fault) -> Arc<FaultyFar> {
    Arc::new(Remote::new(Log::of(Faulty::new(memory.clone(), fault))).with_in_flight(4))
}

fn shown(store: Arc<dyn Store>) -> Result<Vec<String>, DataError> {
    let dataset = Dataset::open(store, session(), &Default::default())?;
    assert_eq!(dataset.hierarchy().unreadable().count(), 0);
    assert!(dataset.hierarchy().warnings.is_empty(), "{:?}", dataset.hierarchy().warnings);
    let units = |variable: &ncz::model::Variable| {
        format!("{} {:?}", variable.path, variable.attribute("units").map(|units| &units.value))
    };
    Ok(dataset.hierarchy().variables().map(units).collect())
}

#[test]
fn creation_leaves_no_dataset_or_a_complete_one_wherever_it_stops() {
    for (format, consolidated) in [(Format::NCZARR, true), (Format::Zarr3, true), (Format::Zarr2, false)] {
        let create = |fault| {
            let memory = Arc::new(MemoryStore::new("test"));
            let store = faulty(&memory, fault);
            let created = Dataset::create(store.clone(), thirty(format), session(), consolidated);
            let result = created.and_then(Dataset::finish);
            (memory, result, store.inner().inner.operations())
        };
        let (memory, result, operations) = create(Fault::Never);
        result.unwrap();
        let wanted = shown(memory).unwrap();
        for n in 0..operations {
            for fault in [Fault::From(n), Fault::Once(n), Fault::AfterDoing(n)] {
                let (memory, result, _) = create(fault);
                match shown(memory) {
                    Ok(whole) => assert_eq!(whole, wanted, "{format:?} {fault:?}"),
                    Err(error) => {
                        assert!(error.to_string().contains("no Zarr dataset"), "{fault:?}: {error}");
                        result.unwrap_err();
                    }
                }
            }
        }
    }
}

#[test]
fn a_change_that_failed_can_be_made_again() {
    let old = written(thirty(Format::NCZARR), true);
    let change = |fault| {
        let memory = Arc::new(MemoryStore::new("test"));
        for (key, bytes) in &old {
            memory.write(Key::parse(key).unwrap(), bytes, WriteMode::Replace).unwrap();
        }
        let store = faulty(&memory, fault);
        let mut dataset = Dataset::open(store.clone(), session(), &Default::default())?;
        let more = |dataset: &mut Dataset| {
            renamed(dataset)?;
            dataset.change(|hierarchy| {
                hierarchy.add_group("/g1", "new")?;
                let new = ncz::model::VariableBuilder::new("w", ncz::model::NcType::Short);
                hierarchy.add_variable("/g1/new", new.dimensions(["time"]).chunks([4]))?;
                Ok(())
            })
        };
        if let Err(error) = more(&mut dataset) {
            // All may have been written, and only making it durable have failed.
            if dataset.hierarchy().group("/g1/new").is_err() {
                more(&mut dataset).unwrap_or_else(|second| panic!("{fault:?}: {error:?}, then {second:?}"));
            }
        }
        dataset.finish()?;
        Ok::<_, DataError>((shown(memory)?, store.inner().inner.operations()))
    };
    let (wanted, operations) = change(Fault::Never).unwrap();
    assert_eq!(wanted.len(), 31);
    for n in 0..operations {
        for fault in [Fault::Once(n), Fault::AfterDoing(n)] {
            // It fails when it is opened or finished.
            if let Ok((shown, _)) = change(fault) {
                assert_eq!(shown, wanted, "{fault:?}");
            }
        }
    }
}
