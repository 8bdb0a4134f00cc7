use std::error::Error;

use ncz_model::{MetadataError, SourceError, VariableError, limits};
use ncz_zarr::metadata::{Documents, ReadOptions, read};
use proptest::prelude::*;

use crate::fixtures::Memory;

const GROUP: &str = r#"{"zarr_format": 2}"#;
const ARRAY: &str = r#"{"zarr_format": 2, "shape": [4], "dtype": "<i2", "chunks": [2], "fill_value": 0, "order": "C",
    "compressor": null, "filters": null}"#;

fn error(store: &Memory) -> MetadataError {
    read(store, &ReadOptions::default()).unwrap_err()
}

#[test]
fn a_store_without_metadata_is_not_a_dataset() {
    assert!(matches!(error(&Memory::default()), MetadataError::NotADataset));
    assert_eq!(error(&Memory::default()).netcdf_code(), -143);
}

#[test]
fn a_broken_root_is_an_error_that_names_the_document() {
    for (key, text) in [
        (".zgroup", "{".to_owned()),
        (".zgroup", "[".repeat(1_000_000)),
        (".zgroup", "null".to_owned()),
        (".zattrs", "{\"a\": nan}".to_owned()),
        (".zattrs", "{\"a\": ".repeat(1_000_000)),
        (".zattrs", format!("{{\"a\": \"{}\"}}", "x".repeat(limits::DOCUMENT_BYTES))),
        (".zgroup", "{}".to_owned()),
    ] {
        let mut store = Memory::of(&[(".zgroup", GROUP)]);
        store.set(key, &text);
        let error = error(&store);
        assert!(error.to_string().contains(&format!("{key:?}")), "{error}");
        assert_eq!(error.netcdf_code(), -144);
    }
    let mut store = Memory::of(&[(".zgroup", GROUP)]);
    store.0.insert(".zattrs".to_owned(), b"{\"a\": \"\xff\"}".to_vec());
    let error = error(&store);
    assert_eq!(error.source().unwrap().to_string(), "not UTF-8 at byte 7");
}

#[test]
fn absurd_shapes_are_metadata_like_any_other() {
    let huge = 1u64 << 60;
    let text = ARRAY
        .replace("[4]", &format!("[{huge},{huge},{huge}]"))
        .replace("[2]", &format!("[1,{huge},{huge}]"));
    let hierarchy = Memory::of(&[(".zgroup", GROUP), ("v/.zarray", &text)]).read();
    let v = hierarchy.variable("v").unwrap();
    assert_eq!(v.shape, [huge; 3]);
    assert_eq!(v.chunk_elements(), None);
}

#[test]
fn impossible_shapes_are_errors_of_their_variable() {
    let rank = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    for (shape, chunks) in [
        ("[-1]".to_owned(), "[2]".to_owned()),
        ("[1.5]".to_owned(), "[2]".to_owned()),
        ("[1e400]".to_owned(), "[2]".to_owned()),
        ("[18446744073709551616]".to_owned(), "[2]".to_owned()),
        ("[NaN]".to_owned(), "[2]".to_owned()),
        ("4".to_owned(), "[2]".to_owned()),
        ("[\"4\"]".to_owned(), "[2]".to_owned()),
        ("[4]".to_owned(), "[0]".to_owned()),
        ("[4]".to_owned(), "[-2]".to_owned()),
        ("[4]".to_owned(), "true".to_owned()),
        (rank(65), rank(65)),
        (rank(100_000), rank(100_000)),
    ] {
        let text = ARRAY.replace("[4]", &shape).replace("\"chunks\": [2]", &format!("\"chunks\": {chunks}"));
        let hierarchy = Memory::of(&[(".zgroup", GROUP), ("v/.zarray", &text)]).read();
        let MetadataError::Variable { path, source } = hierarchy.variable("v").unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(path, "/v");
        assert!(matches!(source, VariableError::Key { key: "shape" | "chunks", .. }), "{source}");
        assert!(source.to_string().len() < 300, "{source}");
    }
}

