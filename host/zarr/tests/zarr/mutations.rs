use std::sync::Arc;

use ncz_model::json::{Json, Map, json};
use ncz_model::{Format, Hierarchy};
use ncz_zarr::metadata::{ConsolidatedPolicy, ReadOptions, read, write};
use proptest::prelude::*;

use crate::fixtures::Memory;

/// A dataset with everything that `zarr.json` can say, consolidated.
fn dataset() -> Memory {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let array = |data_type: Json, fill: Json, codecs: Json| {
        json!({
            "shape": [4, 6],
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill,
            "codecs": codecs,
            "attributes": {"units": "K", "_FillValue": "AAAAAAAA+D8=", "list": [1, 2.5, null]},
            "dimension_names": ["y", null],
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        })
    };
    let sharded = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 3],
        "codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            bytes,
            {"name": "gzip", "configuration": {"level": 1}}
        ],
        "index_codecs": [bytes, {"name": "crc32c"}],
        "index_location": "end",
    }}]);
    let date = json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}});
    let mut store = Memory::folder("nczarr-v3-draft");
    store.0.retain(|key, _| key.ends_with("zarr.json"));
    let root = store.text("zarr.json").replace("\"notes\"", "\"notes\", \"s\", \"d\", \"t\"");
    store.set("zarr.json", &root);
    store.set("s/zarr.json", &array(json!("float64"), json!("NaN"), sharded).to_string());
    store.set("d/zarr.json", &array(date, json!(5), json!([bytes])).to_string());
    store.set("t/zarr.json", &array(json!("string"), json!("x"), json!([{"name": "vlen-utf8"}])).to_string());
    let hierarchy = read(&store, &ReadOptions { nczarr3: true, ..ReadOptions::default() }).unwrap();
    assert_eq!(hierarchy.unreadable().count(), 0);
    Memory(write(&hierarchy, true).unwrap().into_iter().collect())
}

/// Numbers all values inside a document from 0, and changes the one at `at`.
fn change(json: &mut Json, at: &mut usize, new: &Json, remove: bool) -> bool {
    if *at == 0 && !remove {
        *json = new.clone();
        return true;
    }
    *at = at.saturating_sub(1);
    match json {
        Json::Object(members) => {
            let members = Arc::make_mut(members);
            let keys: Vec<String> = members.keys().cloned().collect();
            keys.iter().any(|key| {
                if *at == 0 && remove {
                    members.shift_remove(key);
                    return true;
                }
                change(&mut members[key], at, new, remove)
            })
        }
        Json::Array(items) => (0..items.len()).any(|item| {
            if *at == 0 && remove {
                items.remove(item);
                return true;
            }
            change(&mut items[item], at, new, remove)
        }),
        _ => false,
    }
}

fn number(text: &str) -> Json {
    ncz_model::json::parse(text.as_bytes()).unwrap().value
}

fn any_json() -> impl Strategy<Value = Json> {
    let words = prop::sample::select(vec![
        "",
        "bytes",
        "transpose",
        "sharding_indexed",
        "vlen-utf8",
        "int64",
        "string",
        "r16",
        "r0",
        "NaN",
        "0x",
        "0x7fc00000",
        "../x",
        "F",
        "array",
        "group",
        "regular",
        "v2",
        "complex128",
        "char",
        "zarr.json",
        "\u{0}",
    ]);
    let numbers = prop::sample::select(vec![
        "0",
        "1",
        "2",
        "-1",
        "3",
        "65",
        "1e400",
        "0.5",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "-9223372036854775809",
        "NaN",
        "1e18",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        words.prop_map(Json::from),
        numbers.prop_map(number),
        (1usize..60).prop_map(|depth| (0..depth).fold(json!(1), |inner, _| json!([inner]))),
        (1usize..200).prop_map(|rank| json!(vec![1; rank])),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            (prop::sample::select(vec!["name", "configuration", "must_understand", "order", "x"]), inner)
                .prop_map(|(key, value)| Json::from([(key.to_owned(), value)].into_iter().collect::<Map>())),
        ]
    })
}

fn sound(hierarchy: &Hierarchy) {
    for variable in hierarchy.variables() {
        let rank = variable.shape.len();
        let size = variable.dtype.size();
        assert!(variable.dtype.is_variable_length() || variable.fill_bytes().len() == size);
        assert_eq!((variable.dimensions.len(), variable.chunk_shape.len()), (rank, rank));
        assert!(!variable.chunk_shape.contains(&0));
        let mut axes = variable.order.axes(rank);
        axes.sort_unstable();
        assert!(axes.into_iter().eq(0..rank));
        if let Some(sharding) = &variable.sharding {
            let whole = |(shard, chunk): (&u64, &u64)| shard.is_multiple_of(*chunk);
            assert!(sharding.shape.iter().zip(&variable.chunk_shape).all(whole));
        }
        assert!(variable.dimensions.iter().all(|reference| hierarchy.dimension(reference).is_some()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// For any content of a `zarr.json`, reading ends with a sound dataset or an error, and what was read is written
    /// so that it reads the same.
    #[test]
    fn changed_documents_of_version_3_give_a_sound_dataset_or_an_error(
        key in any::<prop::sample::Index>(),
        at in 0usize..120,
        new in any_json(),
        remove in any::<bool>(),
        nczarr3 in any::<bool>(),
        only in any::<bool>(),
    ) {
        let mut store = dataset();
        let keys: Vec<String> = store.0.keys().cloned().collect();
        let key = key.get(&keys);
        let mut document = number(&store.text(key));
        let mut place = at;
        change(&mut document, &mut place, &new, remove);
        store.set(key, &ncz_model::json::to_text_lenient(&document));
        let consolidated = if only { ConsolidatedPolicy::Only } else { ConsolidatedPolicy::Compare };
        let options = ReadOptions { nczarr3, consolidated, ..ReadOptions::default() };
        let Ok(hierarchy) = read(&store, &options) else { return Ok(()) };
        sound(&hierarchy);
        prop_assert!(matches!(hierarchy.format, Format::Zarr3 | Format::Nczarr3));
        let Ok(documents) = write(&hierarchy, false) else { return Ok(()) };
        let back = read(&Memory(documents.into_iter().collect()), &options).unwrap();
        prop_assert_eq!(back.variables().count(), hierarchy.variables().count());
        for (old, new) in hierarchy.variables().zip(back.variables()) {
            prop_assert_eq!(&old.path, &new.path);
            prop_assert_eq!((&old.dtype, old.nc_type, &old.shape), (&new.dtype, new.nc_type, &new.shape));
            prop_assert_eq!(&old.chunk_shape, &new.chunk_shape);
            prop_assert_eq!(&old.sharding, &new.sharding);
            prop_assert_eq!(&old.order, &new.order);
            prop_assert_eq!((&old.filters, old.fill_bytes()), (&new.filters, new.fill_bytes()));
        }
    }

    #[test]
    fn damaged_bytes_of_version_3_never_panic(at in 0usize..3000, byte in any::<u8>(), cut in any::<bool>()) {
        let mut store = dataset();
        let document = store.0.get_mut("zarr.json").unwrap();
        let at = at % document.len();
        if cut { document.truncate(at) } else { document[at] = byte }
        for consolidated in [ConsolidatedPolicy::Only, ConsolidatedPolicy::Compare] {
            let options = ReadOptions { nczarr3: true, consolidated, ..ReadOptions::default() };
            if let Ok(hierarchy) = read(&store, &options) {
                sound(&hierarchy);
            }
        }
    }
}
