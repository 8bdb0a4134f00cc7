"""What a libhdf5 records in a dataset, for plugins that are linked to it.

Arguments: the libhdf5, then the filters. HDF5_PLUGIN_PATH names the folder of the plugins. Prints a line a case: filter,
dtype, chunk shape, given words, recorded words or "refused".
"""

import ctypes
import itertools
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint64

hdf5 = ctypes.CDLL(sys.argv[1])
for name in "H5Pcreate H5Tcopy H5Screate_simple H5Fcreate H5Dcreate2 H5Dget_create_plist".split():
    getattr(hdf5, name).restype = c_int64
hdf5.H5open()
hdf5.H5Eset_auto2(c_int64(0), None, None)

GIVEN = {
    2: [()],
    4: [(4, 8), (32, 16)],
    307: [(9,)],
    32001: [(0, 0, 0, 0, 5, 1, 1), (0, 0, 0, 0, 9, 1, 0)],
    32004: [(), (1024,)],
    32013: [
        (1, 0, 0, 1076101120, 0, 0),
        (2, 0, 16),
        (3, 0, 3539053052, 1062232653),
        (5,),
        (4, 0, 1, 16657, 64, 4294966222),
    ],
    32015: [(3,)],
}
INTEGERS = [f"{order}{kind}{size}" for order in ("", ">") for kind in "iu" for size in (1, 2, 4, 8)]
DTYPES = [dtype for dtype in INTEGERS if dtype[0] != ">" or dtype[-1] != "1"] + ["f4", "f8", ">f4", ">f8"]
SHAPES = [(64,), (64, 48), (1, 64, 48), (3, 16, 24), (2, 3, 16, 12), (2, 2, 4, 6, 8)]


def constant(name):
    return c_int64.in_dll(hdf5, name).value


def type_of(dtype):
    order = "BE" if dtype[0] == ">" else "LE"
    kind, size = dtype[-2], 8 * int(dtype[-1])
    family = "IEEE_F" if kind == "f" else "STD_" + kind.upper()
    return constant(f"H5T_{family}{size}{order}_g")


access = c_int64(hdf5.H5Pcreate(c_int64(constant("H5P_CLS_FILE_ACCESS_ID_g"))))
hdf5.H5Pset_fapl_core(access, c_size_t(1 << 16), c_int(0))
file = c_int64(hdf5.H5Fcreate(b"oracle.h5", c_uint(2), c_int64(0), access))


def recorded(number, filter_id, dtype, shape, given):
    plist = c_int64(hdf5.H5Pcreate(c_int64(constant("H5P_CLS_DATASET_CREATE_ID_g"))))
    dims = (c_uint64 * len(shape))(*shape)
    hdf5.H5Pset_chunk(plist, c_int(len(shape)), dims)
    words = (c_uint * max(1, len(given)))(*given)
    if hdf5.H5Pset_filter(plist, c_int(filter_id), c_uint(0), c_size_t(len(given)), words) < 0:
        return "refused"
    space = c_int64(hdf5.H5Screate_simple(c_int(len(shape)), dims, None))
    zero = c_int64(0)
    name = b"d%d" % number
    dataset = hdf5.H5Dcreate2(file, name, c_int64(type_of(dtype)), space, zero, plist, zero)
    if dataset < 0:
        return "refused"
    back = c_int64(hdf5.H5Dget_create_plist(c_int64(dataset)))
    count, flags, config = c_size_t(64), c_uint(0), c_uint(0)
    values = (c_uint * 64)()
    hdf5.H5Pget_filter_by_id2(
        back, c_int(filter_id), byref(flags), byref(count), values, c_size_t(0), None, byref(config)
    )
    return ",".join(str(values[i]) for i in range(count.value))


cases = ((i, d, s, g) for i in map(int, sys.argv[2:]) for d in DTYPES for s in SHAPES for g in GIVEN[i])
for number, (filter_id, dtype, shape, given) in enumerate(cases):
    words = recorded(number, filter_id, dtype, shape, given)
    print(filter_id, dtype, "x".join(map(str, shape)), ",".join(map(str, given)), words, sep="\t")
