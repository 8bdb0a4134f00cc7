//! netCDF files as targets, against netCDF4 and Debian's ncdump and ncgen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{program, python};
use tempfile::TempDir;

use crate::bench::{assert_same_text, ncz, ocean, run};
use crate::ncdump::tool;

/// The words of `--format`, and what `ncdump -k` prints for them.
const FORMATS: [(&str, &str); 5] = [
    ("netcdf4", "netCDF-4"),
    ("netcdf4-classic", "netCDF-4 classic model"),
    ("classic", "classic"),
    ("64bit-offset", "64-bit offset"),
    ("cdf5", "cdf5"),
];

/// Compares variables, masks and attributes of a file with those of another file.
const COMPARE: &str = r#"
import sys
import netCDF4
import numpy

one, other = (netCDF4.Dataset(path) for path in sys.argv[1:3])
assert set(one.variables) == set(other.variables), (one, other)
for name, variable in one.variables.items():
    copied = other[name]
    assert variable.dimensions == copied.dimensions, name
    assert set(variable.ncattrs()) == set(copied.ncattrs()), (name, variable.ncattrs(), copied.ncattrs())
    values, copies = variable[...], copied[...]
    masks = numpy.ma.getmaskarray(values), numpy.ma.getmaskarray(copies)
    assert (masks[0] == masks[1]).all(), name
    assert (numpy.ma.filled(values, 0) == numpy.ma.filled(copies, 0)).all(), name
if len(sys.argv) > 3:
    variable = other[sys.argv[3]]
    assert variable.filters()["zstd"], variable.filters()
"#;

/// A text that every kind of netCDF file can hold.
const CDL: &str = "netcdf grid {
dimensions:
\ttime = UNLIMITED ; // (2 currently)
\tx = 3 ;
variables:
\tint time(time) ;
\tfloat t(time, x) ;
\t\tt:_FillValue = -1.f ;
\t\tt:units = \"K\" ;
\tdouble height ;

// global attributes:
\t\t:title = \"a grid\" ;
data:

 time = 10, 20 ;

 t =
  1, 2, _,
  4, _, 6.5 ;

 height = 2 ;
}
";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("grid.cdl"), CDL).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The names of what is in the folder, without the text.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "grid.cdl").collect()
    }
}

fn theirs(ncdump: &Path, args: &[&str]) -> String {
    run(Command::new(ncdump).args(args).env("HDF5_PLUGIN_PATH", "")).ends(0).stdout
}

#[test]
fn every_kind_of_file_is_generated_and_copied() {
    let folder = Folder::new();
    for (format, kind) in FORMATS {
        let (made, copied) =
            (folder.text(&format!("{format}.nc")), folder.text(&format!("{format}-copy.nc")));
        ncz(["gen", &folder.text("grid.cdl"), "-o", &made, "--format", format]).ends(0);
        // The kind of the source is kept.
        let json = ncz(["copy", "--json", "--verify", &made, &copied]).ends(0).stdout;
        assert!(json.contains(&format!("\"format\": \"{kind}\"")), "{json}");
        for path in [&made, &copied] {
            assert_eq!(tool("ncdump", ["-k", path]).ends(0).stdout.trim(), kind);
            if let Ok(ncdump) = program("ncdump") {
                assert_eq!(theirs(&ncdump, &["-k", path]).trim(), kind);
                assert_same_text(&theirs(&ncdump, &["-n", "grid", path]), CDL, kind);
            }
        }
    }
}

