//! User-defined types of netCDF-4, against Debian's ncdump and ncgen, h5py and zarr-python.

use std::process::Command;

use ncz_test_support::{program, python};
use serde_json::json;

use crate::bench::{assert_same_text, ncz, run};
use crate::ncdump::tool;

const CDL: &str = include_str!("user_types.cdl");

/// A file that ncgen makes of CDL; `None` without ncgen.
fn made(cdl: &str) -> Option<(tempfile::TempDir, String)> {
    let ncgen = program("ncgen").ok()?;
    let folder = tempfile::tempdir().unwrap();
    let (text, file) = (folder.path().join("d.cdl"), folder.path().join("d.nc"));
    std::fs::write(&text, cdl).unwrap();
    run(Command::new(ncgen).args(["-k", "nc4", "-o"]).args([&file, &text])).ends(0);
    let file = file.to_str().unwrap().to_owned();
    Some((folder, file))
}

#[test]
fn every_class_of_types_is_dumped_as_ncdump_does() {
    let (Some((_folder, file)), Ok(ncdump)) = (made(CDL), program("ncdump")) else { return };
    for options in [vec![], vec!["-h"], vec!["-hs"], vec!["-c"], vec!["-v", "obs"], vec!["-p", "3,5"]] {
        let args = || options.iter().copied().chain([file.as_str()]);
        let theirs = run(Command::new(&ncdump).args(args()).env("HDF5_PLUGIN_PATH", "")).ends(0).stdout;
        let ours = tool("ncdump", args()).ends(0).stdout;
        assert_same_text(&ours, &theirs, &options.join(" "));
    }
}

#[test]
fn a_type_that_another_one_hides_has_its_path_so_that_ncgen_reads_it() {
    let cdl = CDL.replace("cloud_t inner(n) ;", "cloud_t inner(n) ;\n    /cloud_t outer(n) ;");
    let cdl = cdl.replace("inner = X, Y, X ;", "inner = X, Y, X ;\n    outer = Clear, Stratus, Clear ;");
    let Some((_folder, file)) = made(&cdl) else { return };
    let dump = |file: &str| tool("ncdump", ["-n", "d", file]).ends(0).stdout;
    let ours = dump(&file);
    assert!(ours.contains("\t/cloud_t outer(n) ;"), "{ours}");
    let (_again, file) = made(&ours).unwrap();
    assert_same_text(&dump(&file), &ours, "through ncgen");
}

#[test]
fn json_has_every_value_and_type_and_csv_refuses_by_name() {
    let Some((_folder, file)) = made(CDL) else { return };
    let cat = |name: &str| ncz(["cat", "--json", &file, name]).ends(0).json();
    assert_eq!(cat("primary"), json!([0, 127, 2]));
    assert_eq!(cat("rag"), json!([[10, 11, 12], [], [-99]]));
    assert_eq!(
        cat("raw"),
        json!(["0102030405060708090a0b", "ffffffffffffffffffffff", "cafebabecafebabecafeba"])
    );
    let one = json!({"day": 1, "elev": 2, "relhum": 4.1, "time": 5.5, "ub": 6, "m": [1.0, 2.0, 3.0, 4.5]});
    assert_eq!(cat("g/oo"), one);
    let dumped = ncz(["dump", "--json", &file]).ends(0).json();
    let obs = dumped["variables"].as_array().unwrap().iter().find(|found| found["name"] == "obs").unwrap();
    assert_eq!(obs["data"][1], one);
    assert_eq!(obs["data"][2]["ub"], json!(u64::MAX));
    assert_eq!(obs["user_type"], json!("/obs_t"));
    assert_eq!(
        dumped["types"][0]["members"][3],
        json!({"name": "Missing", "value": 127}),
        "{}",
        dumped["types"]
    );
    let head = ncz(["cat", "--json", "--head", "1", &file, "rag"]).ends(0).json();
    assert_eq!(head, json!([[10, 11, 12]]));
    ncz(["cat", &file, "obs"]).ends(2).says(&["/obs", "--json"]);
    ncz(["dump", "-x", &file]).ends(0).stdout.find("obs is of the user-defined type /obs_t").unwrap();
}

