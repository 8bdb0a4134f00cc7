"""Writes datasets with xarray, zarr-python and netCDF4, and compares copies of them, as netCDF4 and xarray read both.

to_netcdf.py write FOLDER           writes the sources
to_netcdf.py compare SOURCE COPY..  fails where a copy has other values, masks, attributes or dimensions
"""

import sys
import warnings

import netCDF4
import numpy as np
import xarray
import zarr

warnings.simplefilter("ignore")


def write(folder):
    random = np.random.default_rng(7)
    values = random.normal(280, 5, (5, 6, 7)).astype("f4")
    values[1, 2] = np.nan
    packed = random.integers(0, 100, (5, 6)).astype("f8") / 10
    packed[0, 1] = np.nan
    dataset = xarray.Dataset(
        {
            "temp": (("time", "y", "x"), values, {"units": "K", "valid": np.array([1, 2], "i2")}),
            "packed": (("time", "y"), packed),
            "count": (("y",), np.arange(6, dtype="i4")),
            "flag": (("x",), np.arange(7) % 2 == 0),
            "scalar": ((), np.float64(3.5)),
        },
        {"time": ("time", np.arange(5.0), {"units": "days since 2000-01-01"}), "y": np.arange(6)},
        {"title": "a title"},
    )
    encoding = {
        "temp": {"_FillValue": -999.0},
        "packed": {"dtype": "i2", "scale_factor": 0.1, "add_offset": 1.0, "_FillValue": -1},
    }
    for version in (2, 3):
        chunked = {name: dict(of) for name, of in encoding.items()}
        chunked["temp"]["chunks"] = (2, 4, 7)
        dataset.to_zarr(f"{folder}/xarray{version}.zarr", zarr_format=version, encoding=chunked, consolidated=False)
    numbers = dataset.drop_vars("flag")
    for kind in ("NETCDF4", "NETCDF3_CLASSIC"):
        written = numbers.assign(count=numbers["count"].astype("i4"), y=numbers["y"].astype("i4"))
        options = {name: dict(of) for name, of in encoding.items()}
        options["y"] = {"dtype": "i4"}
        if kind == "NETCDF4":
            options["temp"].update(zlib=True, shuffle=True, complevel=3, chunksizes=(2, 4, 7))
        written.to_netcdf(f"{folder}/{kind}.nc", format=kind, encoding=options, unlimited_dims=["time"])
    with netCDF4.Dataset(f"{folder}/rich.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 4)
        group = file.createGroup("g")
        group.createDimension("z", 3)
        names = group.createVariable("names", str, ("z",))
        names[:] = np.array(["one", "", "drei \u00fc"], object)
        group.createVariable("big", "u8", ("t", "z"), fill_value=7)[0:3] = np.arange(9).reshape(3, 3)
        file.createVariable("text", "S1", ("x",))[:] = np.array(list("abcd"), "S1")
        sparse = file.createVariable("sparse", "i2", ("t", "x"), zlib=True, chunksizes=(1, 2))
        sparse[0] = [1, 2, 3, 4]
        sparse[2, 1] = 5
        file.listed = np.array([1, 2, 3])
        file.setncattr_string("string", "a string")


def fixed(value):
    # NaN is not equal to itself.
    return repr(np.asarray(value).tolist())


def compare_netcdf(one, other):
    assert list(one.dimensions) == list(other.dimensions), (list(one.dimensions), list(other.dimensions))
    for name in one.dimensions:
        assert len(one.dimensions[name]) == len(other.dimensions[name]), name
        assert one.dimensions[name].isunlimited() == other.dimensions[name].isunlimited(), name
    assert {k: fixed(one.getncattr(k)) for k in one.ncattrs()} == {k: fixed(other.getncattr(k)) for k in other.ncattrs()}
    assert list(one.variables) == list(other.variables), (list(one.variables), list(other.variables))
    for name, ours in one.variables.items():
        theirs = other.variables[name]
        # The byte order of a classic file is kept in HDF5.
        types = [v.dtype if v.dtype is str else v.dtype.newbyteorder("=") for v in (ours, theirs)]
        assert types[0] == types[1] and ours.dimensions == theirs.dimensions, (name, types)
        mine, yours = np.ma.asarray(ours[...]), np.ma.asarray(theirs[...])
        assert mine.shape == yours.shape, (name, mine.shape, yours.shape)
        assert (np.ma.getmaskarray(mine) == np.ma.getmaskarray(yours)).all(), name
        assert fixed(mine.filled(mine.fill_value)) == fixed(yours.filled(mine.fill_value)), name
        assert {k: fixed(ours.getncattr(k)) for k in ours.ncattrs()} == {
            k: fixed(theirs.getncattr(k)) for k in theirs.ncattrs()
        }, name
    assert list(one.groups) == list(other.groups)
    for name in one.groups:
        compare_netcdf(one.groups[name], other.groups[name])


def compare(*paths):
    for source, copy in zip(paths[::2], paths[1::2]):
        print(copy, file=sys.stderr)
        compare_one(source, copy)


def compare_one(source, copy):
    if source.endswith(".nc"):
        with netCDF4.Dataset(source) as one, netCDF4.Dataset(copy) as other:
            compare_netcdf(one, other)
        return
    one = xarray.open_zarr(source, consolidated=False).load()
    with xarray.open_dataset(copy, engine="netcdf4") as other:
        other.load()
        xarray.testing.assert_identical(one, other.drop_encoding())
        for name in one.variables:
            assert one[name].dtype == other[name].dtype, (name, one[name].dtype, other[name].dtype)
    netCDF4.Dataset(copy).close()


globals()[sys.argv[1]](*sys.argv[2:])
