use ncz_model::json::{Json, json};
use ncz_model::{
    Attribute, ByteOrder, Dtype, Format, Hierarchy, Kind, MetadataError, NcType, NewFill, Storage, Value,
    VariableBuilder,
};
use ncz_zarr::metadata::{ReadOptions, read, write};

use crate::fixtures::Memory;

fn as_draft(store: &Memory) -> Hierarchy {
    read(store, &ReadOptions { nczarr3: true, ..ReadOptions::default() }).unwrap()
}

fn written(hierarchy: &Hierarchy) -> Memory {
    Memory(write(hierarchy, false).unwrap().into_iter().collect())
}

#[test]
fn the_examples_of_the_draft_are_read() {
    let hierarchy = as_draft(&Memory::folder("nczarr-v3-draft"));
    assert_eq!(hierarchy.format, Format::Nczarr3);
    assert_eq!(hierarchy.warnings, []);
    assert_eq!(hierarchy.unreadable().count(), 0);
    let dimensions = |path: &str| {
        let group = hierarchy.group(path).unwrap();
        let of = |d: &ncz_model::Dimension| (d.name.clone(), d.len, d.unlimited);
        group.dimensions.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(dimensions("/"), [("d2".to_owned(), 3, false), ("time".to_owned(), 2, true)]);
    assert_eq!(dimensions("/g1/g2"), [("d1".to_owned(), 2, false)]);
    let variable = |path: &str| {
        let v = hierarchy.variable(path).unwrap();
        let dimensions: Vec<String> = v.dimensions.iter().map(ToString::to_string).collect();
        (v.dtype.text().to_owned(), v.nc_type.unwrap(), dimensions.join(" "))
    };
    assert_eq!(variable("letters"), (">S1".to_owned(), NcType::Char, "/time /d2".to_owned()));
    assert_eq!(variable("words"), ("|S4".to_owned(), NcType::String, "/d2".to_owned()));
    assert_eq!(variable("notes"), (">S1".to_owned(), NcType::Char, "/d2".to_owned()));
    assert_eq!(variable("g1/g2/values"), ("<i4".to_owned(), NcType::Int, "/g1/g2/d1 /d2".to_owned()));
    assert_eq!(variable("g1/g2/scalar"), ("<f8".to_owned(), NcType::Double, String::new()));
    let value = |name: &str| hierarchy.root.attribute(name).unwrap().value.clone();
    assert_eq!(value("title"), Value::from("the draft's examples"));
    assert_eq!(value("attr1"), Value::from(17i32));
    assert_eq!(value("ratio"), Value::from(0.5f32));
    assert_eq!(value("names"), Value::strings(["a", "bc"]));
    assert_eq!(value("crs"), Value::from("{\"epsg\": [4326]}"));
    let range = hierarchy.variable("g1/g2/values").unwrap().attribute("valid_range").unwrap().value.clone();
    assert_eq!(range, Value::from(vec![0i16, 100]));
}

#[test]
fn without_the_switch_the_draft_is_pure_zarr_and_a_warning_names_the_switch() {
    let hierarchy = Memory::folder("nczarr-v3-draft").read();
    assert_eq!(hierarchy.format, Format::Zarr3);
    assert_eq!(hierarchy.warnings.len(), 1);
    assert!(hierarchy.warnings[0].text.contains("nczarr,v3"), "{:?}", hierarchy.warnings);
    let letters = hierarchy.variable("letters").unwrap();
    assert_eq!((letters.nc_type, letters.dimensions[0].name.as_str()), (Some(NcType::UByte), "time"));
    assert_eq!(hierarchy.variable("words").unwrap().dtype.kind(), Kind::Other);
    // Ignored metadata are not lost.
    let back = as_draft(&written(&hierarchy));
    assert_eq!(back.variable("letters").unwrap().nc_type, Some(NcType::Char));
    assert_eq!(back.root.dimensions.len(), 2);

    let pure = ReadOptions { pure: true, nczarr3: true, ..ReadOptions::default() };
    let hierarchy = read(&Memory::folder("nczarr-v3-draft"), &pure).unwrap();
    assert_eq!((hierarchy.format, hierarchy.warnings.len()), (Format::Zarr3, 0));
}

#[test]
fn a_dataset_that_was_read_is_written_unchanged() {
    let store = Memory::folder("nczarr-v3-draft");
    let mut hierarchy = as_draft(&store);
    hierarchy.nc_properties = Some("version=2".to_owned());
    for (key, text) in written(&hierarchy).0 {
        let (mut old, mut new): (Json, Json) =
            (store.text(&key).parse().unwrap(), std::str::from_utf8(&text).unwrap().parse().unwrap());
        if key == "zarr.json" {
            assert_eq!(new["attributes"]["_NCProperties"], "version=2");
            new["attributes"].as_object_mut().unwrap().shift_remove("_NCProperties");
        }
        for node in [&mut old, &mut new] {
            let types = node["attributes"]["_nczarr_attrs"]["attribute_types"].as_array_mut().unwrap();
            types.retain(|entry| entry["name"] != "_NCProperties");
            types.sort_by_key(|entry| entry["name"].to_string());
        }
        // A char that is JSON text keeps its alias; the draft cannot express a missing fill value.
        assert_eq!(new, old, "{key}");
    }
}

#[test]
fn a_new_dataset_is_written_by_the_draft_and_reads_back() {
    let mut dataset = Hierarchy::new(Format::Nczarr3);
    dataset.add_dimension("/", "x", 3, false).unwrap();
    dataset.add_dimension("/", "t", 0, true).unwrap();
    dataset.add_group("/", "g").unwrap();
    dataset.root.set_attribute(Attribute::new("a", vec![1u16, 2])).unwrap();
    dataset.root.set_attribute(Attribute::new("nan", f64::NAN)).unwrap();
    let new = |name: &str, nc_type| VariableBuilder::new(name, nc_type).dimensions(["t", "x"]);
    for nc_type in NcType::ALL {
        dataset.add_variable("/", new(nc_type.name(), nc_type).byte_order(ByteOrder::Big)).unwrap();
    }
    let short = VariableBuilder::of_dtype("words", Dtype::string(5), Some(NcType::String)).dimensions(["/x"]);
    dataset.add_variable("/g", short.fill(NewFill::Value(Value::strings(["ab"])))).unwrap();
    dataset.add_variable("/g", new("none", NcType::Int).fill(NewFill::None)).unwrap();
    let compact = VariableBuilder::new("compact", NcType::Float).dimensions(["x"]).storage(Storage::Compact);
    dataset.add_variable("/g", compact).unwrap();
    dataset
        .add_variable("/g", VariableBuilder::new("scalar", NcType::Double).storage(Storage::Scalar))
        .unwrap();

    let store = written(&dataset);
    let text: Json = store.text("char/zarr.json").parse().unwrap();
    assert_eq!((&text["data_type"], &text["fill_value"]), (&json!("uint8"), &json!(0)));
    assert_eq!(text["codecs"], json!([{"name": "bytes"}]));
    assert_eq!(text["attributes"]["_nczarr_array"]["type_alias"], "char");
    let text: Json = store.text("g/words/zarr.json").parse().unwrap();
    assert_eq!((&text["data_type"], &text["fill_value"]), (&json!("r40"), &json!("YWIAAAA=")));
    assert_eq!(text["dimension_names"], json!(["x"]));
    let root: Json = store.text("zarr.json").parse().unwrap();
    assert_eq!(root["attributes"]["_nczarr_superblock"], json!({"version": "3.0.0", "format": 3}));
    assert_eq!(root["attributes"]["nan"], "NaN");

    let back = as_draft(&store);
    assert_eq!(back.warnings, []);
    for old in dataset.variables() {
        let new = back.variable(&old.path).unwrap();
        assert_eq!(
            (&new.dtype, new.nc_type, &new.shape),
            (&old.dtype, old.nc_type, &old.shape),
            "{}",
            old.path
        );
        assert_eq!((&new.dimensions, new.storage), (&old.dimensions, old.storage), "{}", old.path);
        let bytes = |fill: &Option<ncz_model::FillValue>| fill.as_ref().map(|fill| fill.bytes().to_vec());
        assert_eq!(bytes(&new.fill), bytes(&old.fill), "{}", old.path);
        assert_eq!(new.attributes.len(), old.attributes.len(), "{}", old.path);
    }
    assert_eq!(back.root.dimensions, dataset.root.dimensions);
    assert_eq!(back.root.attribute("a").unwrap().value, Value::from(vec![1u16, 2]));
    assert_eq!(written(&back).0, store.0);
}

#[test]
fn an_unknown_version_of_the_draft_is_an_error_that_names_it() {
    let root = |version: &str| {
        format!(
            "{{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {{\"_nczarr_superblock\": {{\"version\": \
             {version}}}}}}}"
        )
    };
    let options = ReadOptions { nczarr3: true, ..ReadOptions::default() };
    for version in ["\"4.0.0\"", "\"2.0.0\"", "3", "null"] {
        let store = Memory::of(&[("zarr.json", root(version))]);
        let error = read(&store, &options).unwrap_err();
        assert!(matches!(error, MetadataError::Metadata { .. }), "{error}");
        assert_eq!(store.read().format, Format::Zarr3);
    }
}

#[test]
fn an_alias_that_does_not_fit_is_reported_and_not_followed() {
    let mut store = Memory::folder("nczarr-v3-draft");
    let letters = store.text("letters/zarr.json").replace("\"char\"", "\"string\"");
    store.set("letters/zarr.json", &letters);
    let hierarchy = as_draft(&store);
    assert_eq!(hierarchy.variable("letters").unwrap().nc_type, Some(NcType::UByte));
    assert!(hierarchy.warnings.iter().any(|warning| warning.at == "/letters"), "{:?}", hierarchy.warnings);
}
