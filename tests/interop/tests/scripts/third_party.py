"""Datasets of every size and type, through three libraries and whatever filter plugins they find.

    third_party.py write LIBRARY PATH [OPTION]..    writes every case; prints JSON
    third_party.py read LIBRARY PATH [OPTION]..     reads every case and compares; prints JSON
    third_party.py plain LIBRARY PATH [OPTION]..    writes every case without a filter

LIBRARY: h5py (HDF5 2.0), netcdf (netCDF4's netcdf-c with HDF5 2.2, a netCDF-4 file), nczarr (the same netcdf-c, a folder).
--large: chunks of 64 MiB instead of the many small ones; --hdf5plugin: h5py with the filters of hdf5plugin;
--unfiltered: all filters were removed; --once: one chain for each type and shape; --small: only arrays of few elements;
--big: only arrays of many; --smooth: no noise (netcdf-c's own blosc fails on chunks that do not shrink);
--filters=N: every array has so many instead of its own;
--of=LIBRARY (read): the cases that this library wrote.

JSON: "count" of cases, "wrong" with what differs, "params" (write, h5py: cd_values by case), "masked" (read, h5py: chunks that
did not go through the filters), and under "" the shared libraries that are mapped at the end.
"""

import functools
import json
import pathlib
import sys

if "--hdf5plugin" in sys.argv:
    import hdf5plugin  # noqa: F401 (registers its filters)
import numpy as np
from values import mapped, values

ZLIB, SHUFFLE, FLETCHER32, SZIP, BZIP2, ZSTD, BLOSC = 1, 2, 3, 4, 307, 32015, 32001
LARGE, UNFILTERED, ONCE, SMALL, BIG, SMOOTH = (
    f"--{name}" in sys.argv for name in "large unfiltered once small big smooth".split())
FILTERS = next((int(option[10:]) for option in sys.argv if option.startswith("--filters=")), None)
OF = next((option[5:] for option in sys.argv if option.startswith("--of=")), None)
# 64 MiB through each filter with the cheapest settings: bzip2 takes seconds
LARGE_CHAINS = {
    "h5py": ["zstd", "blosc", "bzip2"],
    "netcdf": ["zstd", "blosc"],
    "nczarr": ["blosc_zstd_bits", "shuffle_zlib", "szip", "fletcher32"],
}
# chains of only our filters, and with filters that HDF5 has itself
HDF5_CHAINS = {
    "zstd": [(ZSTD, (3,))],
    "blosc": [(BLOSC, (0, 0, 0, 0, 5, 1, 1))],
    "bzip2": [(BZIP2, (9,))],
    "blosc_zstd_bits": [(BLOSC, (0, 0, 0, 0, 3, 2, 5))],
    "shuffle_zstd_fletcher32": [(SHUFFLE, ()), (ZSTD, (1,)), (FLETCHER32, ())],
}
# netcdf-c's NCZarr takes every filter from a plugin
NCZARR_CHAINS = HDF5_CHAINS | {
    "shuffle_zlib": [(SHUFFLE, (0,)), (ZLIB, (4,))],
    "szip": [(SZIP, (32, 8))],
    "fletcher32": [(FLETCHER32, ())],
}
DTYPES = "i1 u1 <i2 >i2 <u2 <i4 >i4 <u4 <i8 >i8 <u8 <f4 >f4 <f8 >f8".split()
HDF5_DTYPES = [*DTYPES, "<f2", ">u2", "S1", "S7", "?", "<c8", "V5"]
# in elements: chunks of one element (one byte for i1), odd ones, ones at and around powers of two, some with a last chunk that
# is not full
SHAPES = [((3, 2), (1, 1)), ((7,), (3,)), ((255,), (255,)), ((1000,), (333,)), ((3, 5, 7, 2), (2, 3, 4, 1)),
          ((65537,), (65536,)), ((513, 255), (257, 129))]
LARGE_SHAPE = ((4096, 4096), (4096, 4096))


def cases(library):
    """(name, dtype, shape, chunks, chain, whether the data are noise)"""
    chains = NCZARR_CHAINS if library == "nczarr" else HDF5_CHAINS
    if LARGE:
        # 64 MiB; half of the data cannot be compressed
        for chain in LARGE_CHAINS[library]:
            yield f"large_{chain}", "<f4", *LARGE_SHAPE, chains[chain], None
        return
    for number, dtype in enumerate(HDF5_DTYPES if library == "h5py" else DTYPES):
        for place, (shape, chunks) in list(enumerate(SHAPES))[5 if BIG else 0:3 if SMALL else None]:
            for index, chain in enumerate(chains):
                if ONCE and (number + place) % len(chains) != index:
                    continue
                # netcdf-c wants more elements than a block has
                if chain == "szip" and np.prod(chunks) < 8:
                    continue
                name = f"{dtype.replace('<', 'le_').replace('>', 'be_').replace('?', 'bool')}_{place}_{chain}"
                yield name, dtype, shape, chunks, chains[chain], (number + place + index) % 2 == 0 and not SMOOTH


def data_of(name, dtype, shape, noise):
    if noise is None:
        return large_field().view(dtype).reshape(shape)
    if dtype in ("?", "<c8", "V5"):
        data = values(name, "u1", (int(np.prod(shape)) * np.dtype(dtype).itemsize,), noise)
        return (data % 2 if dtype == "?" else data).astype("u1").view(dtype).reshape(shape)
    return values(name, dtype, shape, noise)


