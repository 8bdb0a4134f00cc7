//! Attributes of every kind, read and written again.

use ncz_model::json::Json;
use ncz_model::{Attribute, Format, Hierarchy, NcType, Value, VariableBuilder, json};
use ncz_zarr::metadata::write;

use crate::fixtures::Memory;

const ODD: &str = r#"{
 "empty_strings": ["", ""], "nan": NaN, "infinities": [Infinity, -Infinity, 0.5], "words": "NaN",
 "lowest": -9223372036854775808, "highest": 9223372036854775807, "unsigned": 18446744073709551615,
 "beyond": 123456789012345678901234567890, "huge": 1e400, "tiny": 5e-324, "digits": 0.1000,
 "empty": [], "object": {}, "nested": {"a": [1, {"b": null}], "c": NaN}, "lists": [[1, 2], [3]],
 "mixed": [1, "a"], "null": null, "true": true, "flags": [true, false], "text": "17", "list": "[1, 2.5]",
 "unicode": "dr\u00ed \ud83d\ude00", "control": "a\u0000\u001f\"\\\n", "one": ["x"], "int": [3], "": 1
}"#;

fn object(text: &str) -> Json {
    json::parse(text.as_bytes()).unwrap().value
}

fn store(zattrs: &str) -> Memory {
    Memory::of(&[(".zgroup", r#"{"zarr_format": 2}"#), (".zattrs", zattrs)])
}

fn written(hierarchy: &Hierarchy) -> Memory {
    Memory(write(hierarchy, false).unwrap().into_iter().collect())
}

#[test]
fn attributes_of_pure_zarr_are_written_as_they_were_read() {
    let hierarchy = store(ODD).read();
    let again = written(&hierarchy);
    assert_eq!(object(&again.text(".zattrs")), object(ODD));
    let (before, after) = (&hierarchy.root.attributes, &again.read().root.attributes);
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
}

#[test]
fn attributes_of_pure_zarr_keep_their_values_in_nczarr() {
    let mut hierarchy = store(ODD).read();
    let before = hierarchy.root.attributes.clone();
    hierarchy.format = Format::NCZARR;
    let again = written(&hierarchy).read();
    assert_eq!(again.warnings, []);
    for (old, new) in before.iter().zip(&again.root.attributes) {
        assert_eq!(old.name, new.name);
        // The text of NaN is equal to itself.
        assert_eq!(format!("{:?}", old.value), format!("{:?}", new.value), "{}", old.name);
    }
}

#[test]
fn half_a_surrogate_pair_is_not_text() {
    for text in [r#"{"a": "\ud800"}"#, r#"{"a": "\udc00x"}"#, r#"{"a": "\ud800\u0041"}"#] {
        // Its meaning is unknown; the error names the document, and the text is not changed.
        let error = ncz_zarr::metadata::read(&store(text), &Default::default()).unwrap_err();
        assert!(error.to_string().contains(".zattrs"), "{error}");
    }
}

/// Values that netCDF programs may set.
fn values() -> Vec<Value> {
    let mut values: Vec<Value> = NcType::ALL.into_iter().map(Value::empty).collect();
    values.extend([
        Value::strings(["", "a", ""]),
        Value::strings([""]),
        Value::strings(["[1, 2]", "17", "NaN", "\u{1f600}"]),
        Value::from(vec![f64::NAN, f64::INFINITY, -0.0, 5e-324, f64::MAX]),
        Value::from(vec![f32::NEG_INFINITY, f32::MIN_POSITIVE, 0.1]),
        Value::from(vec![i64::MIN, i64::MAX]),
        Value::from(u64::MAX),
        Value::from(i8::MIN),
        Value::text(""),
        Value::text("{\"a\": 1}"),
    ]);
    values
}

#[test]
fn attributes_of_every_type_read_back_in_nczarr() {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    let mut new = VariableBuilder::new("v", NcType::Int);
    for (number, value) in values().into_iter().enumerate() {
        new = new.attribute(Attribute::new(format!("a{number}"), value));
    }
    hierarchy.add_variable("/", new).unwrap();
    let again = written(&hierarchy).read();
    let attributes = &again.variable("v").unwrap().attributes;
    assert_eq!(attributes.len(), values().len());
    for (attribute, value) in attributes.iter().zip(values()) {
        assert_eq!(format!("{:?}", attribute.value), format!("{value:?}"), "{}", attribute.name);
    }
}

#[test]
fn names_that_carry_metadata_are_reserved() {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for name in ["_ARRAY_DIMENSIONS", "_nczarr_attr", "_nczarr_group", "_NCProperties", ""] {
        hierarchy.root.set_attribute(Attribute::new(name, 1)).unwrap_err();
    }
    // These say how long strings are, and netcdf-c shows them.
    for name in ["_nczarr_maxstrlen", "_nczarr_default_maxstrlen"] {
        hierarchy.root.set_attribute(Attribute::new(name, 1)).unwrap();
    }
    assert_eq!(written(&hierarchy).read().root.attributes.len(), 2);
}
