"""Writes random NCZarr datasets with netCDF4: make_random.py FOLDER COUNT, as FOLDER/0, FOLDER/1 ..

Types, byte orders, ranks, lengths, chunks, codecs, fill values, groups, and which parts are written: by chance, but the same
each time.
"""

import pathlib
import sys

import netCDF4
import numpy as np

DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
# not szip: netcdf-c's own plugin fails on too many shapes and values
COMPRESSIONS = (None, "zlib", "zstd", "bzip2", "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd")


def fill_group(rng, group, depth):
    for number in range(rng.integers(1, 4)):
        unlimited = rng.random() < 0.2
        group.createDimension(f"d{depth}{number}", None if unlimited else int(rng.integers(1, 30)))
    known = []
    owner = group
    while owner is not None:
        known.extend(owner.dimensions.values())
        owner = owner.parent
    for number in range(rng.integers(1, 5)):
        dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
        dimensions = [known[i] for i in rng.permutation(len(known))[: rng.integers(1, 4)]]
        lengths = [max(len(dimension), 1) if not dimension.isunlimited() else int(rng.integers(1, 12))
                   for dimension in dimensions]
        options = {}
        if rng.random() < 0.8:
            options["chunksizes"] = [int(rng.integers(1, length + 1)) for length in lengths]
            size = np.prod(options["chunksizes"]) * dtype.itemsize
            compression = COMPRESSIONS[rng.integers(len(COMPRESSIONS))]
            # netcdf-c's own blosc fails on chunks that do not shrink
            if compression and (size > 200 or compression in ("zlib", "zstd", "bzip2")):
                options |= {"compression": compression, "shuffle": bool(rng.random() < 0.5)}
                options |= {"complevel": int(rng.integers(1, 9))}
            options["fletcher32"] = bool(rng.random() < 0.3)
        if rng.random() < 0.5:
            options["fill_value"] = dtype.type(rng.integers(0, 100))
        endian = ("little", "big", "native")[rng.integers(3)] if dtype.itemsize > 1 else "native"
        typed = dtype.newbyteorder({"little": "<", "big": ">", "native": "="}[endian])
        variable = group.createVariable(f"v{number}", typed, [d.name for d in dimensions], endian=endian, **options)
        variable.set_auto_maskandscale(False)
        variable.note = "text"
        variable.setncattr("ten", dtype.type(10))
        # a box at one corner, so that chunks are missing; all of it for unlimited ones, whose length is what is written
        box = tuple(slice(0, length if d.isunlimited() else int(rng.integers(1, length + 1)))
                    for d, length in zip(dimensions, lengths))
        shape = tuple(part.stop for part in box)
        variable[box] = (np.arange(np.prod(shape)) // 7).astype(dtype).reshape(shape)
    if depth < 2 and rng.random() < 0.6:
        fill_group(rng, group.createGroup(f"g{depth}"), depth + 1)


def main(folder, count):
    for seed in range(count):
        with netCDF4.Dataset(f"file://{folder.resolve() / str(seed)}#mode=nczarr,file", "w") as root:
            fill_group(np.random.default_rng(seed), root, 0)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
