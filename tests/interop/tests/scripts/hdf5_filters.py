"""Chunks of every HDF5 filter as HDF5 makes and reads them: types, shapes, contents and parameters by the thousand.

    hdf5_filters.py write FOLDER SEED [--hdf5plugin]   writes cases.json and chunks.bin
    hdf5_filters.py read FOLDER SEED [--hdf5plugin]    gives HDF5 the chunks in stored.json and stored.bin, which are places
                                                       in it or null; writes read.json and read.bin in the same way

SEED makes other noise and other pairs. Each type has a third of the pairs of a shape and a content, unless NCZ_MATRIX is
`all`. Without --hdf5plugin only filters of plugins are tried, which come from
HDF5_PLUGIN_PATH alone; the other cases are null. A case: `type` as numpy calls it (`|V<size>` for those that numbers are
not), `shape` of the chunk, `filter`, the words that were `given` and that HDF5 `stored`, `mask`, and places in chunks.bin:
`data` that HDF5 was given, `encoded`, and `raw` that it decodes, null where it does not read what it wrote.
"""

import json
import os
import pathlib
import sys
import zlib

WHOLE = "--hdf5plugin" in sys.argv
STEP = 1 if os.environ.get("NCZ_MATRIX") == "all" else 3
if WHOLE:
    import hdf5plugin  # noqa: F401 (registers its filters)
import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t, h5z

DEFLATE, SHUFFLE, FLETCHER32, SZIP, NBIT, SCALEOFFSET = 1, 2, 3, 4, 5, 6
BZIP2, LZF, BLOSC, LZ4, BITSHUFFLE, ZFP, ZSTD = 307, 32000, 32001, 32004, 32008, 32013, 32015
PLUGINS = (BZIP2, BLOSC, LZ4, BITSHUFFLE, ZFP, ZSTD)


def negative(number):
    return number % 2**32


def double(value):
    return tuple(int(word) for word in np.array([value], "<f8").view("<u4"))


def number_type(text, precision=None, offset=0, pad=None):
    kind = h5t.py_create(np.dtype(text)).copy()
    if precision:
        kind.set_precision(precision)
        kind.set_offset(offset)
    if pad:
        kind.set_pad(pad, pad)
    return kind


def short_float(text):
    """A number of 4 or 8 bytes whose bits are fewer and lie elsewhere."""
    kind = h5t.py_create(np.dtype(text)).copy()
    size = np.dtype(text).itemsize
    fields, offset, precision, bias = {
        4: ((26, 20, 6, 7, 13), 7, 20, 31),
        8: ((49, 41, 8, 9, 32), 9, 41, 127),
    }[size]
    kind.set_fields(*fields)
    kind.set_offset(offset)
    kind.set_precision(precision)
    kind.set_ebias(bias)
    # It grew by the offset.
    kind.set_size(size)
    return kind


INTEGERS = ["|i1", "|u1"] + [order + kind + size for order in "<>" for kind in "iu" for size in "248"]
FLOATS = [order + "f" + size for order in "<>" for size in "248"]
NUMBERS = {text: (lambda text=text: number_type(text)) for text in INTEGERS + FLOATS}
# What is not a number to a filter, or not all of one: by a name, with how many bytes an element has.
OTHERS = {
    "string": lambda: h5t.py_create(np.dtype("S5")),
    "opaque": lambda: h5t.create(h5t.OPAQUE, 7),
    "bool": lambda: h5t.py_create(np.dtype("?"), logical=True),
    "enum": lambda: h5t.py_create(h5py.enum_dtype({"a": 1, "b": 70}, basetype=">i2")),
    "bits": lambda: h5t.STD_B32BE.copy(),
    "complex": lambda: h5t.py_create(np.dtype("<c8")),
    "long double": lambda: h5t.py_create(np.dtype("g")),
    "array": lambda: h5t.array_create(h5t.IEEE_F32BE, (3, 2)),
    "arrays": lambda: h5t.array_create(h5t.array_create(number_type("<u2", 11, 2), (2,)), (3,)),
    "compound": lambda: compound(),
}


def compound():
    inner = h5t.create(h5t.COMPOUND, 11)
    inner.insert(b"x", 1, number_type(">i4", 19, 5))
    inner.insert(b"t", 6, h5t.py_create(np.dtype("S2")))
    inner.insert(b"e", 9, OTHERS["enum"]())
    outer = h5t.create(h5t.COMPOUND, 40)
    outer.insert(b"a", 0, number_type("<i8", 33, 7))
    outer.insert(b"m", 9, h5t.array_create(inner, (2,)))
    outer.insert(b"f", 31, short_float("<f8"))
    return outer


