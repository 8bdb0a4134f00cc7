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

pub(crate) fn path(folder: &Path, name: &str) -> String {
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
    assert!(note.contains(" /gap:"), "{note}");
    let verified = ["--verify", "--overwrite"].map(str::to_owned);
    ncz(copy.iter().chain(&verified)).ends(0).says(&[note]);
    let code = r#"
import os, sys, numpy as np, xarray, zarr
os.chdir(sys.argv[1])
copy = xarray.open_zarr("out", consolidated=False)
assert copy.truth.dtype == bool and copy.truth.values.tolist() == [True, False, True, False], copy.truth
assert copy.number.values.tolist() == [1, -1.5, 3, 4], copy.number
for times in (copy.time.values, zarr.open_array("out/time", mode="r")[:]):
    assert times.astype("M8[s]").astype("i8").tolist() == [0, 1, 0, 0], times
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

/// Arrays of each type with fill values in versions 2 and 3, and files with fill values of text.
const FILLS: &str = r#"
import os, sys, warnings, netCDF4, numpy as np, zarr
os.chdir(sys.argv[1])
warnings.simplefilter("ignore")
VALUES = {"?": [0, 1, 1, 0, 1, 0], "U3": ["a", "zz", "", "b", "c", "d"], "M8[s]": [0, 5, 1, 2, 3, 4]}
VALUES["S3"] = VALUES["str"] = VALUES["U3"]
for version in (2, 3):
    group = zarr.create_group(f"fills{version}.zarr", zarr_format=version)
    for dtype, fills in {"f4": [0, 5, np.nan], "f2": [5], "i4": [5], "u1": [5], "?": [True, False], "c8": [5, 0],
                         "U3": ["zz", ""], "S3": [b"zz", b""], "str": ["zz", ""], "M8[s]": [5]}.items():
        for number, fill in enumerate(fills):
            for part in ("full", "part"):
                kind = np.dtype(dtype if dtype != "str" else "O")
                name = f"{dtype.strip('?[s]') or 'bool'}_{number}_{part}"
                array = group.create_array(
                    name, shape=(6,), chunks=(2,), dtype=str if dtype == "str" else dtype, compressors=None,
                    fill_value=kind.type(fill) if kind.kind in "fiucM" and kind.kind != "M" else
                    np.datetime64(fill, "s") if kind.kind == "M" else fill,
                    config={"write_empty_chunks": True}, **({"dimension_names": ["x"]} if version == 3 else {}))
                if version == 2:
                    array.attrs["_ARRAY_DIMENSIONS"] = ["x"]
                values = np.array(VALUES.get(dtype, [0, 5, 1, 2, 3, 4]), dtype if dtype != "str" else object)
                array[: 6 if part == "full" else 4] = values[: 6 if part == "full" else 4]
for number in (1, 2):
    with netCDF4.Dataset(f"texts{number}.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("n", 2)
        file.createVariable("t", "i4", ("t",))[:] = [3 * number, 3 * number + 1, 3 * number + 2]
        file.createVariable("s", str, ("t",), fill_value="zz")[:] = np.array(["a", "zz", ""], object)
        file.createVariable("c", "S1", ("t", "n"), fill_value=b" ")[:] = np.array([[b"a", b" "], [b"z", b"z"], [b"b", b" "]])
        file.createVariable("nul", "S1", ("t", "n"), fill_value=b"\0")[:] = np.array([[b"a", b""], [b"z", b"z"], [b"b", b""]])
        file.createVariable("f", "f4", ("t",), fill_value=-1)[:] = [1, -1, 3]
"#;

pub(crate) fn fills() -> Option<(ncz_test_support::Python, tempfile::TempDir)> {
    let python = python().ok()?;
    let folder = tempfile::tempdir().unwrap();
    python.run_code(FILLS, &[folder.path()], &[]).unwrap();
    Some((python, folder))
}

/// The variables that the notes of a copy name, of the notes with a text.
pub(crate) fn named(copy: &serde_json::Value, text: &str) -> Vec<String> {
    let notes = copy["notes"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
    let words = notes.filter(|note| note.contains(text)).flat_map(|note| note.split([' ', ',', ':']));
    let mut paths: Vec<String> = words.filter(|word| word.starts_with('/')).map(str::to_owned).collect();
    paths.sort();
    paths
}

#[test]
fn fill_values_of_text_close_no_copy_in_version_3_and_info_says_where_they_do() {
    let Some((python, folder)) = fills() else { return };
    let at = |name: &str| path(folder.path(), name);
    let left_out = "the attribute _FillValue is left out";
    let ran = ncz([
        "copy",
        &at("texts1.nc"),
        &at("three"),
        "--format",
        "zarr3",
        "--for",
        "xarray",
        "--verify",
        "--json",
    ])
    .ends(0)
    .json();
    assert_eq!(named(&ran, left_out), ["/c", "/nul", "/s"]);
    ncz(["copy", &at("texts2.nc"), &at("three"), "--append", "t"]).ends(0);
    let xarray = |name: &str| {
        let info = ncz(["info", "--json", &at(name)]).ends(0).json();
        info["readers"].as_array().unwrap().iter().find(|one| one["name"] == "xarray").unwrap().clone()
    };
    assert_eq!(xarray("three")["reads"], true);
    // NCZarr has them as netcdf-c writes them.
    let nczarr = ["copy", &at("texts1.nc"), &at("two"), "--exclude", "c,nul"];
    ncz(nczarr.iter().chain(&["--for", "xarray"])).ends(3).says(&["a fill value of text"]);
    ncz(nczarr).ends(0);
    let code = r##"
import os, sys, netCDF4, numpy as np, xarray, zarr
os.chdir(sys.argv[1])
copy = xarray.open_zarr("three", consolidated=False)
assert np.isnan(copy.f.values).tolist() == [False, True, False] * 2, copy.f.values
assert copy.s.values.tolist() == ["a", "zz", ""] * 2, copy.s.values
assert copy.c.values.tolist() == [b"a ", b"zz", b"b "] * 2, copy.c.values
with netCDF4.Dataset("file://" + os.path.abspath("two") + "#mode=nczarr,file") as file:
    assert file["s"][:].tolist() == ["a", "zz", ""], file["s"][:]
try:
    xarray.open_zarr("two", consolidated=False)
    raise SystemExit("xarray opens it")
except ValueError:
    pass
# as zarr-python lets its users write it
group = zarr.open_group("three")
group["t"].attrs["_FillValue"] = 5
xarray.open_zarr("three", consolidated=False)
group["s"].attrs["_FillValue"] = "zz"
try:
    xarray.open_zarr("three", consolidated=False)
    raise SystemExit("xarray opens it")
except ValueError:
    pass
"##;
    python.run_code(code, &[folder.path()], &[]).unwrap();
    for (name, what) in [("two", "a fill value of text"), ("three", "the attribute _FillValue")] {
        assert_eq!(xarray(name)["reads"], false);
        let said = ncz(["info", &at(name)]).ends(0).stdout;
        let line = said.lines().find(|line| line.contains("  xarray")).unwrap();
        assert!(line.ends_with(&format!("no: not {what} of /s")), "{line}");
    }
}

#[test]
fn characters_whose_fill_value_is_nul_go_to_pure_zarr_and_back() {
    let Some((python, folder)) = fills() else { return };
    let at = |name: &str| path(folder.path(), name);
    for format in ["zarr", "zarr3", "nczarr"] {
        let (zarr, back) = (at(&format!("nul.{format}")), at(&format!("{format}.nc")));
        ncz(["copy", &at("texts1.nc"), &zarr, "--format", format, "--verify"]).ends(0);
        let said = ncz(["copy", &zarr, &back, "--verify"]).ends(0).stderr;
        assert!(!said.contains("differs from its fill_value"), "{said}");
        let code = r#"
import sys, netCDF4
with netCDF4.Dataset(sys.argv[1]) as file:
    file.set_auto_chartostring(False)
    file.set_auto_mask(False)
    values = [value if isinstance(value, bytes) else value.encode() for value in file["nul"][:].ravel().tolist()]
    assert values == [b"a", b"", b"z", b"z", b"b", b""], values
    fill = getattr(file["nul"], "_FillValue", None)
    assert fill is None if "zarr3" in sys.argv[1] else fill in ("", b"\0"), fill
"#;
        python.run_code(code, &[&back], &[]).unwrap();
    }
}

/// The bits of -1 as a float are those of NaN.
#[test]
fn integers_that_missing_chunks_read_as_stay_what_they_are() {
    const WRITE: &str = r#"
import os, sys, numpy as np, zarr
os.chdir(sys.argv[1])
group = zarr.create_group("in.zarr", zarr_format=3)
for dtype, fill in [("i4", -1), ("u4", 2**32 - 1), ("i8", -1), ("i4", -127)]:
    array = group.create_array(f"{dtype}{fill}", shape=(6,), chunks=(2,), dtype=dtype, fill_value=fill,
                               dimension_names=["x"], attributes={"_FillValue": 9})
    array[:2] = [1, 9]
    array[4:] = [4, 5]
"#;
    const READ: &str = r#"
import sys, netCDF4, zarr
source, copy = zarr.open_group(sys.argv[1]), netCDF4.Dataset(sys.argv[2])
copy.set_auto_mask(False)
for name, array in source.arrays():
    assert copy[name][:].tolist() == array[:].tolist(), (name, copy[name][:], array[:])
"#;
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    python.run_code(WRITE, &[folder.path()], &[]).unwrap();
    let at = |name: &str| path(folder.path(), name);
    ncz(["copy", "--verify", &at("in.zarr"), &at("out.nc")]).ends(0);
    python.run_code(READ, &[at("in.zarr"), at("out.nc")], &[]).unwrap();
}
