//! Records that go on after those of a target: their coordinates and texts, against zarr-python, xarray and netCDF4.

use ncz_test_support::{Python, python};

use crate::bench::{Run, ncz};

/// Makes datasets whose names and arrays are arguments of Python.
const MAKE: &str = r#"
import os, shutil, sys, warnings, numpy as np, zarr
warnings.simplefilter("ignore")
os.chdir(sys.argv[1])
nan, nat = np.nan, np.datetime64("NaT")
def days(one, other, unit="D"):
    return np.arange(one, other, dtype="M8[D]").astype(f"M8[{unit}]")
def make(name, version, values, fill=None):
    values = np.asarray(values)
    group = zarr.create_group(name, zarr_format=version, overwrite=True)
    for of, dtype in [("time", values.dtype), ("v", np.dtype("f4"))]:
        options = {"dimension_names": ["time"]} if version == 3 else {}
        array = group.create_array(of, shape=values.shape, chunks=(4,), dtype=dtype, fill_value=fill if of == "time" else None, **options)
        array[:] = values if of == "time" else np.arange(len(values))
        if version == 2:
            array.attrs["_ARRAY_DIMENSIONS"] = ["time"]
def same(name, want):
    got = zarr.open(name)["time"]
    assert got.dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got[:], want)
def make_both(version, target, source):
    make("target.zarr", version, target)
    make("source.zarr", version, source)
"#;

/// The coordinates of a target and of a source, and what is said if they are refused.
type Case<'a> = (&'a str, &'a str, Option<&'a str>);

