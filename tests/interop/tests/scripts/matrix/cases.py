"""The cells of the matrix: values of every type, chains of every codec."""

import itertools

import numcodecs
import numpy as np

SHAPE, CHUNK, SHARD = (5, 9), (4, 8), (4, 16)
DTYPES = ["b1", "i1", "u1", "le-i2", "be-u2", "be-i4", "le-u4", "le-i8", "be-u8", "le-f2", "be-f4", "le-f8", "le-c8", "be-c16",
          "le-M8[ns]", "le-m8[s]", "S7", "le-U5", "char", "vlen-utf8", "vlen-bytes"]

SHUFFLE, ZLIB = {"id": "shuffle", "elementsize": None}, {"id": "zlib", "level": 4}
V2 = {
    "none": [],
    "zlib": [ZLIB],
    "gzip": [{"id": "gzip", "level": 4}],
    "shuffle+zlib": [SHUFFLE, ZLIB],
    "blosc-lz4": [{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}],
    "blosc-zstd-bit": [{"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2, "blocksize": 0}],
    "zstd": [{"id": "zstd", "level": 3}],
    "bz2": [{"id": "bz2", "level": 4}],
    "fletcher32": [{"id": "fletcher32"}],
    "shuffle+zlib+fletcher32": [SHUFFLE, ZLIB, {"id": "fletcher32"}],
    "crc32c": [{"id": "crc32c"}],
    "order-F": [],
}


def blosc3(cname, shuffle):
    configuration = {"cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": None, "blocksize": 0}
    return {"name": "blosc", "configuration": configuration}


V3 = {
    "none": [],
    "gzip": [{"name": "gzip", "configuration": {"level": 4}}],
    "zstd": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
    "blosc-lz4": [blosc3("lz4", "shuffle")],
    "blosc-zstd-bit": [blosc3("zstd", "bitshuffle")],
    "crc32c": [{"name": "crc32c"}],
    "sharded": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
    "order-F": [{"name": "gzip", "configuration": {"level": 4}}],
    "zlib": [{"name": "numcodecs.zlib", "configuration": {"level": 4}}],
    "bz2": [{"name": "numcodecs.bz2", "configuration": {"level": 4}}],
    "shuffle+zlib": [{"name": "numcodecs.shuffle", "configuration": {"elementsize": None}},
                     {"name": "numcodecs.zlib", "configuration": {"level": 4}}],
    "fletcher32": [{"name": "numcodecs.fletcher32", "configuration": {}}],
}


def numpy_dtype(dtype):
    """The dtype in numpy's words; `None` for strings of any length."""
    if dtype.startswith("vlen"):
        return None
    text = {"char": "S1"}.get(dtype, dtype)
    return np.dtype(text.replace("le-", "<").replace("be-", ">"))


def item_size(dtype):
    numpy = numpy_dtype(dtype)
    return 1 if numpy is None else numpy.itemsize


def with_sizes(codecs, size):
    """The chain with the size of the elements where a codec has it."""
    sized = []
    for codec in codecs:
        inside = codec.get("configuration", codec)
        inside = {key: size if value is None else value for key, value in inside.items()}
        sized.append({**codec, "configuration": inside} if "configuration" in codec else inside)
    return sized


def values(dtype):
    """An array of the type; of objects if its strings have any length."""
    count = int(np.prod(SHAPE))
    random = np.random.default_rng(sum(dtype.encode()))
    if dtype.startswith("vlen"):
        words = ["", "x", "drei\u00df\u00a0", "\U0001f600", "a longer text, " * 20, "[1, 2]", "e\u0301"]
        if dtype == "vlen-bytes":
            words = [word.encode() for word in words] + [b"\0", b"a\0b\0", b"\xff\xfe"]
        return np.array([words[at % len(words)] for at in range(count)], object).reshape(SHAPE)
    numpy = numpy_dtype(dtype)
    if dtype == "char":
        data = np.frombuffer(bytes(b"az \x00~19"[at % 7] for at in range(count)), "S1")
    elif numpy.kind == "S":
        words = [b"", b"abcdefg", b"a", b"\xff\xfe\x80", b"ab\0cd", b" b "]
        data = np.array([words[at % len(words)] for at in range(count)], numpy)
    elif numpy.kind == "U":
        words = ["", "abcde", "\u00e4\U0001f600", "z", "\u65e5\u672c"]
        data = np.array([words[at % len(words)] for at in range(count)], numpy)
    elif numpy.kind == "b":
        data = random.integers(0, 2, count).astype("?")
    elif numpy.kind in "fc":
        part = np.dtype(f"{numpy.byteorder}f{numpy.itemsize // (2 if numpy.kind == 'c' else 1)}")
        special = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(part).tiny / 4, np.finfo(part).max, 1 / 3])
        data = np.round(random.normal(0, 100, numpy.itemsize // part.itemsize * count), 1)
        data[3 : 3 + len(special)] = special
        data = data.astype(part).view(numpy)
    else:
        bits = random.integers(0, 256, (count, numpy.itemsize), "u1")
        # runs that a codec finds something in, and the extremes
        bits[10:30] = bits[10]
        bits[0], bits[1] = 0, 255
        bits[2] = [0] * (numpy.itemsize - 1) + [128]
        data = bits.reshape(-1).view(numpy.newbyteorder("<")).astype(numpy)
    return data.reshape(SHAPE)


def plain(data):
    """The values as text: the bytes of all elements, little-endian, or a list of strings of any length."""
    data = np.asarray(data)
    if data.dtype.kind in "OT":
        return [word.hex() if isinstance(word, bytes) else str(word).encode().hex() for word in data.ravel()]
    return np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<")).tobytes().hex()


def chains(version):
    return V3 if version == "v3" else V2


def cells(version, storage="file"):
    """(name, dtype, codec) of each cell. In a zip file all types with one codec, and all codecs with two types."""
    for dtype, codec in itertools.product(DTYPES, chains(version)):
        if storage == "file" or codec == "none" or dtype in ["be-i4", "le-f8"]:
            yield f"{dtype}.{codec}", dtype, codec


def describe():
    """All that is needed to write and check the cells."""
    described = {"shape": SHAPE, "chunk": CHUNK, "shard": SHARD, "values": {d: plain(values(d)) for d in DTYPES}}
    for version in ["v2", "v3"]:
        described[version] = [
            {"name": name, "dtype": dtype, "codec": codec, "codecs": with_sizes(chains(version)[codec], item_size(dtype)),
             "numpy": dtype if numpy_dtype(dtype) is None else numpy_dtype(dtype).str}
            for name, dtype, codec in cells(version)
        ]
    return described


def numcodecs_chain(codec, size):
    return [numcodecs.get_codec(config) for config in with_sizes(V2[codec], size)]
