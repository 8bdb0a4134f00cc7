"""The codecs of ncz for numcodecs, and so for Zarr 2 and kerchunk.

``import ncz.numcodecs`` is not needed for ``ncz.hdf5_filter``, by which any HDF5 filter is used, and for ``crc32c``:
numcodecs finds them by itself. :func:`register` adds the other ids that numcodecs lacks, or replaces its own.

Examples
--------
>>> import numcodecs, numpy as np
>>> bitshuffle = numcodecs.get_codec({"id": "ncz.hdf5_filter", "filter": 307, "cd_values": [9]})
>>> bitshuffle
Hdf5Filter(cd_values=[9], filter=307)
>>> values = np.arange(1000, dtype="i4")
>>> np.array_equal(bitshuffle.decode(bitshuffle.encode(values)).view("i4"), values)
True
"""

from __future__ import annotations

import functools
import json
from typing import Any, ClassVar

import numcodecs
import numpy as np
from numcodecs import registry
from numcodecs.abc import Codec
from numcodecs.compat import ensure_contiguous_ndarray, ndarray_copy

from . import _ncz
from ._chain import as_buffer
from ._ncz import CodecError

#: The keys with the types of elements before encoding and after it, of codecs that change them.
_TYPES = {
    "astype": ("decode_dtype", "encode_dtype"),
    "delta": ("dtype", "astype"),
    "fixedscaleoffset": ("dtype", "astype"),
    "quantize": ("dtype", "astype"),
}
#: Codecs that decode only into memory of a type, since they do not read it from the stream.
_NEED_OUT = ("pcodec", "zfpy")


class NczCodec(Codec):
    """A codec of the registry as one of numcodecs. Its configuration is given by keywords, and kept as attributes."""

    codec_id: ClassVar[str]
    _chain: _ncz.Chain

    def __init__(self, **config: Any) -> None:
        config = _completed(self.codec_id, config)
        chain = self._bind(config)
        self.__dict__.update(config, _chain=chain)

    def __setattr__(self, key: str, value: Any) -> None:
        """Change a key of the configuration, as numcodecs' codecs allow it."""
        value = _plain(value)
        chain = self._bind(self.__getstate__() | {key: value})
        self.__dict__.update({key: value, "_chain": chain})

    def _bind(self, config: dict[str, Any]) -> _ncz.Chain:
        return _ncz.Chain(json.dumps({"id": self.codec_id} | config))

    def encode(self, buf: Any) -> Any:
        return self._chain.encode(as_buffer(buf))

    def decode(self, buf: Any, out: Any = None) -> Any:
        if out is None:
            if self.codec_id in _NEED_OUT:
                raise CodecError(f"codec {self.codec_id} decodes only into memory of a type and shape; give out")
            return np.frombuffer(self._chain.decode(as_buffer(buf)), "u1")
        self._chain.decode(as_buffer(buf), as_buffer(out))
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _chain=self._bind(state))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.codec_id, self.__getstate__())


