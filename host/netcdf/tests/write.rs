//! netCDF-4 files that this crate writes, as h5py, netCDF4, xarray, ncdump and h5dump see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ncz_deflate as _;
use ncz_fletcher32 as _;
use ncz_model::{
    Attribute, ByteOrder, ChunkLocation, Container, Dtype, Extent, Format, Hierarchy, NcType, NetcdfKind,
    NewFill, Pool, Session, Slab, Storage, Strings, Value, Variable, VariableBuilder,
};
use ncz_netcdf::NetcdfFile;
use ncz_netcdf::hdf5_write::{
    Assembler, Hdf5WriteError, HeapPart, SUPERBLOCK_BYTES, StoredChunk, StringHeap, check,
};
use ncz_registry::Registry;
use ncz_registry::spec::generic;
use ncz_shuffle as _;
use ncz_store::{Access, FileStore, KeyBuf};
use ncz_test_support::{Python, program, python};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value as Json;

/// A script that writes files with netCDF4 and h5py, and describes files as these see them.
fn script() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/write.py")
}

fn describe(python: &Python, files: &[&Path]) -> Vec<Json> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("described");
    let mut arguments = vec![Path::new("describe"), &output];
    arguments.extend(files);
    python.run(&script(), &arguments, &[]).unwrap();
    let text = fs::read_to_string(&output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn open(path: &Path) -> NetcdfFile {
    let store = FileStore::open(path.parent().unwrap(), Access::Read).unwrap();
    let key = KeyBuf::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
    NetcdfFile::open(Arc::new(store), key, session()).unwrap()
}

/// Where the data of a variable are, in a file whose chunks are written.
#[derive(Debug, Clone)]
enum Data {
    Chunks(BTreeMap<Vec<u64>, (u64, u64, u32)>),
    Contiguous(u64, u64),
    Compact(Vec<u8>),
}

/// A file whose chunks are written, until it is assembled.
struct Target {
    hierarchy: Hierarchy,
    bytes: Vec<u8>,
    data: BTreeMap<String, Data>,
    heap: StringHeap,
}

impl Target {
    fn new(hierarchy: Hierarchy) -> Self {
        let bytes = vec![0; SUPERBLOCK_BYTES as usize];
        Self { hierarchy, bytes, data: BTreeMap::new(), heap: StringHeap::default() }
    }

    fn append(&mut self, bytes: &[u8]) -> (u64, u64) {
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        (at, bytes.len() as u64)
    }

    /// Adds the stored bytes of a chunk.
    fn chunk(&mut self, path: &str, index: &[u64], bytes: &[u8], mask: u32) {
        let (at, len) = self.append(bytes);
        let data = self.data.entry(path.to_owned()).or_insert_with(|| Data::Chunks(BTreeMap::new()));
        let Data::Chunks(chunks) = data else { panic!("{path} has no chunks") };
        chunks.insert(index.to_vec(), (at, len, mask));
    }

    fn contiguous(&mut self, path: &str, bytes: &[u8]) {
        let (at, len) = self.append(bytes);
        self.data.insert(path.to_owned(), Data::Contiguous(at, at + len));
    }

    /// Writes what the heap gives.
    fn with_heap(&mut self, step: impl FnOnce(&mut StringHeap, &dyn Fn(u64) -> u64) -> Vec<HeapPart>) {
        let end = Cell::new(self.bytes.len() as u64);
        let parts = step(&mut self.heap, &|len| end.replace(end.get() + len));
        self.bytes.resize(end.get() as usize, 0);
        for (at, part) in parts {
            self.bytes[at as usize..at as usize + part.len()].copy_from_slice(&part);
        }
    }

    fn finish(mut self) -> Result<Vec<u8>, Hdf5WriteError> {
        self.with_heap(|heap, reserve| std::mem::take(heap).finish(reserve));
        let end = self.bytes.len() as u64;
        let mut file = Assembler::new(&self.hierarchy, Cursor::new(self.bytes), end)?;
        for (path, data) in self.data {
            match data {
                Data::Chunks(chunks) => {
                    let chunks = chunks.into_iter().map(|(index, (offset, len, filter_mask))| StoredChunk {
                        index,
                        offset,
                        len,
                        filter_mask,
                    });
                    file.chunks(&path, chunks)?;
                }
                Data::Contiguous(from, to) => file.contiguous(&path, from..to)?,
                Data::Compact(bytes) => file.compact(&path, bytes)?,
            }
        }
        Ok(file.finish()?.into_inner())
    }

    fn save(self, path: &Path) {
        fs::write(path, self.finish().unwrap()).unwrap();
    }
}

/// All coordinates in a grid, the last changing fastest.
fn grid(counts: &[u64]) -> Vec<Vec<u64>> {
    counts.iter().fold(vec![Vec::new()], |before, count| {
        let with = |index: &Vec<u64>| {
            let index = index.clone();
            (0..*count).map(move |at| index.iter().copied().chain([at]).collect::<Vec<u64>>())
        };
        before.iter().flat_map(with).collect()
    })
}

fn chunk_counts(variable: &Variable) -> Vec<u64> {
    variable.shape.iter().zip(&variable.chunk_shape).map(|(len, chunk)| len.div_ceil(*chunk)).collect()
}

/// Copies a file, chunk by chunk as they are stored.
fn copied(path: &Path) -> Target {
    let source = open(path);
    let bytes = fs::read(path).unwrap();
    let mut target = Target::new(source.hierarchy().clone());
    for variable in source.hierarchy().variables() {
        if variable.dtype.is_variable_length() {
            copy_strings(&source, variable, &mut target);
            continue;
        }
        let chunks = source.chunks(variable).unwrap();
        let mut location = ChunkLocation::default();
        let mut block = Vec::new();
        for index in grid(&chunk_counts(variable)) {
            chunks.locate(&index, &mut location).unwrap();
            let stored = match &location.extent {
                Extent::Missing => continue,
                Extent::Inline(bytes) => bytes.to_vec(),
                Extent::Range(range) => bytes[range.start as usize..range.end as usize].to_vec(),
                Extent::Object => panic!("a file has no objects"),
            };
            if variable.storage == Storage::Chunked && !variable.shape.is_empty() {
                target.chunk(&variable.path, &index, &stored, location.filter_mask);
            } else {
                block.extend(stored);
            }
        }
        match variable.storage {
            _ if block.is_empty() => {}
            Storage::Compact => {
                target.data.insert(variable.path.clone(), Data::Compact(block));
            }
            _ => target.contiguous(&variable.path, &block),
        }
    }
    target
}

fn copy_strings(source: &NetcdfFile, variable: &Variable, target: &mut Target) {
    let strings = source.strings(&variable.path).unwrap();
    let is_chunked = variable.storage == Storage::Chunked && !variable.shape.is_empty();
    let (counts, lens) = match is_chunked {
        true => (chunk_counts(variable), variable.chunk_shape.clone()),
        false => (vec![1; variable.shape.len()], variable.shape.clone()),
    };
    for index in grid(&counts) {
        let start: Vec<u64> = index.iter().zip(&lens).map(|(at, len)| at * len).collect();
        let mut packed = Strings::new();
        for element in grid(&lens) {
            let at: Vec<u64> = start.iter().zip(&element).map(|(start, at)| start + at).collect();
            let is_inside = at.iter().zip(&variable.shape).all(|(at, len)| at < len);
            let slab = Slab::new(at.clone(), vec![1; at.len()]);
            match is_inside {
                true => packed.push(strings.read(&slab).unwrap().get(0).unwrap()),
                false => packed.push(""),
            }
        }
        put_strings(target, &variable.path, is_chunked.then_some(&index), &packed);
    }
}

fn put_strings(target: &mut Target, path: &str, index: Option<&Vec<u64>>, strings: &Strings) {
    let references = vec![0; strings.len() * 16];
    let at = target.bytes.len() as u64;
    match index {
        Some(index) => target.chunk(path, index, &references, 0),
        None => target.contiguous(path, &references),
    }
    target.with_heap(|heap, reserve| heap.add(strings, at, reserve).unwrap());
}

/// The folder with the files of netCDF4 and h5py; `None` without Python.
fn made() -> Option<(&'static Python, &'static Path)> {
    static FOLDER: OnceLock<Option<(Python, tempfile::TempDir)>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let python = python().ok()?;
        let folder = tempfile::tempdir().unwrap();
        python.run(&script(), &[Path::new("make"), folder.path()], &[]).unwrap();
        Some((python, folder))
    });
    made.as_ref().map(|(python, folder)| (python, folder.path()))
}

