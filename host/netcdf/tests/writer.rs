//! New netCDF files of every kind, written chunk by chunk, as netCDF4 and xarray read them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::Path;
use std::sync::Arc;

use ncz_deflate as _;
use ncz_model::{
    Attribute, Container, ContainerWriter, Format, Hierarchy, NcType, NetcdfKind, NewFill, Pool, Session,
    Slab, Value, VariableBuilder,
};
use ncz_netcdf::NetcdfWriter;
use ncz_registry::Registry;
use ncz_registry::spec::generic;
use ncz_shuffle as _;
use ncz_test_support::python;
use serde_json::{Value as Json, json};

const READ: &str = r#"
import json, sys
import netCDF4
import numpy as np
import xarray

def plain(values):
    values = np.ma.asarray(values)
    mask = np.ma.getmaskarray(values)
    texts = [v.decode() if isinstance(v, bytes) else v for v in values.data.ravel().tolist()]
    return [None if m else v for m, v in zip(mask.ravel().tolist(), texts)]

with netCDF4.Dataset(sys.argv[1]) as file:
    found = {"model": file.data_model, "title": file.title, "variables": {}, "dimensions": {}}
    for name, dimension in file.dimensions.items():
        found["dimensions"][name] = [len(dimension), dimension.isunlimited()]
    for name, variable in file.variables.items():
        found["variables"][name] = {
            "type": str(variable.dtype if variable.dtype is not str else "string"),
            "dimensions": list(variable.dimensions),
            "values": plain(variable[...]),
            "attributes": {key: np.asarray(variable.getncattr(key)).tolist() for key in variable.ncattrs()},
        }
with xarray.open_dataset(sys.argv[1], engine="netcdf4", decode_times=False) as dataset:
    dataset.load()
    found["nan"] = int(np.isnan(dataset["temp"].values).sum())
print(json.dumps(found))
"#;

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

/// Three records, of which `temp` has two, and the second of these in part.
fn hierarchy(kind: NetcdfKind) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(Format::Netcdf(kind));
    hierarchy.add_dimension("/", "time", 3, true).unwrap();
    hierarchy.add_dimension("/", "x", 5, false).unwrap();
    hierarchy.root.set_attribute(Attribute::new("title", Value::text("a title"))).unwrap();
    let add = |hierarchy: &mut Hierarchy, name: &str, nc_type, dimensions: &[&str], chunks: &[u64]| {
        let mut builder = VariableBuilder::new(name, nc_type).dimensions(dimensions.iter().copied());
        if !chunks.is_empty() {
            builder = builder.chunks(chunks);
        }
        if name == "temp" {
            builder = builder.fill(NewFill::Value(Value::from(-1.5f32)));
            builder = builder.attribute(Attribute::new("units", Value::text("K")));
            if kind.is_hdf5() {
                builder = builder.filters([generic::codec_json(2, &[4]), generic::codec_json(1, &[4])]);
            }
        }
        hierarchy.add_variable("/", builder).unwrap();
    };
    add(&mut hierarchy, "time", NcType::Double, &["time"], &[2]);
    add(&mut hierarchy, "temp", NcType::Float, &["time", "x"], &[1, 3]);
    add(&mut hierarchy, "flag", NcType::Byte, &["x"], &[]);
    add(&mut hierarchy, "count", NcType::Short, &["time"], &[2]);
    add(&mut hierarchy, "scalar", NcType::Int, &[], &[]);
    add(&mut hierarchy, "never", NcType::Int, &["x"], &[]);
    add(&mut hierarchy, "text", NcType::Char, &["x"], &[]);
    if matches!(kind, NetcdfKind::Cdf5 | NetcdfKind::Netcdf4) {
        add(&mut hierarchy, "big", NcType::UInt64, &["x"], &[]);
    }
    if kind == NetcdfKind::Netcdf4 {
        let builder = VariableBuilder::of_dtype("name", ncz_model::Dtype::vlen_text(), Some(NcType::String));
        hierarchy.add_variable("/", builder.dimensions(["x"]).chunks([2])).unwrap();
    }
    hierarchy
}

