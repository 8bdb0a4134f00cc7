"""third_party_threads.py FOLDER: four threads write and read at once, two with h5py and two with netCDF4.

The two bring a libhdf5 each and share our plugins: while one library holds Python's lock, the other one is in a filter. (netcdf-c
serves one thread at a time, so its two threads take turns.) Prints {"count": arrays compared, "wrong": names, "": libraries}.
"""

import json
import pathlib
import sys
import threading

import h5py
import netCDF4
import numpy as np
from nczarr import define_filter
from values import mapped, values

BLOSC, BZIP2, ZSTD, SHUFFLE, ZLIB, FLETCHER32, SZIP = 32001, 307, 32015, 2, 1, 3, 4
# another chain for each thread and round
HDF5 = [[(BLOSC, (0, 0, 0, 0, 5, 1, 1))], [(ZSTD, (3,))], [(BZIP2, (1,))], [(BLOSC, (0, 0, 0, 0, 9, 2, 5))], [(ZSTD, (7,))]]
NCZARR = [[(SHUFFLE, (0,)), (ZLIB, (4,))], [(SZIP, (32, 16))], [(BLOSC, (0, 0, 0, 0, 1, 0, 4))], [(ZSTD, (1,)), (FLETCHER32, ())]]
SHAPE, CHUNKS, ROUNDS = (300, 257), (61, 100), 10
FOLDER = pathlib.Path(sys.argv[1])
netcdf_lock = threading.Lock()
count, wrong = [], []


def data_of(name, number):
    dtype = ["<f4", ">i2", "<f8", "<u4", "i1"][number % 5]
    return values(name, dtype, SHAPE, number % 3 == 0)


def compare(name, got, data):
    count.append(name)
    if np.ascontiguousarray(got).astype(data.dtype).tobytes() != data.tobytes():
        wrong.append(name)


def with_h5py(thread, number):
    name = f"h5py_{thread}_{number}"
    data, path = data_of(name, number), FOLDER / f"{name}.h5"
    with h5py.File(path, "w") as file:
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk(CHUNKS)
        for id_, parameters in HDF5[(thread + number) % len(HDF5)]:
            dcpl.set_filter(id_, 0, parameters)
        type_, space = h5py.h5t.py_create(data.dtype), h5py.h5s.create_simple(SHAPE)
        h5py.h5d.create(file.id, b"v", type_, space, dcpl).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    with h5py.File(path) as file:
        compare(name, file["v"][...], data)


def with_netcdf(thread, number):
    name = f"netcdf_{thread}_{number}"
    data, path = data_of(name, number), str(FOLDER / name)
    chain = HDF5[(thread + number) % len(HDF5)]
    if thread % 2:
        path, chain = f"file://{path}#mode=nczarr,file", NCZARR[number % len(NCZARR)]
    with netcdf_lock:
        with netCDF4.Dataset(path, "w") as dataset:
            for dimension, length in zip("yx", SHAPE):
                dataset.createDimension(dimension, length)
            endian = {"<": "little", ">": "big"}.get(data.dtype.str[0], "native")
            variable = dataset.createVariable("v", data.dtype, ("y", "x"), chunksizes=CHUNKS, endian=endian)
            for id_, parameters in chain:
                define_filter()(dataset, variable, id_, parameters)
            variable.set_auto_maskandscale(False)
            variable[...] = data
        with netCDF4.Dataset(path) as dataset:
            dataset.set_auto_maskandscale(False)
            got = dataset["v"][...]
    compare(name, got, data)


def rounds(step, thread):
    for number in range(ROUNDS):
        try:
            step(thread, number)
        except Exception as error:
            wrong.append(f"{step.__name__} {thread} {number}: {type(error).__name__}: {error}")


threads = [threading.Thread(target=rounds, args=(step, thread)) for step in (with_h5py, with_netcdf) for thread in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"count": len(count), "wrong": wrong, "": mapped()}))
