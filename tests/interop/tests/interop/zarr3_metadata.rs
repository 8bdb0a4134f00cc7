//! What zarr-python and tensorstore write as metadata of Zarr v3 means the same to us, and what we write to them.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{
    Attribute, ByteOrder, Consolidated, Dtype, FillValue, Format, Hierarchy, Kind, NcType, NewFill, Order,
    Pool, Separator, Session, Sharding, Value, Variable, VariableBuilder,
};
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions};
use ncz_test_support::python;
use serde_json::{Map, Value as Json, json};

use crate::harness::{builtins, run_json};

fn session() -> Session {
    Session::new(Arc::new(builtins()), Pool::serial())
}

fn open(folder: &Path, consolidated: ConsolidatedPolicy) -> Dataset {
    let store = Arc::new(FileStore::open(folder, Access::Read).unwrap());
    Dataset::open(store, session(), &ReadOptions { consolidated, ..ReadOptions::default() }).unwrap()
}

/// A variable as the script describes it.
fn described(hierarchy: &Hierarchy, variable: &Variable) -> Json {
    let type_name = match variable.dtype.kind() {
        Kind::VlenText => "text",
        Kind::VlenBytes => "blob",
        _ => variable.dtype.text().trim_start_matches(['<', '>', '|']),
    };
    let mut fill = variable.fill_bytes();
    if variable.dtype.order() == ByteOrder::Big {
        fill.chunks_mut(variable.dtype.swap_unit()).for_each(<[u8]>::reverse);
    }
    let fill: String = fill.iter().map(|byte| format!("{byte:02x}")).collect();
    let names: Vec<Option<&str>> = variable
        .dimensions
        .iter()
        .map(|reference| hierarchy.dimension(reference).filter(|dimension| !dimension.anonymous))
        .map(|dimension| dimension.map(|dimension| dimension.name.as_str()))
        .collect();
    let attributes: Map<String, Json> = variable
        .attributes
        .iter()
        .map(|attribute| {
            let json =
                attribute.json.clone().map(Json::from).or_else(|| attribute.value.as_text().map(Json::from));
            (attribute.name.clone(), json.unwrap_or_default())
        })
        .collect();
    json!({
        "shape": variable.shape,
        "chunks": variable.chunk_shape,
        "shards": variable.sharding.as_ref().map(|sharding| &sharding.shape),
        "type": type_name,
        "fill": fill,
        "names": if names.iter().any(Option::is_some) { json!(names) } else { Json::Null },
        "attributes": attributes,
    })
}

fn compare(hierarchy: &Hierarchy, theirs: &Json, who: &str, keys: &[&str]) -> usize {
    let theirs = theirs.as_object().unwrap();
    for (path, wanted) in theirs {
        let ours = described(hierarchy, hierarchy.variable(&format!("/{path}")).unwrap());
        for key in keys {
            assert_eq!(ours[key], wanted[key], "{key} of {path} to us and to {who}");
        }
    }
    theirs.len()
}

const ALL: [&str; 7] = ["shape", "chunks", "shards", "type", "fill", "names", "attributes"];

#[test]
fn metadata_of_zarr_python_and_tensorstore_mean_the_same_to_us() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made");
    let theirs = run_json(&python, "zarr3_metadata.py", &["make".as_ref(), path.as_os_str()], None);
    for (policy, state) in
        [(ConsolidatedPolicy::Compare, Consolidated::Current), (ConsolidatedPolicy::Only, Consolidated::Only)]
    {
        let dataset = open(&path, policy);
        let hierarchy = dataset.hierarchy();
        assert_eq!((hierarchy.format, hierarchy.consolidated), (Format::Zarr3, state));
        assert_eq!(hierarchy.unreadable().map(|v| v.error().to_string()).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(hierarchy.warnings.len(), 0, "{:?}", hierarchy.warnings);
        assert_eq!(compare(hierarchy, &theirs["zarr"], "zarr-python", &ALL), hierarchy.variables().count());
        assert!(hierarchy.variables().count() > 35);
        let index_first = hierarchy.variable("/index_first").unwrap().sharding.clone().unwrap();
        assert_eq!((index_first.index_at_end, index_first.index_order), (false, ByteOrder::Big));
        assert!(!index_first.index_checksum);
        let a15 = hierarchy.variable("/a15").unwrap();
        assert_eq!((a15.order.clone(), a15.dtype.order()), (Order::F, ByteOrder::Big));
    }
}

