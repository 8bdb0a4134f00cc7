//! Archives as no program writes them: an error or the right answer, in bounded memory.

use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ncz_store::{
    Access, Depth, Durability, EntryKind, Prefix, ReadRange, Store, StoreError, StoreExt, WriteMode,
    ZipLayout, ZipStore,
};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{Objects, key, objects, open};

/// A small archive with stored and deflated entries, and what it holds.
fn sound() -> (Vec<u8>, Objects) {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let mut expected = Objects::new();
    for (name, method, bytes) in [
        (".zgroup", CompressionMethod::Stored, b"{}".to_vec()),
        ("v/0", CompressionMethod::Deflated, [7; 500].to_vec()),
        ("v/1", CompressionMethod::Stored, b"0123456789".to_vec()),
        ("v/2", CompressionMethod::Deflated, Vec::new()),
    ] {
        writer.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(&bytes).unwrap();
        expected.insert(name.to_owned(), bytes);
    }
    (writer.finish().unwrap().into_inner(), expected)
}

/// Reads and changes an archive in every way; whole objects that can be read are handed back.
fn use_all(path: &Path) -> Option<Objects> {
    let mut found = None;
    for layout in [ZipLayout::Automatic, ZipLayout::Flat] {
        let Ok(store) = ZipStore::open(path, Access::Read, layout) else {
            continue;
        };
        let Ok(listing) = store.list(Prefix::ROOT, Depth::All, 1000) else {
            continue;
        };
        let mut objects = Objects::new();
        for entry in listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object) {
            let key = entry.key.as_key();
            let mut out = Vec::new();
            if let Ok(Some(bytes)) = store.read_vec(key, 1 << 16) {
                objects.insert(key.as_str().to_owned(), bytes);
            }
            let _ = store.read(key, ReadRange::Suffix(3), 1 << 16, &mut out);
            let _ = store.read(key, ReadRange::Bounded { offset: 2, len: 3 }, 1 << 16, &mut out);
            let _ = store.read_into(key, 1, &mut [0; 600]);
            assert!(out.capacity() <= 1 << 17);
        }
        found = Some(objects);
    }
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    if let Ok(store) = ZipStore::open(&copy, Access::ReadWrite, ZipLayout::Flat) {
        let store = store.with_durability(Durability::Process);
        if store.write(key("new/0"), b"new", WriteMode::Replace).is_ok() && store.publish().is_ok() {
            let again = ZipStore::open(&copy, Access::Read, ZipLayout::Flat).unwrap();
            assert_eq!(again.read_vec(key("new/0"), 10).unwrap().unwrap(), b"new");
            for (name, bytes) in found.iter().flatten() {
                if let Ok(Some(now)) = again.read_vec(key(name), 1 << 16) {
                    assert_eq!(now, *bytes, "{name}");
                }
            }
        }
    }
    found
}

#[test]
fn a_truncated_archive_is_refused_at_every_length() {
    let (whole, expected) = sound();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.zip");
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        let error = ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap_err();
        assert!(matches!(error, StoreError::BadArchive { .. }), "{len}: {error}");
        assert!(error.to_string().contains("cut.zip"));
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(use_all(&path).unwrap(), expected);
}

#[test]
fn an_altered_byte_never_makes_an_object_of_other_bytes() {
    let (whole, expected) = sound();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("altered.zip");
    let mut read = 0;
    for at in 0..whole.len() {
        for mask in [1, 2, 8, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            fs::write(&path, &bytes).unwrap();
            let Some(found) = use_all(&path) else {
                continue;
            };
            // an altered name is another name
            if found.keys().all(|name| expected.contains_key(name)) && found.len() == expected.len() {
                assert_eq!(found, expected, "byte {at} ^ {mask:#x}");
                read += 1;
            }
        }
    }
    assert!(read > whole.len() / 10, "{read}");
}