fn write(writer: &NetcdfWriter) {
    let numbers = |path: &str, start: &[u64], count: &[u64], bytes: Vec<u8>| {
        let array = writer.array(path).unwrap();
        array.write_bytes(&Slab::new(start, count), ncz_model::Elements::Native, &bytes).unwrap();
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    numbers("/time", &[0], &[3], [0.5f64, 1.5, 2.5].iter().flat_map(|value| value.to_ne_bytes()).collect());
    numbers("/temp", &[0, 0], &[1, 5], floats(&[1.0, 2.0, 3.0, 4.0, 5.0]));
    // In two steps, so that a chunk is read and written again.
    numbers("/temp", &[1, 1], &[1, 1], floats(&[6.0]));
    numbers("/temp", &[1, 2], &[1, 1], floats(&[7.0]));
    numbers("/flag", &[0], &[5], vec![1, 2, 3, 4, 255]);
    numbers("/count", &[0], &[3], [10i16, 20, 30].iter().flat_map(|value| value.to_ne_bytes()).collect());
    numbers("/scalar", &[], &[], 42i32.to_ne_bytes().to_vec());
    numbers("/text", &[0], &[5], b"abcde".to_vec());
    if writer.hierarchy().variable("/big").is_ok() {
        let values = [1u64, 2, 3, 4, 1 << 63];
        numbers("/big", &[0], &[5], values.iter().flat_map(|value| value.to_ne_bytes()).collect());
    }
    if writer.hierarchy().variable("/name").is_ok() {
        let strings = writer.strings("/name").unwrap();
        strings.write(&Slab::new([0], [3]), &["one", "", "drei \u{fc}"]).unwrap();
        strings.write(&Slab::new([3], [2]), &["four", "five"]).unwrap();
    }
}

fn read(path: &Path) -> Option<Json> {
    let python = python().ok()?;
    let out = python.run_code(READ, &[path], &[]).unwrap();
    Some(serde_json::from_slice(&out.stdout).unwrap())
}

#[test]
fn files_of_every_kind_are_what_netcdf4_and_xarray_expect() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, model) in [
        (NetcdfKind::Classic, "NETCDF3_CLASSIC"),
        (NetcdfKind::Offset64, "NETCDF3_64BIT_OFFSET"),
        (NetcdfKind::Cdf5, "NETCDF3_64BIT_DATA"),
        (NetcdfKind::Netcdf4, "NETCDF4"),
        (NetcdfKind::Netcdf4Classic, "NETCDF4_CLASSIC"),
    ] {
        let path = folder.path().join("new.nc");
        let writer = NetcdfWriter::create(&path, true, hierarchy(kind), session()).unwrap();
        write(&writer);
        writer.complete().unwrap();
        assert!(!path.exists() || kind != NetcdfKind::Classic, "it is not visible yet");
        let mut scalar = [0; 4];
        let array = writer.array("/scalar").unwrap();
        array.read_bytes(&Slab::whole(&[]), ncz_model::Elements::Native, &mut scalar).unwrap();
        assert_eq!(i32::from_ne_bytes(scalar), 42, "{kind:?} is read back from the file");
        Box::new(writer).publish().unwrap();
        let Some(found) = read(&path) else { return };
        assert_eq!(found["model"], model);
        assert_eq!(found["title"], "a title");
        assert_eq!(found["dimensions"], json!({"time": [3, true], "x": [5, false]}), "{kind:?}");
        let values = |name: &str| &found["variables"][name]["values"];
        assert_eq!(*values("time"), json!([0.5, 1.5, 2.5]), "{kind:?}");
        let masked =
            json!([1.0, 2.0, 3.0, 4.0, 5.0, null, 6.0, 7.0, null, null, null, null, null, null, null]);
        assert_eq!(*values("temp"), masked, "{kind:?}");
        assert_eq!(found["nan"], 8, "{kind:?}");
        assert_eq!(found["variables"]["temp"]["attributes"], json!({"_FillValue": -1.5, "units": "K"}));
        assert_eq!(*values("flag"), json!([1, 2, 3, 4, -1]), "{kind:?}");
        assert_eq!(*values("count"), json!([10, 20, 30]), "{kind:?}");
        assert_eq!(*values("scalar"), json!([42]), "{kind:?}");
        assert_eq!(*values("never"), json!([null, null, null, null, null]), "{kind:?}");
        assert_eq!(*values("text"), json!(["a", "b", "c", "d", "e"]), "{kind:?}");
        if !found["variables"]["big"].is_null() {
            assert_eq!(*values("big"), json!([1, 2, 3, 4, 1u64 << 63]), "{kind:?}");
        }
        if kind == NetcdfKind::Netcdf4 {
            assert_eq!(*values("name"), json!(["one", "", "drei \u{fc}", "four", "five"]));
        }
    }
}

