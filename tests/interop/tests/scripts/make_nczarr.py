"""Writes a small NCZarr dataset with a bit of everything: make_nczarr.py FOLDER

Every type in both byte orders, groups, an unlimited dimension, fill values, chunks that are missing, scalars, text.
"""

import pathlib
import sys

import netCDF4
import numpy as np
from values import values

DTYPES = ("i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f4", ">f4",
          "<f8", ">f8")


def variable(group, name, dtype, dimensions, **options):
    endian = {"<": "little", ">": "big"}.get(dtype[0], "native") if isinstance(dtype, str) else "native"
    created = group.createVariable(name, dtype, dimensions, endian=endian, **options)
    created.set_auto_maskandscale(False)
    return created


def main(folder):
    with netCDF4.Dataset(f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file", "w") as root:
        root.createDimension("time", None)
        root.createDimension("y", 13)
        root.createDimension("x", 9)
        root.createDimension("len", 5)
        root.Conventions = "CF-1.11"
        root.number = np.int32(7)
        root.exact = np.float64(0.5)
        root.several = np.array([1, -2, 300], "i2")
        root.floats = np.array([0.25, -1.5], "f4")
        root.looks_like_a_number = "17"
        root.unicode = "Grüße, 水"
        root.setncattr_string("list", ["a", "b c"])
        for dtype in DTYPES:
            name = "v_" + dtype.replace("<", "le_").replace(">", "be_")
            v = variable(root, name, dtype, ("y", "x"), chunksizes=(5, 4), zlib=True, shuffle=True)
            v.units = "1"
            v.valid_min = np.dtype(dtype).type(3)
            v[:] = values(name, dtype, (13, 9))
        # the last chunks are partial ones, the middle one is not there
        grown = variable(root, "grown", "<f4", ("time", "y", "x"), chunksizes=(2, 13, 5), fill_value=np.float32(-9.5),
                         compression="zstd", complevel=2)
        grown[0:3] = values("grown", "f4", (3, 13, 9))
        grown[6:9] = values("grown more", "f4", (3, 13, 9))
        holes = variable(root, "holes", "<i4", ("y", "x"), chunksizes=(3, 3), fill_value=np.int32(-77), zlib=True)
        holes[3:6, 0:3] = values("holes", "i4", (3, 3))
        default_fill = variable(root, "default_fill", "<i4", ("y", "x"), chunksizes=(3, 3), fletcher32=True)
        default_fill[0:3, 0:3] = values("default_fill", "i4", (3, 3))
        variable(root, "nothing_written", "<f8", ("y", "x"), chunksizes=(13, 3))
        scalar = variable(root, "scalar", "<f8", ())
        scalar[...] = 2.5
        text = root.createVariable("text", "S1", ("y", "len"), chunksizes=(4, 5), zlib=True)
        text[:] = np.frombuffer(b"hello" * 13, "S1").reshape(13, 5)
        words = root.createVariable("words", str, ("y",))
        words[:] = np.array([f"word {n}" for n in range(13)], object)

        inner = root.createGroup("inner")
        inner.note = "a group"
        inner.createDimension("z", 4)
        deep = inner.createGroup("deep")
        v = variable(deep, "v", ">f8", ("time", "z"), chunksizes=(3, 4), zlib=True, fill_value=np.float64("nan"))
        v[0:9] = values("deep", "f8", (9, 4))
        packed = variable(inner, "packed", "<i2", ("z", "x"), zlib=True, complevel=9, fill_value=np.int16(-32768))
        packed.scale_factor = 0.5
        packed.add_offset = np.float32(10)
        packed[:] = values("packed", "i2", (4, 9))


if __name__ == "__main__":
    main(sys.argv[1])
