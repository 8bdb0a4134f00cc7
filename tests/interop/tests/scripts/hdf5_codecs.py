"""LZ4 (32004) and bitshuffle (32008) by h5py, LZF (32000) by netcdf-c, whose HDF5 has no filter of its own for it.

    hdf5_codecs.py write FILE [--hdf5plugin]     writes every case
    hdf5_codecs.py read FILE [--hdf5plugin]      reads every case and compares it to the byte; no chunk may be masked
    hdf5_codecs.py lzf-write FILE                by h5py, whose LZF is its own
    hdf5_codecs.py lzf-read FILE                 by h5py
    hdf5_codecs.py lzf-netcdf-write FILE         by netcdf-c with the plugins of HDF5_PLUGIN_PATH
    hdf5_codecs.py lzf-netcdf-read FILE          the same
    hdf5_codecs.py nczarr FOLDER                 NCZarr with the NCZarr codecs of lz4h5 and lzf, written and read by netcdf-c

Without --hdf5plugin the plugins come from HDF5_PLUGIN_PATH alone. Prints how many cases went through.
"""

import ctypes
import sys

if "--hdf5plugin" in sys.argv:
    import hdf5plugin  # noqa: F401 (registers its filters)
import numpy as np

LZF, LZ4, BITSHUFFLE = 32000, 32004, 32008
FILTERS = [(LZ4, ()), (LZ4, (100,)), (BITSHUFFLE, ()), (BITSHUFFLE, (0, 2)), (BITSHUFFLE, (0, 3, 3)), (BITSHUFFLE, (16, 2))]
DTYPES = "i1 u1 <i2 >i2 <i4 >i8 <u8 <f2 <f4 >f4 <f8 >f8 <c8 S5".split()
EDGES = {"many": 5003, "odd": 37, "one": 1, "equal": 100, "special": 24, "noise": 300}


def values(dtype, edge):
    count, dtype = EDGES[edge], np.dtype(dtype)
    if edge == "noise":
        return np.random.default_rng(3).integers(0, 256, count * dtype.itemsize, "u1").view(dtype)
    if edge == "special" and dtype.kind == "f":
        info = np.finfo(dtype)
        least = info.smallest_subnormal
        return np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, least, info.max, info.tiny] * 3, dtype)
    numbers = np.full(count, 9) if edge == "equal" else np.arange(count) // 7 % 100
    if dtype.kind == "S":
        return np.array([b"%05d" % number for number in numbers], dtype)
    return numbers.astype(dtype)


def cases(dtypes=DTYPES):
    for dtype in dtypes:
        for edge in EDGES:
            data = values(dtype, edge)
            yield f"{np.dtype(dtype).str.translate({60: 'l', 62: 'b', 124: 'n'})}_{edge}", data, (min(len(data), 1000),)


def hdf5(file, write):
    count = 0
    for number, (filter_, words) in enumerate(FILTERS):
        for name, data, chunks in cases():
            name = f"{number}/{name}"
            if write:
                file.create_dataset(name, data=data, chunks=chunks, compression=filter_, compression_opts=words)
            else:
                dataset = file[name]
                assert dataset[...].tobytes() == data.tobytes(), name
                masks = [dataset.id.get_chunk_info(at).filter_mask for at in range(dataset.id.get_num_chunks())]
                assert not any(masks), (name, masks)
            count += 1
    return count


def lzf(file, write):
    count = 0
    for name, data, chunks in cases(NUMBERS):
        if write:
            file.create_dataset(name, data=data, chunks=chunks, compression="lzf")
        else:
            dataset = file[name]
            assert dataset[...].tobytes() == data.tobytes(), name
            number, flags, words, _ = dataset.id.get_create_plist().get_filter(0)
            assert (number, words) == (LZF, (4, 261, chunks[0] * data.itemsize)), (name, words)
        count += 1
    return count


# netcdf-c has these types, and does not change NaN.
NUMBERS = [dtype for dtype in DTYPES if np.dtype(dtype).kind in "iuf" and dtype != "<f2"]


def library():
    import netCDF4  # noqa: F401 (maps libnetcdf)

    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libnetcdf" in line))


def define_filter(file, variable, number, words=()):
    code = library().nc_def_var_filter(
        file._grpid, variable._varid, number, ctypes.c_size_t(len(words)), (ctypes.c_uint * len(words))(*words)
    )
    assert code == 0, (variable.name, code)


def netcdf(path, write):
    import netCDF4

    count = 0
    with netCDF4.Dataset(path, "w" if write else "r") as file:
        file.set_auto_maskandscale(False)
        for name, data, chunks in cases(NUMBERS):
            if write:
                dimension = f"d_{name}"
                file.createDimension(dimension, len(data))
                order = {"<": "little", ">": "big"}.get(data.dtype.str[0], "native")
                variable = file.createVariable(name, data.dtype, (dimension,), chunksizes=chunks, endian=order)
                variable.set_auto_maskandscale(False)
                define_filter(file, variable, LZF)
                variable[:] = data
            else:
                got = file[name][:]
                assert got.astype(data.dtype).tobytes() == data.tobytes(), name
            count += 1
    return count


def nczarr(folder):
    import json
    import pathlib

    import netCDF4

    url = f"file://{folder}#mode=nczarr,file"
    wanted = {
        "lz4": (LZ4, (), {"id": "imagecodecs_lz4h5", "level": None, "blocksize": None}),
        "lz4_100": (LZ4, (100,), {"id": "imagecodecs_lz4h5", "level": None, "blocksize": 100}),
        "lzf": (LZF, (), {"id": "imagecodecs_lzf", "header": False}),
    }
    data = np.arange(500) // 7
    with netCDF4.Dataset(url, "w") as file:
        file.createDimension("x", len(data))
        for name, (number, words, _) in wanted.items():
            variable = file.createVariable(name, "<f4", ("x",), chunksizes=(100,))
            define_filter(file, variable, number, words)
            variable[:] = data
    with netCDF4.Dataset(url) as file:
        for name, (_, _, codec) in wanted.items():
            assert (file[name][:] == data).all(), name
            document = json.loads((pathlib.Path(folder) / name / ".zarray").read_text())
            assert document["compressor"] == codec and not document["filters"], (name, document)
    return len(wanted)


def main(action, path):
    if action == "nczarr":
        return nczarr(path)
    if action.startswith("lzf-netcdf-"):
        return netcdf(path, action.endswith("write"))
    import h5py

    act, write = (lzf if action.startswith("lzf-") else hdf5), action.endswith("write")
    with h5py.File(path, "w" if write else "r") as file:
        return act(file, write)


print(main(*sys.argv[1:3]))
