//! Classic files that netCDF4 writes, and damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use ncz_model::{
    Attribute, ByteOrder, Container, DataError, Elements, Extent, NcType, NetcdfKind, Pool, Session, Slab,
    Value, Variable,
};
use ncz_netcdf::Source;
use ncz_netcdf::classic::{ClassicError, ClassicFile};
use ncz_registry::Registry;
use ncz_store::testing::{Counting, Remote};
use ncz_store::{Access, FileStore, Key, KeyBuf, MemoryStore, Store, WriteMode};
use ncz_test_support::{program, python};
use proptest::prelude::*;

/// The folder with files of netCDF4 and `contents.tsv`; `None` without Python.
fn written() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/classic.py");
        python.run(&script, &[folder.path()], &[]).unwrap();
        Some(folder)
    });
    folder.as_ref().map(tempfile::TempDir::path)
}

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn open_in(store: Arc<dyn Store>, name: &str) -> Result<ClassicFile, ClassicError> {
    ClassicFile::open(&Source::open(store, KeyBuf::parse(name).unwrap())?, session())
}

fn open(folder: &Path, name: &str) -> ClassicFile {
    open_in(Arc::new(FileStore::open(folder, Access::Read).unwrap()), name).unwrap()
}

fn in_memory(bytes: &[u8]) -> MemoryStore {
    let store = MemoryStore::new("memory");
    store.write(Key::parse("f.nc").unwrap(), bytes, WriteMode::Replace).unwrap();
    store
}

