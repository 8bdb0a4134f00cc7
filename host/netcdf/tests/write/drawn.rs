//! Variables of random properties and content: h5py finds what was drawn.

use std::fs;
use std::path::Path;

use ncz_model::{Attribute, ByteOrder, NcType, NewFill, Storage, Value, VariableBuilder};
use ncz_test_support::python;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value as Json;

use super::{Target, grid, netcdf4};

/// A variable of random properties and content.
#[derive(Debug, Clone)]
struct Drawn {
    nc_type: NcType,
    big: bool,
    axes: Vec<(u64, bool, u64)>,
    is_contiguous: bool,
    has_fill: bool,
    present: Vec<bool>,
    attributes: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let types: Vec<NcType> =
        NcType::ALL.into_iter().filter(|nc_type| !matches!(nc_type, NcType::Char | NcType::String)).collect();
    let axes = prop::collection::vec((1..9u64, any::<bool>(), 1..5u64), 0..5);
    let kind = (prop::sample::select(types), any::<bool>(), any::<bool>(), any::<bool>());
    let rest = (axes, prop::collection::vec(any::<bool>(), 1..40), 0..12usize);
    (kind, rest).prop_map(|((nc_type, big, is_contiguous, has_fill), (axes, present, attributes))| Drawn {
        nc_type,
        big,
        is_contiguous: is_contiguous && axes.iter().all(|(_, unlimited, _)| !unlimited),
        axes,
        has_fill,
        present,
        attributes,
    })
}

/// The bytes of a small number in a type.
fn element(nc_type: NcType, order: ByteOrder, value: u8) -> Vec<u8> {
    let value = match nc_type {
        NcType::Byte => Value::from(value as i8),
        NcType::UByte => Value::from(value),
        NcType::Short => Value::from(i16::from(value)),
        NcType::UShort => Value::from(u16::from(value)),
        NcType::Int => Value::from(i32::from(value)),
        NcType::UInt => Value::from(u32::from(value)),
        NcType::Int64 => Value::from(i64::from(value)),
        NcType::UInt64 => Value::from(u64::from(value)),
        NcType::Float => Value::from(f32::from(value)),
        _ => Value::from(f64::from(value)),
    };
    value.to_stored_bytes(&value.nc_type().dtype(order, 0)).unwrap()
}

/// Writes the variable to a file, and returns what h5py has to find.
fn write_drawn(drawn: &Drawn, path: &Path) -> Json {
    let mut hierarchy = netcdf4();
    let mut names = Vec::new();
    for (axis, (len, unlimited, _)) in drawn.axes.iter().enumerate() {
        hierarchy.add_dimension("/", &format!("d{axis}"), *len, *unlimited).unwrap();
        names.push(format!("d{axis}"));
    }
    let order = if drawn.big { ByteOrder::Big } else { ByteOrder::Little };
    let fill = if drawn.has_fill { 111 } else { 0 };
    let is_block = drawn.is_contiguous || drawn.axes.is_empty();
    let mut new = VariableBuilder::new("v", drawn.nc_type).dimensions(names).byte_order(order);
    new = match is_block {
        true => new.storage(Storage::Contiguous),
        false => new.chunks(drawn.axes.iter().map(|axis| axis.2).collect::<Vec<u64>>()),
    };
    new = new.fill(match drawn.has_fill {
        true => {
            let dtype = drawn.nc_type.dtype(order, 0);
            NewFill::Value(
                Value::from_stored_bytes(drawn.nc_type, &dtype, &element(drawn.nc_type, order, 111)).unwrap(),
            )
        }
        false => NewFill::None,
    });
    for number in 0..drawn.attributes {
        new = new.attribute(Attribute::new(format!("a{number}"), "text".repeat(number)));
    }
    hierarchy.add_variable("/", new).unwrap();
    let variable = hierarchy.variable("/v").unwrap().clone();
    let mut target = Target::new(hierarchy);
    let shape = &variable.shape;
    let position = |at: &[u64]| at.iter().zip(shape).fold(0, |number, (at, len)| number * len + at);
    let bytes = |at: &[u64]| element(drawn.nc_type, order, (position(at) % 100) as u8);
    let mut values = vec![fill; shape.iter().product::<u64>() as usize];
    let lens = if is_block { shape.clone() } else { variable.chunk_shape.clone() };
    let counts: Vec<u64> = shape.iter().zip(&lens).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
    for (number, index) in grid(&counts).into_iter().enumerate() {
        if !drawn.present[number % drawn.present.len()] {
            continue;
        }
        let mut stored = Vec::new();
        for within in grid(&lens) {
            let at: Vec<u64> =
                index.iter().zip(&lens).zip(&within).map(|((i, len), at)| i * len + at).collect();
            if at.iter().zip(shape).all(|(at, len)| at < len) {
                values[position(&at) as usize] = (position(&at) % 100) as i64;
                stored.extend(bytes(&at));
            } else {
                stored.extend(element(drawn.nc_type, order, 99));
            }
        }
        match is_block {
            true => target.contiguous("/v", &stored),
            false => target.chunk("/v", &index, &stored, 0),
        }
    }
    target.save(path);
    let is_text = drawn.nc_type.dtype(order, 0).order() == ByteOrder::Big;
    let letter =
        ["i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8"][drawn.nc_type.code() as usize - 1];
    let dtype = format!(
        "{}{letter}",
        if letter.ends_with('1') {
            "|"
        } else if is_text {
            ">"
        } else {
            "<"
        }
    );
    let max: Vec<Option<u64>> = drawn.axes.iter().map(|axis| (!axis.1).then_some(axis.0)).collect();
    let attributes: Vec<String> = (0..drawn.attributes).map(|number| "text".repeat(number)).collect();
    let chunks = (!is_block).then_some(variable.chunk_shape);
    serde_json::json!({
        "shape": shape, "max": max, "dtype": dtype, "values": values, "chunks": chunks, "fill": fill,
        "attributes": attributes,
    })
}

#[test]
fn h5py_finds_what_was_drawn_by_lot() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::deterministic();
    let mut expected = Vec::new();
    for number in 0..300 {
        let drawn = drawn().new_tree(&mut runner).unwrap().current();
        let path = folder.path().join(format!("{number}.nc"));
        expected.push(serde_json::json!({
            "path": path.to_str().unwrap(), "content": write_drawn(&drawn, &path), "drawn": format!("{drawn:?}"),
        }));
    }
    let list = folder.path().join("list.json");
    fs::write(&list, Json::Array(expected).to_string()).unwrap();
    let code = r#"
import sys, json, h5py, netCDF4, numpy as np
for case in json.load(open(sys.argv[1])):
    content = case["content"]
    with h5py.File(case["path"]) as file:
        item = file["v"]
        texts = [item.attrs[f"a{n}"].decode() for n in range(len(content["attributes"]))]
        found = {"shape": list(item.shape), "max": list(item.maxshape), "dtype": item.dtype.str,
            "values": np.asarray(item[()]).ravel().astype("i8").tolist(),
            "chunks": list(item.chunks) if item.chunks else None, "fill": int(item.fillvalue), "attributes": texts}
        assert found == content, f"{found}, expected {content}, of {case['drawn']}"
    with netCDF4.Dataset(case["path"], "a") as file:
        file.set_auto_maskandscale(False)
        values = np.asarray(file["v"][...]).ravel().astype("i8").tolist()
        assert values == content["values"], case["drawn"]
        assert [d.isunlimited() for d in file.dimensions.values()] == [most is None for most in content["max"]]
        file["v"][...] = 1
        file["v"].more = "more"
"#;
    python.run_code(code, &[&list], &[]).unwrap();
}
