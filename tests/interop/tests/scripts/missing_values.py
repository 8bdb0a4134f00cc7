"""Makes datasets of every kind, and compares copies of them as the programs read both: values, masks, attributes, dimensions.

missing_values.py make SEED FOLDER   makes FOLDER/KIND/source.zarr, of the kind netcdf4 source.nc
missing_values.py compare FOLDER     compares FOLDER/KIND/copy.zarr, .zarr3, .nczarr and .nc; prints how many readings agree,
                                     and a line for each that does not
"""

import json
import pathlib
import sys
import warnings

import netCDF4
import numpy as np
import xarray
import zarr
from xarray.coding.times import decode_cf_datetime

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


# attributes that have the same value in every format
ATTRIBUTES = {"long_name": "a name \u00fc", "limits": [1, 5], "factor": 0.5}
random = np.random.default_rng()


def values(dtype, fill):
    """Small numbers, and the fill value at random positions."""
    array = random.integers(1, 100, SHAPE).astype(dtype)
    array.flat[random.choice(array.size, 3, replace=False)] = fill
    return array


def times():
    """Times and differences of times, some of them none."""
    moments = np.datetime64("2000-01-01", "s") + random.integers(0, 10**6, SHAPE).astype("m8[s]")
    moments[0, 0] = "NaT"
    return moments, moments - np.datetime64("2000-01-01", "s")


def url(folder):
    return f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file"


def mixed(**encoding):
    """A dataset of all types that xarray writes."""
    variables = {}
    for name, (dtype, fill) in FILLS.items():
        attrs = {"_FillValue": np.dtype(dtype).type(fill)} | (PACKED if name == "packed" else {})
        variables[name] = xarray.Variable(DIMENSIONS, values(dtype, fill), attrs | ATTRIBUTES)
    variables["plain"] = xarray.Variable(DIMENSIONS, random.integers(-9, 9, SHAPE))
    variables["flag"] = xarray.Variable(DIMENSIONS, random.integers(0, 2, SHAPE).astype(bool), ATTRIBUTES)
    variables["text"] = xarray.Variable("y", np.array(["one", "", "dr\u00ed", "\U0001f600"]))
    variables["scalar"] = xarray.Variable((), np.float64(random.normal()))
    coordinates = {"y": random.integers(0, 99, SHAPE[0]), "x": np.linspace(0.0, 1.0, SHAPE[1])}
    dataset = xarray.decode_cf(xarray.Dataset(variables, coordinates, ATTRIBUTES))
    moments, differences = times()
    dataset["moment"] = (DIMENSIONS, moments)
    dataset["difference"] = (DIMENSIONS, differences)
    for name in dataset.data_vars:
        if dataset[name].ndim == 2:
            dataset[name].encoding.update(encoding)
    return dataset


def make_xarray(folder, version, **encoding):
    mixed(**encoding).to_zarr(folder, zarr_format=version, consolidated=False)


def make_netcdf4(file):
    # no half in netCDF; netcdf-c reads big-endian attributes of a variable wrongly
    dataset = mixed().drop_vars(["half"])
    dataset.to_netcdf(file, encoding={"float": {"zlib": True, "shuffle": True, "chunksizes": (2, 3)}}, unlimited_dims=["y"])


def make_zarr(folder):
    """As zarr-python does by itself: 0 is the fill value, and no reader masks it."""
    root = zarr.create_group(folder, zarr_format=2)
    for name, dtype in (("float", "f4"), ("short", "i2"), ("named", "i4")):
        array = root.create_array(name, shape=SHAPE, chunks=(2, 3), dtype=dtype)
        array[:] = random.integers(0, 3, SHAPE)
    moments, differences = times()
    flags = random.integers(0, 2, SHAPE).astype(bool)
    texts = random.integers(0, 10**6, SHAPE).astype("U7")
    halves = random.normal(0, 9, SHAPE).astype("f2")
    for name, data in (("moment", moments), ("difference", differences), ("flag", flags), ("text", texts), ("half", halves)):
        # one chunk, longer than the array
        array = root.create_array(name, shape=SHAPE, chunks=(5, 8), dtype=data.dtype)
        array[:] = data
    for name, array in root.arrays():
        array.attrs.update(ATTRIBUTES)
        if name != "float":
            array.attrs["_ARRAY_DIMENSIONS"] = list(DIMENSIONS)


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


# what programs use to decode values, and what they add
DECODING = {"_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar", "dtype", "coordinates",
            "_ARRAY_DIMENSIONS"}


def plain(array, mask=False):
    """Values as JSON: numbers, text, times as nanoseconds, and null for what is masked."""
    array = np.asarray(array)
    if array.dtype.kind in "mM":
        mask = np.isnat(array) | mask
        array = array.astype(f"{array.dtype.kind}8[ns]").astype("i8")
    elif array.dtype.kind == "b":
        array = array.astype("i8")
    elif array.dtype.kind == "f":
        mask = np.isnan(array) | mask
    listed = [None if hidden else value.item() if isinstance(value, np.generic) else value
              for value, hidden in zip(array.ravel(), np.broadcast_to(mask, array.shape).ravel())]
    # the digits of a float
    return [round(value, 5) if isinstance(value, float) and abs(value) < 1e6 else
            float(f"{value:.6e}") if isinstance(value, float) else value for value in listed]


