"""A dataset with coordinates, times, packed values, strings and missing values, as xarray keeps it.

conventions.py make FOLDER    writes FOLDER/<name> in every form, and prints the names
conventions.py check FOLDER   reads FOLDER/<name> and every FOLDER/copy*-<name>, and prints the copies that differ
"""

import os
import sys
import warnings

import numpy as np
import pandas
import xarray
import zarr

warnings.simplefilter("ignore")
# Version, consolidated or not, as a directory or as a zip file.
FORMS = [f"{version}-{consolidated}.{ending}" for version in ["v2", "v3"] for consolidated in ["one", "many"]
         for ending in ["zarr", "zip"]]


def dataset():
    random = np.random.default_rng(1)
    time = pandas.date_range("2001-01-01T06", periods=7, freq="12h")
    field = np.round(random.normal(280, 10, (7, 4, 5)), 1)
    field[2, 1, 3] = np.nan
    return xarray.Dataset(
        {
            "t2m": (("time", "lat", "lon"), field, {"units": "K", "long_name": "temp\u00e9rature", "valid_range": [200.0, 330.0]}),
            "packed": (("time", "lat", "lon"), field, {"units": "K"}),
            "flag": (("lat", "lon"), random.integers(0, 2, (4, 5)).astype("?")),
            "age": (("time",), np.arange(7).astype("m8[h]").astype("m8[ns]")),
            "name": (("station",), np.array(["Z\u00fcrich", "", "a longer name than the others"], object)),
            "code": (("station",), np.array([b"ZRH", b"", b"LHR"], "S3")),
            "scalar": ((), np.float32(1.5), {"grid_mapping_name": "latitude_longitude"}),
        },
        coords={"time": time, "lat": ("lat", np.linspace(-60, 60, 4), {"units": "degrees_north"}),
                "lon": ("lon", np.arange(5, dtype="f4"), {"units": "degrees_east"}),
                "height": ((), 2, {"units": "m"})},
        attrs={"title": "as xarray keeps it", "Conventions": "CF-1.11", "version": 3, "list": [1, 2, 3]},
    )


def encoding():
    return {
        "t2m": {"chunks": (3, 4, 2), "_FillValue": -999.0},
        "packed": {"chunks": (7, 2, 5), "dtype": "i2", "scale_factor": 0.1, "add_offset": 273.15, "_FillValue": -32768},
        "time": {"units": "hours since 1970-01-01", "dtype": "i4", "chunks": (4,)},
    }


def opened(path, form):
    store = zarr.storage.ZipStore(path, mode="r") if path.endswith("zip") else path
    found = xarray.open_zarr(store, consolidated="one" in form, zarr_format=int(form[1])).load()
    return found


def make(folder):
    for form in FORMS:
        path = os.path.join(folder, form)
        store = zarr.storage.ZipStore(path, mode="w") if form.endswith("zip") else path
        dataset().to_zarr(store, zarr_format=int(form[1]), consolidated="one" in form, encoding=encoding())
        if form.endswith("zip"):
            store.close()
        print(form)


def check(folder):
    for form in FORMS:
        for name in sorted(os.listdir(folder)):
            if not name.startswith("copy") or f"-{form}" not in name:
                continue
            # The form that the copy has is in front of that of its source.
            target = name.split("-", 1)[1]
            try:
                wanted = opened(os.path.join(folder, form), form)
                found = opened(os.path.join(folder, name), target)
                xarray.testing.assert_identical(found, wanted)
                for variable in wanted.variables:
                    for key in ["scale_factor", "add_offset", "units", "calendar", "_FillValue"]:
                        ours, theirs = (data[variable].encoding.get(key) for data in [found, wanted])
                        if not (ours == theirs or (ours != ours and theirs != theirs)):
                            print(f"{name}: {variable}: {key} is {ours!r}, not {theirs!r}")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
