"""`write FOLDER` makes folders of daily files; `read FOLDER` compares what ncz made of each with the files; `tables FOLDER`
makes tables of ncz's references."""

import json
import pathlib
import sys

import netCDF4
import numpy as np

folder = pathlib.Path(sys.argv[2])
DAYS = 30
KINDS = ["NETCDF4", "NETCDF3_CLASSIC"]


def make(path, kind, day):
    with netCDF4.Dataset(path, "w", format=kind) as f:
        f.title = "days"
        f.history = f"day {day}"
        f.createDimension("time", None if day % 2 or kind != "NETCDF4" else 24)
        f.createDimension("y", 40)
        f.createDimension("x", 50)
        f.createDimension("text", 4)
        f.createVariable("y", "f4", ("y",))[:] = np.arange(40)
        t = f.createVariable("time", "f8", ("time",))
        t.units = "hours since 2020-02-20"
        t.calendar = "standard"
        t[:] = np.arange(24) + 24 * day
        filters = {"zlib": True, "shuffle": True, "chunksizes": (12, 40, 50)} if kind == "NETCDF4" else {}
        v = f.createVariable("t", "i2", ("time", "y", "x"), fill_value=-1, **filters)
        v.scale_factor = 0.5
        v.set_auto_maskandscale(False)
        v[:] = (np.arange(24 * 40 * 50) % 999 + day).reshape(24, 40, 50)
        v[3, 4, 5:9] = -1
        # without codecs, stored as a block or as records
        f.createVariable("plain", "f8", ("time", "y", "x"))[:] = np.arange(24 * 2000).reshape(24, 40, 50) / (day + 1)
        # in chunks that do not end with the day
        chunks = {"chunksizes": (7, 2)} if kind == "NETCDF4" else {}
        f.createVariable("flags", "i1", ("time", "text"), **chunks)[:] = np.arange(96).reshape(24, 4)
        f.createVariable("scalar", "i4", ())[...] = 7
        if kind == "NETCDF4":
            f.createVariable("side", "f4", ("x", "time"), chunksizes=(25, 24), zlib=True)[:] = (
                np.arange(1200).reshape(50, 24) + day
            )
            names = f.createVariable("names", str, ("time",))
            names[:] = np.array([f"day {day} hour {hour} é" for hour in range(24)], dtype=object)
            f.createGroup("g").createVariable("q", "u4", ("time",), chunksizes=(24,))[:] = np.arange(24) * day


def same(ours, want):
    import xarray

    for name in set(want.variables):
        xarray.testing.assert_equal(ours[name].load(), want[name].load())
        assert ours[name].dims == want[name].dims, name
        assert ours[name].dtype == want[name].dtype or ours[name].dtype.kind in "OUT", name
    assert set(ours.variables) == set(want.variables)
    assert ours.attrs["title"] == "days" and ours.attrs["history"] == "day 0"
    assert int(ours["t"].isnull().sum()) == 4 * DAYS


def read(kind):
    import fsspec
    import xarray
    import zarr

    paths = sorted((folder / kind).glob("*.nc"))
    parts = [xarray.open_dataset(path) for path in paths]
    want = xarray.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override", join="override")
    stores = [(str(folder / f"{kind}.zarr"), {})]
    for extension in ["json", "parq"]:
        references = folder / f"{kind}.{extension}"
        if extension == "json" or references.exists():
            options = {"remote_protocol": "file", "asynchronous": True, "skip_instance_cache": True}
            fs = fsspec.filesystem("reference", fo=str(references), **options)
            stores.append((zarr.storage.FsspecStore(fs, read_only=True), {"zarr_format": 2}))
    for store, options in stores:
        with xarray.open_dataset(store, engine="zarr", consolidated=False, **options) as ours:
            same(ours, want)
        if kind == "NETCDF4":
            q = zarr.open_array(store, path="g/q", mode="r", zarr_format=2)
            assert np.array_equal(q[:], np.concatenate([np.arange(24) * day for day in range(DAYS)]))


def tables(kind):
    from fsspec.implementations.reference import LazyReferenceMapper

    references = json.loads((folder / f"{kind}.json").read_text())["refs"]
    mapper = LazyReferenceMapper.create(str(folder / f"theirs-{kind}.parq"), record_size=100)
    for is_document in [True, False]:
        for key, value in references.items():
            if (key.rsplit("/")[-1][:2] == ".z") == is_document:
                mapper[key] = value
    mapper.flush()


for kind in KINDS:
    if sys.argv[1] == "write":
        (folder / kind).mkdir()
        for day in range(DAYS):
            make(folder / kind / f"{day:02}.nc", kind, day)
    elif sys.argv[1] == "tables":
        tables(kind)
    else:
        read(kind)