/// A folder in which Python makes datasets.
pub(crate) struct Folder {
    python: Python,
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Option<Self> {
        Some(Self { python: python().ok()?, folder: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn python(&self, code: &str) {
        self.python.run_code(&format!("{MAKE}{code}"), &[self.folder.path()], &[]).unwrap();
    }

    pub(crate) fn append(&self, source: &str, target: &str, dimension: &str) -> Run {
        ncz(["copy", &self.path(source), &self.path(target), "--append", dimension, "--verify"])
    }

    /// Makes a target and a source with the coordinates of each case, and appends and joins them. `None` of what is said:
    /// that is done, and zarr-python reads all values.
    #[track_caller]
    fn check(&self, cases: &[Case<'_>]) {
        let each = |code: &dyn Fn(u32, usize, Case<'_>) -> String| {
            let cases = cases.iter().enumerate();
            let codes = cases.flat_map(|(at, case)| [2, 3].map(|version| code(version, at, *case)));
            self.python(&codes.collect::<Vec<_>>().join("\n"));
        };
        each(&|version, at, (target, source, _)| {
            format!(
                "make('{at}.{version}', {version}, {target}); make('{at}.{version}s', {version}, {source})"
            )
        });
        for (at, (_, _, said)) in cases.iter().enumerate() {
            for target in [2, 3].map(|version| format!("{at}.{version}")) {
                let source = format!("{target}s");
                let (one, other, joined) =
                    (self.path(&target), self.path(&source), self.path(&format!("{target}j")));
                let concat = ncz(["copy", "--concat", "time", &one, &other, &joined]);
                let append = self.append(&source, &target, "time");
                let code = if said.is_some() { 3 } else { 0 };
                let (concat, append) = (concat.ends(code), append.ends(code));
                if let Some(said) = said {
                    concat.says(&["is not in order", "--any-order"]);
                    append.says(&["would not be in order", said]);
                }
            }
        }
        each(&|version, at, (target, source, said)| match said {
            Some(_) => format!("same('{at}.{version}', {target})"),
            None => ["", "j"]
                .map(|end| format!("same('{at}.{version}{end}', np.concatenate([{target}, {source}]))"))
                .join("\n"),
        });
    }
}

#[test]
fn times_and_numbers_of_two_bytes_that_are_there_are_not_appended_again() {
    let Some(folder) = Folder::new() else { return };
    let days = "days('2020-01-01', '2020-01-04')";
    let hours = "np.arange(0, 3).astype('m8[h]')";
    folder.check(&[
        (days, "days('2020-01-04', '2020-01-07')", None),
        (days, "days('2020-01-02', '2020-01-05')", Some("the source begins with 18263")),
        (days, "days('2020-01-03', '2020-01-05')", Some("the target ends with 18264")),
        (hours, "np.arange(3, 6).astype('m8[h]')", None),
        (hours, "np.arange(2, 6).astype('m8[h]')", Some("the source begins with 2")),
        ("np.array([1, 2], 'f2')", "np.array([2.5, 3], 'f2')", None),
        ("np.array([1, 2], 'f2')", "np.array([1.5, 3], 'f2')", Some("the source begins with 1.5")),
    ]);
}

#[test]
fn missing_values_of_a_coordinate_are_left_out_of_its_order() {
    let Some(folder) = Folder::new() else { return };
    let times = "np.append(days('2020-01-01', '2020-01-03'), nat)";
    folder.check(&[
        ("np.array([nan, 1, 2])", "np.array([3.0, 4])", None),
        ("np.array([0.0, 1, nan])", "np.array([nan, 2.0])", None),
        ("np.array([0.0, 1, nan])", "np.array([1.0, 2])", Some("the target ends with 1")),
        ("np.array([0.0, 1])", "np.array([nan, 1])", Some("the source begins with 1")),
        ("np.array([nan, nan])", "np.array([2.0, 1])", None),
        (
            "np.array([5.0, 3])",
            "np.array([2, nan, 4.0])",
            Some("in the source, 4 follows 2; the values before shrink, from 5 to 3"),
        ),
        (times, "days('2020-01-04', '2020-01-05')", None),
        (times, "days('2020-01-02', '2020-01-05')", Some("the target ends with 18263")),
    ]);
}

#[test]
fn masked_numbers_of_a_coordinate_are_left_out_of_its_order() {
    let Some(folder) = Folder::new() else { return };
    folder.python(
        r#"
import netCDF4
for name, values in [("one.nc", [-1, 10, 20, -2]), ("two.nc", [30, 40]), ("again.nc", [20, 30])]:
    with netCDF4.Dataset(name, "w") as file:
        file.createDimension("t", None)
        t = file.createVariable("t", "i4", ("t",), fill_value=-1)
        t.missing_value = np.int32(-2)
        t.set_auto_mask(False)
        t[:] = values
"#,
    );
    for format in ["zarr", "zarr3", "nczarr"] {
        let target = format!("t.{format}");
        ncz(["copy", "--format", format, &folder.path("one.nc"), &folder.path(&target)]).ends(0);
        folder
            .append("again.nc", &target, "t")
            .ends(3)
            .says(&["begins with 20, and the target ends with 20"]);
        folder.append("two.nc", &target, "t").ends(0);
    }
    folder.python(
        r#"
for name in ["t.zarr", "t.zarr3", "t.nczarr"]:
    assert zarr.open(name)["t"][:].tolist() == [-1, 10, 20, -2, 30, 40]
"#,
    );
}

#[test]
fn times_of_another_unit_are_not_taken_for_those_of_the_target() {
    let Some(folder) = Folder::new() else { return };
    for version in [2, 3] {
        folder.python(&format!(
            "make_both({version}, days('2020-01-01', '2020-01-03'), days('2020-01-03', '2020-01-05', 's'))"
        ));
        folder
            .append("source.zarr", "target.zarr", "time")
            .ends(3)
            .says(&["its type is <M8[s] in the source and <M8[D] in the target"]);
        folder.python("assert zarr.open('target.zarr')['time'].shape == (2,)");
        // The byte order is not a unit.
        if version == 2 {
            folder.python("make('source.zarr', 2, days('2020-01-03', '2020-01-05').astype('>M8[D]'))");
            folder.append("source.zarr", "target.zarr", "time").ends(0);
            folder.python(
                "assert (zarr.open('target.zarr')['time'][:] == days('2020-01-01', '2020-01-05')).all()",
            );
        }
    }
}

/// Daily files with texts and the names of stations, and bytes with the attribute `_Unsigned`.
const DAILY: &str = r#"
import netCDF4
def day(name, number, texts, stations=("Åre", "Oslo")):
    with netCDF4.Dataset(name, "w") as file:
        file.createDimension("t", None)
        file.createDimension("station", 2)
        file.createVariable("t", "i4", ("t",))[:] = np.arange(3) + 3 * number
        file.createVariable("station", str, ("station",))[:] = np.array(stations, object)
        file.createVariable("s", str, ("t",), chunksizes=(2,))[:] = np.array(texts, object)
        file.createVariable("m", "f4", ("t", "station"))[:] = np.ones((3, 2)) * number
        b = file.createVariable("b", "u1", ("t",), chunksizes=(3,))
        b._Unsigned = "true"
        b[:] = [1, 200, 254]
day("1.nc", 1, ["a", "", "čtyř"])
day("2.nc", 2, ["dva", "x", ""])
day("long.nc", 2, ["dva", "delší text " * 20, ""])
day("elsewhere.nc", 2, ["dva", "x", ""], ("Åre", "Bern"))
"#;

#[test]
fn texts_that_fit_are_appended_whatever_the_length_of_texts_in_the_target() {
    let Some(folder) = Folder::new() else { return };
    folder.python(DAILY);
    for format in ["zarr", "zarr3", "nczarr"] {
        let target = format!("t.{format}");
        ncz(["copy", "--format", format, &folder.path("1.nc"), &folder.path(&target)]).ends(0);
        folder
            .append("elsewhere.nc", &target, "t")
            .ends(3)
            .says(&["\"/station\" cannot be appended to", "its values differ"]);
        if format == "nczarr" {
            folder.append("long.nc", &target, "t").ends(3).says(&["old length", "\"/s\"", "bytes"]);
        }
        folder.append("2.nc", &target, "t").ends(0);
    }
    folder.python(
        r##"
import netCDF4, xarray as xr
want = ["a", "", "čtyř", "dva", "x", ""]
url = "file://" + os.path.abspath("t.nczarr") + "#mode=nczarr,file"
with netCDF4.Dataset(url) as file:
    assert file["s"][:].tolist() == want, file["s"][:]
    assert file["b"][:].tolist() == [1, 200, 254] * 2, file["b"][:]
with xr.open_dataset("1.nc") as one, xr.open_dataset("2.nc") as two:
    both = xr.concat([one, two], "t", data_vars="minimal", coords="minimal", compat="override")
    for name in ["t.zarr", "t.zarr3"]:
        with xr.open_zarr(name, consolidated=False) as copy:
            assert copy["s"].values.tolist() == want, copy["s"].values
            np.testing.assert_array_equal(copy["b"].values, both["b"].values)
            np.testing.assert_array_equal(copy["m"].values, both["m"].values)
"##,
    );
}

#[test]
fn the_default_fill_value_of_netcdf_is_a_number_where_the_target_masks_none() {
    let Some(folder) = Folder::new() else { return };
    folder.python(
        r#"
import netCDF4
for name, first in [("a.nc", 0), ("b.nc", 2)]:
    with netCDF4.Dataset(name, "w") as f:
        f.createDimension("time", None)
        f.createVariable("time", "i4", ("time",))[:] = [first, first + 1]
        for dtype, value in [("i2", -32767), ("i4", -2147483647), ("f4", 9.969209968386869e36), ("f8", 9.969209968386869e36)]:
            f.createVariable(dtype, dtype, ("time",))[:] = [1, value]
            marked = f.createVariable("marked_" + dtype, dtype, ("time",))
            marked.missing_value = np.dtype(dtype).type(5)
            marked[:] = [5, value]
    # NaN is missing, whatever marks it.
    with netCDF4.Dataset("n" + name, "w") as f:
        f.createDimension("time", None)
        f.createVariable("time", "i4", ("time",))[:] = [first, first + 1]
        packed = f.createVariable("packed", "f4", ("time",), fill_value=-9)
        packed.set_auto_maskandscale(False)
        packed.scale_factor = 0.5 if first else 0.25
        packed[:] = [2, nan]
        filled = f.createVariable("filled", "f4", ("time",), fill_value=-9 if first else nan)
        filled.set_auto_mask(False)
        filled[:] = [1, nan]
"#,
    );
    for format in ["zarr", "zarr3", "nczarr"] {
        for name in ["a.nc", "na.nc"] {
            let target = format!("{name}.{format}");
            let source = name.replace('a', "b");
            ncz(["copy", &folder.path(name), &folder.path(&target), "--format", format]).ends(0);
            let run = folder.append(&source, &target, "time").ends(0);
            assert_eq!(run.stderr.contains("values are converted"), name == "na.nc", "{}", run.stderr);
            let joined = format!("joined.{target}");
            let parts = [name, &source, &joined].map(|name| folder.path(name));
            ncz(["copy", "--concat", "time", "--format", format]
                .into_iter()
                .chain(parts.iter().map(String::as_str)))
            .ends(0);
            folder.python(&format!(
                r#"
import xarray as xr
with xr.open_dataset("{name}") as one, xr.open_dataset("{source}") as two:
    want = xr.concat([one, two], "time")
    for copy in ["{target}", "{joined}"]:
        got = xr.open_zarr(copy, consolidated=False)
        for variable in want:
            a, b = want[variable].values, got[variable].values
            # xarray masks the fill value of version 2 of Zarr.
            if "{format}" == "nczarr":
                b = np.where(np.isnan(b), a, b)
            np.testing.assert_array_equal(a, b, err_msg=f"{{copy}} {{variable}}")
"#
            ));
        }
    }
}

#[test]
fn longer_texts_are_appended_to_the_copy_of_a_file_with_records() {
    let Some(folder) = Folder::new() else { return };
    folder.python(
        r#"
import netCDF4
for name, texts in [("a.nc", ["ab"]), ("b.nc", ["a long name of a station", ""])]:
    with netCDF4.Dataset(name, "w") as f:
        f.createDimension("time", None)
        f.createVariable("name", str, ("time",))[:] = np.array(texts, object)
"#,
    );
    ncz(["copy", &folder.path("a.nc"), &folder.path("a.nczarr"), "--format", "nczarr"]).ends(0);
    folder.append("b.nc", "a.nczarr", "time").ends(0);
    folder.python(
        r##"
import netCDF4
with netCDF4.Dataset("file://" + os.path.abspath("a.nczarr") + "#mode=nczarr,file") as f:
    assert f["name"][:].tolist() == ["ab", "a long name of a station", ""], f["name"][:]
"##,
    );
}