#[test]
fn what_a_classic_file_cannot_hold_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Hierarchy)| {
        let mut hierarchy = hierarchy(NetcdfKind::Classic);
        change(&mut hierarchy);
        let error =
            NetcdfWriter::create(&folder.path().join("no.nc"), false, hierarchy, session()).unwrap_err();
        std::error::Error::source(&error).unwrap().to_string()
    };
    let text = refused(&|hierarchy| {
        hierarchy.add_group("/", "g").unwrap();
    });
    assert!(text.starts_with("group \"/g\""), "{text}");
    let text = refused(&|hierarchy| {
        hierarchy.add_dimension("/", "second", 3, true).unwrap();
    });
    assert!(text.contains("\"time\" and \"second\" are unlimited"), "{text}");
    let text = refused(&|hierarchy| {
        hierarchy.add_variable("/", VariableBuilder::new("u", NcType::UInt)).unwrap();
    });
    assert!(text.contains("\"/u\"") && text.contains("uint"), "{text}");
    let long = "n".repeat(257);
    for (name, reason) in
        [("", "empty"), ("a\0b", "NUL"), (&long, "256 bytes"), ("a/b", "slash"), ("time", "in use")]
    {
        let text = refused(&|hierarchy| {
            let mut other = hierarchy.root.dimensions[0].clone();
            other.unlimited = false;
            other.len = 1;
            name.clone_into(&mut other.name);
            hierarchy.root.dimensions.push(other);
        });
        assert!(text.contains("dimension") && text.contains(reason), "{text}");
        let text = refused(&|hierarchy| {
            let mut other = hierarchy.root.variables[0].clone();
            "time".clone_into(&mut hierarchy.root.variables[0].name);
            name.clone_into(&mut other.name);
            hierarchy.root.variables.push(other);
        });
        assert!(text.contains("the variable") && text.contains(reason), "{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_file_that_is_discarded_leaves_the_old_one_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    std::fs::write(&path, b"not a dataset").unwrap();
    for overwrite in [false, true] {
        let error = NetcdfWriter::create(&path, overwrite, hierarchy(NetcdfKind::Netcdf4), session());
        assert!(error.is_err(), "{overwrite}");
    }
    std::fs::remove_file(&path).unwrap();
    let writer = NetcdfWriter::create(&path, false, hierarchy(NetcdfKind::Classic), session()).unwrap();
    write(&writer);
    Box::new(writer).publish().unwrap();
    let before = std::fs::read(&path).unwrap();
    let writer = NetcdfWriter::create(&path, true, hierarchy(NetcdfKind::Netcdf4), session()).unwrap();
    write(&writer);
    Box::new(writer).discard();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An error with its sources.
fn lines(error: &dyn std::error::Error) -> String {
    let source = error.source().map_or_else(String::new, lines);
    format!("{error}\n{source}")
}

#[test]
fn errors_about_a_chunk_name_the_variable_and_the_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    let writer = || {
        let writer = NetcdfWriter::create(&path, false, hierarchy(NetcdfKind::Netcdf4), session()).unwrap();
        write(&writer);
        writer
    };
    let numbers = writer();
    let flag = numbers.array("/flag").unwrap();
    // Before anything is written.
    let text = lines(&flag.write_stored(&mut flag.worker(), &[0], &[1, 2]).unwrap_err());
    assert!(text.contains("\"/flag\"") && text.contains("\"flag/0\"") && text.contains("2"), "{text}");
    numbers.complete().unwrap();
    let strings = writer();
    strings.strings("/name").unwrap().write(&Slab::new([2], [1]), &["a\0b"]).unwrap();
    let text = lines(&strings.complete().unwrap_err());
    assert!(text.contains("chunk [1] of variable \"/name\"") && text.contains("NUL"), "{text}");
}
