//! What readers of a copy take for missing, for text and for the length of a dimension: xarray, netCDF4, zarr-python.

use std::path::Path;

use ncz_test_support::python;

use crate::bench::ncz;

const SOURCES: &str = r#"
import os, sys, warnings, netCDF4, numpy as np, zarr
os.chdir(sys.argv[1])
warnings.simplefilter("ignore")
with netCDF4.Dataset("letters.nc", "w") as file:
    file.createDimension("x", 3)
    file.createVariable("c", "S1", ("x",))[:] = [b"a", b"b", b"c"]
with netCDF4.Dataset("rest.nc", "w") as file:
    file.createDimension("t", None)
    file.createDimension("x", 2)
    file.createDimension("y", 4)
    file.createVariable("v", "f4", ("t", "x"), chunksizes=(2, 2))[:4] = np.ones((4, 2))
    file.createVariable("t", "i4", ("t",))[:] = np.arange(8)
    file.createVariable("s", str, ("x",))[:] = np.array(["a", ""], object)
    file.createVariable("w", "f4", ("y",), chunksizes=(2,))[:2] = [1, 2]
group = zarr.create_group("three.zarr", zarr_format=3)
def array(name, dtype, fill, values, count):
    made = group.create_array(name, shape=(4,), chunks=(2,), dtype=dtype, fill_value=fill, dimension_names=["x"],
                              config={"write_empty_chunks": True})
    made[:count] = np.array(values, dtype)[:count]
array("time", "M8[s]", np.datetime64(0, "s"), [0, 1, 2, 3], 2)
array("truth", "?", True, [True, False, True, False], 4)
array("number", "f4", -1.5, [1, -1.5, 3, 4], 4)
array("gap", "f4", -1.5, [1, 2, 3, 4], 2)
for name, values, fill in [("a.nc", [1.0, 2.0], None), ("b.nc", [3.0, -99.0], -99.0)]:
    with netCDF4.Dataset(name, "w") as file:
        file.createDimension("t", None)
        file.createVariable("v", "f4", ("t",), fill_value=fill)[:] = values
"#;

fn sources() -> Option<(ncz_test_support::Python, tempfile::TempDir)> {
    let python = python().ok()?;
    let folder = tempfile::tempdir().unwrap();
    python.run_code(SOURCES, &[folder.path()], &[]).unwrap();
    Some((python, folder))
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn letters_are_read_by_the_readers_that_are_asked_for() {
    let Some((python, folder)) = sources() else { return };
    let at = |name: &str| path(folder.path(), name);
    let readers = ncz(["info", "--json", &at("letters.nc")]).ends(0).json();
    assert!(readers["readers"].as_array().unwrap().iter().any(|reader| reader["reads"] == true), "{readers}");
    ncz(["copy", &at("letters.nc"), &at("out.nc"), "--for", "netcdf-c,xarray"]).ends(0);
    for format in ["zarr", "zarr3"] {
        let out = at(&format!("out.{format}"));
        let said =
            ncz(["copy", &at("letters.nc"), &out, "--format", format, "--for", "zarr-python,xarray"]).ends(0);
        assert!(!said.stderr.contains("does not read"), "{}", said.stderr);
    }
    let code = r#"
import os, sys, netCDF4, xarray
os.chdir(sys.argv[1])
with netCDF4.Dataset("out.nc") as file:
    assert file["c"][:].tolist() == [b"a", b"b", b"c"]
for name in ["out.zarr", "out.zarr3"]:
    assert xarray.open_zarr(name, consolidated=False).c.values.tobytes() == b"abc", name
"#;
    python.run_code(code, &[folder.path()], &[]).unwrap();
}

#[test]
fn a_dimension_has_one_length_and_empty_text_is_no_missing_value_in_nczarr() {
    let Some((python, folder)) = sources() else { return };
    let at = |name: &str| path(folder.path(), name);
    ncz(["copy", "--verify", &at("rest.nc"), &at("out"), "--for", "xarray,netcdf-c"]).ends(0);
    ncz(["copy", "--verify", &at("rest.nc"), &at("out3"), "--format", "zarr3"]).ends(0);
    let code = r##"
import os, sys, netCDF4, numpy as np, xarray
os.chdir(sys.argv[1])
two, three = [xarray.open_zarr(name, consolidated=False) for name in ("out", "out3")]
assert two.v.shape == (8, 2), two.v.shape
assert two.s.values.tolist() == [b"a", b""], two.s.values
for dataset in (two, three):
    assert np.isnan(dataset.v.values[4:]).all() and (dataset.v.values[:4] == 1).all(), dataset.v.values
    assert np.isnan(dataset.w.values[2:]).all() and dataset.w.values[:2].tolist() == [1, 2], dataset.w.values
with netCDF4.Dataset("file://" + os.path.abspath("out") + "#mode=nczarr,file") as file:
    assert file["v"].shape == (8, 2) and file["v"][:].mask[4:].all() and file["w"][:].mask.tolist() == [0, 0, 1, 1]
    assert file["s"][:].tolist() == ["a", ""], file["s"][:]
"##;
    python.run_code(code, &[folder.path()], &[]).unwrap();
}

#[test]
fn fill_values_of_version_3_are_values_in_version_2_or_a_note_says_that_they_are_not() {
    let Some((python, folder)) = sources() else { return };
    let at = |name: &str| path(folder.path(), name);
    let copy = ["copy", "--format", "zarr", &at("three.zarr"), &at("out")].map(str::to_owned);
    let said = ncz(&copy).ends(0).says(&["xarray takes the fill value", "--format zarr3"]);
    let note = said.stderr.lines().find(|line| line.contains("xarray takes")).unwrap();
    assert!(note.contains("/gap") && note.contains("/time") && !note.contains("/truth"), "{note}");
    ncz(["copy", "--verify", "--exclude", "gap,time", "--format", "zarr", &at("three.zarr"), &at("same")])
        .ends(0);
    let refused =
        ncz(["copy", "--verify", "--variables", "gap", "--format", "zarr", &at("three.zarr"), &at("gap")]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    let code = r#"
import os, sys, numpy as np, xarray, zarr
os.chdir(sys.argv[1])
copy = xarray.open_zarr("out", consolidated=False)
assert copy.truth.dtype == bool and copy.truth.values.tolist() == [True, False, True, False], copy.truth
assert copy.number.values.tolist() == [1, -1.5, 3, 4], copy.number
times = zarr.open_array("out/time", mode="r")[:]
assert times.astype("i8").tolist() == [0, 1, 0, 0], times
"#;
    python.run_code(code, &[folder.path()], &[]).unwrap();
}

#[test]
fn a_missing_value_is_not_joined_as_one_that_only_some_readers_mask() {
    let Some((python, folder)) = sources() else { return };
    let at = |name: &str| path(folder.path(), name);
    for (number, target) in ["joined.nc", "joined.zarr"].into_iter().enumerate() {
        let format = if number == 0 { "netcdf4" } else { "zarr3" };
        let joined =
            ncz(["copy", "--concat", "t", &at("a.nc"), &at("b.nc"), &at(target), "--format", format]);
        if joined.code != 0 {
            // It names what differs, and leaves nothing.
            joined.says(&["/v", "-99", "there is no value for missing ones"]);
            assert!(!Path::new(&at(target)).exists());
            continue;
        }
        let code = "import sys, numpy as np, xarray\nwith xarray.open_dataset(sys.argv[1]) as joined:\n    assert np.isnan(joined.v.values[3])";
        python.run_code(code, &[at(target)], &[]).unwrap();
    }
}