fn open_bytes(bytes: &[u8]) -> Result<ClassicFile, ClassicError> {
    open_in(Arc::new(in_memory(bytes)), "f.nc")
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn nc_type(name: &str) -> NcType {
    NcType::ALL.into_iter().find(|nc_type| nc_type.name() == name).unwrap()
}

fn read(file: &ClassicFile, path: &str, slab: &Slab, elements: Elements) -> Result<Vec<u8>, DataError> {
    let array = file.array(path)?;
    let mut out = vec![0xaa; slab.elements().unwrap() as usize * array.dtype().size()];
    array.read_bytes(slab, elements, &mut out)?;
    Ok(out)
}

fn whole(file: &ClassicFile, path: &str) -> Result<Vec<u8>, DataError> {
    read(file, path, &Slab::whole(&file.hierarchy().variable(path)?.shape), Elements::Stored)
}

fn fill(variable: &Variable) -> Value {
    variable.fill.as_ref().unwrap().value(variable.nc_type.unwrap(), &variable.dtype).unwrap()
}

#[test]
fn what_netcdf4_wrote_is_read() {
    let Some(folder) = written() else { return };
    let contents = std::fs::read_to_string(folder.join("contents.tsv")).unwrap();
    let mut checked = [0; 3];
    for line in contents.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let file = open(folder, fields[1]);
        let hierarchy = file.hierarchy();
        assert_eq!(hierarchy.warnings, []);
        assert_eq!(hierarchy.unreadable().count(), 0);
        match fields.as_slice() {
            ["D", _, name, len, unlimited] => {
                let dimension = hierarchy.root.dimension(name).unwrap();
                assert_eq!(
                    (dimension.len.to_string().as_str(), dimension.unlimited),
                    (*len, *unlimited == "1")
                );
                checked[0] += 1;
            }
            ["A", _, at, name, of, value] => {
                let attributes = match *at {
                    "/" => &hierarchy.root.attributes,
                    path => &hierarchy.variable(path).unwrap().attributes,
                };
                let of = nc_type(of);
                let value = Value::from_stored_bytes(of, &of.dtype(ByteOrder::Big, 0), &hex(value)).unwrap();
                let found: &Attribute = attributes.iter().find(|attribute| attribute.name == *name).unwrap();
                let mut found = found.value.clone();
                if let (Value::Char(text), true) = (&mut found, value.is_empty()) {
                    // netCDF4 writes one NUL for an empty text, and does not show it.
                    text.retain(|byte| *byte != 0);
                }
                assert_eq!(found, value, "{line}");
                checked[1] += 1;
            }
            ["V", name, path, of, shape, content] => {
                let variable = hierarchy.variable(path).unwrap();
                assert_eq!(variable.nc_type, Some(nc_type(of)), "{line}");
                let lens: Vec<u64> = shape.split(',').filter_map(|len| len.parse().ok()).collect();
                assert_eq!(variable.shape, lens);
                let want = std::fs::read(folder.join(content)).unwrap();
                assert!(whole(&file, path).unwrap() == want, "{name}: {path}");
                checked[2] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(checked.iter().all(|count| *count > 20), "{checked:?}");
}

#[test]
fn the_kind_of_file_is_the_version_of_the_format() {
    let Some(folder) = written() else { return };
    for (version, kind) in
        [NetcdfKind::Classic, NetcdfKind::Offset64, NetcdfKind::Cdf5].into_iter().enumerate()
    {
        let file = open(folder, &format!("nothing{version}.nc"));
        assert_eq!(file.hierarchy().format, ncz_model::Format::Netcdf(kind));
    }
}

#[test]
fn dimensions_and_variables_have_the_order_of_the_file() {
    let Some(folder) = written() else { return };
    let file = open(folder, "everything0.nc");
    let names: Vec<&str> = file.hierarchy().root.dimensions.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["x", "time", "y"]);
    let variable = file.hierarchy().variable("record_i2").unwrap();
    assert_eq!(variable.dimensions.iter().map(|d| d.to_string()).collect::<Vec<_>>(), ["/time", "/y"]);
}

#[test]
fn the_fill_value_is_the_attribute_or_the_default() {
    let Some(folder) = written() else { return };
    let file = open(folder, "everything2.nc");
    let of = |path: &str| fill(file.hierarchy().variable(path).unwrap());
    assert_eq!(of("short_fill"), Value::from(-7i16));
    assert_eq!(of("fixed_i2"), Value::from(-32767i16));
    assert_eq!(of("fixed_S1"), Value::Char(vec![0]));
    assert_eq!(of("fixed_u8"), Value::from(18_446_744_073_709_551_614u64));
    assert_eq!(of("unwritten"), Value::from(9.969_21e36f32));
}

#[test]
fn slabs_of_a_variable_that_is_split_are_right_in_both_byte_orders() {
    let Some(folder) = written() else { return };
    let file = open(folder, "large1.nc");
    let array = file.array("v").unwrap();
    assert!(array.chunk_counts()[0] > 1, "{:?}", array.chunk_counts());
    let slabs = [
        Slab::new([1490, 0], [20, 701]),
        Slab::new([0, 700], [3001, 1]),
        Slab::new([3000, 5], [1, 9]),
        Slab::new([7, 3], [300, 100]).with_stride([9, 7]),
    ];
    for slab in slabs {
        let mut want = Vec::new();
        for i in 0..slab.count()[0] {
            for j in 0..slab.count()[1] {
                let at = |axis: usize, n: u64| slab.start()[axis] + n * slab.stride()[axis];
                want.push((at(0, i) * 701 + at(1, j)) as f32);
            }
        }
        let native: Vec<u8> = want.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let stored: Vec<u8> = want.iter().flat_map(|number| number.to_be_bytes()).collect();
        assert!(read(&file, "v", &slab, Elements::Native).unwrap() == native, "{slab:?}");
        assert!(read(&file, "v", &slab, Elements::Stored).unwrap() == stored, "{slab:?}");
        let mut serial = vec![0; native.len()];
        let found = array.read_serial(&mut array.worker(), &slab, Elements::Native, &mut serial);
        assert!(found.unwrap() && serial == native, "{slab:?}");
    }
}

#[test]
fn a_chunk_is_a_range_of_the_file() {
    let Some(folder) = written() else { return };
    let file = open(folder, "records0.nc");
    let bytes = std::fs::read(folder.join("records0.nc")).unwrap();
    let array = file.array("b").unwrap();
    assert_eq!((array.chunk_shape(), array.chunk_counts()), (&[1, 11][..], vec![300, 1]));
    let mut worker = array.worker();
    for record in [0, 7, 299] {
        let location = array.locate(&mut worker, &[record, 0]).unwrap();
        let Extent::Range(range) = location.extent else { panic!("{location:?}") };
        let want = read(&file, "b", &Slab::new([record, 0], [1, 11]), Elements::Stored).unwrap();
        assert_eq!(
            (location.key.as_str(), &bytes[range.start as usize..range.end as usize]),
            ("records0.nc", &want[..])
        );
        let mut chunk = vec![0; 88];
        assert_eq!(array.read_chunk(&mut worker, &[record, 0], &mut chunk).unwrap(), Some(88));
        assert_eq!(chunk, want);
    }
    let single = open(folder, "one_record0.nc").array("s").unwrap();
    assert_eq!(single.chunk_counts(), [1, 1], "the records of an only record variable follow each other");
}

#[test]
fn the_last_part_of_a_split_variable_is_a_whole_chunk_with_fill_behind_its_end() {
    let Some(folder) = written() else { return };
    let file = open(folder, "large0.nc");
    let array = file.array("v").unwrap();
    let rows = array.chunk_shape()[0];
    let last = array.chunk_counts()[0] - 1;
    let cut = (3001 - last * rows) as usize * 701 * 4;
    let mut chunk = vec![0; rows as usize * 701 * 4];
    assert!(cut < chunk.len(), "3001 is a prime");
    array.read_chunk(&mut array.worker(), &[last, 0], &mut chunk).unwrap();
    assert_eq!(chunk[cut - 4..cut], (3001f32 * 701.0 - 1.0).to_be_bytes());
    assert!(chunk[cut..].chunks(4).all(|element| element == 9.969_21e36f32.to_be_bytes()));
}

#[test]
fn a_slab_over_many_records_is_read_in_few_requests() {
    let Some(folder) = written() else { return };
    let bytes = std::fs::read(folder.join("records0.nc")).unwrap();
    let store = Arc::new(Counting::new(in_memory(&bytes)));
    let file = open_in(store.clone(), "f.nc").unwrap();
    let before = store.counts();
    assert!(before.reads <= 2, "{before:?}");
    let want = std::fs::read(folder.join("records0.nc.b")).unwrap();
    assert!(whole(&file, "b").unwrap() == want);
    assert_eq!(store.counts().reads - before.reads, 1);
    let before = store.counts();
    let slab = Slab::new([0, 3], [100, 2]).with_stride([3, 1]);
    read(&file, "b", &slab, Elements::Native).unwrap();
    assert_eq!(store.counts().reads - before.reads, 1);
}

#[test]
fn a_part_of_a_contiguous_variable_costs_its_own_bytes() {
    let Some(folder) = written() else { return };
    let bytes = std::fs::read(folder.join("large0.nc")).unwrap();
    let store = Arc::new(Counting::new(Remote::new(in_memory(&bytes))));
    let file = open_in(store.clone(), "f.nc").unwrap();
    let before = store.counts();
    read(&file, "v", &Slab::new([1000, 100], [3, 10]), Elements::Native).unwrap();
    let after = store.counts();
    assert_eq!(after.reads - before.reads, 1);
    assert_eq!(after.bytes_read - before.bytes_read, (2 * 701 + 10) * 4);
}

#[test]
fn streaming_records_are_counted_by_the_length_of_the_file() {
    let Some(folder) = written() else { return };
    for (name, records) in
        [("records0.nc", 300), ("records1.nc", 300), ("records2.nc", 300), ("no_records0.nc", 0)]
    {
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        let count = if name.contains('2') { 4..12 } else { 4..8 };
        bytes[count].fill(0xff);
        let file = open_bytes(&bytes).unwrap();
        assert_eq!(file.hierarchy().root.dimension("time").unwrap().len, records, "{name}");
        if records > 0 {
            assert!(whole(&file, "a").unwrap() == std::fs::read(folder.join(format!("{name}.a"))).unwrap());
        }
    }
}

#[test]
fn only_the_variables_beyond_the_end_of_a_short_file_are_refused() {
    let Some(folder) = written() else { return };
    let bytes = std::fs::read(folder.join("everything0.nc")).unwrap();
    let file = open_bytes(&bytes[..bytes.len() - 40]).unwrap();
    let hierarchy = file.hierarchy();
    let names: Vec<&str> = hierarchy.unreadable().map(|variable| variable.name.as_str()).collect();
    assert!(names.contains(&"short_fill") && !names.contains(&"fixed_i2"), "{names:?}");
    let error = file.array("short_fill").unwrap_err();
    let error =
        std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| source.to_string());
    assert!(error.contains("the file is cut short"), "{error}");
    assert!(whole(&file, "fixed_i2").is_ok());
}

#[test]
fn names_and_text_that_are_not_utf8_are_kept_and_reported() {
    let mut bytes = b"CDF\x01\0\0\0\0".to_vec();
    bytes.extend_from_slice(b"\0\0\0\x0a\0\0\0\x01\0\0\0\x01\xe9\0\0\0\0\0\0\x02");
    bytes.extend_from_slice(b"\0\0\0\x0c\0\0\0\x03\0\0\0\x01t\0\0\0\0\0\0\x02\0\0\0\x02\xe9A\0\0");
    bytes.extend_from_slice(b"\0\0\0\x01e\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01n\0\0\0\0\0\0\x06\0\0\0\0");
    bytes.extend_from_slice(&[0; 8]);
    let file = open_bytes(&bytes).unwrap();
    let hierarchy = file.hierarchy();
    assert_eq!(hierarchy.root.dimension("é").unwrap().len, 2);
    assert_eq!(hierarchy.root.attribute("t").unwrap().value, Value::Char(vec![0xe9, b'A']));
    assert_eq!(hierarchy.warnings.len(), 2);
    assert_eq!(hierarchy.root.attribute("e").unwrap().value, Value::Char(Vec::new()));
    assert_eq!(hierarchy.root.attribute("n").unwrap().value, Value::Double(Vec::new()));
}

#[test]
fn nuls_at_the_end_of_a_name_are_not_part_of_it() {
    // A name of four bytes, as in netcdf-c's ref_nctest_classic.nc.
    let mut bytes = b"CDF\x01\0\0\0\0\0\0\0\x0a\0\0\0\x01\0\0\0\x04pp\0\0\0\0\0\x07".to_vec();
    bytes.extend_from_slice(&[0; 16]);
    assert_eq!(open_bytes(&bytes).unwrap().hierarchy().root.dimensions[0].name, "pp");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.nc"), &bytes).unwrap();
    if let Ok(ncdump) = program("ncdump") {
        let ncdump = Command::new(ncdump).arg(folder.path().join("f.nc")).output().unwrap();
        let shown = String::from_utf8_lossy(&ncdump.stdout).into_owned();
        assert!(shown.contains("\tpp = 7 ;"), "{shown}");
    }
    bytes[21] = 0;
    bytes[22] = b'p';
    let error = open_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("contains a NUL"), "{error}");
}

