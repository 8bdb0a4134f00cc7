//! Every dataset of the fixtures: unpacked and in its zip file, against stored values and the CDL sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ncz::cdl::{self, CdlOptions};
use ncz::location::DatasetUrl;
use ncz::model::{DataError, Elements, Pool, Session, Slab};
use ncz::store::Access;
use ncz::zarr::Dataset;
use ncz_test_support::{arrays, fixtures, program, run, unpack};

use crate::harness::{builtins, explained, ncz};
use crate::zarr_python::FOREIGN;

/// The folders of datasets of netcdf-c, oldest last.
const NETCDF: [&str; 7] = [
    "netcdf-c-4.10.2/nczarr",
    "netcdf-c-4.10.2/nczarr-own-zip",
    "netcdf-c-4.10.2/zarr",
    "netcdf-c-4.10.2/noxarray",
    "netcdf-c-4.9.2/nczarr",
    "netcdf-c-4.9.0/nczarr",
    "netcdf-c-4.8.0/nczarr",
];

/// The datasets in a folder of the fixtures: names and zip files.
fn datasets(folder: &str) -> Vec<(String, PathBuf)> {
    let mut found: Vec<_> = std::fs::read_dir(fixtures().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "zip"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

/// A dataset whose variables can all be described.
fn open(path: &Path) -> Dataset {
    let session = Session::new(Arc::new(builtins()), Pool::serial());
    let dataset = DatasetUrl::parse(path.to_str().unwrap()).unwrap().open_zarr(Access::Read, session);
    let dataset = dataset.unwrap_or_else(|error| panic!("{}: {}", path.display(), explained(&error)));
    let unreadable: Vec<String> =
        dataset.hierarchy().unreadable().map(|variable| explained(&variable.error())).collect();
    assert_eq!(unreadable, [""; 0], "{}", path.display());
    dataset
}

/// The elements of a variable; strings of any length one after the other, each after its length.
fn values(dataset: &Dataset, path: &str, elements: Elements) -> Result<Vec<u8>, DataError> {
    if dataset.hierarchy().variable(path)?.dtype.is_variable_length() {
        let array = dataset.strings(path)?;
        let strings = array.read(&Slab::whole(array.shape()))?;
        return Ok(strings.iter().flat_map(|text| [&text.len().to_le_bytes(), text].concat()).collect());
    }
    let array = dataset.array(path)?;
    let mut bytes = vec![0; array.shape().iter().product::<u64>() as usize * array.dtype().size()];
    array.read_bytes(&Slab::whole(array.shape()), elements, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn every_dataset_of_zarr_python_has_its_values_unpacked_and_zipped_or_names_the_codec_that_is_missing() {
    let (mut read, mut refused) = (0, Vec::new());
    for (name, zip) in datasets("zarr-python") {
        let foreign = FOREIGN.iter().find(|(fixture, _)| *fixture == name).map(|(_, codec)| codec);
        let wanted = arrays(zip.with_extension("npz")).unwrap();
        let folder = unpack(&zip).unwrap();
        for path in [folder.path(), &zip] {
            let dataset = open(path);
            let mut variables = 0;
            for wanted in &wanted {
                let variable = format!("/{}", wanted.name.replace("__", "/"));
                variables += 1;
                assert!(!wanted.fortran_order, "{name}");
                let order = if wanted.dtype.starts_with('>') { Elements::Stored } else { Elements::Native };
                match (values(&dataset, &variable, order).map_err(|error| explained(&error)), foreign) {
                    (Ok(found), None) => {
                        assert!(
                            found == wanted.bytes,
                            "{name}{variable} in {}: other values",
                            path.display()
                        );
                        read += 1;
                    }
                    (Err(error), Some(codec)) => {
                        assert!(error.contains(codec) && error.contains(&variable), "{name}: {error}");
                        refused.push(name.clone());
                    }
                    (Ok(_), Some(codec)) => panic!("{name}: {codec} is there; take it from the list"),
                    (Err(error), None) => panic!("{}{variable}: {error}", path.display()),
                }
            }
            assert_eq!(
                variables,
                dataset.hierarchy().variables().count(),
                "{name}: variables without values"
            );
        }
    }
    assert_eq!(read, 2 * 92, "arrays that were read");
    refused.dedup();
    assert_eq!(refused, FOREIGN.map(|(name, _)| name));
}

#[test]
fn every_dataset_of_netcdf_c_has_the_same_values_unpacked_and_zipped() {
    for folder in NETCDF {
        for (name, zip) in datasets(folder) {
            let unpacked = unpack(&zip).unwrap();
            // Its own zip files have the name of the dataset in front of each key.
            let inside = unpacked.path().join(&name);
            let directory =
                open(if inside.is_dir() && folder.ends_with("zip") { &inside } else { unpacked.path() });
            let zipped = open(&zip);
            let paths = |dataset: &Dataset| -> Vec<String> {
                dataset.hierarchy().variables().map(|variable| variable.path.clone()).collect()
            };
            let header = |dataset: &Dataset| {
                let mut text = Vec::new();
                let options = CdlOptions { special: true, ..CdlOptions::new(&name) };
                cdl::header(&mut text, dataset.hierarchy(), &options).unwrap();
                String::from_utf8(text).unwrap()
            };
            assert_eq!(header(&directory), header(&zipped), "{folder}/{name}");
            for path in paths(&zipped) {
                let [left, right] = [&directory, &zipped].map(|dataset| {
                    values(dataset, &path, Elements::Stored)
                        .unwrap_or_else(|error| panic!("{folder}/{name}{path}: {}", explained(&error)))
                });
                assert!(left == right, "{folder}/{name}{path}: other values");
            }
        }
    }
}

/// The differences of our text of a dataset from its CDL source: dataset, text of the source, ours.
fn differences() -> Vec<(&'static str, String, String)> {
    let all = |name: &str, value: &str, count| format!(" {name} = {} ;", vec![value; count].join(", "));
    let difference = |of, theirs: &str, ours: &str| (of, theirs.to_owned(), ours.to_owned());
    vec![
        // netcdf-c stores text that is JSON as JSON, without its blanks.
        difference("attrs", r#""[1, 2.5, \"x\"]""#, r#""[1,2.5,\"x\"]""#),
        // It stores attributes with six digits,
        difference("types", ":a_double = 3.14159265358979 ;", ":a_double = 3.14159 ;"),
        // and fill values too, which are then no default fill value.
        ("filters", all("zstd", "_", 3700), all("zstd", "9.96921e+36", 3700)),
        // Without fill, data that are never written read as zeros.
        ("nczarr/fill", all("nofill", "_", 35), all("nofill", "0", 35)),
        // Up to 4.9.2 it declares big-endian what it stores little-endian; every reader believes it, and we warn.
        difference(
            "4.9",
            " big = 1, 2, 3, -4, 5, 6 ;",
            " big = 16777216, 33554432, 50331648, -50331649, 83886080, 100663296 ;",
        ),
        difference(
            "4.9",
            " dbig = 0.5, 1.5, -2.5, 3.5, 4.5, 5.5 ;",
            " dbig = 2.83628265308084e-319, 3.13983658588571e-319, 6.00783825342956e-321, 1.54938986535815e-320, \
             2.3082746973703e-320, 2.81419791871174e-320 ;",
        ),
        difference("4.9", " sbig = 1, 256, 257, _, 65535, 0 ;", " sbig = 256, 1, 257, 513, 65535, 0 ;"),
    ]
}

#[test]
fn datasets_of_netcdf_c_print_as_netcdf_files_made_of_their_cdl_sources_do() {
    let (Ok(ncgen), Ok(ncdump)) = (program("ncgen"), program("ncdump")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut compared, mut faults) = (0, Vec::new());
    for entry in std::fs::read_dir(fixtures().join("cdl")).unwrap() {
        let source = entry.unwrap().path();
        let name = source.file_stem().unwrap().to_string_lossy().into_owned();
        // Filters that the system's library may lack; values that HDF5 then leaves to chance.
        let text = std::fs::read_to_string(&source).unwrap();
        let text: Vec<&str> =
            text.lines().filter(|line| !line.contains("_Filter =") && !line.contains("_NoFill =")).collect();
        let (cdl, file) = (folder.path().join("source.cdl"), folder.path().join(format!("{name}.nc")));
        std::fs::write(&cdl, text.join("\n")).unwrap();
        let tool = |tool: &Path, args: &[&str]| {
            let output = run(Command::new(tool).args(args), Duration::from_secs(60)).unwrap();
            output
                .success(&tool.display().to_string())
                .unwrap_or_else(|error| panic!("{name}: {error}"))
                .stdout_text()
        };
        tool(&ncgen, &["-4", "-o", file.to_str().unwrap(), cdl.to_str().unwrap()]);
        let truth = tool(&ncdump, &["-n", &name, "-p", "7,15", file.to_str().unwrap()]);
        for generation in NETCDF.into_iter().filter(|folder| folder.contains("nczarr")) {
            let zip = fixtures().join(generation).join(format!("{name}.zip"));
            if !zip.exists() {
                continue;
            }
            let output = ncz(&["dump", zip.to_str().unwrap(), "-n", &name, "-p", "7,15"]);
            let mut wanted = squeezed(&truth);
            for (of, theirs, ours) in differences() {
                if format!("{generation}/{name}").contains(of) {
                    wanted = wanted.replace(&theirs, &ours);
                }
            }
            let ours = squeezed(&output.stdout_text());
            compared += 1;
            if ours != wanted {
                let same =
                    ours.bytes().zip(wanted.bytes()).take_while(|(ours, wanted)| ours == wanted).count();
                let part =
                    |text: &str| text.chars().skip(same.saturating_sub(60)).take(160).collect::<String>();
                faults.push(format!("{generation}/{name}: {}\n  instead of {}", part(&ours), part(&wanted)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(compared, 23);
}

/// The text with one blank between words: line breaks depend on the length of values.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
