//! numcodecs' streams against ours, and datasets of zarr-python and netcdf-c read through the library.

use std::path::Path;
use std::sync::Arc;

use ncz::codec::{Container, Dialect};
use ncz::model::{Elements, Pool, Session, Slab};
use ncz::registry::Registry;
use ncz::registry::spec::ChainSpec;
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{arrays, build_plugins, fixtures, python, unpack};
use serde_json::Value;

use crate::harness::{bind, builtins, explained, plugins, run_script};

#[test]
fn numcodecs_and_our_codecs_decode_each_others_streams() {
    exchange_streams(&builtins());
}

#[test]
fn numcodecs_and_our_plugins_decode_each_others_streams() {
    exchange_streams(&plugins(&[&build_plugins().unwrap()]));
}

fn exchange_streams(registry: &Registry) {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action.as_ref(), folder.path().as_os_str()];
        run_script(&python, "codecs.py", &args, None).success("codecs.py").unwrap()
    };
    act("encode");
    let file = |number: usize, ending: &str| folder.path().join(format!("{number}.{ending}"));
    let index = std::fs::read(folder.path().join("index.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&index).unwrap();
    let mut faults = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let spec = ChainSpec::from_json(Dialect::Numcodecs, case["codecs"].as_array().unwrap()).unwrap();
        let shape: Vec<u64> = case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        let chain = bind(registry, &spec, case["dtype"].as_str().unwrap(), &shape, Container::ZarrV2);
        let [raw, back, theirs] =
            ["raw", "back", "enc"].map(|ending| std::fs::read(file(number, ending)).unwrap());
        let mut scratch = chain.scratch();
        let mut decoded = vec![0; chain.chunk_len()];
        match chain.decode(0, &mut scratch, &theirs, &mut decoded) {
            Err(error) => faults.push(format!("{case}: {}", explained(&error))),
            Ok(()) if decoded != back => faults.push(format!("{case}: other bytes")),
            Ok(()) => {}
        }
        let ours = chain.encode(&mut scratch, &raw).unwrap();
        if case["exact"] == true && ours != theirs {
            faults.push(format!("{case}: our stream has {} bytes, theirs {}", ours.len(), theirs.len()));
        }
        std::fs::write(file(number, "ours"), ours).unwrap();
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
    let refused = act("decode").stdout_text();
    assert!(refused.is_empty(), "{refused}");
}

/// The fixtures of zarr-python with a codec that is not ours, and its name; without any plugin they cannot be read.
pub(crate) const FOREIGN: [(&str, &str); 0] = [];

#[test]
fn datasets_of_zarr_python_are_read_to_the_bit_and_a_codec_that_is_missing_is_named() {
    let mut read = 0;
    for entry in std::fs::read_dir(fixtures().join("zarr-python")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|ending| ending != "zip") || !name.starts_with("v2-") {
            continue;
        }
        let folder = unpack(&path).unwrap();
        let dataset = open(folder.path());
        for wanted in arrays(path.with_extension("npz")).unwrap() {
            let variable = format!("/{}", wanted.name.replace("__", "/"));
            let array = dataset.array(&variable);
            if let Some((_, codec)) = FOREIGN.iter().find(|(fixture, _)| *fixture == name) {
                let error = explained(&array.unwrap_err());
                assert!(error.contains(codec) && error.contains(&variable), "{name}: {error}");
                continue;
            }
            let array = array.unwrap_or_else(|error| panic!("{name}{variable}: {}", explained(&error)));
            let slab = Slab::whole(array.shape());
            let elements: u64 = array.shape().iter().product();
            let mut bytes = vec![0; elements as usize * array.dtype().size()];
            array.read_bytes(&slab, Elements::Stored, &mut bytes).unwrap();
            assert_eq!(array.shape().iter().product::<u64>(), wanted.shape.iter().product::<u64>(), "{name}");
            assert!(bytes == wanted.bytes, "{name}{variable}: other values");
            read += 1;
        }
    }
    assert_eq!(read, 72, "arrays that were read");
}

/// The elements of a variable, in the stored byte order or in the machine's.
pub(crate) fn read(dataset: &Path, variable: &str, stored: bool) -> Vec<u8> {
    let array = open(dataset)
        .array(&format!("/{variable}"))
        .unwrap_or_else(|error| panic!("{} {variable}: {}", dataset.display(), explained(&error)));
    let elements: u64 = array.shape().iter().product();
    let mut bytes = vec![0; elements as usize * array.dtype().size()];
    let order = if stored { Elements::Stored } else { Elements::Native };
    array.read_bytes(&Slab::whole(array.shape()), order, &mut bytes).unwrap();
    bytes
}

fn open(path: &Path) -> Dataset {
    let store = Arc::new(FileStore::open(path, Access::Read).unwrap());
    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    Dataset::open(store, session, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{}", explained(&error)))
}

#[test]
fn numbers_in_datasets_of_netcdf_c_are_those_that_netcdf_c_reads() {
    let Ok(python) = python() else { return };
    let out = tempfile::tempdir().unwrap();
    for (folder, mode) in [
        ("netcdf-c-4.10.2/nczarr", "nczarr,file"),
        ("netcdf-c-4.10.2/noxarray", "nczarr,noxarray,file"),
        ("netcdf-c-4.10.2/zarr", "zarr,file"),
        ("netcdf-c-4.9.2/nczarr", "nczarr,file"),
        ("netcdf-c-4.9.0/nczarr", "nczarr,file"),
        // which it takes for pure Zarr
        ("netcdf-c-4.8.0/nczarr", "zarr,file"),
    ] {
        let mut args = vec![mode.to_owned()];
        let mut datasets = Vec::new();
        for entry in std::fs::read_dir(fixtures().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            // those that netcdf-c itself cannot read have no dump
            if path.extension().is_some_and(|ending| ending == "zip")
                && path.with_extension("ncdump").exists()
            {
                let npz = out.path().join(path.with_extension("npz").file_name().unwrap());
                let dataset = unpack(&path).unwrap();
                args.extend([dataset.path().display().to_string(), npz.display().to_string()]);
                datasets.push((dataset, npz));
            }
        }
        run_script(&python, "netcdf_values.py", &args, None).success("netcdf_values.py").unwrap();
        assert!(!datasets.is_empty(), "{folder}");
        for (folder, npz) in &datasets {
            for wanted in arrays(npz).unwrap() {
                let bytes = read(folder.path(), &wanted.name, wanted.dtype.starts_with('>'));
                assert!(bytes == wanted.bytes, "{} {}: other values", npz.display(), wanted.name);
            }
        }
    }
}
