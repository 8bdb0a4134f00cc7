//! Which fill values of Zarr version 2 become the attribute `_FillValue`.

use ncz_model::json::{Json, json};
use ncz_model::{Format, Hierarchy, Value, is_same_number};

use crate::fixtures::Memory;

/// A dataset of the arrays `v0`, `v1` ..., each from its dtype, its `fill_value` and its attributes.
fn dataset(arrays: &[(&str, Json, Json)]) -> Hierarchy {
    let mut documents = vec![(".zgroup".to_owned(), json!({"zarr_format": 2}).to_string())];
    for (at, (dtype, fill, attributes)) in arrays.iter().enumerate() {
        let zarray = json!({
            "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": dtype, "fill_value": fill, "order": "C",
            "filters": null, "compressor": null,
        });
        documents.push((format!("v{at}/.zarray"), zarray.to_string()));
        documents.push((format!("v{at}/.zattrs"), attributes.to_string()));
    }
    let documents: Vec<(&str, String)> =
        documents.iter().map(|(key, text)| (key.as_str(), text.clone())).collect();
    Memory::of(&documents).read()
}

/// The masked value of `v0`.
fn masked(arrays: &[(&str, Json, Json)]) -> Option<Value> {
    let hierarchy = dataset(arrays);
    let v0 = hierarchy.variable("/v0").unwrap();
    let attribute = v0.attribute("_FillValue").map(|attribute| attribute.value.clone());
    if let Some(value) = &attribute {
        assert!(v0.masked_value(Format::Zarr2).is_some_and(|masked| is_same_number(&masked, value)));
    }
    attribute
}

fn named() -> Json {
    json!({"_ARRAY_DIMENSIONS": ["x"]})
}

#[test]
fn a_fill_value_is_masked_if_xarray_reads_it() {
    let value = |dtype, fill| masked(&[(dtype, fill, named())]);
    assert_eq!(value("<f4", json!(-47.68)), Some(Value::from(-47.68f32)));
    assert!(matches!(value(">f8", json!("NaN")), Some(Value::Double(nan)) if nan[0].is_nan()));
    assert_eq!(value("<f2", json!(-999.0)), Some(Value::from(-999.0f32)));
    assert_eq!(value(">i2", json!(-1)), Some(Value::from(-1i16)));
    assert_eq!(value("|u1", json!(7)), Some(Value::from(7u8)));
    assert_eq!(value("<f4", Json::Null), None);
    // Not numbers, and an array that xarray does not open.
    assert_eq!(value("|S4", json!("AAAAAA==")), None);
    assert_eq!(value("|b1", json!(true)), None);
    assert_eq!(masked(&[("<f4", json!(-47.68), json!({}))]), None);
}

#[test]
fn of_two_values_xarray_masks_the_fill_value() {
    let both = || json!({"_ARRAY_DIMENSIONS": ["x"], "_FillValue": 5});
    let value = |fill| dataset(&[("<i4", fill, both())]).variable("/v0").unwrap().masked_value(Format::Zarr2);
    assert_eq!(value(json!(-1)), Some(Value::from(-1i32)));
    assert_eq!(value(Json::Null), Some(Value::from(5i32)));
    // It may be a default that was not chosen.
    assert_eq!(value(json!(0)), Some(Value::from(5i32)));
}

#[test]
fn the_default_of_a_byte_is_masked_only_if_xarray_wrote_it() {
    let default = || ("|u1", json!(255), named());
    let no_fill = || ("<i4", Json::Null, named());
    assert_eq!(masked(&[default()]), None);
    assert_eq!(masked(&[default(), no_fill()]), Some(Value::from(255u8)));
    // netcdf-c also writes the attribute.
    let both = json!({"_ARRAY_DIMENSIONS": ["x"], "_FillValue": 7});
    assert_eq!(masked(&[default(), no_fill(), ("<i4", json!(7), both)]), None);
}

#[test]
fn zero_is_masked_only_if_it_was_chosen() {
    let zero = || ("<i2", json!(0), named());
    // zarr-python always writes it, even if no fill value was requested.
    assert_eq!(masked(&[zero()]), None);
    assert_eq!(masked(&[zero(), ("<f4", json!(0.0), named())]), None);
    assert_eq!(masked(&[zero(), ("<i4", Json::Null, json!({}))]), None);
    let chosen = Some(Value::from(0i16));
    assert_eq!(masked(&[zero(), ("<i4", Json::Null, named())]), chosen);
    assert_eq!(masked(&[zero(), ("<f4", json!("NaN"), named())]), chosen);
    for name in ["scale_factor", "add_offset"] {
        let packed = json!({"_ARRAY_DIMENSIONS": ["x"], name: 0.5});
        assert_eq!(masked(&[("<i2", json!(0), packed)]), chosen);
    }
}

#[test]
fn netcdf_masks_its_default_without_the_attribute() {
    let hierarchy = dataset(&[("<f4", json!(9.969_209_968_386_869e36), named())]);
    let v0 = hierarchy.variable("/v0").unwrap();
    assert!(v0.attribute("_FillValue").is_none());
    assert_eq!(v0.masked_value(Format::Zarr2), Some(Value::from(9.969_21e36f32)));
    assert_eq!(v0.masked_value(Format::Zarr3), None);
}

#[test]
fn the_attribute_is_written_only_if_the_fill_value_does_not_imply_it() {
    let hierarchy =
        dataset(&[("<f4", json!(-47.68), named()), ("<i2", json!(0), named()), ("<i4", Json::Null, named())]);
    let documents = ncz_zarr::metadata::write(&hierarchy, false).unwrap();
    let attributes = |key: &str| -> Json {
        let (_, text) = documents.iter().find(|(name, _)| name == key).unwrap();
        std::str::from_utf8(text).unwrap().parse().unwrap()
    };
    assert_eq!(attributes("v0/.zattrs"), named());
    assert_eq!(attributes("v1/.zattrs"), json!({"_ARRAY_DIMENSIONS": ["x"], "_FillValue": 0}));
}
