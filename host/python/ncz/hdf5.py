"""The HDF5 filter plugins of ncz for h5py.

``import ncz.hdf5`` puts the plugins in front of those that h5py finds in this process, for reading and writing. A
filter that libhdf5 has loaded or registered already stays: of ``ncz.hdf5`` and ``hdf5plugin`` the one that was imported
first serves the filters that both have.

netCDF4-python has a libhdf5 of its own, which reads the environment: set ``HDF5_PLUGIN_PATH`` to
:data:`ncz.PLUGIN_PATH` before ``import netCDF4``.

Examples
--------
>>> import h5py, numpy as np
>>> import ncz.hdf5
>>> with h5py.File("ocean.h5", "w") as file:
...     v = file.create_dataset("v", data=np.arange(1000.0), chunks=(100,), shuffle=True, **ncz.hdf5.Zstd(3))
...     v._filters["32015"]
(3,)
>>> with h5py.File("ocean.h5") as file:
...     file["v"][:3]
array([0., 1., 2.])
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import h5py

from . import PLUGIN_PATH

_path = os.fsencode(PLUGIN_PATH)
if _path not in [h5py.h5pl.get(index) for index in range(h5py.h5pl.size())]:
    h5py.h5pl.prepend(_path)


class Filter(Mapping[str, Any]):
    """A filter as keyword arguments of ``h5py.Group.create_dataset``: ``compression`` and ``compression_opts``."""

    #: The number of the filter.
    filter_id: ClassVar[int]

    def __init__(self, *options: int) -> None:
        #: The parameters, as ``H5Pset_filter`` takes them.
        self.filter_options = tuple(int(option) for option in options)

    def __getitem__(self, key: str) -> Any:
        return {"compression": self.filter_id, "compression_opts": self.filter_options}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("compression", "compression_opts"))

    def __len__(self) -> int:
        return 2

    def __hash__(self) -> int:
        return hash((self.filter_id, self.filter_options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}: filter {self.filter_id} with {self.filter_options}"


def _one_of(name: str, value: str, known: Mapping[str, int]) -> int:
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    return known[value]


def _within(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least} to {most}, got {value}")
    return int(value)


class Zstd(Filter):
    """Zstandard.

    Parameters
    ----------
    clevel : int
        From 1, the fastest, to 22, the smallest; negative ones are faster still.
    """

    filter_id = 32015

    def __init__(self, clevel: int = 3) -> None:
        super().__init__(_within("clevel", clevel, -(1 << 17), 22) & 0xFFFF_FFFF)


class BZip2(Filter):
    """bzip2.

    Parameters
    ----------
    blocksize : int
        The size of a block in 100 kB, 1 to 9.
    """

    filter_id = 307

    def __init__(self, blocksize: int = 9) -> None:
        super().__init__(_within("blocksize", blocksize, 1, 9))


class LZ4(Filter):
    """LZ4.

    Parameters
    ----------
    nbytes : int
        The bytes of a block; 0 is 1 GiB.
    """

    filter_id = 32004

    def __init__(self, nbytes: int = 0) -> None:
        super().__init__(_within("nbytes", nbytes, 0, 0x7E00_0000))


class LZF(Filter):
    """LZF. h5py has this filter itself; other programs need a plugin."""

    filter_id = 32000

    def __init__(self) -> None:
        super().__init__()


class Bitshuffle(Filter):
    """Bitshuffle: the bits of elements in planes, then compressed.

    Parameters
    ----------
    nelems : int
        The elements of a block, a multiple of 8; 0 is chosen by the size of an element.
    cname : {"lz4", "zstd", "none"}
        The compressor.
    clevel : int
        The level of zstd.
    """

    filter_id = 32008

    def __init__(self, nelems: int = 0, cname: str = "lz4", clevel: int = 3) -> None:
        if nelems < 0 or nelems % 8:
            raise ValueError(f"nelems: expected a multiple of 8, got {nelems}")
        compressor = _one_of("cname", cname, {"none": 0, "lz4": 2, "zstd": 3})
        level = (_within("clevel", clevel, 1, 22),) if cname == "zstd" else ()
        super().__init__(nelems, compressor, *level)


class Blosc(Filter):
    """Blosc.

    Parameters
    ----------
    cname : {"lz4", "lz4hc", "zstd", "zlib", "blosclz", "snappy"}
        The compressor.
    clevel : int
        0 to 9.
    shuffle : {"shuffle", "bitshuffle", "none"}
        What happens before.
    """

    filter_id = 32001
    _compressors: ClassVar[dict[str, int]] = {
        "blosclz": 0,
        "lz4": 1,
        "lz4hc": 2,
        "snappy": 3,
        "zlib": 4,
        "zstd": 5,
    }

    def __init__(self, cname: str = "lz4", clevel: int = 5, shuffle: str = "shuffle") -> None:
        compressor = _one_of("cname", cname, self._compressors)
        before = _one_of("shuffle", shuffle, {"none": 0, "shuffle": 1, "bitshuffle": 2})
        super().__init__(0, 0, 0, 0, _within("clevel", clevel, 0, 9), before, compressor)


class Blosc2(Blosc):
    """Blosc 2. The parameters are those of :class:`Blosc`, without snappy."""

    filter_id = 32026
    _compressors: ClassVar[dict[str, int]] = {"blosclz": 0, "lz4": 1, "lz4hc": 2, "zlib": 4, "zstd": 5}


class BitRound(Filter):
    """Rounds numbers to some bits of their mantissa, so that a compressor after it does better. Lossy.

    HDF5 takes one filter of ``create_dataset``; add this one to a creation property list by ``set_filter`` for two.

    Parameters
    ----------
    nsb : int
        The bits of the mantissa to keep.
    """

    filter_id = 32032

    def __init__(self, nsb: int) -> None:
        super().__init__(_within("nsb", nsb, 1, 52))


class Zfp(Filter):
    """ZFP, for arrays of numbers of up to 4 dimensions. Lossy unless it is reversible.

    Parameters
    ----------
    rate : float, optional
        Bits for each value.
    precision : int, optional
        Bits of each value before compression.
    accuracy : float, optional
        The largest error.
    reversible : bool
        Without loss.

    Raises
    ------
    ValueError
        Not exactly one of them is given.
    """

    filter_id = 32013

    def __init__(
        self,
        *,
        rate: float | None = None,
        precision: int | None = None,
        accuracy: float | None = None,
        reversible: bool = False,
    ) -> None:
        given = [rate is not None, precision is not None, accuracy is not None, reversible]
        if sum(given) != 1:
            raise ValueError("expected one of rate, precision, accuracy and reversible")
        if rate is not None:
            options = (1, 0, *_words(rate), 0, 0)
        elif precision is not None:
            options = (2, 0, precision, 0, 0, 0)
        elif accuracy is not None:
            options = (3, 0, *_words(accuracy), 0, 0)
        else:
            options = (5, 0, 0, 0, 0, 0)
        super().__init__(*options)


def _words(value: float) -> tuple[int, ...]:
    """Return a number as two parameters, low word first."""
    return struct.unpack("<II", struct.pack("<d", value))
