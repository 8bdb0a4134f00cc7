"""Makes datasets, lets them grow and reads them, with netcdf-c, xarray and zarr-python.

growing.py make FOLDER ROWS         a(t, x) and b(t) of that many rows
growing.py append FOLDER START END  the rows from START to before END
growing.py read FOLDER              prints what each program that reads a kind finds, by kind
FOLDER has a dataset of each kind, named after it.
"""

import ctypes
import json
import pathlib
import sys

import netCDF4
import numpy as np
import xarray
import zarr
from values import mapped

COLUMNS = 3
KINDS = ("netcdf", "xarray2", "xarray3", "sharded")  # the last by zarr-python


def a(start, end):
    return (np.arange(start, end)[:, None] * 5 + np.arange(COLUMNS)).astype("i4")


def b(start, end):
    return (np.arange(start, end) * 5 + 3).astype("i4")


def url(folder):
    return f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file"


def dataset(start, end):
    return xarray.Dataset({"a": (("t", "x"), a(start, end)), "b": (("t",), b(start, end))}, attrs={"title": "grown"})


def make(kind, folder, rows):
    if kind == "netcdf":
        with netCDF4.Dataset(url(folder), "w") as root:
            root.createDimension("t", None)
            root.createDimension("x", COLUMNS)
            root.title = "grown"
            # without codecs: netcdf-c replaces a file by a shorter one without cutting it
            root.createVariable("a", "i4", ("t", "x"), chunksizes=(2, 2))[:] = a(0, rows)
            root.createVariable("b", "i4", ("t",), chunksizes=(4,))[:] = b(0, rows)
    elif kind == "sharded":
        root = zarr.create_group(folder, zarr_format=3, attributes={"title": "grown"})
        for name, values, shards in (("a", a(0, rows), (4, 4)), ("b", b(0, rows), (8,))):
            names = ("t", "x")[: values.ndim]
            root.create_array(name, shape=values.shape, dtype="i4", chunks=tuple(n // 2 for n in shards), shards=shards,
                              dimension_names=names, fill_value=-1)[...] = values
    else:
        encoding = {"a": {"chunks": (2, 2), "_FillValue": -1}, "b": {"chunks": (4,)}}
        dataset(0, rows).to_zarr(folder, zarr_format=int(kind[-1]), encoding=encoding, consolidated=True)


def append_netcdf(folder, start, end):
    # netCDF4 would make the dataset anew, so the C library is called
    path = next(path for path in mapped() if pathlib.Path(path).name.startswith("libnetcdf"))
    library = ctypes.CDLL(path)
    ncid, varid = ctypes.c_int(), ctypes.c_int()

    def call(name, *arguments):
        if status := getattr(library, name)(*arguments):
            sys.exit(f"{name} gives {status}")

    call("nc_open", url(folder).encode(), 1, ctypes.byref(ncid))
    for name, values in (("a", a(start, end)), ("b", b(start, end))):
        call("nc_inq_varid", ncid, name.encode(), ctypes.byref(varid))
        first = (ctypes.c_size_t * values.ndim)(start)
        count = (ctypes.c_size_t * values.ndim)(*values.shape)
        call("nc_put_vara_int", ncid, varid, first, count, values.ctypes.data_as(ctypes.c_void_p))
    call("nc_close", ncid)


def append(kind, folder, start, end):
    if kind == "netcdf":
        append_netcdf(folder, start, end)
    elif kind == "sharded":
        root = zarr.open_group(folder, mode="r+")
        root["a"].append(a(start, end))
        root["b"].append(b(start, end))
    else:
        dataset(start, end).to_zarr(folder, append_dim="t", zarr_format=int(kind[-1]), consolidated=True)


def read(kind, folder):
    version = 3 if kind in ("xarray3", "sharded") else 2
    found = {}

    def note(program, get, title):
        found[program] = {name: np.ma.filled(get(name)).tolist() for name in ("a", "b")} | {"title": title}

    root = zarr.open_group(folder, mode="r", zarr_format=version, use_consolidated=False)
    note("zarr-python", lambda name: root[name][...], root.attrs["title"])
    for consolidated in (True, False) if kind.startswith("xarray") else (False,):
        with xarray.open_zarr(folder, consolidated=consolidated, zarr_format=version, mask_and_scale=False) as opened:
            note(f"xarray {consolidated}", lambda name: opened[name].values, opened.attrs["title"])
    if version == 2:
        mode = "nczarr,file" if kind == "netcdf" else "zarr,file"
        with netCDF4.Dataset(f"file://{pathlib.Path(folder).resolve()}#mode={mode}") as opened:
            opened.set_auto_maskandscale(False)
            note("netcdf-c", lambda name: opened[name][...], opened.title)
    return found


if __name__ == "__main__":
    action, folder, *numbers = sys.argv[1:]
    act = {"make": make, "append": append, "read": read}[action]
    print(json.dumps({kind: act(kind, f"{folder}/{kind}", *map(int, numbers)) for kind in KINDS}))
