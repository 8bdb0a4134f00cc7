//! Archives that others wrote, and others as readers of ours.

use std::fs;
use std::path::Path;

use ncz_store::{
    Access, CreateOptions, Depth, Durability, KeyBuf, Prefix, ReadRange, Store, StoreError, WriteMode,
    ZipLayout, ZipStore,
};
use ncz_test_support::{fixtures, python};

use crate::{Objects, entries, key, objects, open};

#[test]
fn what_netcdf_c_wrote_is_read_below_its_prefix_and_keeps_it_when_changed() {
    for name in ["endian", "groups", "types"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("renamed.zip");
        let original = fixtures().join(format!("netcdf-c-4.10.2/nczarr-own-zip/{name}.zip"));
        fs::copy(&original, &path).unwrap();
        let store = open(&path, Access::ReadWrite);
        assert_eq!(store.prefix().unwrap().as_str(), name);
        let expected: Objects = entries(&path)
            .into_iter()
            .map(|(entry, bytes)| (entry.strip_prefix(&format!("{name}/")).unwrap().to_owned(), bytes))
            .collect();
        assert!(expected.contains_key(".zgroup"));
        assert_eq!(objects(&store), expected);
        assert_eq!(store.list(Prefix::ROOT, Depth::All, 1000).unwrap().skipped, [""; 0]);

        let mut expected = entries(&path);
        let victim = expected.keys().find(|entry| entry.ends_with("/0")).unwrap().clone();
        store.write(key(".zattrs"), b"{}", WriteMode::Replace).unwrap();
        store.write(key("new/group/.zgroup"), b"{}", WriteMode::CreateNew).unwrap();
        assert!(store.delete(key(&victim[name.len() + 1..])).unwrap());
        store.publish().unwrap();
        expected.insert(format!("{name}/.zattrs"), b"{}".to_vec());
        expected.insert(format!("{name}/new/group/.zgroup"), b"{}".to_vec());
        expected.remove(&victim);
        assert_eq!(entries(&path), expected);
        let archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
        let names: Vec<_> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        // netcdf-c takes the first segment of the first entry for the name of the dataset
        assert_eq!(names[0], format!("{name}/"));
        for directory in ["new/", "new/group/"] {
            assert!(names.contains(&format!("{name}/{directory}")), "{names:?}");
        }
        let dead = format!("{}/", victim.rsplit_once('/').unwrap().0);
        let is_empty = !expected.keys().any(|entry| entry.starts_with(&dead));
        assert_eq!(names.contains(&dead), !is_empty);
    }
}

/// What the scripts below put under a key of this number.
fn content(n: u32) -> Vec<u8> {
    (0..1000 * n).map(|i| ((i * 7 + n) % 251) as u8).collect()
}

const CONTENT: &str = "
import sys, zipfile, io, warnings
warnings.simplefilter('ignore')
def content(n): return bytes((i * 7 + n) % 251 for i in range(1000 * n))
";

const WRITE: &str = r#"
folder = sys.argv[1]
names = {'.zgroup': 1, 'v/.zarray': 2, 'v/0': 90, 'v/1': 0, 'Größe/0': 5, 'v/2': 3}
def fill(z, method, **kind):
    for name, n in names.items():
        info = zipfile.ZipInfo(name, (1999, 12, 31, 23, 58, 2 * n % 60))
        info.compress_type = method
        info.external_attr = (0o100600 + n % 8) << 16
        info.comment = b'number %d' % n
        with z.open(info, 'w', **kind) as f: f.write(content(n))