#[test]
fn nccopy_and_ncgen_write_the_kinds_of_their_options() {
    let folder = Folder::new();
    let cdl = folder.text("grid.cdl");
    for (letter, name, kind) in [
        ("-3", "nc3", "classic"),
        ("-6", "64-bit offset", "64-bit offset"),
        ("-4", "nc4", "netCDF-4"),
        ("-7", "4", "netCDF-4 classic model"),
        ("-5", "cdf5", "cdf5"),
    ] {
        let (made, copied) = (folder.text("made.nc"), folder.text("copied"));
        tool("ncgen", [letter, "-o", &made, &cdl]).ends(0);
        tool("nccopy", ["-k", name, &made, &copied]).ends(0);
        for path in [&made, &copied] {
            assert_eq!(tool("ncdump", ["-k", path]).ends(0).stdout.trim(), kind);
        }
    }
    // Without an option the text decides, as for ncgen.
    for (declared, kind) in [
        ("int v(x) ;", "classic"),
        ("int v(x) ; v:_DeflateLevel = 1 ;", "netCDF-4"),
        ("int v(x) ; group: g { }", "netCDF-4"),
    ] {
        fs::write(&cdl, format!("netcdf a {{ dimensions: x = 2 ; variables: {declared} }}")).unwrap();
        let (ours, others) = (folder.text("ours.nc"), folder.text("theirs.nc"));
        tool("ncgen", ["-o", &ours, &cdl]).ends(0);
        assert_eq!(tool("ncdump", ["-k", &ours]).ends(0).stdout.trim(), kind);
        if let (Ok(ncgen), Ok(ncdump)) = (program("ncgen"), program("ncdump")) {
            run(Command::new(ncgen).args(["-o", &others, &cdl])).ends(0);
            assert_eq!(theirs(&ncdump, &["-k", &others]).trim(), kind);
        }
    }
}

#[test]
fn a_dataset_without_groups_has_the_same_values_in_every_kind_of_file() {
    let folder = Folder::new();
    let source = ocean();
    let copy = |name: &str, args: &[&str]| {
        let target = folder.text(name);
        ncz([&["copy", source.to_str().unwrap(), target.as_str(), "--verify"], args].concat())
    };
    // Classic files have no groups.
    copy("refused.nc", &["--format", "classic"]).ends(3).says(&["\"/model\"", "no groups"]);
    let Ok(ncdump) = program("ncdump") else { return };
    let mut texts = Vec::new();
    for (format, kind) in FORMATS {
        let name = format!("{format}.nc");
        copy(&name, &["--format", format, "--variables", "air_temperature,sea_surface_temperature"]).ends(0);
        assert_eq!(theirs(&ncdump, &["-k", &folder.text(&name)]).trim(), kind);
        texts.push(theirs(&ncdump, &["-n", "ocean", &folder.text(&name)]));
    }
    for (text, (format, _)) in texts.iter().zip(FORMATS) {
        assert_same_text(text, &texts[0], format);
    }
}

#[test]
fn filters_are_written_by_number() {
    let Ok(python) = python() else { return };
    let folder = Folder::new();
    let (plain, zstd) = (folder.text("plain.nc"), folder.text("zstd.nc"));
    ncz(["copy", ocean().to_str().unwrap(), &plain]).ends(0);
    ncz(["copy", &plain, &zstd, "-F", "*,zstd,3"]).ends(0);
    python.run_code(COMPARE, &[&plain, &zstd, "air_temperature"], &[]).unwrap();
}

#[test]
fn a_name_and_a_format_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    let ocean = ocean();
    let copy = |target: &str, args: &[&str]| {
        let target = folder.text(target);
        ncz([&["copy", ocean.to_str().unwrap(), target.as_str()], args].concat())
    };
    copy("out.nc", &["--format", "zarr"]).ends(2).says(&["--format zarr ", "out.nc"]);
    copy("out.zarr", &["--format", "classic"]).ends(2).says(&["--format classic ", "out.zarr"]);
    copy("out#mode=nczarr", &["--format", "cdf5"]).ends(2).says(&["--format cdf5 ", "out"]);
    copy("out.nc", &["--consolidated"]).ends(2).says(&["no consolidated metadata", ".zarr"]);
    copy("out.nc", &["--resume"]).ends(2).says(&["cannot be resumed", "--resume"]);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_file_is_replaced_only_on_request() {
    let folder = Folder::new();
    let (cdl, target) = (folder.text("grid.cdl"), folder.text("out.nc"));
    ncz(["gen", &cdl, "-o", &target]).ends(0);
    let before = fs::read(&target).unwrap();
    let again = ["copy", &target, &folder.text("other.nc")].map(str::to_owned);
    ncz(again.clone()).ends(0);
    ncz(again.clone()).ends(3).says(&["other.nc", "--overwrite"]);
    ncz(again.into_iter().chain(["--overwrite".to_owned()])).ends(0);
    ncz(["gen", &cdl, "-o", &target]).ends(3).says(&["--overwrite"]);
    assert_eq!(fs::read(&target).unwrap(), before);
    ncz(["gen", &cdl, "-o", &target, "--overwrite", "--format", "classic"]).ends(0);
    assert_eq!(&fs::read(&target).unwrap()[..4], b"CDF\x01");
    // What is not a netCDF file is left as it is.
    fs::write(&target, "notes").unwrap();
    ncz(["gen", &cdl, "-o", &target, "--overwrite"]).ends(3).says(&["out.nc"]);
    assert_eq!(fs::read(&target).unwrap(), b"notes");
}

