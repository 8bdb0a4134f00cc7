//! Copies of netCDF and HDF5 files as netCDF4 and xarray read them: empty texts, names, and what was never written.

use std::path::Path;

use ncz_test_support::python;

use crate::bench::ncz;

const SOURCES: &str = r#"
import os, sys, h5py, netCDF4, numpy as np, xarray as xr
os.chdir(sys.argv[1])
data = xr.Dataset({"t": ("x", np.arange(2.0), {"units": "", "long_name": "a\0\0"})}, {"x": [1, 2]}, {"title": ""})
data.to_netcdf("texts.nc", engine="netcdf4")
data.to_netcdf("texts3.nc", engine="netcdf4", format="NETCDF3_CLASSIC")
data.t.attrs["colour"] = "\x1b[0m"
data.to_netcdf("controls.nc", engine="netcdf4")
with netCDF4.Dataset("short.nc", "w") as file:
    file.createDimension("t", None)
    for number, (name, dtype) in enumerate([("b", "u2"), ("s", "i2"), ("f", "f4"), ("big", ">f8")]):
        file.createVariable(name, dtype, ("t",), fill_value=False, chunksizes=(2,))[:] = [number, 2]
    file.createVariable("full", "f4", ("t",))[:] = np.arange(7)
with netCDF4.Dataset("big.nc", "w") as file:
    file.createDimension("x", 4)
    for name, count in [("part", 2), ("whole", 4)]:
        file.createVariable(name, "f4", ("x",), endian="big", chunksizes=(2,))[:count] = np.arange(count)
for number, name in enumerate([".hid", "-x", "(p)", "tr "]):
    with h5py.File(f"name{number}.h5", "w") as file:
        file[name], file["ok"] = 1, 2
with h5py.File("sparse.h5", "w") as file:
    file.create_dataset("v", (10**13,), "i1", chunks=(1000,))[5000:5002] = 1
"#;

/// Compares copies with their sources: attributes, and values with and without masks.
const COMPARE: &str = r##"
import os, sys, netCDF4, numpy as np, xarray as xr
def text(value):
    return value.rstrip("\0") if isinstance(value, str) else value
def compare(one, copy):
    location = copy if copy.endswith(".nc") else "file://" + os.path.abspath(copy) + "#mode=nczarr,file"
    if "zarr" not in copy or copy.endswith("nczarr"):
        with netCDF4.Dataset(location) as other:
            assert set(one.variables) == set(other.variables)
            for name in one.variables:
                for is_masked in (True, False):
                    one.set_auto_mask(is_masked), other.set_auto_mask(is_masked)
                    wanted, found = one[name][:], other[name][:]
                    assert np.ma.getmaskarray(wanted).tolist() == np.ma.getmaskarray(found).tolist(), (name, wanted, found)
                    assert wanted.tolist() == found.tolist(), (name, wanted, found)
                for attribute in set(one[name].ncattrs()) - {"_FillValue"}:
                    assert text(one[name].getncattr(attribute)) == other[name].getncattr(attribute), (name, attribute)
    if "zarr" in copy:
        one.set_auto_mask(False)
        read = xr.open_zarr(copy, consolidated=False, mask_and_scale=False)
        for name in one.variables:
            assert one[name][:].tolist() == read[name].values.tolist(), (name, read[name].values)
            for attribute in set(one[name].ncattrs()) - {"_FillValue"}:
                assert text(one[name].getncattr(attribute)) == read[name].attrs[attribute], (name, attribute)
for source, copy in zip(sys.argv[1::2], sys.argv[2::2]):
    print(copy, file=sys.stderr)
    with netCDF4.Dataset(source) as one:
        compare(one, copy)
"##;

#[test]
fn readers_of_a_copy_see_the_texts_and_the_fill_that_those_of_the_file_see() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    python.run_code(SOURCES, &[folder.path()], &[]).unwrap();
    let mut pairs = Vec::new();
    for source in ["texts", "texts3", "short", "big"] {
        for format in ["nczarr", "zarr", "zarr3", "netcdf4", "cdf5"] {
            if source == "short" && format == "netcdf4" || source == "big" && format == "cdf5" {
                // They have the same arrays; CDF-5 fills what was not written.
                continue;
            }
            let ending = if format.contains("zarr") { format } else { "nc" };
            let copy = at(&format!("{source}.{format}.{ending}"));
            let source = at(&format!("{source}.nc"));
            let said = ncz(["copy", &source, &copy, "--format", format, "--verify"]).ends(0).stderr;
            let is_swapped = said.contains("/part: stored as little-endian numbers, since netcdf-c");
            assert_eq!(is_swapped, source.ends_with("big.nc") && format == "nczarr", "{said}");
            assert!(!said.contains("/whole: stored"), "{said}");
            pairs.extend([source, copy]);
        }
    }
    python.run_code(COMPARE, &pairs, &[]).unwrap();
    let shown = ncz(["dump", "-v", "s", &at("short.nc")]).ends(0).stdout;
    assert!(shown.contains("s = 1, 2, _, _, _, _, _ ;"), "{shown}");

    let copy = ncz(["copy", &at("controls.nc"), &at("controls.nczarr"), "--format", "nczarr"]).ends(0);
    copy.says(&["/t:colour", "control characters"]);
    for number in 0..4 {
        let source = at(&format!("name{number}.h5"));
        let refused = ncz(["copy", &source, &at("name.nczarr"), "--format", "nczarr"]).ends(3);
        refused.says(&["netcdf-c then opens nothing of the dataset", "--exclude"]);
        assert!(!Path::new(&at("name.nczarr")).exists());
        ncz(["copy", &source, &at(&format!("name{number}.nc"))]).ends(0);
    }
    let verified = ncz(["verify", &at("sparse.h5")]).ends(0);
    assert!(verified.stdout.contains("1 chunk of 1 variable"), "{}", verified.stdout);
}