for name, method in (('stored', 0), ('deflated', 8)):
    with zipfile.ZipFile(f'{folder}/{name}.zip', 'w') as z: fill(z, method)
    with zipfile.ZipFile(f'{folder}/{name}-zip64.zip', 'w') as z: fill(z, method, force_zip64=True)
    class Pipe(io.RawIOBase):
        def __init__(self, f): self.f = f
        def writable(self): return True
        def write(self, b): return self.f.write(b)
    with open(f'{folder}/{name}-streamed.zip', 'wb') as f:
        with zipfile.ZipFile(Pipe(f), 'w') as z: fill(z, method)
    with zipfile.ZipFile(f'{folder}/{name}-twice.zip', 'w') as z:
        z.writestr('v/0', b'old'); z.writestr('.zgroup', b'old')
        fill(z, method)
        z.writestr('README', b'outside')
    with zipfile.ZipFile(f'{folder}/{name}-comment.zip', 'w') as z:
        z.comment = b'a comment with PK in it'
        z.writestr('v/', b''); z.writestr('nothing/here/', b'')
        fill(z, method)
    whole = open(f'{folder}/{name}-comment.zip', 'rb').read()
    stub = b'#!/bin/sh\nexec unzip "$0"\n' * 40
    open(f'{folder}/{name}-shifted.zip', 'wb').write(stub + whole)
    open(f'{folder}/{name}-stub.zip', 'wb').write(stub)
    with zipfile.ZipFile(f'{folder}/{name}-stub.zip', 'a') as z: fill(z, method)
    open(f'{folder}/{name}-behind.zip', 'wb').write(open(f'{folder}/stored.zip', 'rb').read() + whole)
"#;

const VERIFY: &str = r#"
def table(z):
    kept = [i for i in z.infolist() if i.filename not in ('v/0', 'v/1', 'w/0')]
    return {i.filename: (i.date_time, i.compress_type, i.comment, i.extra, i.create_system, i.external_attr, i.CRC,
                         i.compress_size, i.file_size, i.flag_bits, z.read(i)) for i in kept}
for old, new in zip(sys.argv[1::2], sys.argv[2::2]):
    before, after = zipfile.ZipFile(old), zipfile.ZipFile(new)
    assert after.testzip() is None, new
    assert table(before) == table(after), new
    assert before.comment == after.comment, new
    assert after.read('v/0') == b'new' and after.read('w/0') == content(4), new
    assert 'v/1' not in after.namelist(), new
    assert len(set(after.namelist())) == len(after.namelist()), new
    raw, stub = open(new, 'rb').read(), open(old, 'rb').read()
    if stub.startswith(b'#!') or 'behind' in old:
        assert raw.startswith(stub[:1000]), new
"#;

#[test]
fn archives_of_python_are_read_and_changed_without_touching_what_stays() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let code = format!("{CONTENT}{WRITE}");
    python.run_code(&code, &[folder.path()], &[]).unwrap();
    let expected: Objects =
        [(".zgroup", 1), ("v/.zarray", 2), ("v/0", 90), ("v/1", 0), ("Größe/0", 5), ("v/2", 3)]
            .map(|(name, n)| (name.to_owned(), content(n)))
            .into();
    let mut pairs = Vec::new();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert_eq!(names.len(), 16);
    for path in names {
        let mut found = objects(&open(&path, Access::Read));
        if path.to_string_lossy().contains("twice") {
            assert_eq!(found.remove("README").unwrap(), b"outside");
        }
        assert_eq!(found, expected, "{}", path.display());
        parts_are_parts(&open(&path, Access::Read));

        let changed = folder.path().join(format!("{}.changed", path.file_name().unwrap().display()));
        fs::copy(&path, &changed).unwrap();
        let store = open(&changed, Access::ReadWrite).with_durability(Durability::Process);
        store.write(key("v/0"), b"new", WriteMode::Replace).unwrap();
        store.write(key("w/0"), &content(4), WriteMode::CreateNew).unwrap();
        assert!(store.delete(key("v/1")).unwrap());
        store.publish().unwrap();
        assert_eq!(objects(&open(&changed, Access::Read)), objects(&store));
        pairs.extend([path, changed]);
    }
    python.run_code(&format!("{CONTENT}{VERIFY}"), &pairs, &[]).unwrap();
}

