"""HDF5 datasets with the filters blosc, bzip2 and zstd, through whatever plugins HDF5 finds.

    h5.py write FILE [--hdf5plugin]     writes every case; prints one JSON object
    h5.py read FILE [--hdf5plugin]      reads every case and compares it with what was to be written
    h5.py create FILE [--hdf5plugin]    creates a dataset for each case of parameters, without data
    h5.py damage FILE                   cuts a chunk of each filter; reading it must fail

Without --hdf5plugin the plugins come from HDF5_PLUGIN_PATH alone. JSON of write and create: for each case the stored
cd_values and the filter's name, or the error; under "" the shared libraries that are mapped at the end.
"""

import json
import sys

if "--hdf5plugin" in sys.argv:
    import hdf5plugin  # noqa: F401 (registers its filters)
import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t
from values import mapped, same, values

BLOSC, BZIP2, ZSTD = 32001, 307, 32015
# Third-party blosc fails if data do not shrink, and HDF5 then stores the chunk unfiltered if the filter is optional;
# ours must never fail.
FLAGS = 1 if "--hdf5plugin" in sys.argv else 0
DTYPES = "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 >f4 >f8 >i2 S5".split()
SHAPES = [((37,), (10,)), ((50, 37), (20, 15)), ((5, 7, 9), (2, 3, 4)), ((3, 2), (1, 1)), ((64, 48), (64, 48))]
CNAMES = {"blosclz": 0, "lz4": 1, "lz4hc": 2, "zlib": 4, "zstd": 5}
PARAMETERS = [
    *[(BLOSC, (0, 0, 0, 0, 5, shuffle, code)) for code in CNAMES.values() for shuffle in (0, 1, 2)],
    (BLOSC, ()), (BLOSC, (0, 0, 0, 0, 9)), (BLOSC, (0, 0, 0, 0)), (BLOSC, (0, 0, 0, 0, 9, 2)),
    (BLOSC, (0, 0, 0, 0, 0, 1, 1)), (BLOSC, (7, 7, 7, 7, 3, 1, 5)),
    (BZIP2, ()), (BZIP2, (1,)), (BZIP2, (9,)),
    (ZSTD, ()), (ZSTD, (1,)), (ZSTD, (3,)), (ZSTD, (19,)), (ZSTD, (2**32 - 5,)),
]
# types that only HDF5 has, for the parameters only
TYPES = {
    "array": lambda: h5t.array_create(h5t.IEEE_F32LE, (3,)),
    "nested": lambda: h5t.array_create(h5t.array_create(h5t.IEEE_F32LE, (5,)), (2,)),
    "enum": lambda: h5t.py_create(np.dtype("?"), logical=True),
    "compound": lambda: h5t.py_create(np.dtype([("a", "<i2"), ("b", ">f8")])),
    "opaque": lambda: h5t.create(h5t.OPAQUE, 300),
    "long string": lambda: h5t.py_create(np.dtype("S1000")),
}


def cases():
    """(name, dtype, shape, chunks, filter, parameters, whether the data are noise)"""
    for number, dtype in enumerate(DTYPES):
        for place, (shape, chunks) in enumerate(SHAPES):
            for index, (filter_, parameters) in enumerate(PARAMETERS):
                noise = (number + place + index) % 3 == 0
                name = f"{dtype} {shape} {chunks} {filter_} {parameters}"
                yield name, np.dtype(dtype), shape, chunks, filter_, parameters, noise


def create(file, name, type_, shape, chunks, filter_, parameters):
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(chunks)
    dcpl.set_filter(filter_, FLAGS, parameters)
    return h5d.create(file.id, name.encode(), type_, h5s.create_simple(shape), dcpl)


def stored(dataset):
    _, _, parameters, name = dataset.get_create_plist().get_filter(0)
    return {"cd_values": list(parameters), "filter": name.decode()}


def write(path):
    done = {}
    with h5py.File(path, "w") as file:
        for name, dtype, shape, chunks, filter_, parameters, noise in cases():
            dataset = create(file, name, h5t.py_create(dtype), shape, chunks, filter_, parameters)
            data = np.ascontiguousarray(values(name, dtype, shape, noise))
            dataset.write(h5s.ALL, h5s.ALL, data)
            done[name] = stored(dataset)
    # the masks are there when all is written
    with h5py.File(path, "r") as file:
        for name, *_ in cases():
            dataset = file[name].id
            masks = [dataset.get_chunk_info(index).filter_mask for index in range(dataset.get_num_chunks())]
            done[name]["masked"] = sum(mask != 0 for mask in masks)
    print(json.dumps(done | {"": mapped()}))


def read(path):
    count = 0
    with h5py.File(path, "r") as file:
        for name, dtype, shape, chunks, filter_, parameters, noise in cases():
            want = values(name, dtype, shape, noise)
            got = np.empty(shape, dtype)
            file[name].id.read(h5s.ALL, h5s.ALL, got)
            if not same(got, want):
                sys.exit(f"{path}: {name} differs")
            count += 1
    print(json.dumps({"count": count, "": mapped()}))


def create_only(path):
    made = {}
    wrong = [(BLOSC, (0, 0, 0, 0, 5, 1, 1, 0)), (BLOSC, (0, 0, 0, 0, 10, 1, 1)), (BLOSC, (0, 0, 0, 0, 5, 3, 1)),
             (BLOSC, (0, 0, 0, 0, 5, 1, 77))]
    with h5py.File(path, "w") as file:
        for kind, make in TYPES.items():
            for shape, chunks in SHAPES:
                for filter_, parameters in PARAMETERS + wrong:
                    name = f"{kind} {shape} {chunks} {filter_} {parameters}"
                    try:
                        made[name] = stored(create(file, name, make(), shape, chunks, filter_, parameters))
                    except Exception as error:
                        made[name] = {"error": str(error)}
    print(json.dumps(made | {"": mapped()}))


def damage(path):
    """A chunk of each filter, cut or with a byte changed in its frame: an error, never other values."""
    data = np.arange(5000, dtype="<i4").reshape(50, 100) // 7
    failed = {}
    for filter_, parameters in ((BLOSC, (0, 0, 0, 0, 5, 1, 1)), (BZIP2, (9,)), (ZSTD, (3,))):
        with h5py.File(path, "w") as file:
            dataset = create(file, "v", h5t.py_create(data.dtype), data.shape, data.shape, filter_, parameters)
            dataset.write(h5s.ALL, h5s.ALL, data)
        with h5py.File(path, "r+") as file:
            _, chunk = file["v"].id.read_direct_chunk((0, 0))
            file["v"].id.write_direct_chunk((0, 0), chunk[: len(chunk) * 2 // 3])
        with h5py.File(path, "r") as file:
            try:
                got = file["v"][...]
                failed[filter_] = "the same" if np.array_equal(got, data) else "other values"
            except OSError:
                failed[filter_] = "an error"
    print(json.dumps(failed | {"": mapped()}))


if __name__ == "__main__":
    {"write": write, "read": read, "create": create_only, "damage": damage}[sys.argv[1]](sys.argv[2])