proptest! {
    #[test]
    fn random_bytes_are_an_error_or_an_archive(mut bytes in prop::collection::vec(any::<u8>(), 0..300), places in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize), 0..6)) {
        // with the marks of records in them, so that the reader comes further
        for (location, mark) in places {
            let mark = [b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06"][mark];
            if bytes.len() >= 4 {
                let at = location.index(bytes.len() - 3);
                bytes[at..at + 4].copy_from_slice(mark);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.zip");
        fs::write(&path, &bytes).unwrap();
        use_all(&path);
    }

    #[test]
    fn many_altered_bytes_are_an_error_or_an_archive(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let (mut bytes, _) = sound();
        for (location, byte) in changes {
            let at = location.index(bytes.len());
            bytes[at] = byte;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("altered.zip");
        fs::write(&path, &bytes).unwrap();
        use_all(&path);
    }
}

/// Changes a field of 4 bytes in the directory record of an entry.
fn with_field(bytes: &mut [u8], entry: &str, at: usize, value: u32) {
    let record = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, window)| window == b"PK\x01\x02")
        .map(|(start, _)| start)
        .find(|start| bytes[start + 46..].starts_with(entry.as_bytes()))
        .unwrap();
    bytes[record + at..record + at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn an_entry_that_cannot_be_read_is_there_and_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    // (entry, field, value, what is said of it)
    for (entry, at, value, reason) in [
        ("v/1", 8, 1 << 16 | 0x0001, "encrypted"),
        ("v/1", 8, 12 << 16, "another method"),
        ("v/1", 24, 11, "two lengths"),
        ("v/0", 24, u32::MAX - 1, "longer than its compressed bytes can be"),
        ("v/1", 42, 0, "shares its bytes"),
        ("v/1", 38, 0o120_777 << 16, "symbolic link"),
        ("v/1", 42, 1000, "beyond the end"),
        ("v/0", 24, 499, "is longer than"),
        ("v/0", 24, 501, "is shorter than"),
        ("v/0", 16, 0, "CRC-32"),
        ("v/1", 16, 0, "CRC-32"),
    ] {
        let (mut bytes, expected) = sound();
        if at == 38 {
            with_field(&mut bytes, entry, 4, 3 << 8 | 20 | 20 << 16);
        }
        with_field(&mut bytes, entry, at, value);
        fs::write(&path, &bytes).unwrap();
        let store = open(&path, Access::ReadWrite);
        let error = store.read_vec(key(entry), 1 << 33).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(reason) && text.contains(entry) && text.contains("data.zip"),
            "{reason}: {text}"
        );
        let number = if reason == "CRC-32" { -68 } else { -137 };
        assert_eq!(error.netcdf_code(), number, "{text}");
        assert!(
            store.list(Prefix::ROOT, Depth::All, 10).unwrap().entries.iter().any(|e| e.key.as_str() == entry)
        );
        assert_eq!(store.read_vec(key("v/2"), 10).unwrap().unwrap(), b"", "others are read");
        // it can be repaired: overwritten, it is as good as new
        store.write(key(entry), &expected[entry], WriteMode::Replace).unwrap();
        if reason == "shares its bytes" {
            store.write(key(".zgroup"), b"{}", WriteMode::Replace).unwrap();
        }
        store.publish().unwrap();
        assert_eq!(objects(&open(&path, Access::Read)), expected, "{reason}");
    }
}

#[test]
fn claims_of_a_file_with_a_hole_in_it_take_no_memory() {
    const HOLE: u64 = 100_000_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hole.zip");
    let record = |size: u64, entries: u64, directory: u64| {
        let mut out = b"PK\x06\x06".to_vec();
        out.extend(size.to_le_bytes());
        out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [entries, entries, 46 * entries, directory] {
            out.extend(number.to_le_bytes());
        }
        out
    };
    let end = |record: u64| {
        let mut out = b"PK\x06\x07\0\0\0\0".to_vec();
        out.extend(record.to_le_bytes());
        out.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0\xff\xff\xff\xff");
        out.extend([0xff; 8]);
        out.extend([0, 0]);
        out
    };
    let many = record(44, 1_000_000_000, HOLE - 46_000_000_000);
    // (where the end record is, the record, where its locator says it is, where that is)
    for (at, record, stated, locator, reason) in [
        (HOLE, many.clone(), HOLE, HOLE + 56, "more than"),
        // with something before the archive, as the locator tells it
        (HOLE, many, HOLE - 70_000, HOLE + 56, "more than"),
        (8, record(HOLE - 12, 1, 0), 8, HOLE + 8, "too far apart"),
        (HOLE, record(500_000_000 - 12, 1, 0), HOLE, HOLE + 500_000_000, "too long"),
    ] {
        let _ = fs::remove_file(&path);
        let file = fs::File::create(&path).unwrap();
        file.write_all_at(&record, at).unwrap();
        file.write_all_at(&end(stated), locator).unwrap();
        let error = ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains("hole.zip"), "{text}");
    }
}

