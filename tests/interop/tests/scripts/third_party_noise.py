"""third_party_noise.py FILE zstd|blosc|bzip2: a netCDF-4 file with a chunk that does not shrink, through HDF5 2.2."""

import sys

import netCDF4
import numpy as np
from nczarr import define_filter

FILTERS = {"zstd": (32015, (3,)), "blosc": (32001, (0, 0, 0, 0, 5, 1, 1)), "bzip2": (307, (9,))}

path, name = sys.argv[1:3]
data = np.random.default_rng(3).integers(0, 2**32, (50, 100), dtype="u4")
with netCDF4.Dataset(path, "w") as dataset:
    for dimension, length in zip("yx", data.shape):
        dataset.createDimension(dimension, length)
    variable = dataset.createVariable("v", "<u4", ("y", "x"), chunksizes=data.shape)
    define_filter()(dataset, variable, *FILTERS[name])
    variable[...] = data
with netCDF4.Dataset(path) as dataset:
    assert np.array_equal(dataset["v"][...], data)
