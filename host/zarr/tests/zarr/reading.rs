use ncz_cdl::{CdlOptions, Digits};
use ncz_model::json::json;
use ncz_model::{
    Consolidated, Format, Generation, Hierarchy, Kind, MetadataError, NcType, Order, ScalarForm, Separator,
    Value, VariableError,
};
use ncz_zarr::metadata::{ConsolidatedPolicy, ReadOptions, read};

use crate::fixtures::{Memory, names, text};

fn header(hierarchy: &Hierarchy, name: &str) -> String {
    let mut out = Vec::new();
    let options = CdlOptions { digits: Digits::NCDUMP, ..CdlOptions::new(name) };
    ncz_cdl::header(&mut out, hierarchy, &options).unwrap();
    String::from_utf8(out).unwrap()
}

fn v2(name: &str) -> Hierarchy {
    Memory::fixture(&format!("zarr-python/v2-{name}")).read()
}

#[test]
fn every_stored_dataset_opens_whole() {
    let folders = [
        "netcdf-c-4.10.2/nczarr",
        "netcdf-c-4.10.2/zarr",
        "netcdf-c-4.10.2/noxarray",
        "netcdf-c-4.10.2/nczarr-own-zip",
        "netcdf-c-4.9.2/nczarr",
        "netcdf-c-4.9.0/nczarr",
        "netcdf-c-4.8.0/nczarr",
    ];
    for name in folders.iter().flat_map(|folder| names(folder)) {
        let hierarchy = Memory::fixture(&name).read();
        assert_eq!(hierarchy.unreadable().count(), 0, "{name}");
        assert!(hierarchy.variables().count() > 0, "{name}");
        assert_eq!(hierarchy.warnings, [], "{name}");
    }
    for name in names("zarr-python").iter().filter(|name| name.contains("/v2-")) {
        let hierarchy = Memory::fixture(name).read();
        assert_eq!(hierarchy.unreadable().count(), 0, "{name}");
        assert_eq!(hierarchy.warnings, [], "{name}");
    }
}

#[test]
fn each_generation_is_recognized_by_its_keys() {
    for (folder, generation) in [
        ("netcdf-c-4.8.0", Generation::Objects),
        ("netcdf-c-4.9.0", Generation::UpperCase),
        ("netcdf-c-4.9.2", Generation::LowerCase),
        ("netcdf-c-4.10.2", Generation::Attributes),
    ] {
        for name in names(&format!("{folder}/nczarr")) {
            assert_eq!(Memory::fixture(&name).read().format, Format::Nczarr(generation), "{name}");
        }
    }
    assert_eq!(Memory::fixture("netcdf-c-4.10.2/zarr/simple").read().format, Format::Zarr2);
}

/// netcdf-c 4.10 reads the two oldest as pure Zarr; the header that 4.10.2 prints of its own data applies to all.
#[test]
fn all_generations_of_a_dataset_have_the_same_header() {
    for (dataset, folders) in [
        ("simple", &["netcdf-c-4.8.0", "netcdf-c-4.9.0", "netcdf-c-4.9.2"][..]),
        ("names", &["netcdf-c-4.8.0", "netcdf-c-4.9.0"]),
        ("endian", &["netcdf-c-4.9.0", "netcdf-c-4.9.2"]),
        ("types", &["netcdf-c-4.9.2"]),
        ("scalars", &["netcdf-c-4.9.2"]),
        ("attrs", &["netcdf-c-4.9.2"]),
    ] {
        let newest = header(&Memory::fixture(&format!("netcdf-c-4.10.2/nczarr/{dataset}")).read(), dataset);
        for folder in folders {
            let older = header(&Memory::fixture(&format!("{folder}/nczarr/{dataset}")).read(), dataset);
            assert_eq!(older, newest, "{folder} {dataset}");
        }
    }
}

