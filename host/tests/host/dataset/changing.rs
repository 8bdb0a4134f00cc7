//! Metadata of existing datasets that change: only changes are written, and foreign data are kept.

use std::sync::Arc;

use ncz::model::{
    Attribute, Consolidated, DataError, Elements, Format, Hierarchy, NcType, NewFill, Slab, Value,
    VariableBuilder,
};
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{Key, MemoryStore, Store, StoreExt, WriteMode};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use proptest::prelude::*;

use super::helpers::{memory, objects, open, session, spec};

const XARRAY: &str = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i2", "order": "C", "fill_value": 0, "filters": null, "compressor": null, "theirs": [1.0, {"a": 1e400}]}"#;

fn put(store: &dyn Store, key: &str, text: &str) {
    store.write(Key::parse(key).unwrap(), text.as_bytes(), WriteMode::Replace).unwrap();
}

fn text(store: &dyn Store, key: &str) -> String {
    String::from_utf8(store.read_vec(Key::parse(key).unwrap(), 1 << 20).unwrap().unwrap()).unwrap()
}

/// A dataset as xarray writes it, with unknown keys, and consolidated metadata.
fn foreign() -> Arc<MemoryStore> {
    let store = memory();
    let documents = [
        (".zgroup", r#"{"zarr_format": 2, "unknown": {"z": 1}}"#.to_owned()),
        (".zattrs", r#"{"title": "x", "limit": NaN, "list": [1, "a", null], "n": 1.50}"#.to_owned()),
        ("v/.zarray", XARRAY.to_owned()),
        ("v/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"], "units": "K", "nested": {"a": [1, 2.0]}}"#.to_owned()),
        ("odd/.zarray", XARRAY.replace("<i2", "|J7")),
    ];
    let mut metadata = String::new();
    for (key, document) in &documents {
        put(&*store, key, document);
        metadata.push_str(&format!("{}\"{key}\": {document}", if metadata.is_empty() { "" } else { ", " }));
    }
    put(
        &*store,
        ".zmetadata",
        &format!("{{\"zarr_consolidated_format\": 1, \"theirs\": 3, \"metadata\": {{{metadata}}}}}"),
    );
    store
}

fn opened(store: &Arc<MemoryStore>) -> Dataset {
    open(store.clone(), &session(1))
}

fn nczarr() -> Arc<MemoryStore> {
    let store = memory();
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "t", 0, true).unwrap();
    hierarchy.add_group("/", "g").unwrap();
    let new = VariableBuilder::new("v", NcType::Short).dimensions(["t"]).chunks([4]);
    hierarchy.add_variable("/g", new.fill(NewFill::Value(Value::from(5i16)))).unwrap();
    Dataset::create(store.clone(), hierarchy, session(1), false).unwrap().finish().unwrap();
    store
}