class _TypedCodec(NczCodec):
    """A codec that changes the type of elements."""

    def _types(self) -> tuple[np.dtype[Any], np.dtype[Any]]:
        decoded, encoded = (getattr(self, key, None) for key in _TYPES[self.codec_id])
        return np.dtype(decoded), np.dtype(encoded or decoded)

    def encode(self, buf: Any) -> Any:
        decoded, encoded = self._types()
        values = ensure_contiguous_ndarray(buf).view(decoded)
        return np.frombuffer(self._chain.encode(values), encoded)

    def decode(self, buf: Any, out: Any = None) -> Any:
        decoded, encoded = self._types()
        stored = ensure_contiguous_ndarray(buf).view("u1")
        values = np.empty(stored.size // encoded.itemsize, decoded)
        self._chain.decode(stored, values)
        return ndarray_copy(values, out)


class _PackBits(NczCodec):
    def encode(self, buf: Any) -> Any:
        values = ensure_contiguous_ndarray(buf).view(bool)
        return np.frombuffer(self._chain.encode(values), "u1")

    def decode(self, buf: Any, out: Any = None) -> Any:
        stored = ensure_contiguous_ndarray(buf).view("u1")
        count = (stored.size - 1) * 8 - int(stored[0]) if stored.size else 0
        if count < 0:
            raise CodecError("codec packbits: the stream is shorter than it says")
        values = np.empty(count, bool)
        self._chain.decode(stored, values)
        return ndarray_copy(values, out)


class _BitRound(NczCodec):
    def decode(self, buf: Any, out: Any = None) -> Any:
        """Return the values as they are: they were rounded when they were encoded."""
        return ndarray_copy(ensure_contiguous_ndarray(buf), out)


class Hdf5Filter(NczCodec):
    """Any filter of HDF5, built in or of a plugin.

    Parameters
    ----------
    filter : int
        The number of the filter.
    cd_values : list of int
        Its parameters, as a user gives them to ``H5Pset_filter``.
    """

    codec_id = "ncz.hdf5_filter"

    def __init__(self, filter: int, cd_values: Any = ()) -> None:  # noqa: A002
        super().__init__(filter=int(filter), cd_values=[int(value) for value in cd_values])


class Crc32c(NczCodec):
    """A checksum after the data. numcodecs' own codec of this id needs another package."""

    codec_id = "crc32c"


@functools.cache
def codec_class(codec_id: str) -> type[NczCodec]:
    """Return the class of a codec of the registry.

    Parameters
    ----------
    codec_id : str
        An id of numcodecs.

    Raises
    ------
    CodecError
        There is no such codec.

    Examples
    --------
    >>> import ncz.numcodecs
    >>> zstd = ncz.numcodecs.codec_class("zstd")(level=3)
    >>> bytes(zstd.decode(zstd.encode(b"ocean")))
    b'ocean'
    """
    for own in (Hdf5Filter, Crc32c):
        if codec_id == own.codec_id:
            return own
    if not _ncz.has_codec(codec_id):
        known = ", ".join(sorted(_ids()))
        raise CodecError(f"there is no codec {codec_id!r}; known are {known}, ncz.hdf5_filter")
    bases = {"packbits": _PackBits, "bitround": _BitRound, **dict.fromkeys(_TYPES, _TypedCodec)}
    name = "".join(word.capitalize() for word in codec_id.replace(".", "_").split("_"))
    return type(name, (bases.get(codec_id, NczCodec),), {"codec_id": codec_id, "__module__": __name__})


def register(*ids: str, override: bool = False) -> list[str]:
    """Register codecs with numcodecs, for this process.

    Parameters
    ----------
    *ids : str
        The ids; without any, all of the registry that numcodecs does not have.
    override : bool
        Whether to replace codecs that numcodecs, or another package, has under these ids.

    Returns
    -------
    list of str
        What was registered.

    Raises
    ------
    ValueError
        An id is taken.
    CodecError
        There is no such codec.

    Examples
    --------
    >>> import ncz.numcodecs
    >>> ncz.numcodecs.register("szip")
    ['szip']
    """
    classes = [codec_class(codec_id) for codec_id in ids or sorted(_ids())]
    registered = []
    for cls in classes:
        taken = registry.codec_registry.get(cls.codec_id)
        is_ours = taken is not None and issubclass(taken, NczCodec)
        if not is_ours and not override and (taken is not None or cls.codec_id in registry.entries):
            if ids:
                raise ValueError(f"numcodecs has a codec {cls.codec_id!r}; override=True replaces it")
            continue
        registry.register_codec(cls)
        registered.append(cls.codec_id)
    return registered


def _ids() -> set[str]:
    return {name for dialect, name in _ncz.codec_names() if dialect == "numcodecs"}


def _restore(codec_id: str, config: dict[str, Any]) -> NczCodec:
    return codec_class(codec_id)(**config)


@functools.cache
def _of_numcodecs() -> dict[str, type[Codec]]:
    """Return numcodecs' own classes by id, also of those that are replaced."""
    classes = [cls for cls in vars(numcodecs).values() if isinstance(cls, type) and issubclass(cls, Codec)]
    return {getattr(cls, "codec_id", None) or "": cls for cls in classes}


def _completed(codec_id: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with all keys that numcodecs' own codec has: its users rely on them as attributes."""
    config = {key: _plain(value) for key, value in config.items()}
    theirs = _of_numcodecs().get(codec_id)
    if theirs is None:
        return config
    try:
        completed = theirs(**config).get_config()
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return config  # what numcodecs refuses, ncz refuses by the key, or has more than numcodecs
    return config | {key: _plain(value) for key, value in completed.items() if key != "id"}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value.str if isinstance(value, np.dtype) else value
