//! Several files as one: what xarray reads of the references and of the copy, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncz::concat::{self, ConcatError, ConcatOptions, Concatenated, Misaligned};
use ncz::copy::{CopyOptions, Selection};
use ncz::location::{DatasetUrl, Location};
use ncz::model::{
    Attribute, Container, Elements, Format, Hierarchy, NcType, NewFill, Pool, Session, Slab, Value,
    VariableBuilder,
};
use ncz::references::{self, ReferenceOptions};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{CreateOptions, FileStore};
use ncz_test_support::python;

fn session() -> Session {
    Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial())
}

fn join(paths: &[PathBuf], options: &ConcatOptions) -> Result<Concatenated, ConcatError> {
    let urls: Vec<DatasetUrl> = paths
        .iter()
        .map(|path| DatasetUrl { location: Location::from(path.as_path()), mode: Default::default() })
        .collect();
    concat::open(&urls, "time", &session(), options)
}

fn values(dataset: &dyn Container, path: &str) -> Vec<u8> {
    let array = dataset.array(path).unwrap();
    let slab = Slab::whole(array.shape());
    let mut bytes = vec![0; slab.elements().unwrap() as usize * array.dtype().size()];
    array.read_bytes(&slab, Elements::Native, &mut bytes).unwrap();
    bytes
}

