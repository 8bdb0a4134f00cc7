"""Runs calls of netcdf-c's filter functions on new NCZarr datasets: filter_api.py CASES FOLDER.

CASES is a JSON file: a list of cases, each {"variable": name, "calls": [[function, argument...], ...]}. Prints a JSON list
with, for each case, what each call returned ([code, value...]), the codecs in the metadata, and the quantize attributes.
"""
import ctypes
import glob
import json
import os
import sys

import netCDF4

site = os.path.dirname(os.path.dirname(netCDF4.__file__))
(library,) = glob.glob(os.path.join(site, "netcdf4.libs", "libnetcdf-*"))
nc = ctypes.CDLL(library)
NC_NETCDF4 = 0x1000
NC_FLOAT, NC_DOUBLE, NC_INT, NC_STRING = 5, 6, 4, 12
VARIABLES = {
    "f": (NC_FLOAT, ["x"]),
    "d": (NC_DOUBLE, ["x", "y"]),
    "i": (NC_INT, ["x"]),
    "s": (NC_STRING, ["x"]),
    "tx": (NC_FLOAT, ["t", "x"]),
    "xt": (NC_FLOAT, ["x", "t"]),
    "t": (NC_FLOAT, ["t"]),
    "scalar": (NC_FLOAT, []),
}


def words(values):
    return (ctypes.c_uint * max(1, len(values)))(*values)


def must(code):
    if code:
        raise RuntimeError(code)


class Case:
    def __init__(self, path, variable):
        self.path = path
        self.ncid = ctypes.c_int()
        url = f"file://{path}#mode=nczarr,file"
        must(nc.nc_create(url.encode(), NC_NETCDF4, ctypes.byref(self.ncid)))
        nc_type, names = VARIABLES[variable]
        dims = []
        for name in names:
            dim = ctypes.c_int()
            length = {"x": 10, "y": 100, "t": 0}[name]
            must(nc.nc_def_dim(self.ncid, name.encode(), ctypes.c_size_t(length), ctypes.byref(dim)))
            dims.append(dim.value)
        self.varid = ctypes.c_int()
        dims = (ctypes.c_int * max(1, len(dims)))(*dims)
        must(nc.nc_def_var(self.ncid, variable.encode(), nc_type, len(names), dims, ctypes.byref(self.varid)))
        self.variable = variable

    def inquire(self, function, kinds):
        values = [kind() for kind in kinds]
        code = function(self.ncid, self.varid, *map(ctypes.byref, values))
        return [code] + ([value.value for value in values] if code == 0 else [])

    def filter(self, number, *params):
        return [nc.nc_def_var_filter(self.ncid, self.varid, ctypes.c_uint(number), ctypes.c_size_t(len(params)), words(params))]

    def available(self, number):
        return [nc.nc_inq_filter_avail(self.ncid, ctypes.c_uint(number))]

    def ids(self):
        count, ids = ctypes.c_size_t(), words([0] * 32)
        code = nc.nc_inq_var_filter_ids(self.ncid, self.varid, ctypes.byref(count), ids)
        return [code, *ids[: count.value]]

    def params(self, number):
        count, params = ctypes.c_size_t(), words([0] * 32)
        code = nc.nc_inq_var_filter_info(self.ncid, self.varid, ctypes.c_uint(number), ctypes.byref(count), params)
        return [code, *params[: count.value]] if code == 0 else [code]

    def first(self):
        number, count, params = ctypes.c_uint(), ctypes.c_size_t(), words([0] * 32)
        code = nc.nc_inq_var_filter(self.ncid, self.varid, ctypes.byref(number), ctypes.byref(count), params)
        return [code, number.value, *(params[: count.value] if number.value else [])]

    def call(self, name, *args):
        if hasattr(self, name):
            return getattr(self, name)(*args)
        integer, unsigned = ctypes.c_int, ctypes.c_uint
        asked = {
            "get_deflate": (nc.nc_inq_var_deflate, [integer] * 3),
            "get_szip": (nc.nc_inq_var_szip, [integer] * 2),
            "get_fletcher32": (nc.nc_inq_var_fletcher32, [integer]),
            "get_bzip2": (nc.nc_inq_var_bzip2, [integer] * 2),
            "get_zstandard": (nc.nc_inq_var_zstandard, [integer] * 2),
            "get_blosc": (nc.nc_inq_var_blosc, [integer] + [unsigned] * 4),
            "get_quantize": (nc.nc_inq_var_quantize, [integer] * 2),
        }
        if name in asked:
            return self.inquire(*asked[name])
        if name == "enddef":
            return [nc.nc_enddef(self.ncid)]
        if name == "redef":
            return [nc.nc_redef(self.ncid)]
        if name == "blosc":
            args = [ctypes.c_uint(arg) for arg in args]
        return [getattr(nc, f"nc_def_var_{name}")(self.ncid, self.varid, *args)]

    def close(self):
        """The codecs and quantize attributes on disk; None if netcdf-c cannot write them."""
        if nc.nc_close(self.ncid):
            return None
        with open(os.path.join(self.path, self.variable, ".zarray"), encoding="utf-8") as file:
            zarray = json.load(file)
        codecs = (zarray["filters"] or []) + ([zarray["compressor"]] if zarray["compressor"] else [])
        with open(os.path.join(self.path, self.variable, ".zattrs"), encoding="utf-8") as file:
            attributes = json.load(file)
        return [codecs, {name: value for name, value in attributes.items() if name.startswith("_Quantize")}]


with open(sys.argv[1], encoding="utf-8") as file:
    cases = json.load(file)
results = []
for number, case in enumerate(cases):
    run = Case(os.path.join(sys.argv[2], str(number)), case["variable"])
    returned = [run.call(*call) for call in case["calls"]]
    results.append({"returned": returned, "stored": run.close()})
print(json.dumps(results))
