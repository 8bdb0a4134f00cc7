//! netCDF-4 files that this crate writes, as h5py, netCDF4, xarray, ncdump and h5dump see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

mod drawn; // variables of random properties
mod refused; // what HDF5 cannot hold

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ncz_deflate as _;
use ncz_fletcher32 as _;
use ncz_model::{
    Attribute, ChunkLocation, Container, Dtype, Extent, Format, Hierarchy, NcType, NetcdfKind, Pool, Session,
    Slab, Storage, Strings, Value, Variable, VariableBuilder,
};
use ncz_netcdf::NetcdfFile;
use ncz_netcdf::hdf5_write::{
    Assembler, Hdf5WriteError, HeapPart, SUPERBLOCK_BYTES, StoredChunk, StringHeap,
};
use ncz_registry::Registry;
use ncz_registry::spec::generic;
use ncz_shuffle as _;
use ncz_store::{Access, FileStore, KeyBuf};
use ncz_test_support::{Python, program, python};
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
