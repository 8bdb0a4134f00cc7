"""netcdf-c's quantizing. quantize.py bits FOLDER | quantize.py slabs FOLDER | quantize.py read DATASET

bits: quantizes the elements of FOLDER/f4.bin and FOLDER/f8.bin in every way, as NCZarr and as HDF5, into files
FOLDER/TYPE-MODE-NUMBER-FORMAT.bin. slabs: writes FOLDER/f4.bin in slabs to FOLDER/theirs. read: prints what netcdf-c makes
of the variable `v` of a dataset.
"""
import json
import os
import sys

import netCDF4
import numpy

MODES = {
    "BitGroom": {"f4": 6, "f8": 15},
    "GranularBitRound": {"f4": 6, "f8": 15},
    "BitRound": {"f4": 23, "f8": 52},
}


def variable(dataset, dtype, dimensions, mode, number, **options):
    made = dataset.createVariable("v", dtype, dimensions, quantize_mode=mode, significant_digits=number, **options)
    made.set_auto_maskandscale(False)
    return made


def bits(folder):
    for dtype in ("f4", "f8"):
        data = numpy.fromfile(os.path.join(folder, dtype + ".bin"), dtype)
        for mode, most in MODES.items():
            for number in range(1, most[dtype] + 1):
                for kind in ("nczarr", "hdf5"):
                    path = os.path.join(folder, f"{dtype}-{mode}-{number}-{kind}")
                    url = f"file://{path}#mode=nczarr,file" if kind == "nczarr" else path
                    with netCDF4.Dataset(url, "w") as dataset:
                        dataset.createDimension("x", data.size)
                        variable(dataset, dtype, ("x",), mode, number)[:] = data
                    with netCDF4.Dataset(url) as dataset:
                        dataset.set_auto_maskandscale(False)
                        dataset["v"][:].tofile(path + ".bin")


def slabs(folder):
    data = numpy.fromfile(os.path.join(folder, "f4.bin"), "f4")
    with netCDF4.Dataset(f"file://{folder}/theirs#mode=nczarr,file", "w") as dataset:
        dataset.createDimension("y", 20)
        dataset.createDimension("x", 30)
        made = variable(dataset, "f4", ("y", "x"), "BitGroom", 3, chunksizes=(7, 8), endian="big")
        made[:, :] = data[:600].reshape(20, 30)
        made[3:10, 5:20] = data[600:705].reshape(7, 15)
        made[1:20:3, 2:29:4] = data[705:754].reshape(7, 7)


def read(path):
    with netCDF4.Dataset(f"file://{path}#mode=nczarr,file") as dataset:
        dataset.set_auto_maskandscale(False)
        made = dataset["v"]
        print(json.dumps({
            "quantization": made.quantization(),
            "filters": made.filters(),
            "values": made[:].astype("f4").view("u4").ravel().tolist(),
        }))


{"bits": bits, "slabs": slabs, "read": read}[sys.argv[1]](sys.argv[2])
