"""Writes classic files with netCDF4, and what netCDF4 reads from them.

`contents.tsv` has a line for each dimension (D), attribute (A) and variable (V); the elements of a variable are in a
file of their own, those of an attribute in hexadecimal digits, both big-endian.
"""

import pathlib
import sys

import netCDF4
import numpy as np

folder = pathlib.Path(sys.argv[1])
lines = []

CODES = {"i1": "byte", "S1": "char", "i2": "short", "i4": "int", "f4": "float", "f8": "double", "u1": "ubyte",
         "u2": "ushort", "u4": "uint", "i8": "int64", "u8": "uint64"}


def big(values):
    values = np.asarray(values)
    return values.astype(values.dtype.newbyteorder(">")).tobytes()


def types(format):
    old = ["i1", "S1", "i2", "i4", "f4", "f8"]
    return old + ["u1", "u2", "u4", "i8", "u8"] if format == "NETCDF3_64BIT_DATA" else old


def values(dtype, shape):
    count = int(np.prod(shape))
    if dtype == "S1":
        return np.frombuffer(bytes((i * 7) % 120 + 1 for i in range(count)), "S1").reshape(shape)
    return ((np.arange(count) * 37) % 121 + 1).astype(dtype).reshape(shape)


def everything(f, format):
    f.createDimension("x", 5)
    f.createDimension("time", None)
    f.createDimension("y", 3)
    f.title = "Größe"
    f.empty = ""
    f.numbers = np.arange(3, dtype="i2")
    for dtype in types(format):
        if dtype != "S1":
            f.setncattr("a_" + dtype, np.array([1, 2, 3], dtype))
        v = f.createVariable("fixed_" + dtype, dtype, ("y", "x"))
        v.units = "odd"
        v[:] = values(dtype, (3, 5))
        v = f.createVariable("record_" + dtype, dtype, ("time", "y"))
        v[0:4] = values(dtype, (4, 3))
        v = f.createVariable("scalar_" + dtype, dtype, ())
        v[...] = values(dtype, ())
    f.createVariable("time", "f8", ("time",))[:] = [0.5, 1.5, 2.5, 3.5]
    f.createVariable("unwritten", "f4", ("y",))
    f.createVariable("short_fill", "i2", ("time", "x"), fill_value=-7)[2] = np.arange(5)


def one_byte_record(f, format):
    f.createDimension("time", None)
    f.createDimension("x", 3)
    f.createVariable("fixed", "i1", ("x",))[:] = [1, 2, 3]
    f.createVariable("b", "i1", ("time",))[:] = np.arange(7)


def one_record(f, format):
    f.createDimension("time", None)
    f.createDimension("x", 3)
    f.createVariable("s", "i2", ("time", "x"))[:] = values("i2", (6, 3))


def no_records(f, format):
    f.createDimension("time", None)
    f.createDimension("x", 3)
    f.createVariable("a", "i2", ("time", "x"))
    f.createVariable("b", "f8", ("time",))
    f.createVariable("fixed", "f8", ("x",))[:] = [1, 2, 3]


def nothing(f, format):
    pass


def large(f, format):
    f.createDimension("y", 3001)
    f.createDimension("x", 701)
    f.createVariable("v", "f4", ("y", "x"))[:] = np.arange(3001 * 701).reshape(3001, 701)


def records(f, format):
    f.createDimension("time", None)
    f.createDimension("x", 11)
    for name, dtype in [("a", "i2"), ("b", "f8"), ("c", "i1")]:
        f.createVariable(name, dtype, ("time", "x"))[:] = values(dtype, (300, 11))


def describe(name, path, dataset):
    for dimension in dataset.dimensions.values():
        lines.append(["D", name, dimension.name, len(dimension), int(dimension.isunlimited())])
    for at, owner in [("/", dataset)] + list(dataset.variables.items()):
        for key in owner.ncattrs():
            value = owner.getncattr(key)
            if isinstance(value, str):
                lines.append(["A", name, at, key, "char", value.encode().hex()])
            else:
                value = np.atleast_1d(value)
                lines.append(["A", name, at, key, CODES[value.dtype.str[1:]], big(value).hex()])
    for variable in dataset.variables.values():
        content = f"{name}.{variable.name}"
        (folder / content).write_bytes(big(variable[...]))
        shape = ",".join(map(str, variable.shape))
        lines.append(["V", name, variable.name, CODES[variable.dtype.str[1:]], shape, content])


for make in [everything, one_byte_record, one_record, no_records, nothing, large, records]:
    for version, format in enumerate(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]):
        name = f"{make.__name__}{version}.nc"
        with netCDF4.Dataset(folder / name, "w", format=format) as dataset:
            make(dataset, format)
        with netCDF4.Dataset(folder / name) as dataset:
            dataset.set_auto_maskandscale(False)
            dataset.set_auto_chartostring(False)
            describe(name, folder / name, dataset)

with open(folder / "contents.tsv", "w") as out:
    out.writelines("\t".join(map(str, line)) + "\n" for line in lines)
