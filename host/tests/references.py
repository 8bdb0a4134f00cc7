"""`write FOLDER` makes netCDF files; `read FOLDER` compares them with the references that ncz made of them."""

import json
import pathlib
import sys

import netCDF4
import numpy as np

folder = pathlib.Path(sys.argv[2])
KINDS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"]


def make(path, kind):
    with netCDF4.Dataset(path, "w", format=kind) as f:
        f.title = "references"
        filters = {"zlib": True, "shuffle": True, "chunksizes": (100, 200)} if kind == "NETCDF4" else {}
        f.createDimension("time", None)
        f.createDimension("y", 1201)
        f.createDimension("x", 1009)
        f.createDimension("text", 8)
        v = f.createVariable("large", "f8", ("y", "x"), fill_value=-1.0, **filters)
        v.units = "K"
        v[:] = np.arange(1201 * 1009).reshape(1201, 1009)
        v[3, 4:9] = -1.0
        f.createVariable("also", "f8", ("y", "x"))[:] = np.arange(1201 * 1009).reshape(1201, 1009) / 7
        f.createVariable("zeros", "i4", ("x",))[:] = np.arange(1009) % 3
        f.createVariable("names", "S1", ("text",))[:] = np.frombuffer(b"abc\0defg", "S1")
        f.createVariable("scalar", "i2", ())[...] = 42
        t = f.createVariable("time", "f8", ("time",))
        t.units = "days since 2000-01-01"
        t[:] = np.arange(50) / 4
        f.createVariable("flow", "f4", ("time", "x"))[:] = np.arange(50 * 1009).reshape(50, 1009)
        f.createVariable("flags", "i1", ("time", "text"))[:] = np.arange(400).reshape(50, 8) % 100


def read(path):
    import fsspec
    import xarray
    import zarr

    refs = path.with_suffix(".json")
    fs = fsspec.filesystem("reference", fo=str(refs), remote_protocol="file", asynchronous=True, skip_instance_cache=True)
    group = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2)
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        assert set(group.array_keys()) == set(f.variables), (list(group.array_keys()), list(f.variables))
        for name, variable in f.variables.items():
            want, got = variable[...], group[name][...]
            assert got.shape == want.shape, name
            assert np.array_equal(np.asarray(got), np.asarray(want)), (name, got, want)
        assert group.attrs["title"] == f.title
    store = zarr.storage.FsspecStore(fs, read_only=True)
    with xarray.open_dataset(store, engine="zarr", consolidated=False, zarr_format=2) as ours:
        with xarray.open_dataset(path) as want:
            for name in set(want.variables) - {"names"}:
                xarray.testing.assert_equal(ours[name].load(), want[name].load())
                assert ours[name].dims == want[name].dims
            assert ours["names"].dims == want["names"].dims
            assert int(ours["large"].isnull().sum()) == 5
            assert int((ours["zeros"] == 0).sum()) == 337


for number, kind in enumerate(KINDS):
    path = folder / f"f{number}.nc"
    if sys.argv[1] == "write":
        make(path, kind)
    else:
        read(path)