#[test]
fn a_variable_with_a_slash_in_its_name_is_unreadable_by_name() {
    let mut bytes = b"CDF\x01\0\0\0\0".to_vec();
    bytes.extend_from_slice(&[0; 16]);
    bytes.extend_from_slice(b"\0\0\0\x0b\0\0\0\x01\0\0\0\x03a/b\0\0\0\0\0");
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(b"\0\0\0\x04\0\0\0\x04\0\0\0\x50\0\0\0\x07");
    let file = open_bytes(&bytes).unwrap();
    assert_eq!(file.hierarchy().variables().count(), 0);
    assert_eq!(file.hierarchy().root.unreadable[0].name, "a/b");
}

#[test]
fn a_header_that_contradicts_itself_is_refused_with_its_position() {
    let list = |tag: u8, count: u8| [[0, 0, 0, tag], [0, 0, 0, count]].concat();
    let dimension = |name: u8, len: u8| [[0, 0, 0, 1], [name, 0, 0, 0], [0, 0, 0, len]].concat();
    let start = || b"CDF\x01\0\0\0\0".to_vec();
    let cases: [(Vec<u8>, &str); 7] = [
        ([start(), list(12, 1)].concat(), "expected the list of dimensions"),
        ([start(), list(0, 1)].concat(), "expected the list of dimensions"),
        ([start(), list(10, 2), dimension(b'a', 0), dimension(b'b', 0)].concat(), "second record dimension"),
        ([start(), vec![0, 0, 0, 10, 0xff, 0xff, 0xff, 0xff]].concat(), "more than the limit"),
        ([start(), list(10, 200), dimension(b'a', 3)].concat(), "it needs at least"),
        ([start(), list(10, 1), dimension(0, 3)].concat(), "has only NULs"),
        (
            [start(), list(10, 2), dimension(b'a', 3), dimension(b'a', 3), vec![0; 16]].concat(),
            "have the name \"a\"",
        ),
    ];
    for (bytes, want) in cases {
        let error = open_bytes(&bytes).unwrap_err();
        assert!(matches!(error, ClassicError::Header { .. }), "{error:?}");
        assert!(error.to_string().contains(want), "{error}");
    }
    assert!(matches!(open_bytes(b"CDF\x03...."), Err(ClassicError::NotClassic { .. })));
    assert!(open_bytes(b"CD").is_err());
}

