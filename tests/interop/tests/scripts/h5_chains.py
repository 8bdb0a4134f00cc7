"""Chunks that went through a chain of filters of several makers, by HDF5: h5_chains.py FOLDER

For each case `<n>.raw` and `<n>.enc` (a whole chunk before and after the chain), and `index.json`: dtype, shape, filters (id,
cd_values as HDF5 stored them), filter mask.
"""

import json
import pathlib
import sys

import h5py
import hdf5plugin  # noqa: F401 (registers its filters)
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z
from values import values

DEFLATE, SHUFFLE, FLETCHER32, SZIP, BZIP2, BLOSC, LZ4, BITSHUFFLE, ZFP, ZSTD, BLOSC2 = (
    (1, (6,)), (2, ()), (3, ()), (4, (32, 8)), (307, (9,)), (32001, (0, 0, 0, 0, 5, 1, 1)), (32004, ()), (32008, (0, 2)),
    (32013, (5,)), (32015, (3,)), (32026, (0, 0, 0, 0, 5, 1, 1)))
CHAINS = {
    "shuffle, lz4": (SHUFFLE, LZ4),
    "shuffle, lz4, fletcher32": (SHUFFLE, LZ4, FLETCHER32),
    "lz4, zstd": (LZ4, ZSTD),
    "bzip2, lz4": (BZIP2, LZ4),
    "fletcher32, lz4, deflate": (FLETCHER32, LZ4, DEFLATE),
    "bitshuffle, fletcher32": (BITSHUFFLE, FLETCHER32),
    "bitshuffle, deflate": (BITSHUFFLE, DEFLATE),
    "shuffle, blosc2, zstd": (SHUFFLE, BLOSC2, ZSTD),
    "zfp, deflate": (ZFP, DEFLATE),
    "shuffle, szip, bzip2, blosc, zstd, fletcher32": (SHUFFLE, SZIP, BZIP2, BLOSC, ZSTD, FLETCHER32),
}


def main(folder):
    index = []
    with h5py.File(folder / "chains.h5", "w") as file:
        for title, chain in CHAINS.items():
            for dtype in ("<f4", "<f8"):
                shape = (64, 48)
                data = values(f"{title} {dtype}", dtype, shape)
                dcpl = h5p.create(h5p.DATASET_CREATE)
                dcpl.set_chunk(shape)
                for id_, parameters in chain:
                    if id_ == SZIP[0]:
                        dcpl.set_szip(*parameters)
                    else:
                        dcpl.set_filter(id_, h5z.FLAG_OPTIONAL, parameters)
                dataset = h5d.create(file.id, f"{title} {dtype}".encode(), h5t.py_create(data.dtype),
                                     h5s.create_simple(shape), dcpl)
                dataset.write(h5s.ALL, h5s.ALL, data)
                file.flush()
                mask, stored = dataset.read_direct_chunk((0, 0))
                stored_chain = dataset.get_create_plist()
                filters = [stored_chain.get_filter(n) for n in range(stored_chain.get_nfilters())]
                number = len(index)
                (folder / f"{number}.raw").write_bytes(data.tobytes())
                (folder / f"{number}.enc").write_bytes(stored)
                index.append({"title": title, "dtype": dtype, "shape": shape, "mask": mask,
                              "filters": [{"id": filter_[0], "params": filter_[2]} for filter_ in filters]})
    (folder / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
