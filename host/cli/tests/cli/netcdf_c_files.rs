//! The files that netcdf-c's own tests read: they open as there, or are refused with the reason.

use std::fs;
use std::path::PathBuf;

use ncz_test_support::{program, unpack};

use crate::bench::ncz;
use crate::ncdump::{theirs, tool};

/// Files of which ncdump cannot print all: it takes what was never written from memory, or stops at a value without a
/// name in its enumeration.
const HEADER_ONLY: [&str; 2] = ["f03tst_open_mem.nc", "ref_tst_irish_rover.nc"];

/// A file that declares more than it has. ncdump does not open it.
const CUT: &str = "bad_cdf5_begin.nc";

/// An array without a shape that has the values of one with a shape.
const WITHOUT_SHAPE: &str = "ref_noshape.file.zip";

fn files(folder: &tempfile::TempDir) -> Vec<(String, PathBuf)> {
    let paths = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect();
    files.retain(|(name, _)| name != "COPYRIGHT");
    files.sort();
    files
}

#[test]
fn files_of_netcdf_c_print_as_ncdump_prints_them_and_so_do_their_copies() {
    let Ok(ncdump) = program("ncdump") else { return };
    let folder = unpack("netcdf-c-tests.zip").unwrap();
    let copies = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (name, path) in files(&folder) {
        let text = path.to_str().unwrap();
        if name.ends_with(".zip") || name == CUT {
            continue;
        }
        let mut options = vec!["-n", "d"];
        options.extend(HEADER_ONLY.contains(&name.as_str()).then_some("-h"));
        let print = |path: &str| {
            let run = theirs(&ncdump, options.iter().copied().chain([path])).ends(0);
            assert_eq!(
                tool("ncdump", options.iter().copied().chain([path])).ends(0).stdout,
                run.stdout,
                "{name}"
            );
            run.stdout
        };
        let copy = copies.path().join(&name).with_extension("copy.nc");
        let copy = copy.to_str().unwrap();
        let printed = print(text);
        ncz(["copy", text, copy, "--verify"]).ends(0);
        assert_eq!(print(copy), printed, "the copy of {name}");
        ncz(["verify", text]).ends(0);
        compared += 1;
    }
    assert_eq!(compared, 30);
}

#[test]
fn files_of_netcdf_c_become_zarr_or_are_refused_by_the_name_of_what_zarr_lacks() {
    let folder = unpack("netcdf-c-tests.zip").unwrap();
    let copies = tempfile::tempdir().unwrap();
    let (mut copied, mut refused) = (0, 0);
    for (name, path) in files(&folder) {
        let text = path.to_str().unwrap();
        for format in ["zarr", "zarr3", "nczarr"] {
            let copy = copies.path().join(format!("{name}.{format}"));
            let run = ncz(["copy", text, copy.to_str().unwrap(), "--format", format, "--verify"]);
            if run.code == 0 {
                copied += 1;
                continue;
            }
            assert!(!copy.exists(), "{name}");
            let why = match name.as_str() {
                CUT => "the file is cut short",
                WITHOUT_SHAPE => "it is not a chunk of this variable",
                _ => "compound",
            };
            run.ends(3).says(&[why]);
            refused += 1;
        }
    }
    assert_eq!((copied, refused), (93, 21));
}
