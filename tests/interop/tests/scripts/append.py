"""Makes consolidated metadata stale: append.py FOLDER

The metadata of a dataset of 4 steps are consolidated; netcdf-c then appends 8 more, without a word to `.zmetadata`.
(netCDF4 would make the dataset anew, so the C library is called.) Prints how many steps zarr-python and netCDF4 find.
"""

import ctypes
import json
import pathlib
import sys

import numpy as np
import zarr
from nczarr import open_netcdf
from values import mapped

NC_WRITE = 1


def append(folder, start, values):
    path = next(path for path in mapped() if pathlib.Path(path).name.startswith("libnetcdf"))
    library = ctypes.CDLL(path)
    ncid, varid = ctypes.c_int(), ctypes.c_int()

    def call(name, *arguments):
        status = getattr(library, name)(*arguments)
        if status:
            sys.exit(f"{name} gives {status}")

    url = f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file"
    call("nc_open", url.encode(), NC_WRITE, ctypes.byref(ncid))
    call("nc_inq_varid", ncid, b"v", ctypes.byref(varid))
    numbers = (ctypes.c_float * len(values))(*values)
    call("nc_put_vara_float", ncid, varid, (ctypes.c_size_t * 1)(start), (ctypes.c_size_t * 1)(len(values)), numbers)
    call("nc_close", ncid)


def main(folder):
    with open_netcdf(folder, "w") as dataset:
        dataset.createDimension("time", None)
        dataset.createVariable("v", "f4", ("time",), chunksizes=(3,), zlib=True, shuffle=False)[:] = np.arange(4)
    # zarr-python's function also writes the group's document anew, which netcdf-c then overwrites in part
    documents = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in pathlib.Path(folder).rglob(".z*")}
    consolidated = {"metadata": documents, "zarr_consolidated_format": 1}
    (pathlib.Path(folder) / ".zmetadata").write_text(json.dumps(consolidated))
    append(folder, 4, range(4, 12))
    with open_netcdf(folder, "r") as dataset:
        steps = dataset["v"].shape[0]
    print(json.dumps({"netcdf-c": steps, "zarr-python": zarr.open_group(folder, mode="r", zarr_format=2)["v"].shape[0]}))


if __name__ == "__main__":
    main(sys.argv[1])
