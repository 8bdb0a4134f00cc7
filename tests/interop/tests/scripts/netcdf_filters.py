"""netcdf-c with the filters of HDF5_PLUGIN_PATH.

    netcdf_filters.py write URL CHAIN [TYPE]    makes a dataset with one variable of 256 numbers; CHAIN is JSON: [[id, word...], ...]
    netcdf_filters.py read URL                  its filters, and whether the numbers are there

URL is a path of an HDF5 file or `file://...#mode=nczarr,file`. Prints `codes: ` and JSON, what each call returned, in a
line of its own; the filters print lines too.
"""

import ctypes
import glob
import json
import os
import sys

import netCDF4

(library,) = glob.glob(os.path.join(os.path.dirname(os.path.dirname(netCDF4.__file__)), "netcdf4.libs", "libnetcdf-*"))
nc = ctypes.CDLL(library)
NC_NETCDF4, NC_FLOAT, COUNT = 0x1000, 5, 256
action, url, *rest = sys.argv[1:]
ncid, varid, dimid = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
codes = {}


def size(number):
    return ctypes.c_size_t(number)


def words(values):
    return (ctypes.c_uint * max(1, len(values)))(*values)


numbers = (ctypes.c_float * COUNT)(*range(COUNT))
if action == "write":
    codes["create"] = nc.nc_create(url.encode(), NC_NETCDF4, ctypes.byref(ncid))
    assert nc.nc_def_dim(ncid, b"x", size(COUNT), ctypes.byref(dimid)) == 0
    assert nc.nc_def_var(ncid, b"v", NC_FLOAT, 1, (ctypes.c_int * 1)(dimid.value), ctypes.byref(varid)) == 0
    assert nc.nc_def_var_chunking(ncid, varid, 0, (ctypes.c_size_t * 1)(COUNT)) == 0
    codes["filters"] = [
        nc.nc_def_var_filter(ncid, varid, ctypes.c_uint(number), size(len(given)), words(given))
        for number, *given in json.loads(rest[0])
    ]
    codes["put"] = nc.nc_put_var_float(ncid, varid, numbers)
else:
    codes["open"] = nc.nc_open(url.encode(), 0, ctypes.byref(ncid))
    assert nc.nc_inq_varid(ncid, b"v", ctypes.byref(varid)) == 0
    count, ids, chain = ctypes.c_size_t(), words([0] * 32), []
    codes["inquire"] = nc.nc_inq_var_filter_ids(ncid, varid, ctypes.byref(count), ids)
    for number in ids[: count.value]:
        given, params = ctypes.c_size_t(), words([0] * 32)
        code = nc.nc_inq_var_filter_info(ncid, varid, ctypes.c_uint(number), ctypes.byref(given), params)
        chain.append([number, *params[: given.value]] if code == 0 else code)
    codes["filters"] = chain
    found = (ctypes.c_float * COUNT)()
    codes["get"] = nc.nc_get_var_float(ncid, varid, found)
    codes["same"] = list(found) == list(numbers)
codes["close"] = nc.nc_close(ncid)
print("codes:", json.dumps(codes))