#[test]
fn an_attribute_changes_one_document_and_foreign_keys_are_kept() {
    let store = foreign();
    let before = objects(&*store, true);
    let mut dataset = opened(&store);
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Current);
    dataset
        .change(|hierarchy| Ok(hierarchy.variable_mut("/v")?.set_attribute(Attribute::new("units", "mm"))?))
        .unwrap();
    let after = objects(&*store, true);
    let changed: Vec<&String> =
        after.iter().filter(|(key, bytes)| before.get(*key) != Some(*bytes)).map(|(key, _)| key).collect();
    assert_eq!(changed, [".zmetadata", "v/.zattrs"]);
    let zattrs = text(&*store, "v/.zattrs");
    assert!(
        zattrs.contains(r#""nested": {"a": [1,2.0]}"#) && zattrs.contains(r#""units": "mm""#),
        "{zattrs}"
    );
    let zmetadata = text(&*store, ".zmetadata");
    for kept in [r#""theirs": 3"#, r#""odd/.zarray""#, r#""limit": NaN"#, r#""unknown""#, r#""units": "mm""#]
    {
        assert!(zmetadata.contains(kept), "{kept} in {zmetadata}");
    }
    let dataset = opened(&store);
    assert_eq!(dataset.hierarchy().consolidated, Consolidated::Current, "{:?}", dataset.hierarchy().warnings);
    // The same change again writes nothing.
    let mut dataset = opened(&store);
    dataset
        .change(|hierarchy| Ok(hierarchy.variable_mut("/v")?.set_attribute(Attribute::new("units", "mm"))?))
        .unwrap();
    assert_eq!(objects(&*store, true), after);
}

#[test]
fn growth_keeps_unknown_keys() {
    let store = foreign();
    let mut dataset = opened(&store);
    dataset.append("/v", 0, Elements::Native, &[1, 0]).unwrap();
    dataset.finish().unwrap();
    let zarray = text(&*store, "v/.zarray");
    assert!(
        zarray.contains(r#""theirs": [1.0,{"a": 1e400}]"#) && zarray.contains(r#""shape": [3]"#),
        "{zarray}"
    );
    assert_eq!(opened(&store).hierarchy().consolidated, Consolidated::Current);
    assert!(text(&*store, ".zmetadata").contains("odd/.zarray"));
}

#[test]
fn consolidated_metadata_that_are_out_of_date_are_deleted() {
    for change in [
        |store: &MemoryStore| put(store, "v/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"]}"#),
        |store: &MemoryStore| put(store, ".zmetadata", "{"),
        |store: &MemoryStore| put(store, ".zmetadata", r#"{"zarr_consolidated_format": 7}"#),
    ] {
        let store = foreign();
        change(&store);
        let mut dataset = opened(&store);
        assert_eq!(dataset.hierarchy().consolidated, Consolidated::Stale);
        dataset.append("/v", 0, Elements::Native, &[1, 0]).unwrap();
        dataset.finish().unwrap();
        assert!(!store.exists(Key::parse(".zmetadata").unwrap()).unwrap());
    }
    // Also if they were not read.
    let store = foreign();
    let ignore = ReadOptions {
        consolidated: ncz::zarr::metadata::ConsolidatedPolicy::Ignore,
        ..ReadOptions::default()
    };
    let mut dataset = Dataset::open(store.clone(), session(1), &ignore).unwrap();
    dataset.append("/v", 0, Elements::Native, &[1, 0]).unwrap();
    dataset.finish().unwrap();
    assert!(!store.exists(Key::parse(".zmetadata").unwrap()).unwrap());
}

#[test]
fn groups_dimensions_and_variables_are_added_and_filled() {
    let store = nczarr();
    let mut dataset = opened(&store);
    dataset.append("/g/v", 0, Elements::Native, &[1, 0, 2, 0]).unwrap();
    let session = session(1);
    dataset
        .change(|hierarchy| {
            hierarchy.add_group("/g", "h")?;
            hierarchy.add_dimension("/g/h", "z", 0, true)?;
            let new = VariableBuilder::new("w", NcType::Int).dimensions(["t", "z"]).chunks([2, 2]);
            let variable = hierarchy.add_variable("/g/h", new)?;
            session.define(variable, Format::NCZARR, &spec(r#"{"id":"zstd"}"#))?;
            Ok(hierarchy.group_mut("/")?.set_attribute(Attribute::new("title", "grown"))?)
        })
        .unwrap();
    assert!(dataset.is_defined("/g/h/w") && !dataset.is_defined("/g/w"));
    dataset.write("/g/h/w", &Slab::new([2, 0], [1, 3]), Elements::Native, &[7; 12]).unwrap();
    dataset.finish().unwrap();
    let dataset = opened(&store);
    assert!(dataset.hierarchy().warnings.is_empty(), "{:?}", dataset.hierarchy().warnings);
    assert_eq!(dataset.array("/g/h/w").unwrap().shape(), [3, 3]);
    assert_eq!(dataset.array("/g/v").unwrap().stored_shape(), [3]);
    assert_eq!(dataset.hierarchy().root.attribute("title").unwrap().value.as_text(), Some("grown"));
    let mut out = [0; 6];
    dataset.array("/g/v").unwrap().read_bytes(&Slab::new([0], [3]), Elements::Native, &mut out).unwrap();
    assert_eq!(out, [1, 0, 2, 0, 5, 0]);
}

#[test]
fn what_is_in_the_dataset_is_not_defined_anew() {
    let store = nczarr();
    let before = objects(&*store, true);
    let mut dataset = opened(&store);
    type Edit = fn(&mut Hierarchy) -> Result<(), DataError>;
    let edits: [(i32, Edit); 10] = [
        (-123, |h| {
            h.variable_mut("/g/v")?.chunk_shape = vec![2];
            Ok(())
        }),
        (-123, |h| {
            h.variable_mut("/g/v")?.filters = vec!["x".into()];
            Ok(())
        }),
        (-123, |h| {
            h.variable_mut("/g/v")?.shape = vec![2];
            Ok(())
        }),
        (-122, |h| {
            h.variable_mut("/g/v")?.fill = None;
            Ok(())
        }),
        (-122, |h| {
            Ok(h.variable_mut("/g/v")?.set_attribute(Attribute::new("_FillValue", Value::from(1i16)))?)
        }),
        (-123, |h| {
            h.root.dimensions[0].len = 9;
            Ok(())
        }),
        (-123, |h| {
            h.root.dimensions.clear();
            Ok(())
        }),
        (-123, |h| {
            h.group_mut("/g")?.variables.clear();
            Ok(())
        }),
        (-123, |h| {
            h.root.groups.clear();
            Ok(())
        }),
        (-42, |h| {
            h.add_group("/", "g")?;
            Ok(())
        }),
    ];
    for (code, edit) in edits {
        let error = dataset.change(edit).unwrap_err();
        assert_eq!(error.netcdf_code(), code, "{error}");
    }
    let error = dataset
        .change(|h| {
            h.variable_mut("/g/v")?.filters.push("x".into());
            Ok(())
        })
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"/g/v\" is already in the dataset: its filters cannot be changed; copy the dataset to change it"
    );
    dataset.finish().unwrap();
    assert_eq!(objects(&*store, true), before);
}

#[test]
fn a_new_name_that_already_exists_is_refused() {
    let store = nczarr();
    put(&*store, "g/w/0", "chunk");
    let add = |hierarchy: &mut Hierarchy| {
        hierarchy.add_variable("/g", VariableBuilder::new("w", NcType::Int).dimensions(["t"]))?;
        Ok(())
    };
    let before = objects(&*store, true);
    let mut dataset = opened(&store);
    let error = dataset.change(add).unwrap_err();
    assert!(
        matches!(&error, DataError::ObjectExists { key, .. } if key == "g/w/0") && error.netcdf_code() == -35,
        "{error}"
    );
    assert_eq!(objects(&*store, true), before);
    assert!(!dataset.is_defined("/g/w"));
    store.delete(Key::parse("g/w/0").unwrap()).unwrap();
    dataset.change(add).unwrap();
    assert!(opened(&store).is_defined("/g/w"));
}

#[test]
fn a_dataset_is_not_created_over_another() {
    let store = foreign();
    let before = objects(&*store, true);
    let error =
        Dataset::create(store.clone(), Hierarchy::new(Format::NCZARR), session(1), false).unwrap_err();
    assert!(matches!(error, DataError::ObjectExists { .. }) && error.netcdf_code() == -35, "{error}");
    assert_eq!(objects(&*store, true), before);
}

#[test]
fn what_another_program_changed_is_not_overwritten() {
    let store = foreign();
    let mut dataset = opened(&store);
    put(&*store, "v/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"], "units": "theirs"}"#);
    let set = |hierarchy: &mut Hierarchy| {
        Ok(hierarchy.variable_mut("/v")?.set_attribute(Attribute::new("units", "ours"))?)
    };
    let error = dataset.change(set).unwrap_err();
    assert!(matches!(&error, DataError::Changed { key, .. } if key == "v/.zattrs"), "{error}");
    assert!(text(&*store, "v/.zattrs").contains("theirs"));
    opened(&store).change(set).unwrap();
    assert!(text(&*store, "v/.zattrs").contains("ours"));
}

#[test]
fn an_array_at_the_root_is_there_after_a_change_that_failed() {
    for (key, document) in [
        (".zarray", XARRAY),
        (
            "zarr.json",
            r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int16", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#,
        ),
    ] {
        let original = memory();
        put(&*original, key, document);
        let hierarchy = opened(&original).hierarchy().clone();
        let attempt = |fault| {
            let store = memory();
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let Ok(mut dataset) = Dataset::create(faulty.clone(), hierarchy.clone(), session(1), false)
            else {
                return faulty.operations();
            };
            let set = |hierarchy: &mut Hierarchy| {
                Ok(hierarchy.variable_mut("/data")?.set_attribute(Attribute::new("units", "K"))?)
            };
            let changed = dataset.change(set).is_ok();
            if dataset.finish().is_ok() {
                let dataset = opened(&store);
                let units = dataset.hierarchy().variable("/data").unwrap().attribute("units").is_some();
                assert!(units || !changed, "{key}, {fault:?}");
            }
            faulty.operations()
        };
        for n in 0..attempt(Fault::Never) {
            attempt(Fault::Once(n));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn attributes_set_and_removed_are_there_after_opening_again(
        edits in prop::collection::vec((0usize..2, "[a-c]", prop::option::of(any::<i32>())), 1..12),
        pure: bool,
    ) {
        let store = if pure { foreign() } else { nczarr() };
        let variable = if pure { "/v" } else { "/g/v" };
        let mut dataset = opened(&store);
        let mut model = std::collections::BTreeMap::new();
        for (place, name, value) in edits {
            dataset.change(|hierarchy| {
                let attributes = match place {
                    0 => &mut hierarchy.root.attributes,
                    _ => &mut hierarchy.variable_mut(variable)?.attributes,
                };
                attributes.retain(|attribute| attribute.name != name);
                if let Some(value) = value {
                    attributes.push(Attribute::new(name.as_str(), Value::from(value)));
                }
                Ok(())
            }).unwrap();
            model.insert((place, name), value);
            let again = opened(&store);
            prop_assert!(again.hierarchy().consolidated != Consolidated::Stale);
            for ((place, name), value) in &model {
                let found = match place {
                    0 => again.hierarchy().root.attribute(name),
                    _ => again.hierarchy().variable(variable).unwrap().attribute(name),
                };
                prop_assert_eq!(found.map(|attribute| attribute.value.clone()), value.map(Value::from));
            }
        }
    }
}
