//! The table of readers, cell by cell against the programs: each reads what the table says, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ncz::NewDataset;
use ncz::codec::Dialect;
use ncz::copy::{Codecs, CopyOptions, VariablePlan, copy};
use ncz::location::DatasetUrl;
use ncz::model::{
    Container, Dtype, Elements, Format, Hierarchy, NcType, NetcdfKind, NewFill, Order, Pool, Session,
    Sharding, Slab, Value, VariableBuilder,
};
use ncz::readers::{Reader, ReaderSetup, reads};
use ncz::registry::spec::ChainSpec;
use ncz::zarr::Dataset;
use ncz_test_support::{build_plugins, python};
use serde_json::Value as Json;

use crate::harness::{builtins, explained, run_json};

const SCRIPT: &str = "readers.py";
const SHAPE: [u64; 2] = [4, 6];
const CHUNK: [u64; 2] = [2, 4];

/// The codecs in Zarr, each with a type that it takes. One that version 2 or 3 has no name for is written in the other.
const CODECS: &[(&str, &str)] = &[
    ("<f4", "adler32"),
    ("<f8", r#"{"id":"astype","encode_dtype":"<f4","decode_dtype":"<f8"}"#),
    ("<f4", r#"{"id":"bitround","keepbits":10}"#),
    ("<f4", r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#),
    ("<f4", "bz2,5"),
    ("<f4", "crc32"),
    ("<f4", "crc32c"),
    ("<i4", r#"{"id":"delta","dtype":"<i4"}"#),
    ("<f8", r#"{"id":"fixedscaleoffset","offset":0,"scale":1,"dtype":"<f8","astype":"<i4"}"#),
    ("<f4", "fletcher32"),
    ("<f4", r#"{"id":"gzip","level":5}"#),
    ("<f4", r#"{"id":"imagecodecs_bitshuffle","itemsize":4,"blocksize":0}"#),
    ("<f4", "32004"),
    ("<f4", "32000"),
    ("<f4", "jenkins_lookup3"),
    ("<f4", r#"{"id":"lz4"}"#),
    ("<f4", r#"{"id":"lzma"}"#),
    ("|b1", r#"{"id":"packbits"}"#),
    ("<f4", r#"{"id":"pcodec"}"#),
    ("<f8", r#"{"id":"quantize","digits":2,"dtype":"<f8"}"#),
    ("<f4", "shuffle"),
    ("<f4", "szip,32,4"),
    ("<f4", r#"{"id":"zfpy","mode":4,"tolerance":0.001}"#),
    ("<f4", "zlib,5"),
    ("<f4", "zstd,3"),
    ("<f4", "shuffle|zlib,5"),
    ("<f8", r#"{"name":"cast_value","configuration":{"data_type":"int16"}}"#),
    ("<f8", r#"{"name":"scale_offset","configuration":{"offset":1,"scale":2}}"#),
    ("|b1", r#"{"name":"packbits"}"#),
    ("<f4", r#"{"name":"zfp","configuration":{"mode":"reversible"}}"#),
];

/// The filters of HDF5, each with a type.
const FILTERS: &[(&str, &str)] = &[
    ("<f4", "1,5"),
    ("<f4", "2"),
    ("<f4", "3"),
    ("<f4", "4,32,4"),
    ("<i4", "5"),
    ("<i4", "6,2,0"),
    ("<f4", "307,5"),
    ("<f4", "32000"),
    ("<f4", "32001,0,0,0,0,5,1,1"),
    ("<f4", "32004"),
    ("<f4", "32008,0,2"),
    ("<f4", "32013,5"),
    ("<f4", "32015,3"),
    ("<f4", "32026,0,0,0,0,5,1,5"),
    ("<f4", "32032,10"),
];

const TYPES: &[&str] = &[
    "|i1", "|u1", "<i2", "<u4", ">i8", "<f4", ">f8", "|b1", "<f2", "<c8", "<c16", "<M8[ns]", "<m8[s]", "<U5",
    "|S5", "char", "string", "bytes",
];

/// The programs as they are installed for a part of the test, and the argument of the script that makes it so.
const PARTS: [(&str, &[&str]); 4] = [
    ("netcdf", &["netcdf-c", "xarray"]),
    ("netcdf+plugins", &["netcdf-c+plugins", "xarray+plugins"]),
    ("python", &["hdf5+h5py", "zarr-python", "xarray", "zarrs", "tensorstore"]),
    (
        "python+packages",
        &["hdf5+h5py+hdf5plugin", "zarr-python+imagecodecs+pcodec+zfpy", "xarray+imagecodecs+pcodec+zfpy"],
    ),
];

#[test]
fn every_program_reads_what_the_table_says_and_nothing_else() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new(Arc::new(builtins()), Pool::serial());
    let cases = write(folder.path(), &session);
    assert!(cases > 100, "{cases} cases");
    let made = run_json(&python, SCRIPT, &["make", folder.path().to_str().unwrap()], None);
    assert_eq!(made["make"], "done");
    let plugins = build_plugins().unwrap();
    let found: BTreeMap<&str, Json> = std::thread::scope(|scope| {
        let run = |(part, _): (&'static str, &[&str])| {
            let plugins = part.contains("plugins").then_some(plugins.as_path());
            (part, run_json(&python, SCRIPT, &[part, folder.path().to_str().unwrap()], plugins))
        };
        let halves = PARTS
            .chunks(2)
            .map(|half| scope.spawn(move || half.iter().copied().map(run).collect::<Vec<_>>()));
        let halves: Vec<_> = halves.collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for (part, setups) in PARTS {
        assert!(!found[part]["versions"].as_object().unwrap().is_empty());
        for (name, version) in found[part]["versions"].as_object().unwrap() {
            let reader = Reader::ALL.into_iter().find(|reader| reader.name() == name).unwrap();
            assert_eq!(
                reader.tested(),
                version.as_str(),
                "{name}: the table names the version that is tested"
            );
        }
        for text in setups {
            let setup: ReaderSetup = text.parse().unwrap();
            let outcomes = found[part][setup.reader().name()].as_object().unwrap();
            for (case, outcome) in outcomes {
                let url = DatasetUrl::parse(folder.path().join(case).to_str().unwrap()).unwrap();
                let dataset =
                    url.open(session.clone()).unwrap_or_else(|error| panic!("{case}: {}", explained(&error)));
                let said =
                    reads(dataset.hierarchy(), &session.registry, case.ends_with(".zip"), setup.clone());
                let outcome = outcome.as_str().unwrap();
                let says_wrong = said.obstacles.iter().any(|obstacle| obstacle.why.is_misread());
                let agrees = match said.obstacles.is_empty() {
                    true => outcome.is_empty(),
                    false => !outcome.is_empty() && outcome.starts_with("wrong") == says_wrong,
                };
                rows.push(format!("{text} {case}: {}", if outcome.is_empty() { "read" } else { outcome }));
                if !agrees {
                    let said: Vec<String> =
                        said.obstacles.iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
                    let found = if outcome.is_empty() { "it is read" } else { outcome };
                    wrong.push(format!("{text}, {case}: the table says {said:?}, but {found}"));
                }
            }
        }
    }
    println!("{}", rows.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes a dataset for each cell of the table; returns their number.
fn write(folder: &Path, session: &Session) -> usize {
    let mut cases = 0;
    let mut add = |name: &str,
                   format: Format,
                   dtype: &str,
                   codecs: &str,
                   change: &dyn Fn(VariableBuilder) -> VariableBuilder| {
        let made = zarr(&folder.join(name), format, dtype, codecs, session, change);
        // What a dialect has no name for is not a case, nor a type that NCZarr has in another form.
        if let Err(error) = &made {
            let _ = std::fs::remove_dir_all(folder.join(name));
            println!("not written: {name}: {error}");
        }
        cases += usize::from(made.is_ok());
    };
    let same = |builder: VariableBuilder| builder;
    for (format, version) in [(Format::Zarr2, "v2"), (Format::Zarr3, "v3"), (Format::NCZARR, "nczarr")] {
        for dtype in TYPES {
            add(&format!("{version}-type-{dtype}"), format, dtype, "none", &same);
        }
        for (number, (dtype, codecs)) in CODECS.iter().enumerate() {
            let word: String = codecs.chars().filter(|letter| letter.is_alphanumeric()).take(24).collect();
            add(&format!("{version}-codec-{number}-{word}"), format, dtype, codecs, &same);
        }
        add(&format!("{version}-zip.zip"), format, "<f4", "zlib,1", &same);
        // As plain text it is no Base64.
        let text = |builder: VariableBuilder| builder.fill(NewFill::Value(Value::strings(["no"])));
        add(&format!("{version}-text-fill"), format, "|S5", "none", &text);
        if format != Format::NCZARR {
            add(&format!("{version}-order-F"), format, "<f4", "none", &|builder| builder.order(Order::F));
            add(&format!("{version}-long-chunk"), format, "<f4", "none", &|builder| builder.chunks([5, 7]));
        }
    }
    for (format, version) in [(Format::Zarr2, "v2"), (Format::NCZARR, "nczarr")] {
        let name = format!("{version}-unsized-shuffle");
        add(&name, format, "<f4", "shuffle|zlib,5", &same);
        // As netcdf-c writes it.
        let zarray = folder.join(name).join("v/.zarray");
        let text = std::fs::read_to_string(&zarray).unwrap();
        assert!(text.contains("\"elementsize\": 4"), "{text}");
        std::fs::write(&zarray, text.replace("\"elementsize\": 4", "\"elementsize\": 0")).unwrap();
    }
    add("v3-shards", Format::Zarr3, "<f4", "none", &|builder| builder.sharding(Sharding::new([4, 8])));
    // Files are copies of these.
    for (kind, name) in [
        (NetcdfKind::Netcdf4, "netcdf4"),
        (NetcdfKind::Netcdf4Classic, "netcdf4-classic"),
        (NetcdfKind::Classic, "classic"),
        (NetcdfKind::Offset64, "offset64"),
        (NetcdfKind::Cdf5, "cdf5"),
    ] {
        file(folder, "v2-type-<f4", &format!("{name}.nc"), kind, None, session);
        cases += 1;
    }
    for dtype in [">f8", "<c16", "<U5", "|S5"] {
        file(
            folder,
            &format!("v2-type-{dtype}"),
            &format!("file-type-{dtype}.nc"),
            NetcdfKind::Netcdf4,
            None,
            session,
        );
        cases += 1;
    }
    for (dtype, codecs) in FILTERS {
        let name = format!("filter-{}.nc", codecs.split(',').next().unwrap());
        file(
            folder,
            &format!("v2-type-{}", if *dtype == "<i4" { "<u4" } else { dtype }),
            &name,
            NetcdfKind::Netcdf4,
            Some(codecs),
            session,
        );
        cases += 1;
    }
    cases
}

/// Writes a dataset of one variable `v` with the values that the script expects.
fn zarr(
    path: &Path,
    format: Format,
    dtype: &str,
    codecs: &str,
    session: &Session,
    change: &dyn Fn(VariableBuilder) -> VariableBuilder,
) -> Result<(), String> {
    let mut hierarchy = Hierarchy::new(format);
    for (name, len) in ["y", "x"].into_iter().zip(SHAPE) {
        hierarchy.add_dimension("/", name, len, false).unwrap();
    }
    let builder = match dtype {
        "char" => VariableBuilder::new("v", NcType::Char),
        "string" => VariableBuilder::of_dtype("v", Dtype::vlen_text(), Some(NcType::String)),
        "bytes" => VariableBuilder::of_dtype("v", Dtype::vlen_bytes(), None),
        text => {
            let dtype = Dtype::parse(text).unwrap();
            let nc_type = dtype.nc_type(false);
            VariableBuilder::of_dtype("v", dtype, nc_type)
        }
    };
    let builder = change(builder.dimensions(["y", "x"]).chunks(CHUNK));
    let variable = hierarchy.add_variable("/", builder).map_err(|error| explained(&error))?;
    if codecs != "none" {
        let spec = ChainSpec::parse(codecs).unwrap();
        session.define(variable, format, &spec).map_err(|error| explained(&error))?;
        let written = variable.chain_spec(format).unwrap().resolve(&session.registry).unwrap();
        if written.iter().any(ncz::registry::chain::Stage::is_by_number) {
            return Err(format!(
                "{} has no name for it",
                if format.is_v3() { Dialect::ZarrV3 } else { Dialect::Numcodecs }
            ));
        }
    }
    let store = DatasetUrl::parse(path.to_str().unwrap()).unwrap().create_store(false).unwrap();
    let dataset =
        Dataset::create(store, hierarchy, session.clone(), false).map_err(|error| explained(&error))?;
    fill(&dataset, dtype)?;
    dataset.finish().map(drop).map_err(|error| explained(&error))
}

fn fill(dataset: &Dataset, dtype: &str) -> Result<(), String> {
    let numbers = (0..SHAPE.iter().product::<u64>()).map(|number| (number % 7) as i64);
    let slab = Slab::whole(&SHAPE);
    if let "|S5" | "<U5" | "string" | "bytes" = dtype {
        let texts: Vec<String> = numbers.map(|number| format!("s{number}")).collect();
        return dataset
            .strings("/v")
            .and_then(|array| array.write(&slab, &texts))
            .map_err(|error| explained(&error));
    }
    let parsed = if dtype == "char" { Dtype::char() } else { Dtype::parse(dtype).unwrap() };
    let bytes: Vec<u8> = numbers
        .flat_map(|number| match (dtype, parsed.size()) {
            ("char", _) => vec![b'a' + number as u8],
            ("|b1", _) => vec![u8::from(number % 2 == 1)],
            ("<f2", _) => half(number).to_ne_bytes().to_vec(),
            ("<c8", _) => [(number as f32).to_ne_bytes(), 0f32.to_ne_bytes()].concat(),
            ("<c16", _) => [(number as f64).to_ne_bytes(), 0f64.to_ne_bytes()].concat(),
            ("<f4", _) => (number as f32).to_ne_bytes().to_vec(),
            ("<f8" | ">f8", _) => (number as f64).to_ne_bytes().to_vec(),
            (_, 1) => vec![number as u8],
            (_, 2) => (number as i16).to_ne_bytes().to_vec(),
            (_, 4) => (number as i32).to_ne_bytes().to_vec(),
            _ => number.to_ne_bytes().to_vec(),
        })
        .collect();
    let array = dataset.array("/v").map_err(|error| explained(&error))?;
    array.write_bytes(&slab, Elements::Native, &bytes).map(drop).map_err(|error| explained(&error))
}

/// The bits of 0 to 6 in half precision.
fn half(number: i64) -> u16 {
    [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600][number as usize]
}

/// Copies a dataset to a netCDF file.
fn file(folder: &Path, source: &str, name: &str, kind: NetcdfKind, codecs: Option<&str>, session: &Session) {
    let source = DatasetUrl::parse(folder.join(source).to_str().unwrap()).unwrap();
    let source = source.open(session.clone()).unwrap_or_else(|error| panic!("{name}: {}", explained(&error)));
    let codecs = codecs.map(|text| {
        (
            "/v".to_owned(),
            VariablePlan {
                codecs: Codecs::Spec(ChainSpec::parse(text).unwrap()),
                chunks: None,
                ..VariablePlan::default()
            },
        )
    });
    let options = CopyOptions {
        format: Some(Format::Netcdf(kind)),
        variables: codecs.into_iter().collect(),
        ..CopyOptions::default()
    };
    let target = NewDataset::Netcdf { path: folder.join(name), overwrite: false };
    copy(&source, target, &options, &()).unwrap_or_else(|error| panic!("{name}: {}", explained(&error)));
}