@functools.cache
def large_field():
    """The same everywhere: making it takes longer than most filters."""
    cells = np.arange(np.prod(LARGE_SHAPE[0]), dtype="u4") // 9
    cells[::2] *= np.uint32(2654435761)
    half = len(cells) // 2
    cells[half:] = np.random.default_rng(1).integers(0, 2**32, len(cells) - half, dtype="u4")
    return cells


def equal(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a.view("u1"), b.view("u1"))


class H5py:
    def __init__(self, path, mode):
        import h5py

        self.h5py, self.file, self.params, self.masked = h5py, h5py.File(path, mode), {}, 0

    def create(self, name, dtype, shape, chunks, chain):
        h5 = self.h5py
        dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE)
        dcpl.set_chunk(chunks)
        # third-party blosc fails if data do not shrink; if the filter is optional HDF5 stores the chunk unfiltered
        for id_, parameters in chain:
            dcpl.set_filter(id_, 1 if "--hdf5plugin" in sys.argv else 0, parameters)
        type_, space = h5.h5t.py_create(np.dtype(dtype), logical=True), h5.h5s.create_simple(shape)
        dataset = h5.h5d.create(self.file.id, name.encode(), type_, space, dcpl)
        stored = dataset.get_create_plist()
        self.params[name] = [list(stored.get_filter(i)[2]) for i in range(stored.get_nfilters())]
        return dataset

    def write(self, dataset, data):
        dataset.write(self.h5py.h5s.ALL, self.h5py.h5s.ALL, np.ascontiguousarray(data))

    def read(self, name, dtype, shape, chain):
        dataset = self.file[name].id
        filters = dataset.get_create_plist().get_nfilters()
        if filters != (0 if UNFILTERED else FILTERS or len(chain)):
            raise ValueError(f"{filters} filters")
        chunks = dataset.get_num_chunks() if filters else 0
        self.masked += sum(dataset.get_chunk_info(i).filter_mask != 0 for i in range(chunks))
        got = np.empty(shape, dtype)
        dataset.read(self.h5py.h5s.ALL, self.h5py.h5s.ALL, got)
        return got

    def close(self):
        self.file.close()
        return {"params": self.params, "masked": self.masked}


class Netcdf:
    def __init__(self, path, mode):
        import netCDF4

        self.dataset = netCDF4.Dataset(self.url(path), mode)
        self.dataset.set_auto_maskandscale(False)
        self.dataset.set_auto_chartostring(False)
        if mode == "w":
            from nczarr import define_filter

            self.define = define_filter()

    def url(self, path):
        return path

    def create(self, name, dtype, shape, chunks, chain):
        for length in shape:
            if f"d{length}" not in self.dataset.dimensions:
                self.dataset.createDimension(f"d{length}", length)
        endian = {"<": "little", ">": "big"}.get(dtype[0], "native")
        variable = self.dataset.createVariable(name, dtype, [f"d{n}" for n in shape], chunksizes=chunks, endian=endian)
        for id_, parameters in chain:
            self.define(self.dataset, variable, id_, parameters)
        return variable

    def write(self, variable, data):
        variable[...] = data

    def read(self, name, dtype, shape, chain):
        variable = self.dataset[name]
        filters = variable.filters() or {}
        if UNFILTERED and any(filters.get(key) for key in ("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle", "fletcher32")):
            raise ValueError(f"filters {filters}")
        return variable[...]

    def close(self):
        self.dataset.close()
        return {}


class Nczarr(Netcdf):
    def url(self, path):
        return f"file://{pathlib.Path(path).resolve()}#mode=nczarr,file"


LIBRARIES = {"h5py": H5py, "netcdf": Netcdf, "nczarr": Nczarr}


def write(library, path):
    opened = LIBRARIES[library](path, "w")
    count = 0
    if library != "h5py":
        # all definitions first: netcdf-c rewrites all metadata else
        made = [(opened.create(*case[:5]), case) for case in cases(library)]
        for variable, (name, dtype, shape, _, _, noise) in made:
            opened.write(variable, data_of(name, dtype, shape, noise))
        count = len(made)
    else:
        for name, dtype, shape, chunks, chain, noise in cases(library):
            opened.write(opened.create(name, dtype, shape, chunks, chain), data_of(name, dtype, shape, noise))
            count += 1
    return {"count": count} | opened.close()


def read(library, path):
    opened = LIBRARIES[library](path, "r")
    count, wrong = 0, {}
    for name, dtype, shape, _, chain, noise in cases(OF or library):
        try:
            got = opened.read(name, dtype, shape, chain)
            if got.dtype.newbyteorder("<") != np.dtype(dtype).newbyteorder("<"):
                wrong[name] = f"is of type {got.dtype}"
            elif not equal(got, data_of(name, dtype, shape, noise).astype(got.dtype)):
                wrong[name] = "differs"
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"
        count += 1
    return {"count": count, "wrong": wrong} | opened.close()


def plain(library, path):
    opened = LIBRARIES[library](path, "w")
    count = 0
    for name, dtype, shape, chunks, _, noise in cases(library):
        opened.write(opened.create(name, dtype, shape, chunks, []), data_of(name, dtype, shape, noise))
        count += 1
    return {"count": count} | opened.close()


if __name__ == "__main__":
    action = {"write": write, "read": read, "plain": plain}[sys.argv[1]]
    print(json.dumps(action(sys.argv[2], sys.argv[3]) | {"": mapped()}))