def fewer_bits():
    """Types of which nbit leaves something out."""
    for text in INTEGERS:
        bits = 8 * np.dtype(text).itemsize
        pairs = {(bits - 1, 0), (bits - 1, 1), (bits // 2 + 1, bits // 2 - 1), (bits // 2 + 1, 0), (bits // 2 + 2, 1)}
        for precision, offset in sorted(pairs):
            yield f"{text} {precision} {offset}", text, number_type(text, precision, offset)
        yield f"{text} ones", text, number_type(text, bits - 2, 1, h5t.PAD_ONE)
    for text in FLOATS:
        if text[2] != "2":
            yield f"{text} short", text, short_float(text)


def contents(text, count, rng):
    """Values of a type, in as many bytes as `count` of them have."""
    dtype = np.dtype(text)
    yield "noise", rng.integers(0, 256, count * dtype.itemsize, "u1")
    if dtype.kind == "V":
        few = rng.integers(0, 256, (3, dtype.itemsize), "u1")
        yield "few", few[rng.integers(0, 3, count)].ravel()
        yield "equal", few[np.zeros(count, int)].ravel()
        return
    walk = np.cumsum(rng.integers(-3, 4, count))
    if dtype.kind == "f":
        info = np.finfo(dtype)
        tiny = [-0.0, 0.0, info.smallest_subnormal, -info.smallest_subnormal, info.tiny]
        special = [np.nan, -np.nan, np.inf, -np.inf, info.max, info.min]
        payload = np.array(special, dtype).view(f"{text[0]}u{text[2]}")
        payload[:2] ^= 0x15
        yield "special", np.resize(np.concatenate([payload.view(dtype), np.array(tiny, dtype)]), count)
        yield "tiny", np.resize(np.array(tiny, dtype), count)
        yield "large", np.resize(np.array([info.max, info.min, 1, -1], dtype), count)
        yield "walk", (walk / 8).astype(dtype)
        yield "wave", (rng.normal() * 40 + 30 * np.sin(np.arange(count) / 11)).astype(dtype)
        yield "fraction", (rng.integers(0, 5, count) + rng.choice([0, 0.4999, 0.5, 0.005, 0.0151], count)).astype(dtype)
    else:
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
        yield "special", np.resize(np.array(edges, dtype), count)
        yield "least", np.resize(np.array([info.min, info.min + 1], dtype), count)
        yield "most", np.resize(np.array([info.max, info.max - 2], dtype), count)
        # The whole range except for this many, where HDF5 begins to keep all bits.
        yield "span", np.resize(np.array([info.min + 1, info.max - int(rng.integers(0, 3))], dtype), count)
        yield "walk", (walk + info.max // 2).astype(dtype)
        yield "powers", np.resize(np.array([2**n for n in range(8 * dtype.itemsize - 1)], dtype), count)
    yield "equal", np.full(count, walk[-1] % 100, dtype)


SHAPES = [(1,), (2,), (7,), (37,), (300,), (1, 1), (5, 7), (1, 9), (16, 13), (3, 5, 7), (1, 4, 1), (2, 3, 4, 5), (1, 6, 1, 5)]


def parameters(text, count, shape):
    """The chains for a type: a name, and filters with words."""
    dtype = np.dtype(text)
    yield "deflate", [(DEFLATE, (0,)), (DEFLATE, (1,)), (DEFLATE, (6,)), (DEFLATE, (9,))]
    yield "shuffle", [(SHUFFLE, ())]
    yield "fletcher32", [(FLETCHER32, ())]
    yield "bzip2", [(BZIP2, ()), (BZIP2, (1,)), (BZIP2, (9,))]
    yield "lzf", [(LZF, ())]
    yield "zstd", [(ZSTD, ()), (ZSTD, (19,)), (ZSTD, (negative(-5),)), (ZSTD, (0,))]
    yield "lz4", [(LZ4, ()), (LZ4, (1,)), (LZ4, (13,)), (LZ4, (100,)), (LZ4, (2**20,))]
    yield "bitshuffle", [
        (BITSHUFFLE, words)
        for block in (0, 8, 16, 64, 4096)
        for words in ((block,), (block, 0), (block, 2), (block, 3, 1), (block, 3, negative(-3)))
    ] + [(BITSHUFFLE, ())]
    yield "blosc", [
        (BLOSC, (0, 0, 0, 0, level, shuffle, code))
        for level, shuffle, code in ((0, 0, 0), (5, 1, 0), (5, 2, 1), (9, 1, 2), (1, 2, 4), (5, 0, 5), (3, 1, 5), (9, 2, 5))
    ]
    yield "nbit", [(NBIT, ())]
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        yield "scaleoffset", [(SCALEOFFSET, (2, n)) for n in (0, 0, 0, 0, 1, 5, bits - 1, bits)]
    if dtype.kind == "f" and dtype.itemsize > 2:
        digits = (0, 1, 2, 3, 5, 9, 15, -1, -2, -5)
        yield "scaleoffset", [(SCALEOFFSET, (0, negative(n))) for n in digits]
    if dtype.itemsize in (1, 2, 4, 8) and dtype.kind in "iuf":
        yield "szip", [(SZIP, (mask, pixels)) for mask in (4, 32) for pixels in (2, 8, 10, 16, 32) if pixels <= count]
    rank = len([length for length in shape if length > 1])
    if dtype.itemsize in (4, 8) and text[0] == "<" and 1 <= rank <= 4:
        yield "zfp", [
            *((ZFP, (1, 0) + double(rate)) for rate in (0.5, 2, 4, 7.3, 16, 40, 64)),
            *((ZFP, (2, 0, planes)) for planes in (1, 5, 16, 30, 64)),
            *((ZFP, (3, 0) + double(tolerance)) for tolerance in (0, 1e-9, 0.01, 0.37, 1, 500)),
            *((ZFP, (4, 0) + words) for words in ((1, 16658, 64, negative(-1074)), (1, 999, 20, negative(-20)), (300, 300, 64, negative(-1074)))),
            (ZFP, (5,)),
        ]


def cases(seed):
    """(name, numpy's type, HDF5's, shape, bytes, filter, words, fill value)"""
    types = [(text, text, make()) for text, make in NUMBERS.items()]
    types += [(name, f"|V{make().get_size()}", make()) for name, make in OTHERS.items()]
    types += list(fewer_bits())
    for turn, (title, text, kind) in enumerate(types):
        whole = title in NUMBERS
        rng = np.random.default_rng([seed, zlib.crc32(title.encode())])
        for place, shape in enumerate(SHAPES if whole else SHAPES[1::2]):
            count = int(np.prod(shape))
            for number, (content, values) in enumerate(contents(text, count, rng)):
                for name, choices in parameters(text, count, shape):
                    if not whole and name not in ("nbit", "shuffle", "bitshuffle", "lzf", "blosc"):
                        continue
                    # Those that know types and shapes are tried with all of them.
                    if not choices or (name not in ("nbit", "scaleoffset", "zfp", "szip") and rng.random() < 0.6):
                        continue
                    filter_, words = choices[rng.integers(0, len(choices))]
                    data = np.ascontiguousarray(values).view("u1")
                    fill = None
                    if name == "scaleoffset" and rng.random() < 0.5:
                        item = np.dtype(text).itemsize
                        at = int(rng.integers(0, count)) * item
                        fill = data[at : at + item].view(text)
                        if rng.random() < 0.3:
                            fill = fill + np.array([1], text) if text[1] != "f" else fill * np.array([1.0001], text)
                    # After all random numbers, so that a case is the same in the sample.
                    if (turn + place + number) % STEP == 0:
                        yield f"{title} {shape} {content} {name} {words} {fill}", text, kind, shape, data, filter_, words, fill


def create(file, number, kind, shape, filter_, words, fill):
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_chunk(shape)
    if fill is not None:
        dcpl.set_fill_value(fill)
    if filter_ == SZIP:
        dcpl.set_szip(*words)
    else:
        dcpl.set_filter(filter_, h5z.FLAG_OPTIONAL, words)
    return h5d.create(file.id, b"%d" % number, kind, h5s.create_simple(shape), dcpl)


def decoded(dataset, kind, encoded, mask, size):
    """HDF5's decoding of a chunk, without a conversion; None if it fails."""
    # What it has in memory is forgotten with the new chunk.
    dataset.write_direct_chunk((0,) * len(dataset.shape), encoded, mask)
    raw = np.zeros(size, "u1")
    try:
        dataset.read(h5s.ALL, h5s.ALL, raw, mtype=kind)
    except OSError:
        return None
    return raw


class Blob(bytearray):
    def place(self, data):
        if data is None:
            return None
        self.extend(bytes(data))
        return [len(self) - len(data), len(data)]


def write(file, folder, seed):
    made, blob = [], Blob()
    for number, (name, text, kind, shape, data, filter_, words, fill) in enumerate(cases(seed)):
        if not WHOLE and filter_ not in PLUGINS:
            made.append(None)
            continue
        dataset = create(file, number, kind, shape, filter_, words, fill)
        dataset.write(h5s.ALL, h5s.ALL, data, mtype=kind)
        mask, encoded = dataset.read_direct_chunk((0,) * len(shape))
        made.append({
            "name": name,
            "type": text,
            "shape": shape,
            "filter": filter_,
            "given": words,
            "stored": dataset.get_create_plist().get_filter(0)[2],
            "mask": mask,
            "data": blob.place(data),
            "encoded": blob.place(encoded),
            "raw": blob.place(decoded(dataset, kind, encoded, mask, len(data))),
        })
    (folder / "cases.json").write_text(json.dumps(made))
    (folder / "chunks.bin").write_bytes(blob)


def read(file, folder, seed):
    stored, read, blob = (folder / "stored.bin").read_bytes(), [], Blob()
    places = json.loads((folder / "stored.json").read_text())
    for number, (_, _, kind, shape, data, filter_, words, fill) in enumerate(cases(seed)):
        if places[number] is None or (not WHOLE and filter_ not in PLUGINS):
            read.append(None)
            continue
        at, length = places[number]
        dataset = create(file, number, kind, shape, filter_, words, fill)
        read.append(blob.place(decoded(dataset, kind, stored[at : at + length], 0, len(data))))
    (folder / "read.json").write_text(json.dumps(read))
    (folder / "read.bin").write_bytes(blob)


if __name__ == "__main__":
    # A large number times a factor may be too large.
    np.seterr(over="ignore")
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        {"write": write, "read": read}[sys.argv[1]](file, pathlib.Path(sys.argv[2]), int(sys.argv[3]))