#[test]
fn our_metadata_mean_the_same_to_zarr_python_and_tensorstore() {
    let Ok(python) = python() else { return };
    let mut dataset = Hierarchy::new(Format::Zarr3);
    dataset.root.set_attribute(Attribute::new("nan", f64::NAN)).unwrap();
    for (name, len) in [("y", 9), ("x", 13)] {
        dataset.add_dimension("/", name, len, false).unwrap();
    }
    dataset.add_dimension("/", "t", 0, true).unwrap();
    dataset.add_group("/", "g").unwrap();
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let texts = [
        "|b1", "|i1", "|u1", "<i2", ">i2", ">u2", "<i4", ">u4", "<i8", ">u8", "<f2", ">f4", "<f8", "<c8",
        ">c16", "<M8[10s]", ">m8[ns]", "<U3", "|S4", "|V3",
    ];
    for (at, text) in texts.into_iter().enumerate() {
        let dtype = Dtype::parse(text).unwrap();
        let nc_type = dtype.nc_type(false);
        for (place, group) in ["/", "/g"].into_iter().enumerate() {
            let fill = if place == 0 { NewFill::None } else { NewFill::Default };
            let fill = if nc_type.is_some() { fill } else { NewFill::None };
            let mut new = VariableBuilder::of_dtype(format!("v{at}"), dtype.clone(), nc_type)
                .dimensions(["y", "x"])
                .chunks([2, 3])
                .fill(fill)
                .attribute(Attribute::new("units", "K"));
            if at % 3 == place {
                new = new.sharding(Sharding::new([4, 6])).order(Order::F);
            }
            if at % 2 == place {
                new = new.filters(vec![gzip.clone()]).separator(Separator::Dot);
            }
            dataset.add_variable(group, new).unwrap();
        }
    }
    let odd = [f64::NAN, f64::INFINITY, 0.1, 5e-324, 1e300, -0.0];
    for (at, value) in odd.into_iter().enumerate() {
        let new = VariableBuilder::new(format!("fill{at}"), NcType::Double).dimensions(["t", "x"]);
        dataset.add_variable("/", new.fill(NewFill::Value(Value::from(value)))).unwrap();
        let new = VariableBuilder::new(format!("single{at}"), NcType::Float).dimensions(["y"]);
        dataset.add_variable("/", new.fill(NewFill::Value(Value::from(value as f32)))).unwrap();
    }
    let nan =
        FillValue::from_json(&"NaN".into(), &Dtype::parse("<f2").unwrap(), ncz::model::FillText::Base64);
    dataset.variable_mut("/v10").unwrap().fill = nan.unwrap();
    dataset.add_variable("/", VariableBuilder::new("scalar", NcType::Int)).unwrap();
    dataset
        .add_variable(
            "/",
            VariableBuilder::of_dtype("text", Dtype::vlen_text(), Some(NcType::String))
                .dimensions(["y"])
                .chunks([4])
                .fill(NewFill::None),
        )
        .unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours");
    let store = Arc::new(FileStore::create(&path, CreateOptions::new()).unwrap());
    Dataset::create(store, dataset.clone(), session(), true).unwrap().finish().unwrap();
    let theirs = run_json(&python, "zarr3_metadata.py", &["describe".as_ref(), path.as_os_str()], None);
    // `_FillValue` is in xarray's form, which they do not interpret.
    let keys: Vec<&str> = ALL.into_iter().filter(|key| *key != "attributes").collect();
    let count = dataset.variables().count();
    assert_eq!(compare(&dataset, &theirs["zarr"], "zarr-python", &keys), count);
    assert_eq!(
        compare(&dataset, &theirs["consolidated"], "zarr-python's consolidated reading", &keys),
        count
    );
    assert!(compare(&dataset, &theirs["tensorstore"], "tensorstore", &keys) >= 40);
    assert_eq!(theirs["zarr"]["v0"]["attributes"], json!({"units": "K"}));
    let back = open(&path, ConsolidatedPolicy::Compare);
    assert_eq!(back.hierarchy().consolidated, Consolidated::Current);
    assert_eq!(back.hierarchy().warnings.len(), 0, "{:?}", back.hierarchy().warnings);
}
