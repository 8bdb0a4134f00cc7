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
with h5py.File("keys.h5", "w") as file:
    file["a\\b"], file["zarr.json"], file["a\tb/x"], file["ok"] = 1, 2, 3, 4
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
    let refused = ncz(["copy", &at("keys.h5"), &at("keys.zarr"), "--format", "zarr3"]).ends(3);
    refused.says(&[r"a\\b", "takes a backslash for a slash", "zarr.json", "a\\tb", "--exclude"]);
    let verified = ncz(["verify", &at("sparse.h5")]).ends(0);
    assert!(verified.stdout.contains("1 chunk of 1 variable"), "{}", verified.stdout);
}

#[test]
fn netcdf_c_reads_the_fill_value_of_a_copy_of_big_endian_zarr_arrays() {
    let make = r#"
import os, sys, zarr
os.chdir(sys.argv[1])
for version, dtypes in [(2, [">f4", ">i2", "<f4"]), (3, ["<f4"])]:
    root = zarr.open_group(f"v{version}.zarr", mode="w", zarr_format=version)
    for number, dtype in enumerate(dtypes):
        names = {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}} if version == 2 else {"dimension_names": ["x"]}
        more = {"serializer": zarr.codecs.BytesCodec(endian="big")} if version == 3 else {}
        array = root.create_array(f"a{number}", shape=6, chunks=2, dtype=dtype, fill_value=-7, **names, **more)
        array[:4] = [1, 2, 3, -1]
"#;
    let compare = r##"
import os, sys, netCDF4, zarr
source = zarr.open_group(sys.argv[1], mode="r")
with netCDF4.Dataset("file://" + os.path.abspath(sys.argv[2]) + "#mode=nczarr,file") as copy:
    copy.set_auto_mask(False)
    assert len(copy.variables) == len(list(source.arrays()))
    for name, array in source.arrays():
        assert copy[name][:].tolist() == array[:].tolist(), (name, copy[name][:])
"##;
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    python.run_code(make, &[folder.path()], &[]).unwrap();
    for version in [2, 3] {
        let (source, copy) = (at(&format!("v{version}.zarr")), at(&format!("v{version}.nczarr")));
        let said = ncz(["copy", &source, &copy, "--format", "nczarr", "--verify"]).ends(0);
        said.says(&["stored as little-endian numbers, since netcdf-c"]);
        python.run_code(compare, &[source, copy], &[]).unwrap();
    }
}

#[test]
fn filters_with_the_byte_order_and_the_length_of_a_chunk_get_those_of_the_copy() {
    let make = r#"
import os, sys, h5py
os.chdir(sys.argv[1])
with h5py.File("source.h5", "w") as file:
    file.create_dataset("i", (8,), ">i4", chunks=(4,), scaleoffset=16, fillvalue=99)[:4] = [256, 300, 400, 258]
    file.create_dataset("u", (8,), ">u2", chunks=(4,), scaleoffset=0, fillvalue=99)[:4] = [256, 300, 40000, 258]
    file.create_dataset("f", (12,), ">f4", chunks=(6,), scaleoffset=2, fillvalue=-9999)[:6] = [1, 2, 4, 8, 16, 0.5]
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,)), plist.set_filter(5, h5py.h5z.FLAG_MANDATORY, ())
    space = h5py.h5s.create_simple((8,))
    nbit = h5py.Dataset(h5py.h5d.create(file.id, b"n", h5py.h5t.STD_I16BE, space, plist))
    nbit[:4] = [256, -300, 400, -1]
"#;
    let compare = r#"
import sys, h5py, hdf5plugin
with h5py.File(sys.argv[1]) as source, h5py.File(sys.argv[2]) as copy:
    for name in source:
        assert copy[name][:].tolist() == source[name][:].tolist(), (name, copy[name][:])
"#;
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    python.run_code(make, &[folder.path()], &[]).unwrap();
    let source = at("source.h5");
    for (number, options) in
        [&["--format", "nczarr"][..], &["--format", "zarr3"], &["--format", "nczarr", "-c", "*:2"]]
            .iter()
            .enumerate()
    {
        let (copy, back) = (at(&format!("{number}.zarr")), at(&format!("{number}.nc")));
        ncz(["copy", &source, &copy, "--verify"].iter().chain(options.iter())).ends(0);
        ncz(["copy", &copy, &back, "--verify"]).ends(0);
        python.run_code(compare, &[&source, &back], &[]).unwrap();
    }
    ncz(["copy", &source, &at("chunks.nc"), "-c", "*:2", "--verify"]).ends(0);
    python.run_code(compare, &[source, at("chunks.nc")], &[]).unwrap();
}

#[test]
fn xarray_masks_the_fill_value_of_unsigned_numbers_in_copies_as_in_classic_files() {
    let make = r#"
import os, sys, netCDF4
os.chdir(sys.argv[1])
with netCDF4.Dataset("u.nc", "w", format="NETCDF3_CLASSIC") as file:
    file.createDimension("x", 4)
    for name, fill in [("v", 3), ("minus", -1)]:
        data = file.createVariable(name, "i2", ("x",), fill_value=fill)
        data._Unsigned = "true"
        data.set_auto_maskandscale(False)
        data[:] = [0, 3, 4, -1]
"#;
    let compare = r#"
import sys, xarray as xr
with xr.open_dataset(sys.argv[1]) as source, xr.open_zarr(sys.argv[2], consolidated=False) as copy:
    for name in source:
        assert source[name].equals(copy[name]), (source[name].values, copy[name].values)
"#;
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    python.run_code(make, &[folder.path()], &[]).unwrap();
    for format in ["zarr", "zarr3", "nczarr"] {
        let said = ncz(["copy", &at("u.nc"), &at(format), "--format", format, "--verify"]).ends(0).stderr;
        assert_eq!(said.contains("with _Unsigned"), format != "zarr3", "{said}");
        python.run_code(compare, &[at("u.nc"), at(format)], &[]).unwrap();
    }
}
