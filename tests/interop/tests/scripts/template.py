"""A filter that HDF5_PLUGIN_PATH gives, in other programs.

    template.py h5py FILE TYPE ID WORD ..       writes and reads an HDF5 file; prints {"stored": first bytes of a chunk,
                                                "cd_values": the words in the file, "": libraries}
    template.py netcdf FOLDER TYPE ID WORD ..   the same with netCDF4 and an NCZarr dataset; "filters", as .zarray
                                                has them, for "cd_values"
"""

import json
import pathlib
import sys

import numpy as np
from values import mapped

SHAPE = (20, 50)
CHUNKS = (10, 50)
SHOWN = 24


def h5py(path, data, number, words):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=data, chunks=CHUNKS, compression=number, compression_opts=words)
    with h5py.File(path) as file:
        assert np.array_equal(file["v"][...], data)
        mask, chunk = file["v"].id.read_direct_chunk((0, 0))
        _, _, stored_words, _ = file["v"].id.get_create_plist().get_filter(0)
    assert mask == 0
    return {"stored": list(chunk[:SHOWN]), "cd_values": stored_words}


def netcdf(path, data, number, words):
    from nczarr import define_filter, open_netcdf

    with open_netcdf(path, "w") as dataset:
        for name, length in zip("yx", SHAPE):
            dataset.createDimension(name, length)
        variable = dataset.createVariable("v", data.dtype.str, ("y", "x"), chunksizes=CHUNKS)
        define_filter()(dataset, variable, number, words)
        variable[:] = data
    with open_netcdf(path, "r") as dataset:
        assert np.array_equal(dataset["v"][...], data)
    array = json.loads((pathlib.Path(path) / "v/.zarray").read_text())
    chain = (array["filters"] or []) + ([array["compressor"]] if array["compressor"] else [])
    return {"stored": list((pathlib.Path(path) / "v/0.0").read_bytes()[:SHOWN]), "filters": chain}


if __name__ == "__main__":
    program, path, dtype, number, *words = sys.argv[1:]
    data = np.arange(1000).astype(dtype).reshape(SHAPE)
    run = {"h5py": h5py, "netcdf": netcdf}[program]
    print(json.dumps(run(path, data, int(number), tuple(map(int, words))) | {"": mapped()}))