#[test]
fn values_of_all_types_are_those_of_the_source() {
    let store = Memory::fixture("netcdf-c-4.10.2/nczarr/types");
    let types = store.read();
    let value = |name: &str| store.values(&types, types.variable(name).unwrap());
    assert_eq!(value("b"), Value::from(vec![-128i8, 0, -1, 127]));
    assert_eq!(value("ub"), Value::from(vec![0u8, 1, 254, 255]));
    assert_eq!(value("ul"), Value::from(vec![0, 1, 2, u64::MAX]));
    assert_eq!(value("l"), Value::from(vec![i64::MIN, -1, 0, i64::MAX]));
    assert_eq!(value("c"), Value::text("abcd"));
    assert_eq!(value("str"), Value::strings(["one", "", "three \"q\" \\ \n", "vier ü"]));
    let attribute = |name: &str| types.root.attribute(name).unwrap().value.clone();
    assert_eq!(attribute("a_byte"), Value::from(1i8));
    assert_eq!(attribute("a_float"), Value::from(vec![1.5f32, -2.25]));
    assert_eq!(attribute("a_int64"), Value::from(i64::MAX));
    assert_eq!(attribute("a_uint64"), Value::from(u64::MAX));
    assert_eq!(attribute("empty"), Value::text(""));
    assert_eq!(types.nc_properties.as_deref(), Some("version=2,netcdf=4.10.2-development,nczarr=2.0.0"));
}

#[test]
fn text_that_looks_like_json_is_the_stored_text_of_the_source() {
    for folder in ["netcdf-c-4.10.2/nczarr", "netcdf-c-4.9.2/nczarr"] {
        let attrs = Memory::fixture(&format!("{folder}/attrs")).read();
        let v = attrs.variable("v").unwrap();
        let attribute = |name: &str| v.attribute(name).unwrap().value.clone();
        // netcdf-c reads "1" here.
        assert_eq!(attribute("json_number"), Value::text("17"));
        assert_eq!(attribute("json_object"), Value::text("{\"crs\": {\"epsg\": 4326}, \"ok\": true}"));
        assert_eq!(attribute("json_array"), Value::text("[1,2.5,\"x\"]"));
        assert_eq!(attribute("looks_like_list"), Value::text("[not json"));
        assert_eq!(attribute("names"), Value::strings(["one", "two", "three"]));
        assert_eq!(attribute("flag_values"), Value::from(vec![0i8, 1, 2]));
        assert_eq!(attribute("unicode"), Value::text("température °C"));
        let Value::Double(nan) = attribute("nan_attr") else { panic!("no double") };
        assert!(nan[0].is_nan());
    }
}

#[test]
fn dimensions_are_found_in_enclosing_groups() {
    let groups = Memory::fixture("netcdf-c-4.10.2/nczarr/groups").read();
    let q = groups.variable("/g1/q").unwrap();
    let names: Vec<String> = q.dimensions.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["/g1/level", "/g1/lat", "/lon"]);
    let n = groups.variable("/g1/g2/n").unwrap();
    assert_eq!(groups.shape_of(n), [3, 3]);
    let time = groups.root.dimension("time").unwrap();
    assert!(time.unlimited);
    assert_eq!((time.len, n.chunk_shape.as_slice()), (5, &[1, 3][..]));
    assert!(groups.group("/empty").unwrap().variables.is_empty());
}

#[test]
fn scalars_are_scalars_in_both_forms() {
    for (folder, form) in
        [("nczarr", ScalarForm::Rank1), ("zarr", ScalarForm::Rank0), ("noxarray", ScalarForm::Rank0)]
    {
        let store = Memory::fixture(&format!("netcdf-c-4.10.2/{folder}/scalars"));
        let scalars = store.read();
        let answer = scalars.variable("answer").unwrap();
        assert_eq!((answer.scalar, answer.shape.len(), answer.dimensions.len()), (Some(form), 0, 0));
        assert_eq!(store.values(&scalars, answer), Value::from(42i32));
        assert_eq!(answer.stored_shape(), if form == ScalarForm::Rank1 { vec![1] } else { vec![] });
    }
}

