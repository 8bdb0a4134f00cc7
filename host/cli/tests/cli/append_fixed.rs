//! What an append leaves as it is: variables without the dimension and attributes, against xarray and netCDF4.

use super::append_values::Folder;
use crate::bench::ncz;

/// Files that differ from `a.nc` in one respect each. `refused` are those that xarray does not join without making the
/// variable longer.
const MAKE: &str = r#"
import netCDF4, xarray as xr
def file(name, lat=(10, 20), z=(5, 6), height=2, z_bnds=((4, 5), (6, 7)), units="degrees_north", extra=False, valid_max=90, title="one", code=b"ab", flag=0):
    with netCDF4.Dataset(name, "w") as f:
        f.title = title
        f.createDimension("time", None)
        f.createDimension("y", 2)
        f.createDimension("z", len(z))
        f.createDimension("two", 2)
        first = 0 if name == "a.nc" else 2
        f.createVariable("time", "i4", ("time",))[:] = np.arange(2) + first
        w = f.createVariable("w", "f8", ("time", "y"))
        w.coordinates = "lat height"
        w[:] = np.arange(4).reshape(2, 2) + 10 * first
        v = f.createVariable("lat", "f4", ("y",))
        v.units = units
        v.valid_max = np.float32(valid_max)
        v[:] = lat
        f.createVariable("z", "f8", ("z",))[:] = z
        f.createVariable("z_bnds", "f8", ("z", "two"))[:] = np.resize(z_bnds, (len(z), 2))
        f.createVariable("height", "i2", ())[...] = height
        f.createVariable("code", "S1", ("two",))[:] = np.frombuffer(code, "S1")
        f.createVariable("name", str, ("y",))[:] = np.array(["Åre", "Oslo"], object)
        f.createVariable("flag", f.createEnumType("i1", "flags", {"no": 0, "yes": 1}), ("y",))[:] = [1, flag]
        # Never written.
        f.createVariable("unknown", "i1", ("y",))
        if extra:
            f.createVariable("extra", "i4", ())[...] = 1
refused = {
    "lat": {"lat": (50, 60)}, "height": {"height": 3}, "units": {"units": "radians"}, "bounds": {"z_bnds": ((1, 2), (6, 7))},
    "longer": {"z": (5, 6, 7)}, "code": {"code": b"ac"}, "flag": {"flag": 1}, "extra": {"extra": True},
}
"#;

#[test]
fn an_append_refuses_what_xarray_does_not_join_and_names_attributes_that_differ() {
    let Some(folder) = Folder::new() else { return };
    folder.python(&format!(
        r#"{MAKE}
file("a.nc")
file("b.nc")
file("attributes.nc", title="two", valid_max=91)
for name, options in refused.items():
    file(name + ".nc", **options)
    with xr.open_dataset("a.nc") as one, xr.open_dataset(name + ".nc") as two:
        try:
            both = xr.concat([one, two], "time", data_vars="minimal", coords="minimal", join="exact")
            # It does not look at units, nor for variables that the first one has not.
            assert name in ["units", "extra"], name
        except (ValueError, KeyError):
            assert name not in ["units"], name
"#
    ));
    for format in ["nczarr", "zarr", "zarr3"] {
        let target = format!("t.{format}");
        ncz(["copy", "--format", format, &folder.path("a.nc"), &folder.path(&target)]).ends(0);
        for (name, said) in [
            ("lat", &["\"/lat\"", "its values differ"][..]),
            ("height", &["\"/height\"", "its values differ"]),
            ("units", &["\"/lat\"", "its attribute \"units\" is \"radians\" in the source"]),
            ("bounds", &["\"/z_bnds\"", "its values differ"]),
            ("longer", &["its dimension /z has 3 elements in the source and 2 in the target"]),
            ("code", &["\"/code\"", "its values differ"]),
            ("flag", &["\"/flag\"", "its values differ"]),
            ("extra", &["\"/extra\"", "is not in the target"]),
        ] {
            let source = format!("{name}.nc");
            let said: Vec<&str> = said.iter().copied().chain(["leave it out"]).collect();
            folder.append(&source, &target, "time").ends(3).says(&said);
            let joined = folder.path("joined.nc");
            ncz(["copy", "--concat", "time", &folder.path("a.nc"), &folder.path(&source), &joined]).ends(3);
        }
        let plain = folder.append("b.nc", &target, "time").ends(0);
        assert!(!plain.stderr.contains("differ"), "{}", plain.stderr);
        let (source, target) = (folder.path("lat.nc"), folder.path(&target));
        let append = ["copy", "--append", "time", "--any-order", &source, &target];
        ncz(append.into_iter().chain(["--exclude", "/lat"])).ends(0);
        let source = folder.path("attributes.nc");
        ncz(["copy", "--append", "time", "--any-order", &source, &target])
            .ends(0)
            .says(&["attributes differ, those of the target are kept: :title, lat:valid_max"]);
    }
    folder.python(&format!(
        r##"{MAKE}
parts = [xr.open_dataset(name + ".nc") for name in ["a", "b", "lat", "attributes"]]
want = xr.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override", join="exact").load()
for name in ["t.nczarr", "t.zarr", "t.zarr3"]:
    options = {{"engine": "zarr", "consolidated": False}}
    if name == "t.nczarr":
        name, options = "file://" + os.path.abspath(name) + "#mode=nczarr,file", {{"engine": "netcdf4"}}
    with xr.open_dataset(name, **options) as copy:
        for variable in ["w", "lat", "z", "z_bnds", "height", "code"]:
            np.testing.assert_array_equal(copy[variable].values, want[variable].values, variable)
        assert copy.attrs["title"] == "one" and copy["lat"].attrs["valid_max"] == 90
"##
    ));
}

