"""Streams of numcodecs: codecs.py encode FOLDER, and later codecs.py decode FOLDER.

encode: for each case `<n>.raw` and `<n>.enc`, and `index.json`: codecs, dtype, shape, whether another encoder with the same
library gives the same bytes. decode: decodes each `<n>.ours` and compares it with `<n>.raw`; one line for each difference.
"""

import json
import pathlib
import sys

import numcodecs
import numpy as np
from values import values

ARRAYS = [("|u1", 1000), ("<i2", 999), (">i2", 500), ("<f4", 3000), (">f8", 777), ("<f8", 1), ("|S5", 301), ("|b1", 1003), (">u4", 700), ("<f2", 65)]
SHUFFLE = {"id": "shuffle", "elementsize": None}
# the codecs of a chain, and whether the bytes are the same from every encoder
CHAINS = [
    ([{"id": "zlib", "level": 1}], False), ([{"id": "zlib", "level": 9}], False), ([{"id": "zlib", "level": 0}], False),
    ([{"id": "gzip", "level": 1}], False), ([{"id": "gzip", "level": 9}], False), ([{"id": "gzip", "level": -1}], False),
    ([SHUFFLE], True), ([{"id": "fletcher32"}], True),
    ([{"id": "crc32c"}], True), ([{"id": "crc32c", "location": "start"}], True), ([{"id": "gzip", "level": 5}, {"id": "crc32c"}], False),
    ([{"id": "bz2", "level": 1}], True), ([{"id": "bz2", "level": 9}], True),
    ([{"id": "zstd", "level": 3, "checksum": False}], True), ([{"id": "zstd", "level": -5, "checksum": False}], True),
    ([{"id": "zstd", "level": 0}], True), ([{"id": "zstd", "level": 19}], True), ([{"id": "zstd", "level": 1, "checksum": True}], True),
    *[([{"id": "blosc", "cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize}], False)
      for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd") for clevel, shuffle, blocksize in
      ((5, 1, 0), (9, 2, 0), (1, 0, 0), (0, 1, 0), (5, 1, 512), (5, -1, 0))],
    ([SHUFFLE, {"id": "zlib", "level": 4}], False), ([SHUFFLE, {"id": "zlib", "level": 4}, {"id": "fletcher32"}], False),
    ([{"id": "fletcher32"}, {"id": "bz2", "level": 5}], True), ([SHUFFLE, {"id": "zstd", "level": 3}], True),
    *[([{"id": id}], True) for id in ("crc32", "adler32", "jenkins_lookup3")], ([{"id": "jenkins_lookup3", "initval": 7}], True),
    *[([{"id": id, "location": "end"}], True) for id in ("crc32", "adler32")],
]


def chains(dtype, noise):
    """The chains for arrays of this type; those that compute lose bits of noise, or refuse it."""
    kind, size = dtype.kind, dtype.itemsize
    yield from CHAINS
    if kind in "iu":
        yield [{"id": "delta", "dtype": dtype.str, "astype": dtype.str}], True
        yield [{"id": "delta", "dtype": dtype.str}, {"id": "shuffle", "elementsize": size}, {"id": "zlib", "level": 1}], False
        yield [{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": dtype.str, "astype": "<i8"}], True
    if kind in "iu" and size > 1 and not noise:
        yield [{"id": "delta", "dtype": dtype.str, "astype": "<i2"}, {"id": "crc32"}], True
        yield [{"id": "fixedscaleoffset", "offset": 3, "scale": 2, "dtype": dtype.str, "astype": ">i4"}], True
    if kind == "f" and not noise:
        # tenths, of which some are halves between two floats
        yield [{"id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": dtype.str, "astype": "<i2"}], True
        yield [{"id": "fixedscaleoffset", "offset": -1.5, "scale": 10.0, "dtype": dtype.str, "astype": ">i4"}], True
        yield [{"id": "quantize", "digits": 2, "dtype": dtype.str, "astype": dtype.str}], True
        yield [{"id": "delta", "dtype": dtype.str}], True
    if kind == "f" and not noise and dtype.byteorder != ">":
        yield [{"id": "bitround", "keepbits": 7}], True
    if kind == "b":
        yield [{"id": "packbits"}], True
        yield [{"id": "packbits"}, {"id": "zlib", "level": 1}], False


def encode(folder):
    index = []
    for dtype, size in ARRAYS:
        for noise in (False, True):
            for chain, exact in chains(np.dtype(dtype), noise):
                chain = [codec | {"elementsize": np.dtype(dtype).itemsize} if codec["id"] == "shuffle" else codec
                         for codec in chain]
                data = values(f"{dtype} {chain} {noise}", dtype, (size,), noise and dtype != "|b1")
                stream = data
                for codec in chain:
                    stream = numcodecs.get_codec(codec).encode(stream)
                number = len(index)
                # what it decodes to, which is not what it was where a codec rounds
                back = stream
                for codec in reversed(chain):
                    back = numcodecs.get_codec(codec).decode(np.frombuffer(back, "u1"))
                (folder / f"{number}.raw").write_bytes(data.tobytes())
                (folder / f"{number}.back").write_bytes(bytes(back))
                (folder / f"{number}.enc").write_bytes(bytes(stream))
                index.append({"codecs": chain, "dtype": dtype, "shape": [size], "exact": exact})
    (folder / "index.json").write_text(json.dumps(index))


def decode(folder):
    for number, case in enumerate(json.loads((folder / "index.json").read_text())):
        stream = (folder / f"{number}.ours").read_bytes()
        try:
            for codec in reversed(case["codecs"]):
                stream = numcodecs.get_codec(codec).decode(np.frombuffer(stream, "u1"))
            if bytes(stream) != (folder / f"{number}.back").read_bytes():
                print(f"{case}: other bytes")
        except Exception as error:
            print(f"{case}: {error}")


if __name__ == "__main__":
    {"encode": encode, "decode": decode}[sys.argv[1]](pathlib.Path(sys.argv[2]))
