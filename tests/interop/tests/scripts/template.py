"""A filter that HDF5_PLUGIN_PATH gives, in other programs.

    template.py h5py FILE ID WORD ..       writes and reads an HDF5 file; prints {"stored": first bytes of a chunk, "": libraries}
    template.py netcdf FOLDER ID WORD ..   the same with netCDF4 and an NCZarr dataset; also "filters", as .zarray has them
"""

import json
import pathlib
import sys

import numpy as np
from values import mapped

DATA = np.arange(1000, dtype="<i4").reshape(20, 50)
CHUNKS = (10, 50)
SHOWN = 24


def h5py(path, number, words):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=DATA, chunks=CHUNKS, compression=number, compression_opts=words)
    with h5py.File(path) as file:
        assert np.array_equal(file["v"][...], DATA)
        mask, chunk = file["v"].id.read_direct_chunk((0, 0))
    assert mask == 0
    return {"stored": list(chunk[:SHOWN])}


def netcdf(path, number, words):
    from nczarr import define_filter, open_netcdf

    with open_netcdf(path, "w") as dataset:
        for name, length in zip("yx", DATA.shape):
            dataset.createDimension(name, length)
        variable = dataset.createVariable("v", "<i4", ("y", "x"), chunksizes=CHUNKS)
        define_filter()(dataset, variable, number, words)
        variable[:] = DATA
    with open_netcdf(path, "r") as dataset:
        assert np.array_equal(dataset["v"][...], DATA)
    array = json.loads((pathlib.Path(path) / "v/.zarray").read_text())
    chain = (array["filters"] or []) + ([array["compressor"]] if array["compressor"] else [])
    return {"stored": list((pathlib.Path(path) / "v/0.0").read_bytes()[:SHOWN]), "filters": chain}


if __name__ == "__main__":
    program, path, number, *words = sys.argv[1:]
    run = {"h5py": h5py, "netcdf": netcdf}[program]
    print(json.dumps(run(path, int(number), tuple(map(int, words))) | {"": mapped()}))