#[test]
fn records_of_another_dimension_of_the_same_name_are_not_left_out() {
    let Some(folder) = Folder::new() else { return };
    folder.python(
        r#"
import netCDF4
for name, first in [("a.nc", 0), ("b.nc", 2)]:
    with netCDF4.Dataset(name, "w") as f:
        for group in [f, f.createGroup("b")]:
            group.createDimension("time", None)
            group.createVariable("q", "i4", ("time",))[:] = np.arange(2) + first
"#,
    );
    ncz(["copy", "--format", "nczarr", &folder.path("a.nc"), &folder.path("t.nczarr")]).ends(0);
    folder.append("b.nc", "t.nczarr", "time").ends(3).says(&["\"/b/q\"", "its values differ"]);
    // Pure Zarr has one `time`.
    ncz(["copy", "--format", "zarr", &folder.path("a.nc"), &folder.path("t.zarr")]).ends(0);
    folder.append("b.nc", "t.zarr", "time").ends(0);
    folder.python(
        r##"
import netCDF4
with netCDF4.Dataset("file://" + os.path.abspath("t.nczarr") + "#mode=nczarr,file") as f:
    assert f["q"][:].tolist() == [0, 1] and f["b/q"][:].tolist() == [0, 1]
assert zarr.open("t.zarr")["b/q"][:].tolist() == [0, 1, 2, 3]
"##,
    );
}

#[test]
fn what_all_readers_mask_does_not_become_what_only_some_mask() {
    let Some(folder) = Folder::new() else { return };
    folder.python(
        r#"
import netCDF4
def file(name, dtype, values, fill=None, **attributes):
    with netCDF4.Dataset(name, "w") as f:
        f.createDimension("t", None)
        v = f.createVariable("v", dtype, ("t",), fill_value=fill)
        v.setncatts({key: value if isinstance(value, str) else v.dtype.type(value) for key, value in attributes.items()})
        v.set_auto_maskandscale(False)
        v[:] = values
file("a.nc", "i2", [1, 2])
file("with.nc", "i2", [1, 2], missing_value=-5)
file("b.nc", "i2", [3, -1], missing_value=-1)
file("byte.nc", "u1", [1, 2])
file("filled.nc", "u1", [3, 255], fill=255)
file("signed.nc", "i1", [1, -2], _Unsigned="false")
file("plain.nc", "i1", [3, -4])
file("int.nc", "i4", [1, 2], units="days since 2020-01-01")
file("nan.nc", "f8", [3, np.nan], fill=np.nan, units="days since 2020-01-01")
file("filled_int.nc", "i4", [1, 2], fill=-1, units="days since 2020-01-01")
"#,
    );
    let remedy =
        "it is missing, and there is no value for missing ones; give it the attribute missing_value in";
    for ending in ["nc", "zarr", "zarr3"] {
        let joined = |one: &str, other: &str, name: &str| {
            let (one, other, target) =
                (folder.path(one), folder.path(other), folder.path(&format!("{name}.{ending}")));
            let format = if ending == "nc" { "netcdf4" } else { ending };
            ncz(["copy", "--concat", "t", "--format", format, &one, &other, &target])
        };
        joined("a.nc", "b.nc", "refused").ends(3).says(&["-1 (", remedy, "a.nc"]);
        joined("byte.nc", "filled.nc", "refused").ends(3).says(&["255 (", remedy, "byte.nc"]);
        joined("int.nc", "nan.nc", "refused").ends(3).says(&["NaN (", remedy, "int.nc"]);
        joined("with.nc", "b.nc", "joined_masked").ends(0);
        joined("signed.nc", "plain.nc", "joined_signed").ends(0);
        joined("filled_int.nc", "nan.nc", "joined_times").ends(0);
    }
    for format in ["zarr", "zarr3"] {
        let target = format!("t.{format}");
        ncz(["copy", "--format", format, &folder.path("a.nc"), &folder.path(&target)]).ends(0);
        folder.append("b.nc", &target, "t").ends(3).says(&[remedy, "the target"]);
    }
    folder.python(
        r#"
import xarray as xr
for name, one, other in [("masked", "with", "b"), ("signed", "signed", "plain"), ("times", "filled_int", "nan")]:
    with xr.open_dataset(one + ".nc") as one, xr.open_dataset(other + ".nc") as other:
        want = xr.concat([one, other], "t", combine_attrs="override")["v"].values
    for ending in ["nc", "zarr", "zarr3"]:
        options = {"engine": "zarr", "consolidated": False} if ending != "nc" else {}
        with xr.open_dataset(f"joined_{name}.{ending}", **options) as copy:
            np.testing.assert_array_equal(copy["v"].values, want, name)
"#,
    );
}
