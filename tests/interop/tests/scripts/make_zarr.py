"""Writes a small Zarr version 2 dataset as zarr-python does: make_zarr.py FOLDER

Every type that netCDF has, F order, chunks that are missing, nested keys, consolidated metadata left out, NaN in JSON.
"""

import sys

import numcodecs
import numpy as np
import zarr
from values import values

DTYPES = ("|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f4", ">f4", "<f8", ">f8")
CODECS = {
    "zstd": (None, numcodecs.Zstd(3)),
    "blosc": (None, numcodecs.Blosc("lz4", 5, 1)),
    "shuffled": ("shuffle", numcodecs.Zlib(4)),
    "bz2": (None, numcodecs.BZ2(3)),
    "none": (None, None),
}


def main(folder):
    root = zarr.open_group(folder, mode="w", zarr_format=2)
    root.attrs.update({"title": "made by zarr-python", "nested": {"a": [1, {"b": None}]}, "not a number": float("nan"),
                       "float": 0.1, "big": 2**53 + 1, "empty": "", "text number": "17", "list": [1, 2.5]})
    group = root.create_group("group")
    for number, dtype in enumerate(DTYPES):
        for place, order in enumerate("CF"):
            title = list(CODECS)[(number + place) % len(CODECS)]
            filters, compressor = CODECS[title]
            if filters:
                filters = [numcodecs.Shuffle(np.dtype(dtype).itemsize)]
            name = f"{title}_{order}_{dtype.strip('|').replace('<', 'le_').replace('>', 'be_')}"
            array = (root if number % 2 else group).create_array(
                name, shape=(11, 7, 5), chunks=(4, 3, 5), dtype=dtype, order=order, filters=filters,
                compressors=compressor, fill_value=number, chunk_key_encoding={"name": "v2", "separator": "./"[place]})
            array.attrs["units"] = "K"
            array[:8] = values(name, dtype, (8, 7, 5))
    root.create_array("scalar", shape=(), dtype="<f8", compressors=None)[...] = 4.25
    root.create_array("no_fill", shape=(9,), chunks=(4,), dtype="<f4", fill_value=None, compressors=None)[:4] = 1.5


if __name__ == "__main__":
    main(sys.argv[1])