#[test]
fn fill_values_are_read_in_the_stored_order() {
    let store = Memory::fixture("netcdf-c-4.10.2/nczarr/fill");
    let fill = store.read();
    assert_eq!(fill.variable("us").unwrap().fill_bytes(), [7, 0]);
    assert!(fill.variable("nofill").unwrap().fill.is_none());
    assert_eq!(fill.variable("nofill").unwrap().fill_bytes(), [0; 8]);
    let f = fill.variable("f").unwrap();
    assert!(f32::from_le_bytes(f.fill_bytes().try_into().unwrap()).is_nan());
    assert!(
        fill.variable("b")
            .unwrap()
            .fill
            .as_ref()
            .unwrap()
            .is_default(NcType::Byte, &fill.variable("b").unwrap().dtype)
    );
    let endian = Memory::fixture("netcdf-c-4.10.2/nczarr/endian").read();
    assert_eq!(endian.variable("sbig").unwrap().fill_bytes(), [1, 2]);
    let dbig = endian.variable("dbig").unwrap();
    assert!(dbig.fill.as_ref().unwrap().is_default(NcType::Double, &dbig.dtype));
}

#[test]
fn datasets_with_types_that_netcdf_lacks_can_be_opened() {
    for (name, kind, size) in [
        ("dtype-b1", Kind::Bool, 1),
        ("dtype-le-f2", Kind::Float, 2),
        ("dtype-le-c8", Kind::Complex, 8),
        ("dtype-le-c16", Kind::Complex, 16),
        ("dtype-le-U5", Kind::Unicode, 20),
        ("dtype-le-M8-ns", Kind::DateTime, 8),
        ("dtype-le-m8-s", Kind::TimeDelta, 8),
    ] {
        let hierarchy = v2(name);
        let v = hierarchy.variable("v").unwrap();
        assert_eq!((v.dtype.kind(), v.dtype.size(), v.nc_type), (kind, size, None), "{name}");
        assert_eq!(v.fill_bytes().len(), size);
        let error = v.netcdf_type().unwrap_err();
        assert!(error.to_string().contains("\"/v\""), "{error}");
    }
    let nat = v2("dtype-le-M8-ns").variable("v").unwrap().fill_bytes();
    assert_eq!(nat, i64::MIN.to_le_bytes());
}

#[test]
fn datasets_of_zarr_python_are_read() {
    let none = v2("none");
    let v = none.variable("v").unwrap();
    assert_eq!(none.shape_of(v), [50, 37]);
    assert_eq!(v.dimensions.iter().map(|name| name.name.as_str()).collect::<Vec<_>>(), ["y", "x"]);
    assert_eq!(none.root.attribute("number").unwrap().value, Value::from(3i32));
    assert_eq!(none.root.attribute("flt").unwrap().value, Value::from(0.1));
    let nested = none.root.attribute("nested").unwrap();
    assert_eq!(nested.value, Value::text("{\"a\": [1,2,{\"b\": null}]}"));
    assert!(nested.is_json_text());

    let fortran = v2("dtype-le-i4");
    assert_eq!(fortran.variable("v").unwrap().order, Order::F);
    assert_eq!(fortran.variable("scalar").unwrap().scalar, Some(ScalarForm::Rank0));
    assert_eq!(fortran.variable("v").unwrap().dimensions[0].name, "_Anonymous_Dim_6");
    assert!(fortran.root.dimension("_Anonymous_Dim_6").unwrap().anonymous);

    let shuffled = v2("shuffle8-on-f4+zstd");
    let chain = &shuffled.variable("v").unwrap().filters;
    assert_eq!(chain, &[json!({"id": "shuffle", "elementsize": 8}), json!({"id": "zstd", "level": 3})]);
}

