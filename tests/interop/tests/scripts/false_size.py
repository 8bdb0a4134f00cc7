"""Writes an NCZarr dataset whose shuffle states an element size that netcdf-c did not use: false_size.py FOLDER"""

import sys

import numpy as np
from nczarr import SHUFFLE, ZLIB, define_filter, open_netcdf

if __name__ == "__main__":
    with open_netcdf(sys.argv[1], "w") as dataset:
        define = define_filter()
        dataset.createDimension("x", 100)
        variable = dataset.createVariable("v", "f4", ("x",), chunksizes=(50,))
        define(dataset, variable, SHUFFLE, (8,))
        define(dataset, variable, ZLIB, (4,))
        variable[:] = np.arange(100)
