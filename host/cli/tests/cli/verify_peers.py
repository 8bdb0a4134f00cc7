"""Faults as other programs make them, and what these programs read.

verify_peers.py make CASE FOLDER   makes a dataset with one variable `v` that has a fault
verify_peers.py read FOLDER        prints what netcdf-c and zarr-python read of `v`, each in a process of its own:
                                   values and attributes, or {"error": ...}
"""

import ctypes
import json
import os
import pathlib
import sys
import warnings

import netCDF4
import numpy as np
import zarr

warnings.simplefilter("ignore")
NC_WRITE = 1


def url(folder):
    mode = "nczarr" if "_nczarr_superblock" in (pathlib.Path(folder) / ".zattrs").read_text() else "zarr"
    return f"file://{pathlib.Path(folder).resolve()}#mode={mode},file"


def create(folder, attributes={}, unlimited=False, **options):
    """The numbers 0, 1.5, 3 ... as netCDF4 stores them."""
    with netCDF4.Dataset(f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file", "w") as dataset:
        dataset.createDimension("x", None if unlimited else 60)
        variable = dataset.createVariable("v", "f8", ("x",), chunksizes=(20,), **options)
        variable[:] = 1.5 * np.arange(60)
        for name, value in attributes.items():
            variable.setncattr(name, value)


class Library:
    """The C library of netCDF4, which opens datasets for writing; netCDF4 makes them anew."""

    def __init__(self, folder):
        maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
        paths = {line.split()[-1] for line in maps if "/" in line}
        path = next(path for path in paths if pathlib.Path(path).name.startswith("libnetcdf"))
        self.library = ctypes.CDLL(path)
        self.ncid, self.varid = ctypes.c_int(), ctypes.c_int()
        self("nc_open", url(folder).encode(), NC_WRITE, ctypes.byref(self.ncid))
        self("nc_inq_varid", self.ncid, b"v", ctypes.byref(self.varid))

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            sys.exit(f"{name} gives {status}")

    def write(self, start, values):
        numbers = (ctypes.c_double * len(values))(*values)
        size = ctypes.c_size_t * 1
        self("nc_put_vara_double", self.ncid, self.varid, size(start), size(len(values)), numbers)

    def close(self):
        self("nc_close", self.ncid)


def edit(folder, document, change):
    path = pathlib.Path(folder) / document
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def pure(folder, zarray={}, zattrs={}):
    """Four numbers in pure Zarr, with these keys otherwise."""
    root = pathlib.Path(folder)
    (root / "v").mkdir(parents=True)
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    (root / ".zattrs").write_text("{}")
    keys = dict(zarr_format=2, shape=[4], chunks=[2], dtype="<i4", fill_value=0, order="C", compressor=None, filters=None)
    keys = {key: value for key, value in {**keys, **zarray}.items() if value != "absent"}
    (root / "v/.zarray").write_text(json.dumps(keys))
    (root / "v/.zattrs").write_text(json.dumps(zattrs))


def make(case, folder):
    match case:
        case "shuffle":
            create(folder, zlib=True)
        case "words":
            words = {"units": "nan", "code": "0x10", "version": "5.", "limit": "-inf", "number": "17", "flag": "true"}
            create(folder, words)
        case "document":
            create(folder, {"history": "a long text that is not long for long " * 9, "units": "K"})
            library = Library(folder)
            library("nc_del_att", library.ncid, library.varid, b"history")
            library.close()
        case "chunks" | "chunks-bzip2" | "chunks-zstd" | "chunks-blosc":
            codec = {"chunks": "zlib", "chunks-bzip2": "bzip2", "chunks-zstd": "zstd", "chunks-blosc": "blosc_lz4"}[case]
            create(folder, compression=codec, shuffle=False)
            library = Library(folder)
            # shorter when compressed
            library.write(20, [7.0] * 20)
            library.close()
        case "stale":
            create(folder, unlimited=True, zlib=True, shuffle=False)
            root = pathlib.Path(folder)
            documents = {str(path.relative_to(root)): json.loads(path.read_text()) for path in root.rglob(".z*")}
            (root / ".zmetadata").write_text(json.dumps({"metadata": documents, "zarr_consolidated_format": 1}))
            library = Library(folder)
            library.write(60, [90.0] * 20)
            library.close()
        case "json-type":
            create(folder, {"object": "x", "number": "y"})

            def change(zattrs):
                zattrs.update(object={"k": [1, 2.5]}, number=17, none=[], mixed=[1, "a"])
                zattrs["_nczarr_attr"]["types"].update(object="|J0", number="|J0")

            edit(folder, "v/.zattrs", change)
        case "text-fill":
            pure(folder, dict(dtype="|S3", fill_value=0))
        case "list-fill":
            pure(folder, dict(fill_value=[7]))
        case "no-fill":
            pure(folder, dict(fill_value="absent"))
        case "no-level":
            pure(folder, dict(compressor={"id": "zlib"}))
        case "negative-level":
            pure(folder, dict(compressor={"id": "zlib", "level": -1}))
        case _:
            sys.exit(f"no case {case}")


def plain(values):
    values = np.asarray(values)
    return [value.decode() if isinstance(value, bytes) else value for value in values.tolist()]


def netcdf(folder):
    with netCDF4.Dataset(url(folder)) as dataset:
        variable = dataset["v"]
        variable.set_auto_maskandscale(False)
        attributes = {name: variable.getncattr(name) for name in variable.ncattrs()}
        return {"values": plain(variable[:]), "attributes": {name: plain([value])[0] for name, value in attributes.items()}}


def zarr_python(folder):
    array = zarr.open_group(folder, mode="r", zarr_format=2)["v"]
    attributes = {name: value for name, value in array.attrs.items() if not name.startswith("_")}
    return {"values": plain(array[:]), "attributes": attributes}


def apart(function, folder):
    """In a process of its own, since some of this crashes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = function(folder)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else {"error": f"ended with status {status}"}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3])
    else:
        print(json.dumps({"netcdf-c": apart(netcdf, sys.argv[2]), "zarr-python": apart(zarr_python, sys.argv[2])}))