#[test]
fn names_that_are_no_keys_are_reported_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
    let names =
        ["../up", "a/../../b", "a//b", "c/./d", "line\nbreak", "/d/.zgroup", "d/v/0", "other/x", "d/e\\f"];
    for name in names {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(name.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let store = open(&path, Access::ReadWrite);
    assert_eq!(store.prefix().unwrap().as_str(), "d");
    let listing = store.list(Prefix::ROOT, Depth::All, 100).unwrap();
    let keys: Vec<_> = listing.entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, [".zgroup", "e\\f", "v", "v/0"]);
    assert_eq!(listing.skipped, ["../up", "a/../../b", "a//b", "c/./d", "line\nbreak", "other/x"]);
    assert_eq!(store.list(Prefix::parse("v").unwrap(), Depth::All, 100).unwrap().skipped, [""; 0]);
    store.write(key("v/0"), b"new", WriteMode::Replace).unwrap();
    store.publish().unwrap();
    let after = crate::entries(&path);
    for name in names.iter().filter(|name| **name != "d/v/0") {
        assert_eq!(after[*name], name.as_bytes(), "{name}");
    }
    assert_eq!(after["d/v/0"], b"new");
}

#[test]
fn names_that_lead_to_one_place_are_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    for above in ["./", "", "/", "./d/", "d//"] {
        let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
        for name in [".zgroup", "v//0", "v/./1", "v/2"] {
            writer.start_file(format!("{above}{name}"), SimpleFileOptions::default()).unwrap();
            writer.write_all(name.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        let store = open(&path, Access::ReadWrite);
        assert_eq!(store.prefix().is_some(), above.contains('d'), "{above}");
        assert_eq!(store.list(Prefix::ROOT, Depth::All, 100).unwrap().skipped, [""; 0]);
        assert_eq!(store.read_vec(key("v/0"), 9).unwrap().unwrap(), b"v//0", "{above}");
        store.write(key("v/1"), b"new", WriteMode::Replace).unwrap();
        store.delete(key("v/2")).unwrap();
        store.publish().unwrap();
        let expected = [(".zgroup", ".zgroup"), ("v/0", "v//0"), ("v/1", "new")];
        let expected: Objects = expected.map(|(key, bytes)| (key.into(), bytes.into())).into();
        assert_eq!(objects(&open(&path, Access::Read)), expected, "{above}");
    }
}

#[test]
fn an_archive_whose_names_have_backslashes_for_slashes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("v\\.zarray", SimpleFileOptions::default()).unwrap();
    let mut bytes = writer.finish().unwrap().into_inner();
    // as made on DOS
    with_field(&mut bytes, "v\\.zarray", 4, 20 | 20 << 16);
    fs::write(&path, &bytes).unwrap();
    let error = ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap_err().to_string();
    assert!(error.contains("v\\\\.zarray") && error.contains("backslashes"), "{error}");
}

#[test]
fn two_datasets_side_by_side_are_named_and_either_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.zip");
    let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
    for name in ["one/.zgroup", "two/.zgroup"] {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(name.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let error = ZipStore::open(&path, Access::Read, ZipLayout::Automatic).unwrap_err();
    assert!(
        matches!(&error, StoreError::AmbiguousPrefix { one, other, .. } if one == "one" && other == "two")
    );
    for name in ["one", "two"] {
        let prefix = ncz_store::KeyBuf::parse(name).unwrap();
        let store = ZipStore::open(&path, Access::Read, ZipLayout::Prefix(prefix)).unwrap();
        assert_eq!(
            store.read_vec(key(".zgroup"), 99).unwrap().unwrap(),
            format!("{name}/.zgroup").as_bytes()
        );
    }
    let flat = ZipStore::open(&path, Access::Read, ZipLayout::Flat).unwrap();
    assert!(flat.exists(key("two/.zgroup")).unwrap());
}