/// Removes from a description what may differ between two files of the same content.
fn comparable(description: &mut Json, is_netcdf: bool) {
    let objects = description["hdf5"].as_object_mut().unwrap();
    let scales: Vec<String> = objects
        .iter()
        .filter(|(_, object)| object["attributes"].get("CLASS").is_some())
        .map(|(path, _)| path.clone())
        .collect();
    for (path, object) in objects.iter_mut() {
        let is_scale = scales.contains(path);
        let is_growing = object["max"][0].is_null();
        let attributes = object["attributes"].as_object_mut().unwrap();
        attributes.remove("_NCProperties");
        // The length that netcdf-c writes here is that of the time when the dimension was created.
        if let Some(name) = attributes.get_mut("NAME").filter(|_| is_growing && is_scale)
            && let Some(text) = name["value"].as_str()
            && text.starts_with("This is a netCDF dimension")
        {
            let text = text.trim_end_matches(char::is_numeric).trim_end().to_owned();
            name["value"] = text.into();
            object["shape"] = Json::Null;
            object["value"] = Json::Null;
        }
        // No fill value: filled with zeros, not left as it is.
        if object["fill"][0] == 1 {
            object["fill"][1] = 2.into();
        }
        let attributes = object["attributes"].as_object_mut().unwrap();
        // netcdf-c 4.10 also writes the first dimension of variables.
        if !is_scale {
            attributes.remove("_Netcdf4Dimid");
        }
        if !is_netcdf {
            for added in ["_Netcdf4Coordinates", "DIMENSION_LIST"] {
                attributes.remove(added);
            }
            object.as_object_mut().unwrap().remove("attribute order");
            object.as_object_mut().unwrap().remove("link order");
        }
        if let Some(links) = object.get_mut("links").and_then(Json::as_array_mut) {
            links.retain(|link| is_netcdf || !link.as_str().unwrap().starts_with("phony"));
            links.sort_by_key(Json::to_string);
        }
    }
    if !is_netcdf {
        objects.retain(|path, _| !path.contains("phony"));
    }
}