#[test]
fn consolidated_metadata_are_compared_and_can_be_the_only_metadata() {
    let store = Memory::fixture("zarr-python/v2-consolidated");
    assert_eq!(store.read().consolidated, Consolidated::Current);

    let mut stale = store.clone();
    let grown = stale.text("a/b/v/.zarray").replacen('6', "7", 1);
    stale.set("a/b/v/.zarray", &grown);
    let hierarchy = stale.read();
    assert_eq!(hierarchy.consolidated, Consolidated::Stale);
    assert_eq!(hierarchy.variable("/a/b/v").unwrap().shape, [7]);
    assert!(
        hierarchy.warnings.iter().any(|warning| warning.text.contains("a/b/v/.zarray")),
        "{:?}",
        hierarchy.warnings
    );

    let only = ReadOptions { consolidated: ConsolidatedPolicy::Only, ..ReadOptions::default() };
    let hierarchy = read(&stale, &only).unwrap();
    assert_eq!(
        (hierarchy.consolidated, hierarchy.variable("/a/b/v").unwrap().shape[0]),
        (Consolidated::Only, 6)
    );

    let mut only_consolidated = store.clone();
    only_consolidated.0.retain(|key, _| key == ".zmetadata");
    assert_eq!(
        read(&only_consolidated, &ReadOptions::default()).unwrap().variable("/a/b/v").unwrap().shape,
        [6]
    );

    let mut vanished = store;
    vanished.0.retain(|key, _| !key.starts_with("a/b/v"));
    assert_eq!(vanished.read().consolidated, Consolidated::Stale);
}

#[test]
fn numbers_with_another_spelling_are_not_stale() {
    let mut store = Memory::fixture("zarr-python/v2-consolidated");
    let rewritten = store.text("a/b/v/.zarray").replace("\"fill_value\": 0", "\"fill_value\": 0.0");
    assert!(rewritten.contains("0.0"));
    store.set("a/b/v/.zarray", &rewritten);
    assert_eq!(store.read().consolidated, Consolidated::Current);
}

const ARRAY: &str = r#"{"zarr_format": 2, "shape": [4,3], "dtype": "<i2", "chunks": [2,2], "fill_value": 0,
    "order": "C", "compressor": null, "filters": null}"#;

#[test]
fn an_array_at_the_root_of_a_store_is_a_group_with_one_variable() {
    let store = Memory::of(&[(".zarray", ARRAY)]);
    let options = ReadOptions { root_array_name: Some("field".to_owned()), ..ReadOptions::default() };
    let hierarchy = read(&store, &options).unwrap();
    assert!(hierarchy.root_array);
    let field = hierarchy.variable("/field").unwrap();
    assert_eq!((field.key.as_str(), field.document_key("0.0")), ("", "0.0".to_owned()));
}