/// Makes chunks for which filters were skipped, or compares a copy with them: `same` has their masks too.
const SKIPPED: &str = r#"
import sys
import zlib

import h5py
import netCDF4
import numpy

values = numpy.arange(48, dtype="<i4").reshape(6, 8)
job, path = sys.argv[1:3]
if job == "make":
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 6)
        file.createDimension("x", 8)
        file.createVariable("v", "i4", ("y", "x"), zlib=True, shuffle=True, chunksizes=(3, 4))[...] = values
    with h5py.File(path, "r+") as file:
        chunk = lambda y, x: values[y : y + 3, x : x + 4].tobytes()
        file["v"].id.write_direct_chunk((0, 0), chunk(0, 0), 0b11)
        file["v"].id.write_direct_chunk((3, 4), zlib.compress(chunk(3, 4)), 0b01)
    sys.exit()
with netCDF4.Dataset(path) as file:
    assert (file["v"][...] == values).all(), file["v"][...]
if job == "same":
    with h5py.File(sys.argv[3]) as original, h5py.File(path) as copy:
        for number in range(4):
            one, other = (file["v"].id.get_chunk_info(number) for file in (original, copy))
            assert (one.chunk_offset, one.filter_mask) == (other.chunk_offset, other.filter_mask), (one, other)
            stored = [file["v"].id.read_direct_chunk(one.chunk_offset)[1] for file in (original, copy)]
            assert stored[0] == stored[1], one
        assert sorted(copy["v"].id.get_chunk_info(number).filter_mask for number in range(4)) == [0, 0, 1, 3]
"#;

#[test]
fn chunks_whose_filters_were_skipped_are_passed_on_to_netcdf_files() {
    let Ok(python) = python() else { return };
    let folder = Folder::new();
    let source = folder.text("skipped.nc");
    python.run_code(SKIPPED, &["make", &source], &[]).unwrap();
    let copy = |name: &str, args: &[&str], passed: &str| {
        let target = folder.text(name);
        let copied = ncz([&["copy", "--verify", source.as_str(), target.as_str()], args].concat()).ends(0);
        assert!(copied.stdout.contains(passed), "{}", copied.stdout);
        target
    };
    let same = copy("same.nc", &[], "4 chunks copied as stored, 0 decoded");
    python.run_code(SKIPPED, &["same", &same, &source], &[]).unwrap();
    for (name, args, passed) in [
        ("codecs.nc", &["-F", "*,zlib,1"][..], "0 chunks copied as stored, 4 decoded"),
        ("chunks.nc", &["-c", "y/6,x/8"][..], "0 chunks copied as stored, 1 decoded"),
        ("salvaged.nc", &["--salvage"][..], "4 chunks copied as stored, 0 decoded"),
    ] {
        let target = copy(name, args, passed);
        python.run_code(SKIPPED, &["values", &target], &[]).unwrap();
    }
    // Zarr has no note of skipped filters.
    copy("all.zarr", &[], "2 chunks copied as stored, 2 decoded");
}
