"""Types that netCDF lacks, and strings: odd_types.py make FOLDER | netcdf FILE VALUES | zarr DATASET VALUES GROUP | strings DATASET

make      a Zarr v2 group with text of any length in FOLDER
netcdf    compares a netCDF-4 file with stored values, .npz or .json:GROUP; prints a line for each variable that differs
zarr      the same of a Zarr dataset, by zarr-python
strings   prints the strings and chars of an NCZarr dataset as netcdf-c reads them
"""

import json
import sys

import netCDF4
import numcodecs
import numpy as np
import zarr

TEXTS = ["one", "", "dr\u00ed", "a much longer text than the others", "\U0001f600"]


def make(folder):
    group = zarr.open_group(folder, mode="w", zarr_format=2)
    text = group.create_array(
        name="text", shape=(5,), chunks=(2,), dtype=str, filters=[numcodecs.VLenUTF8()], compressors=numcodecs.Zlib(1)
    )
    text.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    text[...] = np.array(TEXTS, dtype=object)


def stored(values):
    if values.endswith(".npz"):
        with np.load(values) as found:
            return {name: found[name] for name in found.files}
    path, group = values.rsplit(":", 1)
    with open(path) as file:
        found = json.load(file)[group]
    return {name: entry["values"] for name, entry in found.items()}


def text(value):
    if isinstance(value, (bytes, np.bytes_)):
        value = value.decode("latin-1")
    # netCDF's strings end at a NUL
    return value.split("\0")[0]


def differs(got, wanted):
    if isinstance(wanted, list):
        got = [bytes(value).decode("latin-1") if isinstance(value, np.ndarray) else value for value in np.ravel(got)]
        if not all(isinstance(value, str) for value in got):
            return True
        return [text(value) for value in got] != [text(value) for value in wanted] and got != wanted
    got = np.asarray(got)
    if wanted.dtype.kind in "SU":
        return [text(value) for value in got.ravel()] != [text(value) for value in wanted.ravel()]
    if got.dtype.names:
        got = got["r"] + 1j * got["i"]
    # the values of a scalar are stored as an array of one
    if got.ndim == 0:
        got = got.reshape(1)
    return got.shape != wanted.shape or not np.array_equal(got, wanted, equal_nan=wanted.dtype.kind in "fc")


def netcdf(file, values):
    with netCDF4.Dataset(file) as dataset:
        dataset.set_auto_maskandscale(False)
        for name, wanted in stored(values).items():
            got = dataset[name][...]
            if differs(got, wanted):
                print(f"{file} {name}: {got!r} instead of {wanted!r}")


def zarr_(dataset, values, group):
    for name, wanted in stored(f"{values}:{group}").items():
        got = [
            value.decode("latin-1") if isinstance(value, bytes) else str(value)
            for value in np.ravel(zarr.open_group(dataset, mode="r")[name][...])
        ]
        if got != wanted:
            print(f"{dataset} {name}: {got!r} instead of {wanted!r}")


def strings(path):
    with netCDF4.Dataset(f"file://{path}#mode=nczarr,file") as dataset:
        found = {}
        for name, variable in dataset.variables.items():
            variable.set_auto_mask(False)
            variable.set_auto_chartostring(False)
            values = np.ravel(variable[...])
            found[name] = [value.decode("latin-1") if isinstance(value, bytes) else value for value in values]
        print(json.dumps(found))


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    {"make": make, "netcdf": netcdf, "zarr": zarr_, "strings": strings}[action](*arguments)
