"""Blosc2 (32026) by h5py.

    hdf5_blosc2.py write FILE [--hdf5plugin]     writes every case
    hdf5_blosc2.py read FILE [--hdf5plugin]      reads every case and compares it to the byte; no chunk may be masked
    hdf5_blosc2.py append FILE [--hdf5plugin]    writes a second chunk to what grows
    hdf5_blosc2.py words FILE [--hdf5plugin]     prints the words that HDF5 stored with every case

Without --hdf5plugin the plugin comes from HDF5_PLUGIN_PATH alone. Prints how many cases went through.
"""

import os
import sys

import h5py
import numpy as np

if "--hdf5plugin" in sys.argv:
    import hdf5plugin  # noqa: F401 (registers its filters)

BLOSC2 = 32026
DTYPES = "i1 u1 <i2 >i2 <i4 >i8 <u8 <f2 <f4 >f4 <f8 >f8 <c8 <c16 S5 S255 S300".split()
SHAPES = {"line": (5003,), "odd": (37,), "one": (1,), "plane": (61, 83), "thin": (1, 700), "cube": (7, 9, 11), "four": (3, 5, 4, 6),
          "eight": (2, 3, 1, 2, 3, 2, 1, 2), "nine": (2, 1, 2, 3, 1, 2, 2, 1, 2),
          "sixteen": (2, 3, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 1, 2, 1), "seventeen": (1,) * 16 + (40,), "equal": (10, 10), "zero": (20, 30), "special": (4, 6),
          "noise": (20, 15)}
WORDS = [(0, 0, 0, 0, level, filter_, cname) for cname in (0, 1, 2, 4, 5) for filter_ in range(4) for level in (0, 1, 5, 9)]
LARGE = {"large-line": (400_000,), "large-plane": (500, 800), "large-cube": (50, 80, 100)}


# Of three sets of words for every type with every shape, the tests take one, unless all are wanted.
TURNS = range(3 if os.environ.get("NCZ_MATRIX") == "all" else 1)


def values(dtype, shape):
    count, dtype = int(np.prod({**SHAPES, **LARGE}[shape])), np.dtype(dtype)
    if shape == "noise":
        # HDF5 takes a string to end at its first zero.
        least = 1 if dtype.kind == "S" else 0
        return np.random.default_rng(3).integers(least, 256, count * dtype.itemsize, "u1").view(dtype)
    if shape == "special" and dtype.kind == "f":
        info = np.finfo(dtype)
        least = info.smallest_subnormal
        return np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, least, info.max, info.tiny] * 3, dtype)
    if shape == "zero":
        return np.zeros(count, dtype)
    numbers = np.full(count, 9) if shape == "equal" else np.arange(count) ** 2 // 70 % 101
    if dtype.kind == "S":
        return np.array([b"%05d" % number for number in numbers], dtype)
    return numbers.astype(dtype)


def cases():
    for number, dtype in enumerate(DTYPES):
        for shape, lengths in SHAPES.items():
            for turn in TURNS:
                # Every combination comes up; all of them with everything would take long.
                words = WORDS[(number * 7 + len(lengths) * 11 + turn * 27) % len(WORDS)]
                yield f"{dtype}-{shape}-{turn}".replace("<", "l").replace(">", "b"), dtype, shape, lengths, words
    for words in WORDS:
        for shape, lengths in LARGE.items():
            if words[4:6] in ((5, 1), (9, 2), (1, 3)):
                yield f"{shape}-{words[4:]}", "<i4", shape, lengths, words
        yield f"plane-{words[4:]}", "<f4", "plane", SHAPES["plane"], words
        yield f"line-{words[4:]}", "<f8", "line", SHAPES["line"], words
    for blocksize in (1, 100, 4096):
        yield f"blocks-{blocksize}", "<i2", "plane", SHAPES["plane"], (0, blocksize, 0, 0, 5, 1, 1)
    # Its plugin has no defaults for chunks of one dimension.
    yield "defaults", "<f8", "cube", SHAPES["cube"], ()


def is_readable(dtype, lengths):
    """hdf5plugin does not read arrays of elements of more than 255 bytes that it wrote itself."""
    return np.dtype(dtype).itemsize <= 255 or not 2 <= len(lengths) <= 16


def main(action, path):
    theirs = "--hdf5plugin" in sys.argv
    count = 0
    with h5py.File(path, {"write": "w", "append": "a"}.get(action, "r")) as file:
        for name, dtype, shape, lengths, words in cases():
            data = values(dtype, shape).reshape(lengths)
            if action == "write":
                most = (None,) + lengths[1:] if shape == "plane" else None
                made = file.create_dataset(
                    name, lengths, dtype, chunks=lengths, maxshape=most, compression=BLOSC2, compression_opts=words
                )
                made[...] = data
                made.attrs["by"] = "hdf5plugin" if theirs else "ncz"
            elif action == "append" and shape == "plane" and is_readable(dtype, lengths):
                # HDF5 loads a plugin to create or to read a dataset, not to write to one.
                file[name][:1]
                file[name].resize(2 * lengths[0], 0)
                file[name][lengths[0]:] = data
            elif action == "words":
                print(name, file[name].id.get_create_plist().get_filter(0)[2])
            elif action == "read":
                made = file[name]
                if theirs and made.attrs["by"] == "hdf5plugin" and not is_readable(dtype, lengths):
                    continue
                read = made[...]
                for start in range(0, len(read), lengths[0]):
                    assert read[start : start + lengths[0]].tobytes() == data.tobytes(), (name, words)
                masks = [made.id.get_chunk_info(at).filter_mask for at in range(made.id.get_num_chunks())]
                assert not any(masks), (name, masks)
            count += 1
    return count


print(main(*sys.argv[1:3]))
