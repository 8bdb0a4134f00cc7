use std::collections::BTreeMap;

use ncz_model::json::{Json, Map, json};
use ncz_model::{
    Attribute, Consolidated, Format, Group, GroupDocuments, Hierarchy, MetadataError, NcType, NewFill, Order,
    Separator, Storage, Value, VariableBuilder, VariableDocuments,
};
use ncz_zarr::metadata::{group_documents, variable_documents, write};

use crate::fixtures::{Memory, names};

fn written(hierarchy: &Hierarchy) -> Memory {
    Memory(write(hierarchy, false).unwrap().into_iter().collect())
}

fn documents(store: &Memory) -> BTreeMap<String, String> {
    let is_document = |key: &str| matches!(key.rsplit('/').next(), Some(".zgroup" | ".zarray" | ".zattrs"));
    store.0.keys().filter(|key| is_document(key)).map(|key| (key.clone(), store.text(key))).collect()
}

/// Removes the original documents, so that the writer works as for a new dataset.
fn forget(group: &mut Group) {
    group.documents = GroupDocuments::default();
    group.attributes.iter_mut().for_each(|attribute| attribute.json = None);
    for variable in &mut group.variables {
        variable.documents = VariableDocuments::default();
        variable.attributes.iter_mut().for_each(|attribute| attribute.json = None);
    }
    group.groups.iter_mut().for_each(forget);
}

/// Numbers as doubles, so that 3 and 3.0 agree.
fn numbers_by_value(json: Json) -> Json {
    match json {
        Json::Number(number) => json!(number.as_str().parse::<f64>().unwrap()),
        Json::Array(items) => items.into_iter().map(numbers_by_value).collect(),
        Json::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), numbers_by_value(value.clone())));
            Json::from(members.collect::<Map>())
        }
        other => other,
    }
}

#[test]
fn rewriting_a_dataset_changes_no_byte() {
    let folders = ["netcdf-c-4.10.2/nczarr", "netcdf-c-4.10.2/zarr", "netcdf-c-4.10.2/noxarray"];
    for name in folders.iter().flat_map(|folder| names(folder)) {
        if name.ends_with("/attrs") {
            continue; // Below: netcdf-c turned texts into numbers there.
        }
        let store = Memory::fixture(&name);
        assert_eq!(documents(&written(&store.read())), documents(&store), "{name}");
    }
}

#[test]
fn rewriting_restores_text_that_netcdf_turned_into_a_number() {
    let store = Memory::fixture("netcdf-c-4.10.2/nczarr/attrs");
    let mut expected = documents(&store);
    let zattrs = expected.get_mut("v/.zattrs").unwrap();
    *zattrs = zattrs.replace("\"json_number\": 17", "\"json_number\": \"17\"");
    assert_eq!(documents(&written(&store.read())), expected);
}

/// netcdf-c writes `<i1` for bytes, which reading keeps; only the layout of new documents differs.
#[test]
fn new_documents_are_those_of_netcdf() {
    let folders = ["netcdf-c-4.10.2/nczarr", "netcdf-c-4.10.2/zarr"];
    let (mut equal, mut by_value) = (0, 0);
    for name in folders.iter().flat_map(|folder| names(folder)) {
        if name.ends_with("/attrs") {
            continue;
        }
        let store = Memory::fixture(&name);
        let mut hierarchy = store.read();
        forget(&mut hierarchy.root);
        let ours = documents(&written(&hierarchy));
        for (key, theirs) in documents(&store) {
            // A document without content is not written.
            let ours = ours.get(&key).map_or("{}", String::as_str);
            if ours == theirs {
                equal += 1;
                continue;
            }
            // Only floats may have another spelling: -999.0 for -999.
            let json = |text: &str| numbers_by_value(text.parse().unwrap());
            assert_eq!(json(ours), json(&theirs), "{name} {key}");
            by_value += 1;
        }
    }
    assert!(equal > 120 && by_value < 15, "{equal} equal, {by_value} by value");
}

