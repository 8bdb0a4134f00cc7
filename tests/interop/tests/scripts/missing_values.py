"""Makes datasets with missing values, and says which elements programs mask.

missing_values.py make KIND FOLDER   KIND is xarray2, xarray3, sharded3, zarr2, gdal or netcdf
missing_values.py masks FOLDER       prints, for each program that opens it, the masked elements of each variable
"""

import json
import pathlib
import sys
import warnings

import netCDF4
import numpy as np
import xarray
import zarr

SHAPE = (4, 6)
DIMENSIONS = ("y", "x")
# fills that are masked, by the name of the variable
FILLS = {
    "float": ("f4", -47.68),
    "double": ("f8", 1e20),
    "half": ("f2", -999.0),
    "nan": ("f4", np.nan),
    "infinite": ("f8", np.inf),
    "default": ("f4", netCDF4.default_fillvals["f4"]),
    "short": ("i2", -32767),
    "big": (">i4", -1),
    "byte": ("i1", -127),
    "ubyte": ("u1", 255),
    "zero": ("u1", 0),
    "long": ("i8", -(2**53)),
    "packed": ("i2", 0),
}
PACKED = {"scale_factor": 0.5, "add_offset": 0.0}


def values(dtype, fill):
    """Small numbers, and the fill value at three positions."""
    array = (np.arange(24) % 5 + 1).astype(dtype).reshape(SHAPE)
    array[0, 1] = array[2, 3] = array[3, 5] = fill
    return array


def url(folder):
    return f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file"


def make_xarray(folder, version, **encoding):
    variables = {}
    for name, (dtype, fill) in FILLS.items():
        # netCDF has no half, so copies to NCZarr leave it out
        attrs = {"_FillValue": np.dtype(dtype).type(fill)} | (PACKED if name == "packed" else {})
        variables[name] = xarray.Variable(DIMENSIONS, values(dtype, fill), attrs)
    variables["plain"] = xarray.Variable(DIMENSIONS, np.arange(24).reshape(SHAPE) - 3)
    coordinates = {"y": np.arange(SHAPE[0]), "x": np.linspace(0.0, 1.0, SHAPE[1])}
    raw = xarray.Dataset(variables, coordinates)
    dataset = xarray.decode_cf(raw)
    for name in variables:
        dataset[name].encoding.update(encoding)
    dataset.to_zarr(folder, zarr_format=version, consolidated=False)


def make_zarr(folder):
    """As zarr-python does by itself: 0 is the fill value, and no reader masks it."""
    root = zarr.create_group(folder, zarr_format=2)
    for name, dtype in (("float", "f4"), ("short", "i2"), ("named", "i4")):
        array = root.create_array(name, shape=SHAPE, chunks=(2, 3), dtype=dtype)
        array[:] = np.arange(24).reshape(SHAPE) % 3
    root["named"].attrs["_ARRAY_DIMENSIONS"] = list(DIMENSIONS)


def make_gdal(folder):
    """As GDAL does: the fill value is the value of no data, or null."""
    root = zarr.create_group(folder, zarr_format=2)
    for name in ("float", "zero", "ubyte"):
        dtype, fill = FILLS[name]
        array = root.create_array(name, shape=SHAPE, chunks=(2, 3), dtype=dtype, fill_value=np.dtype(dtype).type(fill))
        array[:] = values(dtype, fill)
        array.attrs["_ARRAY_DIMENSIONS"] = list(DIMENSIONS)
    x = zarr.create_array(f"{folder}/x", shape=SHAPE[1:], chunks=SHAPE[1:], dtype="f8", zarr_format=2)
    x[:] = np.linspace(0.0, 1.0, SHAPE[1])
    x.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    path = pathlib.Path(folder, "x", ".zarray")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fill_value": None}))


def make_netcdf(folder):
    with netCDF4.Dataset(url(folder), "w") as root:
        for name, length in zip(DIMENSIONS, SHAPE):
            root.createDimension(name, length)
        for name, (dtype, fill) in FILLS.items():
            if name == "half":
                continue
            variable = root.createVariable(name, dtype, DIMENSIONS, fill_value=fill, chunksizes=(2, 3))
            variable.set_auto_maskandscale(False)
            variable[:] = values(dtype, fill)
            if name == "packed":
                variable.setncatts(PACKED)
        # without the attribute netCDF's default is masked, also where nothing is filled
        for name, dtype, filled in (("double_default", "f8", None), ("int_default", "i4", None), ("no_fill", "i2", False)):
            variable = root.createVariable(name, dtype, DIMENSIONS, fill_value=filled, chunksizes=(2, 3))
            variable.set_auto_maskandscale(False)
            variable[:] = values(dtype, netCDF4.default_fillvals[dtype])
        # never written at some positions, which read as netCDF's default
        for name, dtype in (("partly_float", "f4"), ("partly_int", "i4"), ("partly_byte", "i1")):
            variable = root.createVariable(name, dtype, DIMENSIONS, chunksizes=(2, 3))
            variable[:2] = 1


def flat(mask):
    return np.flatnonzero(mask).tolist()


def masks(folder):
    found = {}
    try:
        with xarray.open_zarr(folder, consolidated=False, decode_times=False) as dataset:
            found["xarray"] = {name: flat(dataset[name].isnull()) for name in dataset.variables}
    except (KeyError, ValueError):  # no names of dimensions; netcdf-c's <i1, which zarr-python refuses
        pass
    try:
        with netCDF4.Dataset(url(folder)) as dataset:
            found["netCDF4"] = {
                name: flat(np.ma.getmaskarray(variable[...])) for name, variable in dataset.variables.items()
            }
    except OSError:  # netcdf-c opens no Zarr version 3
        pass
    print(json.dumps(found))


warnings.simplefilter("ignore")
if sys.argv[1] == "masks":
    masks(sys.argv[2])
else:
    kind, folder = sys.argv[2:]
    match kind:
        case "xarray2" | "xarray3":
            make_xarray(folder, int(kind[-1]))
        case "sharded3":
            make_xarray(folder, 3, chunks=(2, 3), shards=(4, 6))
        case "zarr2":
            make_zarr(folder)
        case "gdal":
            make_gdal(folder)
        case "netcdf":
            make_netcdf(folder)