fn parts_are_parts(store: &ZipStore) {
    let whole = content(90);
    let mut out = Vec::new();
    for range in [
        ReadRange::From(0),
        ReadRange::From(89_999),
        ReadRange::Bounded { offset: 40_000, len: 20_000 },
        ReadRange::Suffix(17_000),
        ReadRange::Suffix(0),
    ] {
        assert!(store.read(key("v/0"), range, 90_000, &mut out).unwrap());
        let part = range.resolve(90_000).unwrap();
        assert_eq!(out, whole[part.start as usize..part.end as usize], "{range}");
    }
    let mut fixed = vec![0; 50_000];
    let found = store.read_into(key("v/0"), 50_000, &mut fixed).unwrap().unwrap();
    assert_eq!((found.filled, found.object_len), (40_000, 90_000));
    assert_eq!(fixed[..40_000], whole[50_000..]);
    assert_eq!(store.len(key("v/0")).unwrap(), Some(90_000));
    let error = store.read(key("v/0"), ReadRange::All, 89_999, &mut out).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}

#[test]
fn our_archives_are_sound_for_zipfile_and_arrays_for_zarr_python() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, layout) in
        [("flat.zip", ZipLayout::Flat), ("prefixed.zip", ZipLayout::Prefix(KeyBuf::parse("Größe").unwrap()))]
    {
        let store = ZipStore::create(folder.path().join(name), CreateOptions::new(), layout).unwrap();
        let array = br#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":0,"filters":null,"order":"C"}"#;
        store.write(key("a/.zarray"), array, WriteMode::Replace).unwrap();
        store.write(key("a/0"), b"to be overwritten", WriteMode::Replace).unwrap();
        store.write(key("a/1"), b"\x03\0\0\0\xff\xff\xff\xff", WriteMode::Replace).unwrap();
        store.write(key("a/0"), b"\x01\0\0\0\x02\0\0\0", WriteMode::Replace).unwrap();
        store.write(key(".zgroup"), br#"{"zarr_format":2}"#, WriteMode::Replace).unwrap();
        store.publish().unwrap();
    }
    let code = r#"
import sys, zipfile, datetime, zarr
for name, path, first in (("flat.zip", "a", ".zgroup"), ("prefixed.zip", "Größe/a", "Größe/")):
    archive = zipfile.ZipFile(f"{sys.argv[1]}/{name}")
    assert archive.testzip() is None
    infos = archive.infolist()
    assert all(i.compress_type == 0 for i in infos)
    assert all(i.external_attr >> 16 in (0o100644, 0o40755) for i in infos), infos
    assert all(abs(datetime.datetime(*i.date_time) - datetime.datetime.utcnow()).total_seconds() < 600 for i in infos)
    store = zarr.storage.ZipStore(f"{sys.argv[1]}/{name}", mode="r")
    assert zarr.open_array(store, path=path, mode="r", zarr_format=2)[:].tolist() == [1, 2, 3, -1]
    if name == "prefixed.zip":
        assert infos[0].filename == "Größe/", infos
"#;
    python.run_code(code, &[folder.path()], &[]).unwrap();
}

#[test]
fn more_entries_than_sixteen_bits_count_are_all_there() {
    const COUNT: usize = 70_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.zip");
    let options = CreateOptions::new().durability(Durability::Process);
    let store = ZipStore::create(&path, options, ZipLayout::Flat).unwrap();
    for n in 0..COUNT {
        store.write(key(&format!("v/{n}")), &n.to_le_bytes(), WriteMode::CreateNew).unwrap();
    }
    store.publish().unwrap();
    let store = open(&path, Access::ReadWrite).with_durability(Durability::Process);
    assert!(store.delete(key("v/7")).unwrap());
    store.publish().unwrap();
    let found = objects(&open(&path, Access::Read));
    assert_eq!(found.len(), COUNT - 1);
    assert!((0..COUNT).all(|n| found.get(&format!("v/{n}")).is_none_or(|bytes| *bytes == n.to_le_bytes())));
    check_by_python(&path, COUNT - 1);
}

fn check_by_python(path: &Path, count: usize) {
    let Ok(python) = python() else { return };
    let code = "
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert len(archive.namelist()) == int(sys.argv[2])
assert archive.testzip() is None
";
    python.run_code(code, &[path.as_os_str(), count.to_string().as_ref()], &[]).unwrap();
}