#[test]
fn a_new_dataset_reads_back_as_it_was_defined() {
    for format in [Format::NCZARR, Format::Zarr2] {
        let mut dataset = Hierarchy::new(format);
        dataset.root.set_attribute(Attribute::new("title", "new")).unwrap();
        dataset.root.set_attribute(Attribute::new("scale", vec![0.1, 1e300])).unwrap();
        dataset.add_dimension("/", "x", 5, false).unwrap();
        dataset.add_group("/", "g").unwrap();
        dataset.add_dimension("/g", "y", 3, false).unwrap();
        let zstd = json!({"id": "zstd", "level": 3});
        let new = VariableBuilder::new("v", NcType::Float)
            .dimensions(["x"])
            .chunks([2])
            .fill(NewFill::Value(Value::from(f32::NAN)))
            .filters(vec![json!({"id": "shuffle", "elementsize": 4}), zstd.clone()])
            .separator(Separator::Slash)
            .order(Order::F)
            .attribute(Attribute::new("units", "K"));
        dataset.add_variable("/", new).unwrap();
        dataset.add_variable("/g", VariableBuilder::new("s", NcType::String).dimensions(["y"])).unwrap();
        dataset.add_variable("/g", VariableBuilder::new("c", NcType::Int).storage(Storage::Chunked)).unwrap();

        let back = written(&dataset).read();
        assert_eq!(back.format, format);
        assert_eq!(back.warnings, []);
        assert_eq!(back.root.attribute("title").unwrap().value, Value::text("new"));
        assert_eq!(back.root.attribute("scale").unwrap().value, Value::from(vec![0.1, 1e300]));
        let v = back.variable("v").unwrap();
        assert_eq!(
            (v.chunk_shape.as_slice(), v.separator, v.order.clone(), v.filters.len()),
            (&[2][..], Separator::Slash, Order::F, 2)
        );
        assert_eq!(v.filters[1], zstd);
        assert!(f32::from_le_bytes(v.fill_bytes().try_into().unwrap()).is_nan());
        assert_eq!(v.attribute("_FillValue").unwrap().value.nc_type(), NcType::Float);
        assert_eq!(back.variable("/g/s").unwrap().nc_type, Some(NcType::String));
        assert_eq!(back.variable("/g/c").unwrap().scalar, dataset.variable("/g/c").unwrap().scalar);
        assert_eq!(back.nc_properties.is_some(), format.is_nczarr());
    }
}

#[test]
fn char_is_written_so_that_zarr_python_reads_it_if_possible() {
    let dtype = |format: Format| -> Json {
        let mut hierarchy = Memory::fixture("netcdf-c-4.10.2/nczarr/types").read();
        hierarchy.format = format;
        let documents = variable_documents(&hierarchy, hierarchy.variable("c").unwrap()).unwrap();
        let zarray: Json = std::str::from_utf8(&documents.last().unwrap().1).unwrap().parse().unwrap();
        zarray["dtype"].clone()
    };
    assert_eq!((dtype(Format::NCZARR), dtype(Format::Zarr2)), (json!(">S1"), json!("|S1")));
}

#[test]
fn the_root_is_written_last_so_that_a_dataset_appears_complete() {
    let hierarchy = Memory::fixture("netcdf-c-4.10.2/nczarr/groups").read();
    let keys: Vec<String> = write(&hierarchy, true).unwrap().into_iter().map(|(key, _)| key).collect();
    let at = |expected: &str| keys.iter().position(|key| key == expected).unwrap();
    assert_eq!(keys.last().unwrap(), ".zmetadata");
    assert_eq!(at(".zgroup"), keys.len() - 2);
    assert!(at("g1/g2/n/.zarray") < at("g1/g2/.zgroup"));
    assert!(at("g1/g2/.zgroup") < at("g1/.zgroup"));
}

#[test]
fn consolidated_metadata_that_were_written_agree_with_the_documents() {
    for name in names("netcdf-c-4.10.2/nczarr") {
        let store = Memory(write(&Memory::fixture(&name).read(), true).unwrap().into_iter().collect());
        assert_eq!(store.read().consolidated, Consolidated::Current, "{name}");
    }
}

#[test]
fn foreign_keys_survive_rewriting() {
    let mut store = Memory::fixture("netcdf-c-4.10.2/nczarr/simple");
    let zarray = store.text("temp/.zarray").replace("\"order\"", "\"foreign\": {\"a\": 1.50}, \"order\"");
    store.set("temp/.zarray", &zarray);
    let zattrs = store.text("temp/.zattrs").replace("\"storage\"", "\"future\": [1.0e5], \"storage\"");
    store.set("temp/.zattrs", &zattrs);
    store.set(".zgroup", "{\"zarr_format\": 2, \"other\": true}");
    let mut hierarchy = store.read();
    hierarchy.variable_mut("temp").unwrap().shape[0] = 9;
    let back = written(&hierarchy);
    assert_eq!(back.text("temp/.zarray"), zarray.replace("[5,7]", "[9,7]"));
    assert!(back.text("temp/.zattrs").contains("\"future\": [1.0e5]"));
    assert_eq!(back.text(".zgroup"), "{\"zarr_format\": 2, \"other\": true}");
}

