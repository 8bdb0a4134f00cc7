"""Codecs of Zarr v3: v3_codecs.py write FOLDER, and later v3_codecs.py read FOLDER.

write: for each case the array `<n>` of one chunk, by zarr-python, and its content `<n>.raw`; their number is printed.
read: reads each array with zarr-python, and with tensorstore where it knows the codecs; one line for each difference.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import tensorstore
import zarr
from values import values
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec, numcodecs

warnings.simplefilter("ignore")
CHAINS = [
    [GzipCodec(level=level)] for level in (0, 1, 5, 9)
] + [
    [ZstdCodec(level=level, checksum=checksum)] for level in (-131072, 0, 3, 22) for checksum in (False, True)
] + [
    [BloscCodec(cname=cname, clevel=5, shuffle=shuffle, blocksize=blocksize)]
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd") for shuffle in ("noshuffle", "shuffle", "bitshuffle", None)
    for blocksize in (0, 512)
] + [
    [Crc32cCodec()], [ZstdCodec(level=1), Crc32cCodec()], [Crc32cCodec(), GzipCodec(level=5), Crc32cCodec()],
    [numcodecs.Zlib(level=4)], [numcodecs.BZ2(level=4)], [numcodecs.Shuffle(elementsize=2)], [numcodecs.Fletcher32()],
    [numcodecs.Shuffle(), numcodecs.Zlib(level=9), numcodecs.Fletcher32(), Crc32cCodec()],
    # names of numcodecs where Zarr v3 has its own
    [numcodecs.Zstd(level=3)], [numcodecs.GZip(level=3)], [numcodecs.GZip()], [numcodecs.CRC32C()], [numcodecs.Blosc()],
    [numcodecs.Blosc(cname="zstd", clevel=3, shuffle=2, blocksize=0)],
]


def write(folder):
    number = 0
    for dtype in ("uint8", "<i2", ">f4", "<f8"):
        for chain in CHAINS:
            for noise in (False, True):
                data = values(f"{dtype} {number}", dtype, (1000,), noise)
                array = zarr.create_array(folder / str(number), shape=data.shape, chunks=data.shape, dtype=dtype, compressors=chain,
                                          filters=None, serializer=zarr.codecs.BytesCodec(endian="big" if dtype[0] == ">" else "little"))
                array[:] = data
                (folder / f"{number}.raw").write_bytes(data.tobytes())
                number += 1
    print(number)


def read(folder):
    for path in sorted(folder.glob("*.raw")):
        array = folder / path.stem
        metadata = json.loads((array / "zarr.json").read_text())
        order = metadata["codecs"][0].get("configuration", {}).get("endian", "little")
        readers = {"zarr-python": lambda: zarr.open_array(array, mode="r")[:]}
        if not any(codec["name"].startswith("numcodecs.") for codec in metadata["codecs"]):
            spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(array)}}
            readers["tensorstore"] = lambda: tensorstore.open(spec).result().read().result()
        for reader, values in readers.items():
            try:
                found = np.asarray(values())
                if found.astype(found.dtype.newbyteorder(">" if order == "big" else "<")).tobytes() != path.read_bytes():
                    print(f"{reader} reads other values: {metadata['codecs']}")
            except Exception as error:
                print(f"{reader}: {metadata['codecs']}: {error}")


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](pathlib.Path(sys.argv[2]))