/// The first difference of two values, with its path.
fn difference(at: &str, found: &Json, expected: &Json) -> Option<String> {
    match (found, expected) {
        (Json::Object(found), Json::Object(expected)) => {
            let missing = expected.keys().find(|key| !found.contains_key(*key));
            let other = found.keys().find(|key| !expected.contains_key(*key));
            if let Some(key) = missing.or(other) {
                return Some(format!("{at}: only one has {key:?}"));
            }
            found.iter().find_map(|(key, value)| difference(&format!("{at}[{key}]"), value, &expected[key]))
        }
        (Json::Array(found), Json::Array(expected)) if found.len() == expected.len() => {
            let pairs = found.iter().zip(expected).enumerate();
            pairs.into_iter().find_map(|(key, (a, b))| difference(&format!("{at}[{key}]"), a, b))
        }
        _ if found == expected => None,
        _ => Some(format!("{at}: {found:.300}, expected {expected:.300}")),
    }
}

/// Copies the files of netCDF4 into a folder, and returns their names.
fn copy_all(folder: &Path, copies: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".nc")).collect();
    names.sort();
    for name in &names {
        copied(&folder.join(name)).save(&copies.join(name));
    }
    names
}

/// The differences of files in two folders, as Python sees them.
fn differences(python: &Python, found: &Path, expected: &Path, names: &[String]) -> Vec<String> {
    let files: Vec<_> = names.iter().flat_map(|name| [expected.join(name), found.join(name)]).collect();
    let files: Vec<&Path> = files.iter().map(std::path::PathBuf::as_path).collect();
    let mut described = describe(python, &files).into_iter();
    let mut faults = Vec::new();
    for name in names {
        let is_netcdf = name != "h5py.nc";
        let (mut expected, mut found) = (described.next().unwrap(), described.next().unwrap());
        comparable(&mut expected, is_netcdf);
        comparable(&mut found, is_netcdf);
        faults.extend(difference(name, &found, &expected));
    }
    faults
}