#[test]
fn copies_have_integers_with_flags_and_refuse_structured_types_by_name() {
    let (Some((folder, file)), Ok(python)) = (made(CDL), python()) else { return };
    let target = folder.path().join("t.zarr");
    let target = target.to_str().unwrap();
    ncz(["copy", &file, target]).ends(3).says(&["/raw", "opaque"]);
    let names = "primary,bg,plain,g/inner";
    ncz(["copy", "--verify", "--format", "zarr", "--variables", names, &file, target])
        .ends(0)
        .says(&["/cloud_t"]);
    let code = r#"
import sys, zarr
group = zarr.open_group(sys.argv[1], mode="r")
primary = group["primary"]
assert primary.dtype == "int8" and primary[:].tolist() == [0, 127, 2], primary[:]
assert primary.attrs["flag_values"] == [0, 1, 2, 127], dict(primary.attrs)
assert primary.attrs["flag_meanings"] == "Clear Cumulonimbus Stratus Missing", dict(primary.attrs)
assert group["bg"][:].tolist() == [0, 65535, 6]
assert group["g/inner"].attrs["flag_meanings"] == "X Y"
"#;
    python.run_code(code, &[target], &[]).unwrap();
    let taken = CDL.replace(
        "    cloud_t primary:_FillValue",
        "    primary:flag_values = 1b ;\n    cloud_t primary:_FillValue",
    );
    let (_folder, file) = made(&taken).unwrap();
    let target = folder.path().join("taken.zarr");
    ncz(["copy", "--variables", "primary", &file, target.to_str().unwrap()])
        .ends(0)
        .says(&["/primary", "names of its enumeration are left out"]);
}

#[test]
fn types_of_h5py_without_names_get_those_of_netcdf() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.h5");
    let file = file.to_str().unwrap();
    let code = r#"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["pair"] = np.array([(1, 2.5), (-1, 0.5)], [("a", "<i4"), ("b", ">f8")])
    f["kind"] = np.dtype([("a", "<i4"), ("b", ">f8")])
    f["opaque"] = np.array([b"abc", b"xyz"], "V3")
    f["truth"] = np.array([True, False])
    f["complex"] = np.array([1 + 2j, -0.5j], "<c16")
    rows = f.create_dataset("rows", (2,), dtype=h5py.vlen_dtype("<i2"))
    rows[0] = [1, 2]
    f["truth"].attrs["pair"] = f["pair"][0]
"#;
    python.run_code(code, &[file], &[]).unwrap();
    let text = ncz(["dump", file]).ends(0).stdout;
    for expected in [
        " pair = {1, 2.5}, {-1, 0.5} ;",
        " opaque = 0X616263, 0X78797A ;",
        " truth = TRUE, FALSE ;",
        " complex = {1, 2}, {-0, -0.5} ;",
        " rows = {1, 2}, {} ;",
        "truth:pair = {1, 2.5} ;",
        "byte enum _AnonymousEnum",
    ] {
        assert!(text.contains(expected), "{expected:?} in\n{text}");
    }
    let target = folder.path().join("t.zarr");
    let target = target.to_str().unwrap();
    ncz(["copy", "--verify", "--format", "zarr", "--variables", "complex,truth", file, target]).ends(0);
    let code = r#"
import sys, zarr
group = zarr.open_group(sys.argv[1], mode="r")
assert group["complex"].dtype == "complex128" and group["complex"][:].tolist() == [1 + 2j, -0.5j]
assert group["truth"].attrs["pair"] == {"a": 1, "b": 2.5}
"#;
    python.run_code(code, &[target], &[]).unwrap();
}