#[test]
fn xarray_reads_the_references_and_the_copy_of_thirty_files_as_their_concatenation() {
    let Ok(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/concat.py");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    python.run(&script, &["write", place], &[]).unwrap();
    for kind in ["NETCDF4", "NETCDF3_CLASSIC"] {
        let files = std::fs::read_dir(folder.path().join(kind)).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        let misaligned = Misaligned::Refuse { most: 4 << 20 };
        let joined = join(&paths, &ConcatOptions { misaligned, ..ConcatOptions::default() }).unwrap();
        assert_eq!(joined.notes().len(), 1, "{:?}", joined.notes());
        assert!(joined.notes()[0].ends_with(": :history"), "{:?}", joined.notes());
        let url = |key: &str| format!("file://{}", paths[concat::object(key).unwrap().0].display());
        let mut json = Vec::new();
        let options = ReferenceOptions::default();
        let summary = references::write(&joined, &url, &options, &mut json, &()).unwrap();
        assert_eq!(summary.missing, 0, "{summary:?}");
        let file = folder.path().join(format!("{kind}.json"));
        std::fs::write(&file, json).unwrap();
        #[cfg(feature = "parquet")]
        {
            let store =
                FileStore::create(folder.path().join(format!("{kind}.parq")), CreateOptions::new()).unwrap();
            let tables = references::write_parquet(&joined, &url, &options, &store, &()).unwrap();
            assert_eq!((tables.references, tables.inline), (summary.references, summary.inline));
            ncz::store::Store::publish(&store).unwrap();
        }

        let joined = join(&paths, &ConcatOptions::default()).unwrap();
        let target = folder.path().join(format!("{kind}.zarr"));
        let store = FileStore::create(&target, CreateOptions::new()).unwrap();
        let options = CopyOptions { format: Some(Format::Zarr2), verify: true, ..CopyOptions::default() };
        ncz::copy::copy(&joined, Arc::new(store), &options, &()).unwrap();
        for path in ["/t", "/plain", "/flags", "/time"] {
            let want = values(&joined, path);
            assert!(values(&ncz::open(&file).unwrap(), path) == want, "{path}");
        }
    }
    python.run(&script, &["read", place], &[]).unwrap();
    #[cfg(feature = "parquet")]
    {
        python.run(&script, &["tables", place], &[]).unwrap();
        for (kind, prefix) in [("NETCDF4", ""), ("NETCDF4", "theirs-"), ("NETCDF3_CLASSIC", "theirs-")] {
            let want = ncz::open(folder.path().join(format!("{kind}.json"))).unwrap();
            let tables = ncz::open(folder.path().join(format!("{prefix}{kind}.parq"))).unwrap();
            for path in want.hierarchy().variables().map(|variable| &variable.path) {
                if !want.hierarchy().variable(path).unwrap().dtype.is_variable_length() {
                    assert!(values(&*tables, path) == values(&*want, path), "{prefix}{kind} {path}");
                }
            }
        }
    }
}

/// What a file has.
#[derive(Clone)]
struct Day {
    len: u64,
    chunk: u64,
    first: i32,
    units: &'static str,
    level: i32,
    fill: i32,
    codec: &'static str,
    x: u64,
    nc_type: NcType,
    extra: bool,
}

const DAY: Day = Day {
    len: 6,
    chunk: 3,
    first: 0,
    units: "days since 2000-01-01",
    level: 1,
    fill: -1,
    codec: "shuffle,4|deflate,1",
    x: 1000,
    nc_type: NcType::Int,
    extra: false,
};

/// Writes a dataset with a variable of each kind.
fn make(path: &Path, day: &Day) {
    let mut hierarchy = Hierarchy::new(Format::Zarr2);
    hierarchy.add_dimension("/", "time", day.len, false).unwrap();
    hierarchy.add_dimension("/", "x", day.x, false).unwrap();
    let session = session();
    let new = VariableBuilder::new("time", NcType::Int).dimensions(["time"]).chunks([512]);
    let time = hierarchy.add_variable("/", new).unwrap();
    time.set_attribute(Attribute::new("units", Value::text(day.units))).unwrap();
    let new = VariableBuilder::new("v", day.nc_type).dimensions(["time", "x"]).chunks([day.chunk, 500]);
    let fill = if day.nc_type == NcType::Int {
        NewFill::Value(Value::Int(vec![day.fill]))
    } else {
        NewFill::Default
    };
    let new = new.fill(fill);
    let variable = hierarchy.add_variable("/", new).unwrap();
    session.define(variable, Format::Zarr2, &ChainSpec::parse(day.codec).unwrap()).unwrap();
    hierarchy.add_variable("/", VariableBuilder::new("level", NcType::Int)).unwrap();
    if day.extra {
        hierarchy.add_variable("/", VariableBuilder::new("extra", NcType::Int)).unwrap();
    }
    let store = Arc::new(FileStore::create(path, CreateOptions::new()).unwrap());
    let dataset = ncz::zarr::Dataset::create(store, hierarchy, session, false).unwrap();
    let times: Vec<i32> = (0..day.len as i32).map(|n| day.first + n).collect();
    dataset.array("/time").unwrap().write(.., &times).unwrap();
    let v: Vec<i32> = (0..(day.len * day.x) as i32).map(|n| n * 7 + day.first).collect();
    if day.nc_type == NcType::Int {
        dataset.array("/v").unwrap().write(.., &v).unwrap();
    }
    dataset.array("/level").unwrap().write(.., &[day.level]).unwrap();
    dataset.finish().unwrap();
}

fn two(
    first: &Day,
    second: &Day,
    options: &ConcatOptions,
) -> (tempfile::TempDir, Result<Concatenated, ConcatError>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("a.zarr"), folder.path().join("b.zarr")];
    make(&paths[0], first);
    make(&paths[1], second);
    let joined = join(&paths, options);
    (folder, joined)
}