#[test]
fn the_filters_of_a_rewritten_variable_are_split_as_netcdf_does() {
    let mut hierarchy = Memory::fixture("netcdf-c-4.10.2/nczarr/filters").read();
    let chain = hierarchy.variable("chain").unwrap().filters.clone();
    hierarchy.variable_mut("plain").unwrap().filters = chain.clone();
    hierarchy.variable_mut("chain").unwrap().filters = chain[2..].to_vec();
    hierarchy.variable_mut("deflate").unwrap().filters.clear();
    let array = |path: &str| -> Json {
        let documents = variable_documents(&hierarchy, hierarchy.variable(path).unwrap()).unwrap();
        std::str::from_utf8(&documents.last().unwrap().1).unwrap().parse().unwrap()
    };
    assert_eq!(array("plain")["filters"].as_array().unwrap().len(), 2);
    assert_eq!(array("plain")["compressor"]["id"], "bz2");
    assert_eq!(
        (&array("chain")["filters"], &array("chain")["compressor"]["id"]),
        (&Json::Null, &json!("bz2"))
    );
    assert_eq!((&array("deflate")["filters"], &array("deflate")["compressor"]), (&Json::Null, &Json::Null));
}

#[test]
fn an_unreadable_variable_keeps_its_position_in_the_list() {
    let mut store = Memory::fixture("netcdf-c-4.10.2/nczarr/simple");
    store.set("temp/.zarray", "{");
    let hierarchy = store.read();
    let documents = group_documents(&hierarchy, &hierarchy.root).unwrap();
    let zattrs: Json = std::str::from_utf8(&documents[0].1).unwrap().parse().unwrap();
    assert_eq!(zattrs["_nczarr_group"]["arrays"], json!(["lat", "temp", "count"]));
}

#[test]
fn old_generations_are_not_changed() {
    for name in
        ["netcdf-c-4.8.0/nczarr/simple", "netcdf-c-4.9.0/nczarr/simple", "netcdf-c-4.9.2/nczarr/simple"]
    {
        let error = write(&Memory::fixture(name).read(), false).unwrap_err();
        assert!(matches!(error, MetadataError::OldGeneration { .. }), "{name}: {error}");
    }
}

#[test]
fn an_old_generation_with_the_new_format_is_written_in_it() {
    let mut hierarchy = Memory::fixture("netcdf-c-4.9.2/nczarr/types").read();
    hierarchy.format = Format::NCZARR;
    let back = written(&hierarchy);
    assert!(!back.text(".zgroup").contains("_nczarr"));
    assert!(!back.text("f/.zarray").contains("_nczarr"));
    let newest = Memory::fixture("netcdf-c-4.10.2/nczarr/types");
    assert_eq!(back.text("f/.zattrs"), newest.text("f/.zattrs"));
    assert_eq!(back.text("f/.zarray"), newest.text("f/.zarray"));
}

#[test]
fn dimensions_are_named_for_xarray_unless_disabled() {
    for format in [Format::NCZARR, Format::Zarr2] {
        let mut dataset = Hierarchy::new(format);
        dataset.add_dimension("/", "x", 5, false).unwrap();
        dataset.add_group("/", "g").unwrap();
        dataset.add_variable("/g", VariableBuilder::new("v", NcType::Int).dimensions(["x"])).unwrap();
        dataset.add_variable("/", VariableBuilder::new("s", NcType::Int)).unwrap();
        for xarray in [true, false] {
            dataset.xarray = xarray;
            let store = Memory(write(&dataset, false).unwrap().into_iter().collect());
            for key in ["g/v/.zattrs", "s/.zattrs"] {
                let named = store.0.contains_key(key) && store.text(key).contains("_ARRAY_DIMENSIONS");
                assert_eq!(named, xarray, "{key} {format:?}");
            }
            // Existing variables stay as they are, and new variables follow them.
            let mut back = store.read();
            assert_eq!(back.xarray, xarray);
            assert_eq!(
                write(&back, false).unwrap().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
                store.0
            );
            let name = if xarray || format.is_nczarr() { "/x" } else { "/_Anonymous_Dim_5" };
            let own = if xarray && !format.is_nczarr() { "/g/x" } else { name };
            assert_eq!(back.variable("/g/v").unwrap().dimensions[0].to_string(), own);
            let new = back
                .add_variable("/", VariableBuilder::new("w", NcType::Int).dimensions([own]))
                .unwrap()
                .clone();
            let documents = variable_documents(&back, &new).unwrap();
            let text: String =
                documents.iter().map(|(_, text)| String::from_utf8(text.clone()).unwrap()).collect();
            assert_eq!(text.contains("_ARRAY_DIMENSIONS"), xarray, "{format:?}");
        }
    }
}