#[test]
fn names_that_leave_the_dataset_are_refused() {
    let zattrs = |arrays: &str, groups: &str| {
        format!(
            "{{\"_nczarr_superblock\": {{\"version\": \"2.0.0\"}}, \
             \"_nczarr_group\": {{\"dimensions\": {{}}, \"arrays\": [{arrays}], \"groups\": [{groups}]}}}}"
        )
    };
    for name in ["..", ".", "", "a/../../b", "/etc", "a\\u0000b", ".zgroup"] {
        let quoted = format!("\"{name}\"");
        let store = Memory::of(&[(".zgroup", GROUP), (".zattrs", &zattrs(&quoted, ""))]);
        let hierarchy = store.read();
        let unreadable = hierarchy.unreadable().next().unwrap();
        assert!(matches!(unreadable.reason, VariableError::Name { .. }), "{name}");
        let store = Memory::of(&[(".zgroup", GROUP), (".zattrs", &zattrs("", &quoted))]);
        assert!(matches!(error(&store), MetadataError::Metadata { .. }), "{name}");
    }
}

/// Every group contains itself, without end.
struct Endless;

impl Documents for Endless {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(key.ends_with(".zgroup").then(|| GROUP.as_bytes().to_vec()))
    }

    fn children(&self, _: &str) -> Result<Vec<String>, SourceError> {
        Ok(vec!["g".to_owned()])
    }
}

#[test]
fn groups_nested_without_end_are_refused() {
    let error = read(&Endless, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("nested deeper"), "{error}");
}

/// The store fails on one key.
struct Failing(Memory, &'static str);

impl Documents for Failing {
    fn document(&self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        if key == self.1 { Err("connection lost".into()) } else { self.0.document(key) }
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        self.0.children(prefix)
    }
}

#[test]
fn a_failing_store_is_an_error_and_never_a_missing_variable() {
    for key in
        [".zgroup", ".zattrs", "temp/.zarray", "temp/.zattrs", "sub/.zattrs", "sub/x/.zarray", ".zmetadata"]
    {
        let store = Failing(Memory::fixture("netcdf-c-4.10.2/nczarr/simple"), key);
        match read(&store, &ReadOptions::default()) {
            Err(MetadataError::Read { key: failed, source }) => {
                assert_eq!(failed, key);
                assert_eq!(source.to_string(), "connection lost");
            }
            Err(other) => panic!("{key}: {other}"),
            // Consolidated metadata are only compared.
            Ok(hierarchy) => assert!(key == ".zmetadata" && !hierarchy.warnings.is_empty(), "{key}"),
        }
    }
}

#[test]
fn a_damaged_zmetadata_is_a_warning() {
    for text in [
        "{",
        "{}",
        "{\"zarr_consolidated_format\": 1}",
        "{\"zarr_consolidated_format\": 2, \"metadata\": {}}",
    ] {
        let store = Memory::of(&[(".zgroup", GROUP), ("v/.zarray", ARRAY), (".zmetadata", text)]);
        let hierarchy = store.read();
        assert_eq!(hierarchy.warnings.len(), 1, "{text}");
        hierarchy.variable("v").unwrap();
    }
}

proptest! {
    /// For any content of the documents, reading ends with a dataset or an error.
    #[test]
    fn damaged_documents_never_panic(
        key in prop::sample::select(vec![".zgroup", ".zattrs", "temp/.zarray", "temp/.zattrs", "sub/.zattrs"]),
        at in 0usize..400,
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut store = Memory::fixture("netcdf-c-4.10.2/nczarr/simple");
        let document = store.0.get_mut(key).unwrap();
        let at = at % document.len();
        if cut { document.truncate(at) } else { document[at] = byte }
        if let Ok(hierarchy) = read(&store, &ReadOptions::default()) {
            for variable in hierarchy.variables() {
                prop_assert_eq!(variable.fill_bytes().len(), variable.dtype.size());
                prop_assert_eq!(variable.dimensions.len(), variable.shape.len());
                prop_assert_eq!(variable.chunk_shape.len(), variable.shape.len());
            }
        }
    }
}