def attributes(found):
    kept = {name: np.ravel(value).tolist() if not isinstance(value, str) else value
            for name, value in found.items() if name not in DECODING and not name.startswith("_")}
    return {name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in kept.items()}


def of_xarray(dataset):
    found = {name: {"dimensions": list(variable.dims), "values": plain(variable.values), "attributes": attributes(variable.attrs)}
             for name, variable in dataset.variables.items()}
    return {"variables": found, "attributes": attributes(dataset.attrs)}


def by_xarray(path):
    source, engine = path, {"engine": "zarr", "consolidated": False}
    if path.suffix in (".nc", ".nczarr") or path.parent.name == "netcdf" and path.stem == "source":
        source, engine = (path if path.suffix == ".nc" else url(path)), {"engine": "netcdf4"}
    with xarray.open_dataset(source, **engine) as dataset:
        return of_xarray(dataset)


def by_netcdf4(path):
    found = {}
    with netCDF4.Dataset(path if path.suffix == ".nc" else url(path)) as dataset:
        for name, variable in dataset.variables.items():
            attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
            values = variable[...]
            mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
            units = attrs.get("units", "")
            if " since " in units:
                # xarray takes NaT for itself
                values = decode_cf_datetime(values, units, attrs["calendar"])
            elif str(attrs.get("dtype", "")).startswith("timedelta64"):
                unit = {"seconds": "s", "nanoseconds": "ns", "minutes": "m", "hours": "h", "days": "D"}[units]
                values = values.astype(f"m8[{unit}]")
            found[name] = {"dimensions": list(variable.dimensions), "values": plain(values, mask), "attributes": attributes(attrs)}
        return {"variables": found, "attributes": attributes({key: dataset.getncattr(key) for key in dataset.ncattrs()})}


def by_zarr(path):
    """Masks nothing, and does not decode: only what it reads of arrays without both."""
    root = zarr.open_group(path, mode="r")
    found = {name: {"values": plain(array[...]), "attributes": attributes(array.attrs)} for name, array in root.arrays()}
    return {"variables": found, "attributes": attributes(root.attrs)}


# the program whose view of the source counts, for each kind
KINDS = {"xarray2": by_xarray, "xarray3": by_xarray, "sharded3": by_xarray, "gdal": by_xarray, "zarr2": by_zarr,
         "netcdf": by_netcdf4, "netcdf4": by_netcdf4}
READERS = {"zarr": [by_xarray], "zarr3": [by_xarray], "nczarr": [by_netcdf4, by_xarray], "nc": [by_netcdf4, by_xarray]}


def differences(wanted, found):
    if set(found["variables"]) - set(wanted["variables"]):
        yield f"more variables: {set(found['variables']) - set(wanted['variables'])}"
    if found["attributes"] != wanted["attributes"]:
        yield f"attributes {found['attributes']} instead of {wanted['attributes']}"
    for name, variable in found["variables"].items():
        for what, value in variable.items():
            expected = wanted["variables"][name].get(what)
            if expected is not None and value != expected:
                yield f"{name}: {what} {value} instead of {expected}"


def compare(folder):
    agree = 0
    for kind, own in KINDS.items():
        source = folder / kind / ("source.nc" if kind == "netcdf4" else "source.zarr")
        view = own(source)
        for target, readers in READERS.items():
            copy = folder / kind / f"copy.{target}"
            if kind == "zarr2" and target in ("zarr", "zarr3"):
                # xarray opens only arrays with names of dimensions
                readers = [by_zarr]
            for reader in readers:
                try:
                    found = reader(copy)
                    # netCDF4 masks its defaults, xarray only the attribute
                    wanted = by_xarray(source) if own is by_netcdf4 and target in ("nc", "nczarr") and reader is by_xarray else view
                    left = {"half"} if own is by_netcdf4 else set()
                    missing = set(wanted["variables"]) - set(found["variables"]) - left
                    lines = [f"without {missing}"] if missing else []
                    lines += differences(wanted, found)
                except Exception as error:
                    lines = [f"{type(error).__name__}: {error}"]
                agree += not lines
                for line in lines:
                    print(f"{kind} to {target} by {reader.__name__[3:]}: {line}")
    print(agree)


warnings.simplefilter("ignore")
if sys.argv[1] == "compare":
    compare(pathlib.Path(sys.argv[2]))
else:
    random = np.random.default_rng(int(sys.argv[2]))
    for kind in KINDS:
        folder = pathlib.Path(sys.argv[3], kind)
        folder.mkdir()
        source = str(folder / "source.zarr")
        match kind:
            case "xarray2" | "xarray3":
                make_xarray(source, int(kind[-1]))
            case "sharded3":
                make_xarray(source, 3, chunks=(2, 3), shards=(4, 6))
            case "zarr2":
                make_zarr(source)
            case "gdal":
                make_gdal(source)
            case "netcdf":
                make_netcdf(source)
            case "netcdf4":
                make_netcdf4(str(folder / "source.nc"))
