use ncz_model::json::{Json, json};
use ncz_model::{
    ByteOrder, Consolidated, Format, Hierarchy, KeyEncoding, Kind, MetadataError, NcType, NewFill, Order,
    ScalarForm, Separator, Sharding, Value, VariableBuilder, VariableError, limits,
};
use ncz_zarr::metadata::{ConsolidatedPolicy, ReadOptions, ZarrVersion, read, write};

use crate::fixtures::{Memory, names};

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

/// An array of 4 by 6 `int16`.
fn array() -> Json {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 6],
        "data_type": "int16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 7,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

/// The same array with other keys.
fn with(changes: Json) -> Json {
    let mut array = array();
    for (key, value) in changes.as_object().unwrap() {
        array[key.as_str()] = value.clone();
    }
    array
}

fn store(array: &Json) -> Memory {
    Memory::of(&[("zarr.json", GROUP.to_owned()), ("v/zarr.json", array.to_string())])
}

fn error_of(array: &Json) -> String {
    let hierarchy = store(array).read();
    let source = hierarchy.unreadable().next().unwrap().reason.clone();
    let mut text = source.to_string();
    let mut cause = std::error::Error::source(&source);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn codecs(codecs: Json) -> Json {
    with(json!({"codecs": codecs}))
}

fn bytes() -> Json {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn written(hierarchy: &Hierarchy, consolidated: bool) -> Memory {
    Memory(write(hierarchy, consolidated).unwrap().into_iter().collect())
}

#[test]
fn every_stored_dataset_of_version_3_opens_whole_and_is_written_as_it_was() {
    for name in names("zarr-python").iter().filter(|name| name.contains("/v3-")) {
        let store = Memory::fixture(name);
        let hierarchy = store.read();
        assert_eq!(hierarchy.format, Format::Zarr3, "{name}");
        assert_eq!(
            hierarchy.unreadable().map(|v| v.reason.to_string()).collect::<Vec<_>>(),
            [""; 0],
            "{name}"
        );
        assert_eq!(hierarchy.warnings, [], "{name}");
        for (key, text) in written(&hierarchy, false).0 {
            assert_eq!(String::from_utf8(text).unwrap(), store.text(&key), "{name} {key}");
        }
    }
}

#[test]
fn the_codecs_become_order_byte_order_shards_and_filters() {
    let variable = |array: &Json| store(array).read().variable("v").unwrap().clone();
    let v = variable(&array());
    assert_eq!((v.dtype.text(), v.nc_type, v.order.clone()), ("<i2", Some(NcType::Short), Order::C));
    assert_eq!((v.shape, v.chunk_shape, v.sharding), (vec![4, 6], vec![2, 3], None));
    assert_eq!((v.key_encoding, v.separator), (KeyEncoding::Default, Separator::Slash));
    assert_eq!(v.fill.unwrap().bytes(), [7, 0]);

    let transpose = |order: Json| json!({"name": "transpose", "configuration": {"order": order}});
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let v = variable(&codecs(json!([transpose(json!([1, 0])), big, "crc32c"])));
    assert_eq!((v.dtype.order(), v.order), (ByteOrder::Big, Order::F));
    assert_eq!(v.filters, [json!({"name": "crc32c"})]);

    // Twice the same rotation of three dimensions.
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": [2, 3, 4]}});
    let cube = json!({"shape": [2, 3, 4], "chunk_grid": grid});
    let mut rotated = with(cube);
    rotated["codecs"] = json!([transpose(json!([1, 2, 0])), bytes()]);
    assert_eq!(variable(&rotated).order, Order::Axes(vec![1, 2, 0]));
    rotated["codecs"] = json!([transpose(json!([1, 2, 0])), transpose(json!([1, 2, 0])), bytes()]);
    assert_eq!(variable(&rotated).order, Order::Axes(vec![2, 0, 1]));
    rotated["codecs"] = json!([transpose(json!("F")), bytes()]);
    assert_eq!(variable(&rotated).order, Order::F);

    let v = variable(&codecs(json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 3],
        "codecs": [
            transpose(json!([1, 0])),
            bytes(),
            {"name": "zstd", "configuration": {"level": 3, "checksum": false}}
        ],
        "index_codecs": [bytes()],
        "index_location": "start",
    }}])));
    let sharding = v.sharding.unwrap();
    assert_eq!((sharding.shape, v.chunk_shape, v.order), (vec![2, 3], vec![1, 3], Order::F));
    assert_eq!(
        (sharding.index_order, sharding.index_checksum, sharding.index_at_end),
        (ByteOrder::Little, false, false)
    );
    assert_eq!(v.filters, [json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})]);

    let v = variable(&codecs(
        json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<i2"}}, bytes(), "x"]),
    ));
    assert_eq!(v.filters[0]["name"], "numcodecs.delta");
    assert_eq!(v.filters[1], json!({"name": "x"}));

    let keys = with(json!({"chunk_key_encoding": {"name": "v2"}}));
    assert_eq!(variable(&keys).separator, Separator::Dot);
    assert_eq!(variable(&keys).key_encoding, KeyEncoding::V2);
    let keys = with(json!({"chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}));
    assert_eq!(
        (variable(&keys).key_encoding, variable(&keys).separator),
        (KeyEncoding::Default, Separator::Dot)
    );
}

#[test]
fn codecs_that_are_not_read_are_an_error_that_names_them() {
    let shard = |change: Json| {
        let mut configuration = json!({"chunk_shape": [1, 3], "codecs": [bytes()],
            "index_codecs": [bytes(), {"name": "crc32c"}]});
        for (key, value) in change.as_object().unwrap() {
            configuration[key.as_str()] = value.clone();
        }
        json!({"name": "sharding_indexed", "configuration": configuration})
    };
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    for (list, named) in [
        (json!([]), "makes bytes"),
        (json!([{"name": "zstd"}]), "zstd"),
        (json!([{"name": "numcodecs.categorize"}]), "categorize"),
        (json!([bytes(), bytes()]), "bytes"),
        (json!([{"name": "bytes"}]), "endian"),
        (json!([{"name": "bytes", "configuration": {"endian": "middle"}}]), "middle"),
        (json!([{"name": "bytes", "configuration": {"endian": "little", "more": 1}}]), "more"),
        (json!([{"name": "bytes", "more": 1}]), "more"),
        (json!([{"name": "vlen-utf8"}]), "vlen-utf8"),
        (json!([{"name": "transpose", "configuration": {"order": [0, 0]}}, bytes()]), "[0,0]"),
        (json!([{"name": "transpose", "configuration": {"order": [0]}}, bytes()]), "[0]"),
        (json!([{"name": "transpose"}, bytes()]), "transpose"),
        (json!([{"name": "numcodecs.delta"}, transpose, bytes()]), "transpose"),
        (
            json!([{"name": "numcodecs.delta"}, {"name": "bytes", "configuration": {"endian": "big"}}]),
            "big-endian",
        ),
        (json!([transpose, shard(json!({}))]), "transpose"),
        (json!([shard(json!({})), {"name": "zstd"}]), "zstd"),
        (json!([shard(json!({"codecs": [shard(json!({}))]}))]), "shards"),
        (json!([shard(json!({"chunk_shape": [2, 2]}))]), "[2, 2]"),
        (json!([shard(json!({"chunk_shape": [0, 3]}))]), "[0,3]"),
        (json!([shard(json!({"chunk_shape": [1]}))]), "[1]"),
        (json!([shard(json!({"index_codecs": [bytes(), {"name": "zstd"}]}))]), "zstd"),
        (json!([shard(json!({"index_codecs": [{"name": "bytes"}]}))]), "byte order"),
        (json!([shard(json!({"index_location": "middle"}))]), "index_location"),
        (json!([shard(json!({"more": 1}))]), "more"),
        (json!("bytes"), "a list"),
        (json!([null]), "null"),
        (json!([{"name": 1}]), "name"),
    ] {
        let error = error_of(&codecs(list.clone()));
        assert!(error.contains(named) && error.contains("codecs"), "{list}: {error}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn missing_and_unknown_keys_are_an_error() {
    for (key, value) in [
        ("shape", json!([-1, 6])),
        ("shape", json!([4])),
        ("shape", json!(vec![1; 65])),
        ("shape", json!(4)),
        ("data_type", json!("int7")),
        ("chunk_grid", json!({"name": "rectilinear"})),
        ("chunk_grid", json!({"name": "regular", "configuration": {"chunk_shape": [2, 0]}})),
        ("chunk_key_encoding", json!({"name": "default", "configuration": {"separator": "-"}})),
        ("chunk_key_encoding", json!({"name": "suffix"})),
        ("fill_value", json!("7")),
        ("fill_value", json!(40000)),
        ("storage_transformers", json!([{"name": "x"}])),
        ("attributes", json!([])),
        ("node_type", json!("table")),
        ("zarr_format", json!(4)),
        ("something", json!({"must_understand": true})),
        ("something", json!(1)),
    ] {
        let error = error_of(&with(json!({key: value})));
        let named = match key {
            "data_type" => "int7",
            "shape" if value == json!([4]) => "chunk_grid",
            "zarr_format" => "format 4",
            _ => key,
        };
        assert!(error.contains(named), "{key}: {error}");
    }
    for key in ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "node_type"]
    {
        let mut array = array();
        array.as_object_mut().unwrap().shift_remove(key);
        assert!(error_of(&array).contains(key), "{key}");
    }
    let ignorable = with(json!({"something": {"must_understand": false, "a": 1}}));
    let hierarchy = store(&ignorable).read();
    assert_eq!(hierarchy.warnings, []);
    let kept = written(&hierarchy, false).text("v/zarr.json");
    assert!(kept.contains("something"), "{kept}");
}

#[test]
fn a_fill_value_of_null_reads_as_zeros_and_is_reported() {
    let hierarchy = store(&with(json!({"fill_value": null}))).read();
    assert_eq!(hierarchy.variable("v").unwrap().fill, None);
    assert!(hierarchy.warnings[0].text.contains("null"));
    let text: Json = written(&hierarchy, false).text("v/zarr.json").parse().unwrap();
    assert_eq!(text["fill_value"], json!(0));
}

#[test]
fn data_types_that_netcdf_lacks_are_readable_and_unknown_ones_affect_only_their_variable() {
    let mut store = Memory::of(&[("zarr.json", GROUP)]);
    let types = [
        ("bool", json!("bool"), json!(true)),
        ("half", json!("float16"), json!("NaN")),
        ("complex", json!("complex64"), json!([0.0, "Infinity"])),
        ("raw", json!("r24"), json!([1, 2, 3])),
        (
            "date",
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}),
            json!(0),
        ),
        ("text", json!("string"), json!("a")),
        ("blob", json!("variable_length_bytes"), json!("YQ==")),
        ("old_blob", json!("bytes"), json!([97])),
        ("bfloat16", json!("bfloat16"), json!(0)),
        ("structured", json!({"name": "structured", "configuration": {"fields": []}}), json!("AA==")),
        ("float64", json!("float64"), json!("0x7ff8000000000001")),
    ];
    for (name, data_type, fill) in &types {
        let codec = match *name {
            "text" => json!({"name": "vlen-utf8"}),
            "blob" | "old_blob" => json!({"name": "vlen-bytes"}),
            _ => bytes(),
        };
        let array = with(json!({"data_type": data_type, "fill_value": fill, "codecs": [codec]}));
        store.set(&format!("{name}/zarr.json"), &array.to_string());
    }
    let hierarchy = store.read();
    let kind = |name: &str| {
        let variable = hierarchy.variable(name).unwrap();
        (variable.dtype.kind(), variable.dtype.size(), variable.nc_type)
    };
    assert_eq!(kind("bool"), (Kind::Bool, 1, None));
    assert_eq!(kind("half"), (Kind::Float, 2, None));
    assert_eq!(kind("complex"), (Kind::Complex, 8, None));
    assert_eq!(kind("raw"), (Kind::Other, 3, None));
    assert_eq!(kind("date"), (Kind::DateTime, 8, None));
    assert_eq!(kind("text"), (Kind::VlenText, 0, Some(NcType::String)));
    assert_eq!(kind("blob"), (Kind::VlenBytes, 0, None));
    assert_eq!(hierarchy.variable("old_blob").unwrap().fill.as_ref().unwrap().bytes(), b"a");
    assert_eq!(kind("float64"), (Kind::Float, 8, Some(NcType::Double)));
    let unreadable: Vec<&str> = hierarchy.unreadable().map(|variable| variable.name.as_str()).collect();
    assert_eq!(unreadable, ["bfloat16", "structured"]);
    for (key, text) in written(&hierarchy, false).0 {
        let (old, new): (Json, Json) =
            (store.text(&key).parse().unwrap(), std::str::from_utf8(&text).unwrap().parse().unwrap());
        assert_eq!(old["data_type"], new["data_type"], "{key}");
        assert_eq!(old["fill_value"], new["fill_value"], "{key}");
    }
}

#[test]
fn dimensions_have_the_names_of_their_array_in_its_own_group() {
    let named = |names: Json| with(json!({"dimension_names": names}));
    let mut store = store(&named(json!(["y", null])));
    store.set("g/zarr.json", GROUP);
    store.set("g/w/zarr.json", &named(json!(["y", "x"])).to_string());
    let mut square = named(json!(["x", "x"]));
    square["shape"] = json!([4, 4]);
    store.set("g/a/zarr.json", &square.to_string());
    store.set("odd/zarr.json", &named(json!(["a/b", ""])).to_string());
    store.set("wrong/zarr.json", &named(json!(["a"])).to_string());
    store.set("old/zarr.json", &with(json!({"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}})).to_string());
    let both = with(json!({"dimension_names": ["y", "z"], "attributes": {"_ARRAY_DIMENSIONS": ["p", "q"]}}));
    store.set("both/zarr.json", &both.to_string());
    let hierarchy = store.read();
    let names = |path: &str| {
        let variable = hierarchy.variable(path).unwrap();
        variable.dimensions.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names("v"), ["/y", "/_Anonymous_Dim_6"]);
    assert_eq!(names("g/a"), ["/g/x", "/g/x"]);
    assert_eq!(names("g/w"), ["/g/y", "/g/x_6"]);
    assert_eq!(names("odd"), ["/_Anonymous_Dim_4", "/_Anonymous_Dim_6"]);
    assert_eq!(names("wrong"), ["/_Anonymous_Dim_4", "/_Anonymous_Dim_6"]);
    assert_eq!(names("old"), ["/y", "/x"]);
    assert_eq!(names("both"), ["/y", "/z"]);
    let warned: Vec<&str> = hierarchy.warnings.iter().map(|warning| warning.at.as_str()).collect();
    assert_eq!(warned, ["/g/w", "/odd", "/old", "/wrong"], "{:?}", hierarchy.warnings);
    for (key, text) in written(&hierarchy, false).0 {
        let (old, new): (Json, Json) =
            (store.text(&key).parse().unwrap(), std::str::from_utf8(&text).unwrap().parse().unwrap());
        assert_eq!(old["dimension_names"], new["dimension_names"], "{key}");
        let attribute = |node: &Json| node["attributes"]["_ARRAY_DIMENSIONS"].clone();
        assert_eq!(attribute(&old), attribute(&new), "{key}");
    }
}

#[test]
fn an_array_at_the_root_is_a_group_with_one_variable() {
    let store = Memory::of(&[("zarr.json", array().to_string())]);
    let hierarchy = store.read();
    assert!(hierarchy.root_array);
    let v = hierarchy.variable("/data").unwrap();
    assert_eq!((v.key.as_str(), v.shape.as_slice()), ("", [4, 6].as_slice()));
    assert_eq!(written(&hierarchy, false).0.keys().collect::<Vec<_>>(), ["zarr.json"]);
}

#[test]
fn a_scalar_has_no_dimensions() {
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": []}});
    let hierarchy = store(&with(json!({"shape": [], "chunk_grid": grid}))).read();
    let v = hierarchy.variable("v").unwrap();
    assert_eq!((v.scalar, v.dimensions.len(), v.chunk_shape.len()), (Some(ScalarForm::Rank0), 0, 0));
}

#[test]
fn a_root_of_both_versions_is_refused_until_one_is_chosen() {
    let v2 = r#"{"zarr_format": 2, "shape": [4], "dtype": "<i2", "chunks": [2], "fill_value": 0, "order": "C",
        "compressor": null, "filters": null}"#;
    let mut store = store(&array());
    store.set(".zgroup", r#"{"zarr_format": 2}"#);
    store.set("w/.zarray", v2);
    let read = |version| read(&store, &ReadOptions { version, ..ReadOptions::default() });
    let error = read(None).unwrap_err();
    assert!(matches!(error, MetadataError::Ambiguous { v2: ".zgroup" }), "{error}");
    let v3 = read(Some(ZarrVersion::V3)).unwrap();
    assert_eq!(v3.variables().map(|v| v.path.as_str()).collect::<Vec<_>>(), ["/v"]);
    assert!(v3.warnings.iter().any(|warning| warning.at == "/w" && warning.text.contains("version 2")));
    let v2 = read(Some(ZarrVersion::V2)).unwrap();
    assert_eq!(v2.variables().map(|v| v.path.as_str()).collect::<Vec<_>>(), ["/w"]);
    assert!(v2.warnings.iter().any(|warning| warning.at == "/v" && warning.text.contains("version 3")));
    assert_eq!(v2.warnings.len(), 1, "{:?}", v2.warnings);

    let only3 = Memory::of(&[("zarr.json", GROUP)]);
    let version = Some(ZarrVersion::V2);
    let error = ncz_zarr::metadata::read(&only3, &ReadOptions { version, ..ReadOptions::default() });
    assert!(matches!(error, Err(MetadataError::OtherVersion { expected: 2, found: "zarr.json" })));
}

#[test]
fn an_invalid_root_is_an_error_that_names_it() {
    for (text, named) in [
        ("{", "zarr.json"),
        ("[]", "zarr.json"),
        (r#"{"zarr_format": 2, "node_type": "group"}"#, "format 2"),
        (r#"{"node_type": "group"}"#, "zarr_format"),
        (r#"{"zarr_format": 3}"#, "node_type"),
        (r#"{"zarr_format": 3, "node_type": "group", "extra": 1}"#, "extra"),
        (r#"{"zarr_format": 3, "node_type": "group", "attributes": 1}"#, "attributes"),
    ] {
        let error = read(&Memory::of(&[("zarr.json", text)]), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(named), "{text}: {error}");
    }
    let kept = r#"{"zarr_format": 3, "node_type": "group", "extra": {"must_understand": false}}"#;
    let hierarchy = Memory::of(&[("zarr.json", kept)]).read();
    assert!(written(&hierarchy, false).text("zarr.json").contains("extra"));
}

#[test]
fn a_broken_node_is_one_variable_that_cannot_be_read() {
    let mut store = store(&array());
    store.set("a/zarr.json", "{");
    store.set("b/zarr.json", "{\"zarr_format\": 3}");
    store.set("README", "text");
    let hierarchy = store.read();
    let names: Vec<&str> = hierarchy.unreadable().map(|unreadable| unreadable.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(matches!(hierarchy.unreadable().next().unwrap().reason, VariableError::Document { .. }));
    hierarchy.variable("v").unwrap();
}

#[test]
fn consolidated_metadata_are_compared_or_only_they_are_read() {
    let mut store = store(&with(json!({"dimension_names": ["y", "x"]})));
    store.set("g/zarr.json", GROUP);
    store.set("g/w/zarr.json", &array().to_string());
    let hierarchy = store.read();
    assert_eq!(hierarchy.consolidated, Consolidated::Absent);
    let consolidated = written(&hierarchy, true);
    let root: Json = consolidated.text("zarr.json").parse().unwrap();
    let keys: Vec<&String> = root["consolidated_metadata"]["metadata"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["v", "g", "g/w"]);
    assert_eq!(root["consolidated_metadata"]["kind"], "inline");
    let back = consolidated.read();
    assert_eq!((back.consolidated, back.warnings.len()), (Consolidated::Current, 0));
    // Rewriting only the root removes consolidated metadata that would be out of date.
    assert!(!written(&back, false).text("zarr.json").contains("consolidated"));

    // Documents that differ only in their spelling are not out of date.
    let mut worded = consolidated.clone();
    let mut other =
        with(json!({"dimension_names": ["y", "x"], "storage_transformers": [], "attributes": {}}));
    other["chunk_key_encoding"] = json!({"name": "default", "configuration": {"separator": "/"}});
    worded.set("v/zarr.json", &other.to_string());
    assert_eq!(worded.read().consolidated, Consolidated::Current);
    for (key, value) in [
        ("fill_value", json!(8)),
        ("chunk_key_encoding", json!({"name": "v2"})),
        ("dimension_names", json!(["y", "z"])),
        ("attributes", json!({"a": 1})),
        ("data_type", json!("uint16")),
        ("codecs", json!([bytes(), {"name": "crc32c"}])),
    ] {
        let mut changed = other.clone();
        changed[key] = value;
        worded.set("v/zarr.json", &changed.to_string());
        assert_eq!(worded.read().consolidated, Consolidated::Stale, "{key}");
    }

    let mut stale = consolidated.clone();
    stale.set("v/zarr.json", &with(json!({"shape": [8, 6]})).to_string());
    let back = stale.read();
    assert_eq!(back.consolidated, Consolidated::Stale);
    assert_eq!(back.variable("v").unwrap().shape, [8, 6]);
    assert!(back.warnings[0].text.contains("v/zarr.json"), "{:?}", back.warnings);
    let mut fewer = consolidated.clone();
    fewer.0.remove("g/w/zarr.json");
    assert_eq!(fewer.read().consolidated, Consolidated::Stale);
    let mut more = consolidated.clone();
    more.set("u/zarr.json", &array().to_string());
    assert_eq!(more.read().consolidated, Consolidated::Stale);

    let only = ReadOptions { consolidated: ConsolidatedPolicy::Only, ..ReadOptions::default() };
    let only_root = Memory::of(&[("zarr.json", consolidated.text("zarr.json"))]);
    let back = read(&only_root, &only).unwrap();
    assert_eq!(back.consolidated, Consolidated::Only);
    assert_eq!(back.variable("/g/w").unwrap().shape, [4, 6]);
    assert_eq!(back.variable("/v").unwrap().dimensions[0].name, "y");
    assert_eq!(read(&store, &only).unwrap().consolidated, Consolidated::Absent);

    for broken in [json!({"kind": "other", "metadata": {}}), json!({"kind": "inline"}), json!(1)] {
        let mut store = store.clone();
        let root = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": broken});
        store.set("zarr.json", &root.to_string());
        assert_eq!(store.read().consolidated, Consolidated::Stale, "{broken}");
        assert!(read(&store, &only).is_err(), "{broken}");
    }
}

#[test]
fn the_fill_attribute_of_xarray_is_a_number() {
    let node = |data_type: &str, fill: Json| {
        with(json!({"data_type": data_type, "fill_value": 0, "attributes": {"_FillValue": fill}}))
    };
    for (data_type, fill, value) in [
        ("float64", json!("AAAAAAAA+D8="), Value::from(1.5f64)),
        ("float32", json!("AAAAAAAA+D8="), Value::from(1.5f32)),
        ("float32", json!(1.5), Value::from(1.5f32)),
        ("int16", json!(3), Value::from(3i16)),
    ] {
        let store = store(&node(data_type, fill.clone()));
        let hierarchy = store.read();
        let v = hierarchy.variable("v").unwrap();
        assert_eq!(v.attribute("_FillValue").unwrap().value, value, "{fill}");
        let text: Json = written(&hierarchy, false).text("v/zarr.json").parse().unwrap();
        let expected = if data_type == "int16" { json!(3) } else { json!("AAAAAAAA+D8=") };
        assert_eq!(text["attributes"]["_FillValue"], expected);
    }
}

#[test]
fn bare_nan_in_attributes_survives_in_each_document() {
    let nan = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"a": NaN, "b": [1.0, -Infinity]}}"#;
    let mut store = store(&array());
    store.set("zarr.json", nan);
    store.set("g/zarr.json", nan);
    store.set(
        "g/v/zarr.json",
        &array().to_string().replace("\"shape\"", "\"attributes\": {\"c\": NaN}, \"shape\""),
    );
    let consolidated = written(&store.read(), true);
    assert_eq!(consolidated.text("zarr.json").matches("NaN").count(), 3);
    let only = ReadOptions { consolidated: ConsolidatedPolicy::Only, ..ReadOptions::default() };
    let back = read(&consolidated, &only).unwrap();
    for attribute in [
        back.root.attribute("a").unwrap(),
        back.group("g").unwrap().attribute("a").unwrap(),
        back.variable("g/v").unwrap().attribute("c").unwrap(),
    ] {
        assert!(matches!(&attribute.value, Value::Double(values) if values[0].is_nan()));
    }
}

#[test]
fn new_arrays_are_written_as_zarr_python_writes_them() {
    let mut dataset = Hierarchy::new(Format::Zarr3);
    dataset.add_dimension("/", "y", 8, false).unwrap();
    dataset.add_dimension("/", "x", 6, false).unwrap();
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["y", "x"])
        .chunks([2, 3])
        .order(Order::F)
        .byte_order(ByteOrder::Big)
        .sharding(Sharding::new([4, 6]))
        .filters(vec![gzip.clone()]);
    dataset.add_variable("/", new).unwrap();
    dataset
        .add_variable("/", VariableBuilder::new("n", NcType::Int).dimensions(["x"]).fill(NewFill::None))
        .unwrap();
    let store = written(&dataset, false);
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let expected = json!({
        "shape": [8, 6],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 9.96921e36,
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2, 3],
            "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, big, gzip],
            "index_codecs": [bytes(), {"name": "crc32c"}],
            "index_location": "end",
        }}],
        "attributes": {},
        "dimension_names": ["y", "x"],
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    });
    let text = store.text("v/zarr.json");
    assert_eq!(
        text,
        ncz_model::json::to_text_indented(&expected, false).replace("9.96921e36", "9.96921e+36")
    );
    assert!(text.starts_with("{\n  \"shape\": [\n    8,\n    6\n  ],\n"), "{text}");
    // The writer's zero represents an undefined fill value.
    assert!(store.text("n/zarr.json").contains("\"fill_value\": 0,"));
    let back = store.read();
    let (old, new) = (dataset.variable("v").unwrap(), back.variable("v").unwrap());
    assert_eq!((&new.sharding, &new.order, &new.filters), (&old.sharding, &old.order, &old.filters));
    assert_eq!((&new.dtype, &new.dimensions), (&old.dtype, &old.dimensions));
}

#[test]
fn changed_members_are_rewritten_and_the_rest_stays_as_it_was() {
    let odd = with(json!({
        "data_type": {"name": "int16"},
        "fill_value": 7.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c", "configuration": {}}],
        "chunk_key_encoding": {"name": "v2"},
        "later": {"must_understand": false},
    }));
    let mut hierarchy = store(&odd).read();
    let text =
        |hierarchy: &Hierarchy| -> Json { written(hierarchy, false).text("v/zarr.json").parse().unwrap() };
    let same = text(&hierarchy);
    for key in ["data_type", "fill_value", "codecs", "chunk_key_encoding", "later", "chunk_grid"] {
        assert_eq!(same[key], odd[key], "{key}");
    }
    let variable = hierarchy.variable_mut("v").unwrap();
    variable.shape = vec![9, 6];
    variable.order = Order::F;
    let new = text(&hierarchy);
    assert_eq!((&new["shape"], &new["data_type"]), (&json!([9, 6]), &odd["data_type"]));
    assert_eq!(new["codecs"][0], json!({"name": "transpose", "configuration": {"order": [1, 0]}}));
    assert_eq!(new["codecs"][2], odd["codecs"][1]);
}

#[test]
fn a_document_that_would_not_be_read_again_is_not_written() {
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let attributes = |text: &str| {
        array().to_string().replace("\"shape\"", &format!("\"attributes\": {{\"a\": {text}}}, \"shape\""))
    };
    let mut store = store(&array());
    store.set("v/zarr.json", &attributes(&deep));
    let hierarchy = store.read();
    assert_eq!(hierarchy.unreadable().count(), 0);
    write(&hierarchy, false).unwrap();
    let error = write(&hierarchy, true).unwrap_err();
    assert!(
        matches!(error, MetadataError::Metadata { .. }) && error.to_string().contains("nested"),
        "{error}"
    );
    // Four attributes of 5 MB: all of them in one are larger than any other document may be, and are read again.
    for name in ["a", "b", "c", "d"] {
        store.set(&format!("{name}/zarr.json"), &attributes(&format!("\"{}\"", "x".repeat(5_000_000))));
    }
    store.set("v/zarr.json", &array().to_string());
    for (key, bytes) in write(&store.read(), true).unwrap() {
        store.0.insert(key, bytes);
    }
    assert!(store.0["zarr.json"].len() > limits::DOCUMENT_BYTES);
    assert_eq!(store.read().consolidated, Consolidated::Current);
}
