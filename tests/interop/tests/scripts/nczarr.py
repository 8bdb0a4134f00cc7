"""NCZarr datasets with every chain, through netcdf-c and whatever plugins HDF5_PLUGIN_PATH names.

    nczarr.py write FOLDER [--noise] [--negative]   writes every case with netCDF4; prints the codecs in its metadata
    nczarr.py read FOLDER ..                        reads every case with netCDF4; prints "same", "differs" or the error
    nczarr.py zarr FOLDER ..                        the same with zarr-python

--noise: values that do not shrink; --negative: also a negative level of zstd. JSON: one entry a variable; under "" the shared libraries that are mapped at the end.
"""

import json
import pathlib
import sys

from values import mapped, same, values

ZLIB, SHUFFLE, FLETCHER32, SZIP, BZIP2, ZSTD, BLOSC = 1, 2, 3, 4, 307, 32015, 32001
NOISE, NEGATIVE = "--noise" in sys.argv, "--negative" in sys.argv
# as nc_def_var_filter takes them
CHAINS = {
    "zlib": [(ZLIB, (6,))],
    "shuffle": [(SHUFFLE, (0,))],
    "fletcher32": [(FLETCHER32, ())],
    "szip_nn": [(SZIP, (32, 8))],
    # netcdf-c's own plugin fails to write some of these
    **({"szip_ec": [(SZIP, (4, 8))], "szip_nn_16": [(SZIP, (32, 16))], "shuffle_szip": [(SHUFFLE, (0,)), (SZIP, (32, 8))]}
       if NOISE else {}),
    "bzip2": [(BZIP2, (4,))],
    "zstd": [(ZSTD, (3,))],
    # netcdf-c writes this as 4294967291, and with its own plugin opens no dataset that says -5
    **({"zstd_negative": [(ZSTD, (2**32 - 5,))]} if NEGATIVE else {}),
    **{f"blosc_{name}": [(BLOSC, (0, 0, 0, 0, 5, number % 3, number))]
       for number, name in enumerate(("blosclz", "lz4", "lz4hc", None, "zlib", "zstd")) if name},
    "shuffle_zlib": [(SHUFFLE, (0,)), (ZLIB, (4,))],
    "shuffle_zlib_fletcher32": [(SHUFFLE, (0,)), (ZLIB, (4,)), (FLETCHER32, ())],
    "fletcher32_zlib": [(FLETCHER32, ()), (ZLIB, (4,))],
    "shuffle_zstd": [(SHUFFLE, (0,)), (ZSTD, (1,))],
    "shuffle_bzip2_fletcher32": [(SHUFFLE, (0,)), (BZIP2, (9,)), (FLETCHER32, ())],
    "blosc_zstd_fletcher32": [(BLOSC, (0, 0, 0, 0, 9, 2, 5)), (FLETCHER32, ())],
}
DTYPES = ("i1", "u1", "<i2", ">i2", "<u4", ">i8", "<f4", ">f4", "<f8")
# the last: szip's scanline comes from the array's last dimension, not from the chunk's
SHAPES = (((50, 37), (20, 15)), ((3, 10, 7), (2, 10, 7)), ((30, 400), (30, 40)))


def cases():
    """(name, dtype, shape, chunks, chain): every chain with every type, the shapes in turn"""
    for number, (title, chain) in enumerate(CHAINS.items()):
        for place, dtype in enumerate(DTYPES):
            shape, chunks = SHAPES[(number + place) % len(SHAPES)]
            name = f"{title}_{dtype.replace('<', 'le_').replace('>', 'be_')}"
            yield name, dtype, shape, chunks, chain


def open_netcdf(folder, mode):
    import netCDF4

    dataset = netCDF4.Dataset(f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file", mode)
    dataset.set_auto_maskandscale(False)
    return dataset


def define_filter():
    """nc_def_var_filter of the libnetcdf that netCDF4 has loaded."""
    import ctypes

    path = next(path for path in mapped() if pathlib.Path(path).name.startswith("libnetcdf"))
    function = ctypes.CDLL(path).nc_def_var_filter
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint)]

    def define(dataset, variable, id_, parameters):
        words = (ctypes.c_uint * max(len(parameters), 1))(*parameters)
        status = function(dataset._grpid, variable._varid, id_, len(parameters), words)
        if status:
            raise RuntimeError(f"{variable.name}: nc_def_var_filter({id_}, {parameters}) gives {status}")

    return define


def write(folder):
    with open_netcdf(folder, "w") as dataset:
        define = define_filter()
        variables = []
        for name, dtype, shape, chunks, chain in cases():
            for length in shape:
                if f"d{length}" not in dataset.dimensions:
                    dataset.createDimension(f"d{length}", length)
            dimensions = [f"d{length}" for length in shape]
            variable = dataset.createVariable(name, dtype, dimensions, chunksizes=chunks,
                                              endian={"<": "little", ">": "big"}.get(dtype[0], "native"))
            for id_, parameters in chain:
                define(dataset, variable, id_, parameters)
            variables.append((variable, name, dtype, shape))
        for variable, name, dtype, shape in variables:
            variable[:] = values(name, dtype, shape, NOISE)
    print(json.dumps(codecs(folder) | {"": mapped()}))


def codecs(folder):
    """The chain of each variable, as .zarray has it."""
    found = {}
    for name, *_ in cases():
        array = json.loads((pathlib.Path(folder) / name / ".zarray").read_text())
        found[name] = (array["filters"] or []) + ([array["compressor"]] if array["compressor"] else [])
    return found


def verdict(read, name, dtype, shape):
    try:
        return "same" if same(read(), values(name, dtype, shape, NOISE)) else "differs"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def read(folder):
    found = {}
    with open_netcdf(folder, "r") as dataset:
        for name, dtype, shape, *_ in cases():
            found[name] = verdict(lambda: dataset[name][...], name, dtype, shape)
    print(json.dumps(found | {"": mapped()}))


def read_zarr(folder):
    import zarr

    found = {}
    group = zarr.open_group(folder, mode="r", zarr_format=2)
    for name, dtype, shape, *_ in cases():
        found[name] = verdict(lambda: group[name][...], name, dtype, shape)
    print(json.dumps(found | {"": mapped()}))


if __name__ == "__main__":
    {"write": write, "read": read, "zarr": read_zarr}[sys.argv[1]](sys.argv[2])