#[test]
fn what_does_not_go_together_is_refused_by_file_variable_and_difference() {
    let next = Day { first: 6, ..DAY };
    let refused = Misaligned::Refuse { most: 1000 };
    let cases: [(Day, &[&str]); 9] = [
        (
            Day { units: "months since 2000-01-07", ..next.clone() },
            &["/time", "\"units\"", "2000-01-07", "convert"],
        ),
        (Day { level: 2, ..next.clone() }, &["/level", "values differ", "leave the variable out"]),
        (Day { fill: -2, ..next.clone() }, &["/v", "fill"]),
        (Day { x: 999, ..next.clone() }, &["/v", "its dimension /x has 999 elements in"]),
        (Day { nc_type: NcType::Float, ..next.clone() }, &["/v", "its type is <f4", "<i4"]),
        (Day { extra: true, ..next.clone() }, &["/extra", "does not have it"]),
        (Day { first: 5, ..next.clone() }, &["/time", "begins with 5", "ends with 5", "in its order"]),
        (Day { codec: "deflate,1", ..next.clone() }, &["/v", "its codecs are", "copy to a new dataset"]),
        (Day { chunk: 2, ..next.clone() }, &["/v", "its chunks are [2, 500]", "[3, 500]"]),
    ];
    for (day, wanted) in cases {
        let options = ConcatOptions { misaligned: refused, ..ConcatOptions::default() };
        let error = two(&DAY, &day, &options).1.unwrap_err();
        let text = error.to_string();
        assert!(wanted.iter().all(|part| text.contains(part)) && text.contains("b.zarr"), "{text}");
    }
    let options = ConcatOptions { misaligned: refused, ..ConcatOptions::default() };
    let text = two(&Day { len: 5, ..DAY }, &next, &options).1.unwrap_err().to_string();
    assert!(
        text.contains("a.zarr") && text.contains("ends after 5") && text.contains("chunk of 3"),
        "{text}"
    );
    let text = join(&[], &ConcatOptions::default()).unwrap_err().to_string();
    assert!(text.contains("no datasets"), "{text}");
}

#[test]
fn a_copy_takes_chunks_that_end_anywhere_and_codecs_that_differ() {
    for (first, second) in [
        (Day { len: 5, ..DAY }, Day { first: 5, ..DAY }),
        (DAY, Day { first: 6, chunk: 4, ..DAY }),
        (DAY, Day { first: 6, codec: "deflate,1", ..DAY }),
        (DAY, Day { first: 6, ..DAY }),
    ] {
        let (folder, joined) = two(&first, &second, &ConcatOptions::default());
        let joined = joined.unwrap();
        let parts = ["a.zarr", "b.zarr"].map(|name| ncz::open(folder.path().join(name)).unwrap());
        let want = |path: &str| [values(&*parts[0], path), values(&*parts[1], path)].concat();
        for format in [Format::Zarr2, Format::Zarr3, Format::NCZARR] {
            let target = folder.path().join(format!("{format:?}"));
            let store = FileStore::create(&target, CreateOptions::new()).unwrap();
            let options = CopyOptions { format: Some(format), verify: true, ..CopyOptions::default() };
            ncz::copy::copy(&joined, Arc::new(store), &options, &()).unwrap();
            let copied = ncz::open(&target).unwrap();
            for path in ["/v", "/time"] {
                assert!(values(&*copied, path) == want(path), "{path} {format:?}");
            }
            assert_eq!(values(&*copied, "/level"), values(&*parts[0], "/level"));
            let codecs =
                |dataset: &dyn Container, path: &str| dataset.array(path).unwrap().chain().to_string();
            assert_eq!(codecs(&*copied, "/v"), codecs(&*parts[0], "/v"), "{format:?}");
        }
    }
}

#[test]
fn variables_that_are_left_out_are_not_compared_and_any_order_is_allowed_on_request() {
    let selection = Selection { exclude: ["/level".to_owned()].into(), ..Selection::default() };
    let options = ConcatOptions { selection, any_order: true, ..ConcatOptions::default() };
    let (_folder, joined) = two(&DAY, &Day { level: 2, ..DAY }, &options);
    let joined = joined.unwrap();
    let paths: Vec<&str> = joined.hierarchy().variables().map(|variable| variable.path.as_str()).collect();
    assert_eq!(paths, ["/time", "/v"]);
    assert_eq!(joined.array("/v").unwrap().shape(), [12, 1000]);
}
