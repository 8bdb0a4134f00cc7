//! Stores that cannot list, or that answer "denied" for missing objects without permission to list.

use ncz::model::{DataError, Format, MetadataError};
use ncz::zarr::metadata::ConsolidatedPolicy;

use super::far::{Far, Objects, PREFER, explained, far, open, options, thirty, written};

const ZARRAY: &[u8] = br#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i2", "order": "C", "fill_value": 0, "filters": null, "compressor": null}"#;

const V3_ARRAY: &[u8] = br#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int16", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;

fn places(objects: &Objects) -> [Far; 2] {
    [far(objects).without_listing(), far(objects).hiding_what_is_missing()]
}

fn one(key: &str, bytes: &[u8]) -> Objects {
    [(key.to_owned(), bytes.to_vec())].into()
}

fn metadata_error(error: DataError) -> MetadataError {
    let DataError::Metadata(error) = error else { panic!("{error:?}") };
    error
}

#[test]
fn what_names_its_content_opens_where_nothing_can_be_listed() {
    for (format, consolidated) in [
        (Format::NCZARR, false),
        (Format::NCZARR, true),
        (Format::Zarr2, true),
        (Format::Zarr3, true),
        (Format::Nczarr3, false),
    ] {
        for store in places(&written(thirty(format), consolidated)) {
            let mut options = PREFER;
            options.nczarr3 = format == Format::Nczarr3;
            let name = format!("{format:?} {store}");
            let (dataset, cost) = open(store, &options);
            let dataset = dataset.unwrap_or_else(|error| panic!("{name}: {}", explained(&error)));
            assert_eq!(dataset.hierarchy().variables().count(), 30, "{name}");
            assert!(dataset.hierarchy().warnings.is_empty(), "{name}: {:?}", dataset.hierarchy().warnings);
            assert_eq!(cost.lists, 0, "{name}");
        }
    }
}

#[test]
fn an_array_by_its_own_name_opens_where_nothing_can_be_listed() {
    for (key, bytes) in [(".zarray", ZARRAY), ("zarr.json", V3_ARRAY)] {
        for (hides, store) in places(&one(key, bytes)).into_iter().enumerate() {
            let (dataset, cost) = open(store, &PREFER);
            let dataset = dataset.unwrap_or_else(|error| panic!("{}", explained(&error)));
            assert_eq!(dataset.array("/data").unwrap().shape(), [4]);
            assert_eq!(cost.lists, 0);
            // Whether version 2's attributes are hidden or not there is not known.
            let warnings = &dataset.hierarchy().warnings;
            assert_eq!(warnings.len(), usize::from(hides == 1 && key == ".zarray"), "{warnings:?}");
            assert!(warnings.iter().all(|warning| warning.text.contains(".zattrs")), "{warnings:?}");
        }
    }
}

#[test]
fn groups_that_neither_name_nor_list_their_content_are_refused_with_the_remedies() {
    for format in [Format::Zarr2, Format::Zarr3] {
        for (hides, store) in places(&written(thirty(format), false)).into_iter().enumerate() {
            let (dataset, _) = open(store, &PREFER);
            let error = dataset.unwrap_err();
            let text = explained(&error);
            for part in ["zarr.consolidate_metadata", "S3", "one array"] {
                assert!(text.contains(part), "{text}");
            }
            assert_eq!(error.remedy(), Some(ncz::Remedy::Consolidate));
            assert_eq!(text.contains("403"), hides == 1, "{text}");
            let error = metadata_error(error);
            assert!(matches!(&error, MetadataError::NotListed { group, .. } if group == "/"), "{error:?}");
        }
    }
}

#[test]
fn a_store_that_hides_everything_is_not_reported_as_empty() {
    for policy in [ConsolidatedPolicy::Prefer, ConsolidatedPolicy::Compare, ConsolidatedPolicy::Ignore] {
        let (dataset, _) = open(far(&Objects::new()).hiding_what_is_missing(), &options(policy));
        let error = dataset.unwrap_err();
        assert!(explained(&error).contains("403"), "{error:?}");
        let error = metadata_error(error);
        assert!(matches!(&error, MetadataError::Denied { key, .. } if key == "zarr.json"), "{error:?}");
        assert_eq!(error.netcdf_code(), -78);
        let (dataset, _) = open(far(&Objects::new()), &options(policy));
        assert!(matches!(metadata_error(dataset.unwrap_err()), MetadataError::NotADataset));
    }
}

#[test]
fn documents_without_read_permission_do_not_count_as_missing() {
    for (format, keys) in [
        (Format::NCZARR, &[".zattrs", "v3/.zarray", "v3/.zattrs", "g1/.zattrs", "g1/v1/.zattrs"][..]),
        (Format::Zarr2, &[".zattrs", "v3/.zarray", "v3/.zattrs", "g1/.zgroup", "g1/v1/.zattrs"]),
        (Format::Zarr3, &["v3/zarr.json", "g1/zarr.json", "g1/g2/v1/zarr.json"]),
    ] {
        let objects = written(thirty(format), false);
        for key in keys {
            for policy in [ConsolidatedPolicy::Prefer, ConsolidatedPolicy::Compare] {
                let (dataset, _) = open(far(&objects).denying(*key), &options(policy));
                let Err(error) = dataset else { panic!("{format:?} opened without {key}") };
                let error = metadata_error(error);
                assert!(matches!(&error, MetadataError::Denied { key: at, .. } if at == key), "{error:?}");
            }
        }
    }
}

#[test]
fn the_other_version_may_be_denied() {
    for (format, keys) in [
        (Format::NCZARR, &["zarr.json", ".zmetadata"][..]),
        (Format::Zarr2, &["zarr.json", ".zmetadata", ".nczarr"]),
        (Format::Zarr3, &[".zgroup", ".zarray", ".zmetadata"]),
    ] {
        let objects = written(thirty(format), false);
        let store = keys.iter().fold(far(&objects), |store, key| store.denying(*key));
        let (dataset, _) = open(store, &PREFER);
        let dataset = dataset.unwrap_or_else(|error| panic!("{}", explained(&error)));
        assert_eq!(dataset.hierarchy().variables().count(), 30, "{format:?}");
    }
}

#[test]
fn consolidated_nczarr_that_cannot_be_compared_is_used_with_a_warning() {
    let (dataset, _) = open(far(&written(thirty(Format::NCZARR), true)).denying(".zattrs"), &PREFER);
    let dataset = dataset.unwrap();
    assert_eq!(dataset.hierarchy().variables().count(), 30);
    let [warning] = &dataset.hierarchy().warnings[..] else { panic!("{:?}", dataset.hierarchy().warnings) };
    assert!(warning.text.contains("cannot tell whether it is out of date"), "{warning:?}");
}
