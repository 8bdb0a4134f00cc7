"""Values that every script of a test makes anew: the same for the same name."""

import zlib

import numpy as np


def values(name, dtype, shape, noise=False):
    """An array that compresses (steps, rounded waves), or one that does not."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    size = int(np.prod(shape))
    if noise:
        data = rng.integers(0, 256, size * dtype.itemsize, dtype="u1").view(dtype)
    else:
        steps = 1000 + np.repeat(np.cumsum(rng.integers(-2, 3, size)), 6)[:size]
        data = np.round(np.sin(steps / 9) * 50, 1) if dtype.kind == "f" else steps
        data = data.astype(dtype)
    return data.reshape(shape)


def same(a, b):
    """Whether two arrays agree to the bit, whatever the order of their bytes in memory."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if a.shape != b.shape or a.dtype.newbyteorder("<") != b.dtype.newbyteorder("<"):
        return False
    return a.astype(a.dtype.newbyteorder("<")).tobytes() == b.astype(b.dtype.newbyteorder("<")).tobytes()


def mapped():
    """The shared libraries that are in use."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if ".so" in line})
