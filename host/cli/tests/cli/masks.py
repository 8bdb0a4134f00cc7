"""Copies what xarray writes of each type, with and without missing values and missing chunks, from each format to the
others. Prints what xarray masks in a copy and not in its source, or the other way, if no note of the copy names it, and
how many variables of copies were read.

masks.py NCZ FOLDER
"""

import json
import pathlib
import subprocess
import sys
import warnings

import netCDF4
import numpy as np
import xarray

warnings.simplefilter("ignore")
ncz, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FORMATS = {"zarr": "zarr", "zarr3": "zarr3", "nczarr": "nczarr", "nc": "netcdf4"}
NUMBERS = [9, 0, 2, 3, 9, 0]
SECONDS = {"dtype": "i8", "units": "seconds since 1970-01-01"}
# The values, the missing value, and how else xarray encodes them.
TYPES = {
    "text": (np.array(["a", "zz", "", "b", "zz", "c"], object), "zz", {}),
    "truth": (np.array([1, 0, 1, 0, 1, 0], bool), True, {}),
    "falsehood": (np.array([1, 0, 1, 0, 1, 0], bool), False, {}),
    "complex": (np.array(NUMBERS, "c16"), 9 + 0j, {}),
    "complex64": (np.array(NUMBERS, "c8") * 1.5j, np.complex64(13.5j), {}),
    "complexzero": (np.array(NUMBERS, "c16"), 0j, {}),
    "time": (np.array(["NaT", *NUMBERS[1:]], "M8[s]").astype("M8[ns]"), -1, SECONDS),
    "difference": (np.array(NUMBERS, "m8[s]").astype("m8[ns]"), -1, {}),
    "half": (np.array(NUMBERS, "f2"), 9, {}),
    "float": (np.array(NUMBERS, "f4"), np.nan, {}),
    "double": (np.array(NUMBERS, "f8"), 9, {}),
    "int": (np.array(NUMBERS, "i4"), 9, {}),
    "zero": (np.array(NUMBERS, "i4"), 0, {}),
    "default": (np.array([9, 0, -2147483647, 3, 9, 0], "i4"), -2147483647, {}),
    "byte": (np.array(NUMBERS, "i1"), 9, {}),
    "ubyte": (np.array([255, *NUMBERS[1:]], "u1"), 255, {}),
    "ulong": (np.array(NUMBERS, "u8"), 9, {}),
    "unsigned": (np.array([-56, *NUMBERS[1:]], "i1"), np.int8(-56), {}),
    "packed": (np.array(NUMBERS, "f8"), 9, {"dtype": "i2", "scale_factor": 0.5}),
}


def url(path):
    return path if path.suffix == ".nc" else f"file://{path}#mode=nczarr,file"


def options(name):
    return {"auto_complex": True} if name.startswith("complex") else {}


def write(path, name, is_masked):
    """Writes a variable of which all chunks exist, and one whose last chunk is missing."""
    form = path.suffix[1:]
    values, fill, encoding = TYPES[name]
    attributes = {"_Unsigned": "true"} if name == "unsigned" else {}
    encoding = {"chunks" if "zarr" in form and form != "nczarr" else "chunksizes": (2,), **encoding}
    if is_masked:
        (attributes if name == "unsigned" else encoding)["_FillValue"] = fill
    variables = {key: xarray.Variable(("x",), values, attributes) for key in ("full", "gap")}
    dataset = xarray.Dataset(variables)
    encodings = dict.fromkeys(variables, encoding)
    if form in ("zarr", "zarr3"):
        dataset.to_zarr(path, zarr_format=3 if form == "zarr3" else 2, encoding=encodings, consolidated=False)
        (path / "gap" / ("c/2" if form == "zarr3" else "2")).unlink(missing_ok=True)
    elif form == "nczarr":
        dataset.to_netcdf(url(path), engine="netcdf4", encoding=encodings)
        (path / "gap" / "2").unlink()
    else:
        dataset.to_netcdf(path, engine="netcdf4", encoding=encodings, unlimited_dims=["x"], **options(name))
        with netCDF4.Dataset(path, "a", **options(name)) as file:
            file.createVariable("longer", "i4", ("x",))[:] = np.arange(8)


def plain(values):
    if values.dtype.kind in "mM":
        seconds = values.astype(values.dtype.str[:2] + "8[s]").astype("i8").tolist()
        return [None if nat else value for value, nat in zip(seconds, np.isnat(values))]
    decoded = [value.decode() if isinstance(value, bytes) else value for value in values.tolist()]
    return [None if value != value else value for value in decoded]


def by_xarray(path, name, engine):
    source, more = (path, {"consolidated": False}) if engine == "zarr" else (url(path), options(name))
    with xarray.open_dataset(source, engine=engine, **more) as dataset:
        return {key: plain(dataset[key].values) for key in ("full", "gap")}


def by_netcdf4(path, name, values):
    """The values with netCDF4's mask, which knows netCDF's default fill values."""
    with netCDF4.Dataset(url(path), **options(name)) as file:
        masks = {key: np.ma.getmaskarray(file[key][...]).tolist() for key in values}
    return {key: [None if mask else value for value, mask in zip(values[key], masks[key])] for key in values}


def engines(form):
    return {"nczarr": ["netcdf4", "zarr"], "nc": ["netcdf4"]}.get(form, ["zarr"])


def views(path, name, form):
    """What readers make of a source; nothing if xarray does not read what it wrote."""
    found = []
    if name == "unsigned" and form == "nczarr":
        # netcdf-c reads _Unsigned as a number there, and xarray reads signed integers.
        return found
    for engine in engines(form):
        try:
            found.append(by_xarray(path, name, engine))
        except Exception:
            break
        if engine == "netcdf4":
            found.append(by_netcdf4(path, name, found[-1]))
    return found


def is_named(key, notes):
    is_of_masks = lambda note: ("xarray masks" in note or "missing value" in note) and "becomes" not in note
    return any(f"/{key}" in note and is_of_masks(note) for note in notes)


count = 0
for name in TYPES:
    for is_masked in (False, True):
        for form in FORMATS:
            source = folder / f"{name}{int(is_masked)}.{form}"
            try:
                write(source, name, is_masked)
            except (TypeError, ValueError):
                # xarray does not write it.
                continue
            wanted = views(source, name, form)
            for target in [other for other in FORMATS if wanted and other != form]:
                copy = folder / f"{source.name}.{target}"
                more = ["--format", FORMATS[target], "--verify", "--json", "--variables", "full,gap"]
                done = subprocess.run([ncz, "copy", source, copy, *more], capture_output=True, text=True)
                what = f"{source.name} to {target}"
                if done.returncode:
                    if "NCZarr has no type for" not in done.stderr:
                        print(what, done.stderr)
                    continue
                notes = json.loads(done.stdout)["notes"]
                differing = {}
                for engine in engines(target):
                    if name == "text" and is_masked and target == "nczarr" and engine == "zarr":
                        # A fill value of text closes it, as `--for xarray` says.
                        continue
                    for key, values in by_xarray(copy, name, engine).items():
                        count += 1
                        if all(view[key] != values for view in wanted):
                            differing[key] = f"{wanted[0][key]} is {values} by {engine}"
                for key in ("full", "gap"):
                    if (key in differing) != is_named(key, notes):
                        print(f"{what}: {key}: {differing.get(key)}; notes: {notes}")
print(count)