#[test]
fn files_of_netcdf4_and_h5py_are_equal_after_a_copy_of_their_stored_chunks() {
    let Some((python, folder)) = made() else { return };
    let copies = tempfile::tempdir().unwrap();
    let names = copy_all(folder, copies.path());
    let faults = differences(python, copies.path(), folder, &names);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn netcdf4_changes_a_copy_as_it_changes_the_original() {
    let Some((python, folder)) = made() else { return };
    let copies = tempfile::tempdir().unwrap();
    let originals = tempfile::tempdir().unwrap();
    let names = copy_all(folder, copies.path());
    let growing =
        |name: &String| !["classic_model.nc", "empty.nc", "h5py.nc", "nothing.nc"].contains(&name.as_str());
    let names: Vec<String> = names.into_iter().filter(growing).collect();
    for name in &names {
        fs::copy(folder.join(name), originals.path().join(name)).unwrap();
        for changed in [&originals, &copies] {
            python.run(&script(), &[Path::new("append"), &changed.path().join(name)], &[]).unwrap();
        }
    }
    let faults = differences(python, copies.path(), originals.path(), &names);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn older_tools_show_a_copy_as_the_original() {
    let (Ok(ncdump), Ok(h5dump)) = (program("ncdump"), program("h5dump")) else { return };
    let Some((_, folder)) = made() else { return };
    let copies = tempfile::tempdir().unwrap();
    let shown = |command: &Path, arguments: &[&str], file: &Path| {
        let output = std::process::Command::new(command).args(arguments).arg(file).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for name in copy_all(folder, copies.path()) {
        let (copy, original) = (copies.path().join(&name), folder.join(&name));
        shown(&h5dump, &["-p"], &copy);
        if name == "h5py.nc" {
            continue;
        }
        let content = |file: &Path| {
            let text = shown(&ncdump, &["-s"], file);
            text.lines().filter(|line| !line.contains("_NCProperties")).collect::<Vec<_>>().join("\n")
        };
        let (found, expected) = (content(&copy), content(&original));
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
    }
}

fn netcdf4() -> Hierarchy {
    Hierarchy::new(Format::Netcdf(NetcdfKind::Netcdf4))
}

#[test]
fn thousands_of_variables_attributes_and_chunks_are_found() {
    let Ok(python) = python() else { return };
    let mut hierarchy = netcdf4();
    hierarchy.add_dimension("/", "t", 1000, true).unwrap();
    hierarchy.add_dimension("/", "x", 100, false).unwrap();
    hierarchy.add_dimension("/", "u", 20, true).unwrap();
    for number in 0..3000 {
        let variable = VariableBuilder::new(format!("v{number}"), NcType::Short).dimensions(["t", "x"]);
        hierarchy.add_variable("/", variable.chunks([100, 100])).unwrap();
    }
    let chunks = VariableBuilder::new("chunks", NcType::Byte).dimensions(["t", "x"]).chunks([1, 1]);
    let chunks = chunks.filters([generic::codec_json(3, &[])]);
    hierarchy.add_variable("/", chunks).unwrap();
    let two = VariableBuilder::new("two", NcType::UShort).dimensions(["t", "u"]).chunks([3, 7]);
    hierarchy.add_variable("/", two).unwrap();
    let many = (0..5000).map(|number| Attribute::new(format!("a{number}"), vec![number]));
    many.for_each(|attribute| hierarchy.root.set_attribute(attribute).unwrap());
    let large = Attribute::new("large", Value::Char(vec![b'l'; 20 << 20]));
    hierarchy.variable_mut("/v0").unwrap().set_attribute(large).unwrap();

    let mut target = Target::new(hierarchy);
    for number in 0..3000u16 {
        target.chunk(&format!("/v{number}"), &[3, 0], &number.to_le_bytes().repeat(10_000), 0);
    }
    for index in grid(&[1000, 100]) {
        // The filter, a checksum, was not applied.
        target.chunk("/chunks", &index, &[(index[0] * 3 + index[1]) as u8 % 100], 1);
    }
    for index in grid(&[334, 3]).into_iter().filter(|index| index[0] % 2 == 0) {
        let elements = grid(&[3, 7]).into_iter();
        let bytes = elements.flat_map(|at| {
            let (t, u) = (index[0] * 3 + at[0], index[1] * 7 + at[1]);
            ((t * 20 + u) as u16).to_le_bytes()
        });
        target.chunk("/two", &index, &bytes.collect::<Vec<u8>>(), 0);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.nc");
    target.save(&path);
    let code = r#"
import sys, h5py, netCDF4, numpy as np
for change in [False, True]:
    if change:
        with netCDF4.Dataset(sys.argv[1], "a") as file:
            file["chunks"][1000, 99] = 77
            file["two"][1000, 30] = 5
            file.setncattr("a5000", np.int32(5000))
            file["v0"].setncattr("small", "s")
            file["v1"].delncattr("nothing") if "nothing" in file["v1"].ncattrs() else None
            file.createVariable("v3000", "i4", ("x",))[:] = 1
    with netCDF4.Dataset(sys.argv[1]) as file:
        file.set_auto_maskandscale(False)
        assert list(file.dimensions) == ["t", "x", "u"], file.dimensions
        assert [file.dimensions[name].isunlimited() for name in "txu"] == [True, False, True]
        assert list(file.variables)[:3002] == [f"v{n}" for n in range(3000)] + ["chunks", "two"]
        count = 5001 if change else 5000
        assert file.ncattrs() == [f"a{n}" for n in range(count)]
        assert all(file.getncattr(f"a{n}") == n for n in range(count))
        assert file["v0"].large == "l" * (20 << 20)
        for n in [0, 1, 7, 2999]:
            values = file[f"v{n}"][:1000]
            assert (values[300:400] == n).all() and (values[400:] == -32767).all() and (values[:300] == -32767).all()
        t, x = np.indices((1000, 100))
        assert (file["chunks"][:1000] == (t * 3 + x) % 256 % 100).all()
        t, u = np.indices((1000, 20))
        expected = np.where(t // 3 % 2 == 0, t * 20 + u, 65535)
        assert (file["two"][:1000, :20] == expected.astype("u2")).all()
        if change:
            assert file["chunks"].shape == (1001, 100) and file["chunks"][1000, 99] == 77
            assert file["two"].shape == (1001, 31) and file["two"][1000, 30] == 5
    with h5py.File(sys.argv[1]) as file:
        assert file["chunks"].id.get_num_chunks() == 100000 + change
        assert file["chunks"].id.get_chunk_info(54321).filter_mask == 1
        assert len(file["t"].attrs["REFERENCE_LIST"]) == 3002
        assert file[file["two"].attrs["DIMENSION_LIST"][1][0]].name == "/u"
"#;
    python.run_code(code, &[&path], &[]).unwrap();
}

/// A variable of random properties and content.
#[derive(Debug, Clone)]
struct Drawn {
    nc_type: NcType,
    big: bool,
    axes: Vec<(u64, bool, u64)>,
    is_contiguous: bool,
    has_fill: bool,
    present: Vec<bool>,
    attributes: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let types: Vec<NcType> =
        NcType::ALL.into_iter().filter(|nc_type| !matches!(nc_type, NcType::Char | NcType::String)).collect();
    let axes = prop::collection::vec((1..9u64, any::<bool>(), 1..5u64), 0..5);
    let kind = (prop::sample::select(types), any::<bool>(), any::<bool>(), any::<bool>());
    let rest = (axes, prop::collection::vec(any::<bool>(), 1..40), 0..12usize);
    (kind, rest).prop_map(|((nc_type, big, is_contiguous, has_fill), (axes, present, attributes))| Drawn {
        nc_type,
        big,
        is_contiguous: is_contiguous && axes.iter().all(|(_, unlimited, _)| !unlimited),
        axes,
        has_fill,
        present,
        attributes,
    })
}

/// The bytes of a small number in a type.
fn element(nc_type: NcType, order: ByteOrder, value: u8) -> Vec<u8> {
    let value = match nc_type {
        NcType::Byte => Value::from(value as i8),
        NcType::UByte => Value::from(value),
        NcType::Short => Value::from(i16::from(value)),
        NcType::UShort => Value::from(u16::from(value)),
        NcType::Int => Value::from(i32::from(value)),
        NcType::UInt => Value::from(u32::from(value)),
        NcType::Int64 => Value::from(i64::from(value)),
        NcType::UInt64 => Value::from(u64::from(value)),
        NcType::Float => Value::from(f32::from(value)),
        _ => Value::from(f64::from(value)),
    };
    value.to_stored_bytes(&value.nc_type().dtype(order, 0)).unwrap()
}

/// Writes the variable to a file, and returns what h5py has to find.
fn write_drawn(drawn: &Drawn, path: &Path) -> Json {
    let mut hierarchy = netcdf4();
    let mut names = Vec::new();
    for (axis, (len, unlimited, _)) in drawn.axes.iter().enumerate() {
        hierarchy.add_dimension("/", &format!("d{axis}"), *len, *unlimited).unwrap();
        names.push(format!("d{axis}"));
    }
    let order = if drawn.big { ByteOrder::Big } else { ByteOrder::Little };
    let fill = if drawn.has_fill { 111 } else { 0 };
    let is_block = drawn.is_contiguous || drawn.axes.is_empty();
    let mut new = VariableBuilder::new("v", drawn.nc_type).dimensions(names).byte_order(order);
    new = match is_block {
        true => new.storage(Storage::Contiguous),
        false => new.chunks(drawn.axes.iter().map(|axis| axis.2).collect::<Vec<u64>>()),
    };
    new = new.fill(match drawn.has_fill {
        true => {
            let dtype = drawn.nc_type.dtype(order, 0);
            NewFill::Value(
                Value::from_stored_bytes(drawn.nc_type, &dtype, &element(drawn.nc_type, order, 111)).unwrap(),
            )
        }
        false => NewFill::None,
    });
    for number in 0..drawn.attributes {
        new = new.attribute(Attribute::new(format!("a{number}"), "text".repeat(number)));
    }
    hierarchy.add_variable("/", new).unwrap();
    let variable = hierarchy.variable("/v").unwrap().clone();
    let mut target = Target::new(hierarchy);
    let shape = &variable.shape;
    let position = |at: &[u64]| at.iter().zip(shape).fold(0, |number, (at, len)| number * len + at);
    let bytes = |at: &[u64]| element(drawn.nc_type, order, (position(at) % 100) as u8);
    let mut values = vec![fill; shape.iter().product::<u64>() as usize];
    let lens = if is_block { shape.clone() } else { variable.chunk_shape.clone() };
    let counts: Vec<u64> = shape.iter().zip(&lens).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
    for (number, index) in grid(&counts).into_iter().enumerate() {
        if !drawn.present[number % drawn.present.len()] {
            continue;
        }
        let mut stored = Vec::new();
        for within in grid(&lens) {
            let at: Vec<u64> =
                index.iter().zip(&lens).zip(&within).map(|((i, len), at)| i * len + at).collect();
            if at.iter().zip(shape).all(|(at, len)| at < len) {
                values[position(&at) as usize] = (position(&at) % 100) as i64;
                stored.extend(bytes(&at));
            } else {
                stored.extend(element(drawn.nc_type, order, 99));
            }
        }
        match is_block {
            true => target.contiguous("/v", &stored),
            false => target.chunk("/v", &index, &stored, 0),
        }
    }
    target.save(path);
    let is_text = drawn.nc_type.dtype(order, 0).order() == ByteOrder::Big;
    let letter =
        ["i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8"][drawn.nc_type.code() as usize - 1];
    let dtype = format!(
        "{}{letter}",
        if letter.ends_with('1') {
            "|"
        } else if is_text {
            ">"
        } else {
            "<"
        }
    );
    let max: Vec<Option<u64>> = drawn.axes.iter().map(|axis| (!axis.1).then_some(axis.0)).collect();
    let attributes: Vec<String> = (0..drawn.attributes).map(|number| "text".repeat(number)).collect();
    let chunks = (!is_block).then_some(variable.chunk_shape);
    serde_json::json!({
        "shape": shape, "max": max, "dtype": dtype, "values": values, "chunks": chunks, "fill": fill,
        "attributes": attributes,
    })
}

#[test]
fn h5py_finds_what_was_drawn_by_lot() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::deterministic();
    let mut expected = Vec::new();
    for number in 0..300 {
        let drawn = drawn().new_tree(&mut runner).unwrap().current();
        let path = folder.path().join(format!("{number}.nc"));
        expected.push(serde_json::json!({
            "path": path.to_str().unwrap(), "content": write_drawn(&drawn, &path), "drawn": format!("{drawn:?}"),
        }));
    }
    let list = folder.path().join("list.json");
    fs::write(&list, Json::Array(expected).to_string()).unwrap();
    let code = r#"
import sys, json, h5py, netCDF4, numpy as np
for case in json.load(open(sys.argv[1])):
    content = case["content"]
    with h5py.File(case["path"]) as file:
        item = file["v"]
        texts = [item.attrs[f"a{n}"].decode() for n in range(len(content["attributes"]))]
        found = {"shape": list(item.shape), "max": list(item.maxshape), "dtype": item.dtype.str,
            "values": np.asarray(item[()]).ravel().astype("i8").tolist(),
            "chunks": list(item.chunks) if item.chunks else None, "fill": int(item.fillvalue), "attributes": texts}
        assert found == content, f"{found}, expected {content}, of {case['drawn']}"
    with netCDF4.Dataset(case["path"], "a") as file:
        file.set_auto_maskandscale(False)
        values = np.asarray(file["v"][...]).ravel().astype("i8").tolist()
        assert values == content["values"], case["drawn"]
        assert [d.isunlimited() for d in file.dimensions.values()] == [most is None for most in content["max"]]
        file["v"][...] = 1
        file["v"].more = "more"
"#;
    python.run_code(code, &[&list], &[]).unwrap();
}

#[test]
fn types_that_netcdf_lacks_are_those_of_h5py() {
    let Ok(python) = python() else { return };
    let mut hierarchy = netcdf4();
    hierarchy.add_dimension("/", "x", 2, false).unwrap();
    let stored: [(&str, &str, Vec<u8>); 4] = [
        ("truth", "|b1", vec![1, 0]),
        ("half", ">f2", vec![0x3c, 0, 0xc0, 0]),
        ("complex", "<c8", [1f32, 2.0, 3.0, 4.0].iter().flat_map(|part| part.to_le_bytes()).collect()),
        ("fixed", "|S3", b"abcd\0\0".to_vec()),
    ];
    for (name, dtype, _) in &stored {
        let dtype = Dtype::parse(dtype).unwrap();
        let variable =
            VariableBuilder::of_dtype(*name, dtype, None).dimensions(["x"]).storage(Storage::Contiguous);
        hierarchy.add_variable("/", variable).unwrap();
    }
    let mut target = Target::new(hierarchy);
    for (name, _, bytes) in &stored {
        target.contiguous(&format!("/{name}"), bytes);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("types.h5");
    target.save(&path);
    let code = r#"
import sys, h5py
with h5py.File(sys.argv[1]) as file:
    found = {name: (file[name].dtype.str, file[name][()].tolist()) for name in ["truth", "half", "complex", "fixed"]}
assert found == {"truth": ("|b1", [True, False]), "half": (">f2", [1.0, -2.0]),
    "complex": ("<c8", [1 + 2j, 3 + 4j]), "fixed": ("|S3", [b"abc", b"d"])}, found
"#;
    python.run_code(code, &[&path], &[]).unwrap();
}

fn refused(change: impl FnOnce(&mut Hierarchy)) -> String {
    let mut hierarchy = netcdf4();
    hierarchy.add_dimension("/", "t", 4, true).unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["t"]).chunks([2]))
        .unwrap();
    check(&hierarchy).unwrap();
    change(&mut hierarchy);
    check(&hierarchy).unwrap_err().to_string()
}

#[test]
fn what_hdf5_cannot_hold_is_refused_before_data_are_written() {
    let variable = |hierarchy: &mut Hierarchy, change: fn(&mut Variable)| {
        change(&mut hierarchy.root.variables[0]);
    };
    let long = refused(|dataset| variable(dataset, |v| v.chunk_shape = vec![1 << 30]));
    assert!(long.contains("less than 4 GiB"), "{long}");
    let slash = refused(|dataset| variable(dataset, |v| v.name = "a/b".to_owned()));
    assert!(slash.contains("slash"), "{slash}");
    let nul = refused(|dataset| dataset.root.attributes.push(Attribute::new("a\0b", "text")));
    assert!(nul.contains("NUL"), "{nul}");
    let text = refused(|dataset| dataset.root.attributes.push(Attribute::new("a", Value::strings(["a\0b"]))));
    assert!(text.contains("NUL at byte 1"), "{text}");
    let reserved = refused(|dataset| dataset.root.attributes.push(Attribute::new("CLASS", "text")));
    assert!(reserved.contains("reserves"), "{reserved}");
    let twice = refused(|dataset| {
        let first = dataset.root.variables[0].clone();
        dataset.root.variables.push(first);
    });
    assert!(twice.contains("in use"), "{twice}");
    let block = refused(|dataset| variable(dataset, |v| v.storage = Storage::Contiguous));
    assert!(block.contains("unlimited"), "{block}");
    let many = refused(|dataset| {
        let attributes = (0..65_535).map(|number| Attribute::new(format!("a{number}"), "text"));
        dataset.root.attributes.extend(attributes);
    });
    assert!(many.contains("at most 65534"), "{many}");
    let dtype = refused(|dataset| variable(dataset, |v| v.dtype = Dtype::parse("<M8[ns]").unwrap()));
    assert!(dtype.contains("<M8[ns]"), "{dtype}");
    let filter = refused(|dataset| {
        variable(dataset, |v| v.filters = vec![serde_json::json!({"id": "zlib", "level": 1}).into()]);
    });
    assert!(filter.contains("zlib"), "{filter}");
    let dimensions = refused(|dataset| {
        let first = dataset.root.variables[0].dimensions[0].clone();
        let variable = &mut dataset.root.variables[0];
        variable.dimensions = vec![first; 33];
        (variable.shape, variable.chunk_shape) = (vec![4; 33], vec![1; 33]);
    });
    assert!(dimensions.contains("at most 32"), "{dimensions}");
}

#[test]
fn chunks_that_do_not_fit_their_variable_are_refused() {
    let write = |chunks: &[(u64, u64, u32)]| {
        let mut hierarchy = netcdf4();
        hierarchy.add_dimension("/", "t", 4, true).unwrap();
        let variable = VariableBuilder::new("v", NcType::Int).dimensions(["t"]).chunks([2]);
        hierarchy.add_variable("/", variable).unwrap();
        let mut file = Assembler::new(&hierarchy, Cursor::new(Vec::new()), 100).unwrap();
        let chunks = chunks.iter().map(|(at, len, filter_mask)| StoredChunk {
            index: [*at],
            offset: 48,
            len: *len,
            filter_mask: *filter_mask,
        });
        file.chunks("/v", chunks).map(|()| file.finish().map(|_| ())).map_err(|error| error.to_string())
    };
    assert!(write(&[(0, 8, 0), (1, 8, 0)]).unwrap().is_ok());
    for (chunks, text) in [
        (vec![(0, 7, 0)], "must have 8"),
        (vec![(2, 8, 0)], "outside"),
        (vec![(1, 8, 0), (0, 8, 0)], "come after"),
        (vec![(1, 8, 0), (1, 8, 0)], "come after"),
        (vec![(1, 8, 1)], "filter mask"),
    ] {
        let error = write(&chunks).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn this_crate_reads_copies_as_originals() {
    let Some((_, folder)) = made() else { return };
    let copies = tempfile::tempdir().unwrap();
    for name in copy_all(folder, copies.path()) {
        let (found, expected) = (open(&copies.path().join(&name)), open(&folder.join(&name)));
        let (found, expected) = (found.hierarchy(), expected.hierarchy());
        assert_eq!(found.format, expected.format, "{name}");
        let groups: Vec<_> = expected.groups().collect();
        assert_eq!(found.groups().count(), groups.len(), "{name}");
        for (found, expected) in found.groups().zip(groups) {
            assert_eq!(found.path, expected.path, "{name}");
            assert_eq!(found.attributes, expected.attributes, "{name}");
            let lens = |group: &ncz_model::Group| {
                let all = group.dimensions.iter();
                all.map(|one| (one.name.clone(), one.len, one.unlimited)).collect::<Vec<_>>()
            };
            assert_eq!(lens(found), lens(expected), "{name}");
            assert_eq!(found.variables.len(), expected.variables.len(), "{name}");
            for (found, expected) in found.variables.iter().zip(&expected.variables) {
                assert_eq!(found.path, expected.path, "{name}");
                assert_eq!(
                    (&found.dtype, &found.shape),
                    (&expected.dtype, &expected.shape),
                    "{}",
                    found.path
                );
                assert_eq!(found.chunk_shape, expected.chunk_shape, "{}", found.path);
                assert_eq!(
                    (&found.fill, found.storage),
                    (&expected.fill, expected.storage),
                    "{}",
                    found.path
                );
                assert_eq!(found.dimensions, expected.dimensions, "{}", found.path);
                assert_eq!(found.filters, expected.filters, "{}", found.path);
                assert_eq!(found.attributes, expected.attributes, "{}", found.path);
            }
        }
    }
}

#[test]
fn a_string_with_a_nul_is_refused_and_empty_ones_share_an_object() {
    let reserve = |_| 4096;
    let pack = |strings: &Strings| {
        let mut heap = StringHeap::default();
        let mut parts = heap.add(strings, 48, &reserve)?;
        parts.extend(heap.finish(&reserve));
        Ok::<_, Hdf5WriteError>(parts)
    };
    let lens = |parts: &[HeapPart]| parts.iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>();
    let error = pack(&["a", "b\0c"].iter().collect()).unwrap_err();
    assert!(error.to_string().contains("string 1"), "{error}");
    let empty = pack(&std::iter::repeat_n("", 100_000).collect()).unwrap();
    assert_eq!(lens(&empty), [4096, 1_600_000]);
    assert_eq!(empty[1].0, 48);
    let long = pack(&["x".repeat(100_000), "y".to_owned()].iter().collect()).unwrap();
    assert!(lens(&long).iter().sum::<usize>() < 100_000 + 2 * 4096 + 64);
}

#[test]
fn chunks_share_collections_of_strings() {
    const FIRST: u64 = 100_000;
    let end = Cell::new(FIRST);
    let reserve = |len: u64| end.replace(end.get() + len);
    let mut heap = StringHeap::default();
    let mut parts = Vec::new();
    for chunk in 0..3000 {
        let strings: Strings = [format!("string {chunk}"), String::new()].iter().collect();
        parts.extend(heap.add(&strings, chunk * 32, &reserve).unwrap());
    }
    parts.extend(heap.finish(&reserve));
    let (collections, chunks): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(at, _)| *at >= FIRST);
    assert_eq!((collections.len(), chunks.len()), (2, 3000));
    for (_, chunk) in chunks {
        for reference in chunk.chunks_exact(16) {
            let address = u64::from_le_bytes(reference[4..12].try_into().unwrap());
            assert!(collections.iter().any(|(at, _)| *at == address), "{address}");
        }
    }
}