#[test]
fn the_same_dimension_name_with_two_lengths_is_qualified() {
    let small = ARRAY.replace("[4,3]", "[2,2]");
    let names = r#"{"_ARRAY_DIMENSIONS": ["y","x"]}"#;
    let store = Memory::of(&[
        (".zgroup", r#"{"zarr_format": 2}"#),
        ("0/.zarray", ARRAY),
        ("0/.zattrs", names),
        ("1/.zarray", &small),
        ("1/.zattrs", names),
    ]);
    let hierarchy = store.read();
    let names = |path: &str| {
        hierarchy.variable(path).unwrap().dimensions.iter().map(|name| name.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("/0"), ["y", "x"]);
    assert_eq!(names("/1"), ["y_2", "x_2"]);
    assert_eq!(hierarchy.shape_of(hierarchy.variable("/1").unwrap()), [2, 2]);
    assert_eq!(hierarchy.warnings.len(), 2);
}

#[test]
fn one_broken_variable_does_not_stop_the_others() {
    let broken = [
        ("chunk0", ARRAY.replace("[2,2]", "[0,2]")),
        ("chunkminus", ARRAY.replace("[2,2]", "[-1,2]")),
        ("rank", ARRAY.replace("[2,2]", "[2]")),
        ("dtype", ARRAY.replace("<i2", "|i2")),
        ("fill", ARRAY.replace("\"fill_value\": 0", "\"fill_value\": \"zero\"")),
        ("order", ARRAY.replace("\"C\"", "\"K\"")),
        ("filters", ARRAY.replace("\"filters\": null", "\"filters\": [1]")),
        ("nocompressor", ARRAY.replace("\"compressor\": null, ", "")),
        ("nojson", "{".to_owned()),
        ("list", "[1]".to_owned()),
    ];
    let mut store = Memory::of(&[(".zgroup", r#"{"zarr_format": 2}"#), ("good/.zarray", ARRAY)]);
    for (name, text) in &broken {
        store.set(&format!("{name}/.zarray"), text);
    }
    store.set("attrs/.zarray", ARRAY);
    store.set("attrs/.zattrs", "nope");
    let hierarchy = store.read();
    hierarchy.variable("good").unwrap();
    assert_eq!(hierarchy.unreadable().count(), broken.len() + 1);
    for (name, _) in broken {
        let error = hierarchy.variable(name).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(error.netcdf_code(), -137);
    }
    let MetadataError::Variable { source, .. } = hierarchy.variable("chunk0").unwrap_err() else {
        panic!("another error")
    };
    assert_eq!(
        source.to_string(),
        "\"chunks\" in its .zarray: [0, 2] contains the length 0; each must be at least 1"
    );
    assert!(matches!(
        hierarchy.variable("attrs").unwrap_err(),
        MetadataError::Variable { source: VariableError::Document { .. }, .. }
    ));
    let header = header(&hierarchy, "x");
    assert!(header.contains("// chunk0 cannot be read: "), "{header}");
}

#[test]
fn an_undefined_dimension_is_the_error_of_its_variable() {
    let mut store = Memory::fixture("netcdf-c-4.10.2/nczarr/simple");
    let dangling = store.text("count/.zattrs").replace("\"/lon\"", "\"/gone\"");
    store.set("count/.zattrs", &dangling);
    store.0.remove("lat/.zarray");
    let hierarchy = store.read();
    let MetadataError::Variable { source, .. } = hierarchy.variable("count").unwrap_err() else {
        panic!("another error")
    };
    assert_eq!(source, VariableError::Dimension { name: "/gone".to_owned() });
    assert!(matches!(
        hierarchy.variable("lat").unwrap_err(),
        MetadataError::Variable { source: VariableError::Missing { .. }, .. }
    ));
    hierarchy.variable("temp").unwrap();
}

#[test]
fn a_dimension_is_as_long_as_the_longest_of_its_arrays() {
    let mut store = Memory::fixture("netcdf-c-4.10.2/nczarr/groups");
    let grown = store.text("time/.zarray").replace("\"shape\": [5]", "\"shape\": [9]");
    store.set("time/.zarray", &grown);
    let hierarchy = store.read();
    let temp = hierarchy.variable("temp").unwrap();
    assert_eq!((hierarchy.shape_of(temp), temp.shape.as_slice()), (vec![9, 4, 6], &[5, 4, 6][..]));
    assert_eq!(hierarchy.warnings, []);
}

#[test]
fn bare_words_and_slashes_as_xarray_writes_them_are_read() {
    let slashes =
        ARRAY.replace("\"order\"", "\"dimension_separator\": \"/\", \"order\"").replace("<i2", "<f8");
    let store = Memory::of(&[
        (".zgroup", r#"{"zarr_format": 2}"#),
        (".zattrs", r#"{"missing": NaN, "range": [-Infinity, Infinity], "empty": [], "mixed": [1, "a"]}"#),
        ("v/.zarray", &slashes.replace("\"fill_value\": 0", "\"fill_value\": NaN")),
    ]);
    let hierarchy = store.read();
    let v = hierarchy.variable("v").unwrap();
    assert_eq!(v.separator, Separator::Slash);
    assert!(f64::from_le_bytes(v.fill_bytes().try_into().unwrap()).is_nan());
    assert_eq!(
        hierarchy.root.attribute("range").unwrap().value,
        Value::from(vec![f64::NEG_INFINITY, f64::INFINITY])
    );
    assert_eq!(hierarchy.root.attribute("mixed").unwrap().value, Value::text("[1,\"a\"]"));
    assert_eq!(hierarchy.root.attribute("empty").unwrap().value, Value::text("[]"));
}

#[test]
fn char_of_the_upper_case_generation_is_one_byte() {
    let superblock = r#"{"zarr_format": 2, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"},
        "_NCZARR_GROUP": {"dims": {"n": 4, "m": 3}, "vars": ["c","c"], "groups": []}}"#;
    let array = ARRAY.replace("<i2", "<U1").replace("\"fill_value\": 0", "\"fill_value\": \"\"").replace(
        "null}",
        "null, \"_NCZARR_ARRAY\": {\"dimrefs\": [\"/n\",\"/m\"], \"storage\": \"chunked\"}}",
    );
    let hierarchy = Memory::of(&[(".zgroup", superblock), ("c/.zarray", &array)]).read();
    assert_eq!((hierarchy.unreadable().count(), hierarchy.variables().count()), (0, 1));
    let c = hierarchy.variable("c").unwrap();
    assert_eq!((c.nc_type, c.dtype.size(), hierarchy.shape_of(c)), (Some(NcType::Char), 1, vec![4, 3]));
    // In pure Zarr it is text of one UTF-32 letter.
    let pure = Memory::of(&[(".zgroup", r#"{"zarr_format": 2}"#), ("c/.zarray", &array)]).read();
    assert_eq!(pure.variable("c").unwrap().dtype.size(), 4);
}

#[test]
fn duplicate_and_unknown_keys_are_warnings() {
    let twice = ARRAY.replace("\"order\"", "\"order\": \"F\", \"future\": 1, \"order\"");
    let hierarchy = Memory::of(&[(".zgroup", r#"{"zarr_format": 2}"#), ("v/.zarray", &twice)]).read();
    assert_eq!(hierarchy.variable("v").unwrap().order, Order::C);
    let texts: Vec<String> = hierarchy.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("v/.zarray: the key \"order\" occurs twice"), "{texts:?}");
    assert!(texts[1].contains("\"future\""), "{texts:?}");
}

#[test]
fn nczarr_data_can_be_read_as_pure_zarr() {
    let pure = ReadOptions { pure: true, ..ReadOptions::default() };
    let hierarchy = read(&Memory::fixture("netcdf-c-4.10.2/nczarr/simple"), &pure).unwrap();
    assert_eq!(hierarchy.format, Format::Zarr2);
    assert_eq!(hierarchy.variable("/sub/x").unwrap().dimensions[0].to_string(), "/sub/k");
    let scalars = read(&Memory::fixture("netcdf-c-4.10.2/nczarr/scalars"), &pure).unwrap();
    assert_eq!(scalars.variable("answer").unwrap().scalar, Some(ScalarForm::Rank1));
}

#[test]
fn the_sources_name_every_variable_that_is_found() {
    for name in ["types", "simple", "groups", "fill", "filters", "endian", "attrs", "scalars"] {
        let source = text(&format!("cdl/{name}.cdl"));
        let hierarchy = Memory::fixture(&format!("netcdf-c-4.10.2/nczarr/{name}")).read();
        for variable in hierarchy.variables() {
            let declaration = format!("{} {}", variable.nc_type.unwrap(), variable.name);
            assert!(source.contains(&declaration), "{name}: {declaration}");
        }
    }
}