/// A small file of CDF-5 with records, as bytes.
fn small() -> Option<Vec<u8>> {
    Some(std::fs::read(written()?.join("everything2.nc")).unwrap())
}

/// Opens a damaged file and reads what it says is there, at most 1 MiB of each variable.
fn read_all(bytes: &[u8]) {
    let Ok(file) = open_bytes(bytes) else { return };
    for variable in file.hierarchy().variables() {
        let count = variable.shape.iter().map(|len| (*len).min(4)).collect::<Vec<_>>();
        let slab = Slab::new(vec![0; count.len()], count);
        if slab.elements().is_some_and(|elements| elements <= 1 << 17) {
            let _ = read(&file, &variable.path, &slab, Elements::Native);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_an_error_or_other_values(
        changes in prop::collection::vec((0usize..4000, any::<u8>()), 1..6),
        len in 0usize..6000,
    ) {
        let Some(mut bytes) = small() else { return Ok(()) };
        for (at, byte) in changes {
            if let Some(old) = bytes.get_mut(at) { *old = byte; }
        }
        bytes.truncate(len.max(8));
        read_all(&bytes);
    }

    #[test]
    fn any_bytes_after_the_magic_number_are_an_error_or_a_file(
        version in prop::sample::select(vec![1u8, 2, 5]),
        words in prop::collection::vec(prop_oneof![0u32..14, any::<u32>(), Just(u32::MAX)], 0..60),
    ) {
        let mut bytes = vec![b'C', b'D', b'F', version];
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        read_all(&bytes);
    }
}
