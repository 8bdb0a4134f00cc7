"""Datasets with chunks to damage, and what other programs read of their salvaged copies.

salvage.py make FOLDER                  makes v2.zarr, v3.zarr (with shards), v2.zip and file.nc in FOLDER, with the
                                        same variables
salvage.py damage FILE VARIABLE N       flips a bit in a chunk of a variable: the N-th stored one of a netCDF file, or
                                        the one with this index in a zip file
salvage.py check SOURCE TARGET[:EXCLUDED]..  compares each TARGET with SOURCE, which has no damage: chunks that the
                                        report beside it lists are masked, everything else is the same
"""

import json
import pathlib
import sys
import warnings
import zipfile

import h5py
import netCDF4
import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")

CHUNKS = {"t": (2, 4), "n": (2, 4), "s": (2,)}
FILL = {"t": {"_FillValue": np.float32(-999)}, "n": {"_FillValue": np.int32(-1)}, "s": {}}


def dataset():
    t = np.arange(48, dtype="f4").reshape(6, 8) / 3
    return xr.Dataset(
        {
            "t": (("time", "x"), t),
            "n": (("time", "x"), np.arange(48, dtype="i4").reshape(6, 8) * 7),
            "s": (("time",), np.array(["one", "", "drei", "quatre", "cinque", "šest"], dtype=object)),
        },
        coords={"x": np.arange(8.0)},
    )


def make(folder):
    folder = pathlib.Path(folder)
    data = dataset()
    for version in [2, 3]:
        encoding = {name: {"chunks": chunks, **FILL[name]} for name, chunks in CHUNKS.items()}
        if version == 3:
            encoding["t"]["shards"] = encoding["n"]["shards"] = (4, 8)
        data.to_zarr(folder / f"v{version}.zarr", zarr_format=version, encoding=encoding, consolidated=False)
    with zipfile.ZipFile(folder / "v2.zip", "w") as archive:
        for path in sorted((folder / "v2.zarr").rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder / "v2.zarr"))
    encoding = {name: {"chunksizes": chunks, **FILL[name]} for name, chunks in CHUNKS.items()}
    for name in ["t", "n"]:
        encoding[name].update(zlib=True, fletcher32=True)
    data.to_netcdf(folder / "file.nc", engine="netcdf4", encoding=encoding)


def damage(path, variable, number):
    if path.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            # The name follows 30 bytes; the stored bytes follow it.
            entry = archive.getinfo(f"{variable}/{number}")
        at = entry.header_offset + 30 + len(entry.filename) + entry.file_size // 2
    else:
        with h5py.File(path) as file:
            place = file[variable].id.get_chunk_info(int(number))
        at = place.byte_offset + place.size // 2
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x10]))


def read(path):
    """The variables as xarray reads them, missing values as None."""
    if path.endswith(".nc"):
        engines = ["netcdf4"]
    elif (pathlib.Path(path) / ".zattrs").exists() and "_nczarr" in (pathlib.Path(path) / ".zattrs").read_text():
        engines = ["zarr", "nczarr"]
    else:
        engines = ["zarr"]
    for engine in engines:
        if engine == "nczarr":
            yield netcdf(path)
            continue
        options = {"consolidated": False} if engine == "zarr" else {}
        store = zarr.storage.ZipStore(path, mode="r") if path.endswith(".zip") else path
        with xr.open_dataset(store, engine=engine, **options) as data:
            yield {name: texts(data[name].values) for name in CHUNKS if name in data}


def texts(values):
    """Strings as str, with an empty one for a missing one."""
    if values.dtype.kind not in "SUOT":
        return np.array(values)
    text = [value.decode() if isinstance(value, bytes) else value for value in values]
    return np.array([value if isinstance(value, str) else "" for value in text], dtype=object)


def netcdf(path):
    with netCDF4.Dataset(f"file://{pathlib.Path(path).resolve()}#mode=nczarr,file") as data:
        names = [name for name in CHUNKS if name in data.variables]
        return {name: texts(data[name][:]) if name == "s" else data[name][:] for name in names}


def is_missing(values):
    if np.ma.isMaskedArray(values) and values.mask is not np.ma.nomask:
        return np.ma.getmaskarray(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([value in ("", -1) for value in np.ma.getdata(values).ravel()]).reshape(values.shape)


def check(source, *targets):
    wanted = next(read(source))
    for target in targets:
        target, _, excluded = target.partition(":")
        check_copy(wanted, target, excluded)


def check_copy(wanted, target, excluded):
    report = json.loads(pathlib.Path(f"{target}.salvage.json").read_text())
    lost = {variable["path"][1:]: variable["chunks"] for variable in report["variables"]}
    left_out = {variable["path"][1:] for variable in report["unreadable"]}
    for got in read(target):
        for name, values in wanted.items():
            if name in left_out or name == excluded:
                assert name not in got, name
                continue
            gone = np.zeros(values.shape, bool)
            for chunk in lost.get(name, []):
                gone[tuple(slice(*ends) for ends in zip(chunk["start"], chunk["stop"]))] = True
            assert gone.any() == (name in lost), name
            assert is_missing(got[name])[gone].all(), (target, name, got[name])
            same = np.ma.getdata(got[name])[~gone] == values[~gone]
            assert same.all(), (target, name, got[name], values)


if __name__ == "__main__":
    {"make": make, "damage": damage, "check": check}[sys.argv[1]](*sys.argv[2:])
