"""third_party_together.py FOLDER MODULE..: imports the modules in this order, then writes and reads with h5py and netCDF4.

HDF5_PLUGIN_PATH names our plugins and those of others. Ours and theirs serve the same ids; lz4 is others' alone.
Prints {"count": arrays compared, "wrong": names, "": libraries}.
"""

import importlib
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
for module in sys.argv[2:]:
    importlib.import_module(module)

import h5py
import netCDF4
import numpy as np
from nczarr import define_filter
from values import mapped, values

BLOSC, BZIP2, ZSTD, LZ4 = 32001, 307, 32015, 32004
SHUFFLE, ZLIB, FLETCHER32, SZIP = 2, 1, 3, 4
CHAINS = {
    "blosc": [(BLOSC, (0, 0, 0, 0, 5, 1, 1))],
    "zstd": [(ZSTD, (3,))],
    "bzip2": [(BZIP2, (9,))],
    "lz4": [(LZ4, ())],
    "lz4_zstd": [(LZ4, ()), (ZSTD, (1,))],
    "shuffle_blosc_fletcher32": [(SHUFFLE, ()), (BLOSC, (0, 0, 0, 0, 9, 0, 5)), (FLETCHER32, ())],
}
# NCZarr wants a codec for each filter, which lz4 lacks
NCZARR = {name: chain for name, chain in CHAINS.items() if "lz4" not in name} | {
    "zlib": [(SHUFFLE, (0,)), (ZLIB, (4,))],
    "szip": [(SZIP, (32, 8))],
}
DTYPES = ("<f4", ">i2", "<f8", "u1")
SHAPE, CHUNKS = (70, 101), (30, 40)
count, wrong = 0, []


def compare(name, got, data):
    global count
    count += 1
    if np.ascontiguousarray(got).astype(data.dtype).tobytes() != data.tobytes():
        wrong.append(name)


def cases(chains):
    for title, chain in chains.items():
        for dtype in DTYPES:
            yield f"{title}_{dtype.replace('<', 'le').replace('>', 'be')}", np.dtype(dtype), chain


def write_h5py(path):
    with h5py.File(path, "w") as file:
        for name, dtype, chain in cases(CHAINS):
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            dcpl.set_chunk(CHUNKS)
            for id_, parameters in chain:
                dcpl.set_filter(id_, 0, parameters)
            type_, space = h5py.h5t.py_create(dtype), h5py.h5s.create_simple(SHAPE)
            dataset = h5py.h5d.create(file.id, name.encode(), type_, space, dcpl)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values(name, dtype, SHAPE))


def write_netcdf(path, chains):
    with netCDF4.Dataset(path, "w") as dataset:
        for dimension, length in zip("yx", SHAPE):
            dataset.createDimension(dimension, length)
        for name, dtype, chain in cases(chains):
            endian = {"<": "little", ">": "big"}.get(dtype.str[0], "native")
            variable = dataset.createVariable(name, dtype, ("y", "x"), chunksizes=CHUNKS, endian=endian)
            variable.set_auto_maskandscale(False)
            for id_, parameters in chain:
                define_filter()(dataset, variable, id_, parameters)
            variable[...] = values(name, dtype, SHAPE)


def read_netcdf(path, chains):
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        for name, dtype, _ in cases(chains):
            compare(f"{path} {name} by netcdf", dataset[name][...], values(name, dtype, SHAPE))


def read_h5py(path):
    with h5py.File(path) as file:
        for name, dtype, _ in cases(CHAINS):
            compare(f"{path} {name} by h5py", file[name][...], values(name, dtype, SHAPE))


h5, nc, ncz = str(folder / "h5"), str(folder / "nc"), f"file://{folder}/ncz#mode=nczarr,file"
write_h5py(h5)
write_netcdf(nc, CHAINS)
write_netcdf(ncz, NCZARR)
for path in (h5, nc):
    read_h5py(path)
    read_netcdf(path, CHAINS)
read_netcdf(ncz, NCZARR)
print(json.dumps({"count": count, "wrong": wrong, "": mapped()}))
