"""The codecs of ncz as codecs of Zarr 3 for zarr-python."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec

from . import _ncz
from ._ncz import CodecError

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer


@dataclass(frozen=True, init=False, repr=False)
class _NczCodec:
    """What all have: a name, and a configuration that is given by keywords."""

    codec_name: ClassVar[str]
    is_fixed_size = False

    #: The configuration, as JSON: it can be compared and hashed.
    json: str

    def __init__(self, **configuration: Any) -> None:
        object.__setattr__(self, "json", json.dumps(configuration))
        _ = self._chain  # refuses a configuration that the codec does not have

    @property
    def configuration(self) -> dict[str, Any]:
        """The configuration."""
        configuration: dict[str, Any] = json.loads(self.json)
        return configuration

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        if isinstance(data, str):
            data = {"name": data}
        if data.get("name") != cls.codec_name:
            raise CodecError(f"expected a codec {cls.codec_name!r}, got {data.get('name')!r}")
        return cls(**(data.get("configuration") or {}))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.codec_name, "configuration": self.configuration}

    @cached_property
    def _chain(self) -> _ncz.Chain:
        return _ncz.Chain(json.dumps([self.to_dict()]))

    def __getstate__(self) -> dict[str, Any]:
        return {"json": self.json}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "json", state["json"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.configuration.items())})"

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError

    async def _encode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    async def _decode_single(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    def _encode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError

    def _decode_sync(self, chunk_data: Any, chunk_spec: ArraySpec) -> Any:
        raise NotImplementedError


class _BytesCodec(_NczCodec, BytesBytesCodec):
    """A codec from bytes to bytes. It sees the type of the elements that the bytes were, which are little-endian."""

    def _encode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        data = chunk_data.as_numpy_array()
        # zarr-python does not tell what `bytes` did. Where its array is still there, it shows elements that a filter of
        # numbers would destroy: such filters are refused.
        is_big = isinstance(data.base, np.ndarray) and data.base.dtype != data.base.dtype.newbyteorder("<")
        encoded = self._chain.encode_chunk(data, *_elements(chunk_spec, ">" if is_big else "<"))
        return chunk_spec.prototype.buffer.from_bytes(encoded)

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        decoded = self._chain.decode_chunk(chunk_data.as_numpy_array(), *_elements(chunk_spec))
        return chunk_spec.prototype.buffer.from_bytes(decoded)


class _ArrayCodec(_NczCodec):
    """A codec that takes the elements of an array: numbers, little-endian and in C order."""

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        chunk_shape = getattr(chunk_grid, "chunk_shape", shape)
        native = dtype.to_native_dtype()
        _ncz.Chain(json.dumps([self.to_dict()]), native.newbyteorder("<").str, list(chunk_shape))

    def _encode(self, chunk_data: NDBuffer) -> bytes:
        values = chunk_data.as_numpy_array()
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        return self._chain.encode_chunk(values, values.dtype.str, list(chunk_data.shape))


class _ArrayBytesCodec(_ArrayCodec, ArrayBytesCodec):
    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        return chunk_spec.prototype.buffer.from_bytes(self._encode(chunk_data))

    def _decode_sync(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        dtype = chunk_spec.dtype.to_native_dtype().newbyteorder("<")
        decoded = self._chain.decode_chunk(chunk_data.as_numpy_array(), dtype.str, list(chunk_spec.shape))
        values = np.frombuffer(decoded, dtype).reshape(chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(values)


class BitRound(_ArrayCodec, ArrayArrayCodec):
    """Rounds numbers to some bits of their mantissa. Lossy.

    Parameters
    ----------
    keepbits : int
        The bits to keep.
    """

    codec_name = "bitround"
    is_fixed_size = True

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        return input_byte_length

    def _encode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        dtype = chunk_data.dtype.newbyteorder("<")
        values = np.frombuffer(self._encode(chunk_data), dtype).reshape(chunk_data.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(values)

    def _decode_sync(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        return chunk_data


class Zfp(_ArrayBytesCodec):
    """ZFP: ``mode`` is reversible, expert, fixed_rate, fixed_precision or fixed_accuracy, with the keys of it."""

    codec_name = "zfp"


class PackBits(_ArrayBytesCodec):
    """The significant bits of numbers, in sequence."""

    codec_name = "packbits"


class NumcodecsPCodec(_ArrayBytesCodec):
    """pcodec."""

    codec_name = "numcodecs.pcodec"


class NumcodecsZfpy(_ArrayBytesCodec):
    """ZFP in the form of numcodecs."""

    codec_name = "numcodecs.zfpy"


class Hdf5Filter(_BytesCodec):
    """Any filter of HDF5, built in or of a plugin. Filters of numbers want ``bytes`` to be little-endian before them.

    Parameters
    ----------
    filter : int
        The number of the filter.
    cd_values : list of int
        Its parameters, as a user gives them to ``H5Pset_filter``.
    """

    codec_name = "ncz.hdf5_filter"


class Blosc(_BytesCodec):
    """Blosc: the keys of zarr-python's codec. Without `typesize` it is the size of an element."""

    codec_name = "blosc"

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        configuration = self.configuration
        size = array_spec.dtype.to_native_dtype().itemsize
        if "typesize" in configuration or size == 0:
            return self
        defaults = {"shuffle": "bitshuffle" if size == 1 else "shuffle", "typesize": size}
        return type(self)(**(defaults | configuration))


class Zstd(_BytesCodec):
    """Zstandard: `level` and `checksum`."""

    codec_name = "zstd"


class Gzip(_BytesCodec):
    """gzip: `level`."""

    codec_name = "gzip"


class Crc32c(_BytesCodec):
    """A checksum after the data."""

    codec_name = "crc32c"
    is_fixed_size = True

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        return input_byte_length + 4


class NumcodecsBZ2(_BytesCodec):
    """bzip2: `level`."""

    codec_name = "numcodecs.bz2"


class NumcodecsLZ4(_BytesCodec):
    """LZ4: `acceleration`."""

    codec_name = "numcodecs.lz4"


class NumcodecsLZMA(_BytesCodec):
    """LZMA: `format`, `check`, `preset` and `filters`."""

    codec_name = "numcodecs.lzma"


class NumcodecsShuffle(_BytesCodec):
    """Puts the bytes of elements into planes: `elementsize`."""

    codec_name = "numcodecs.shuffle"


class NumcodecsZlib(_BytesCodec):
    """zlib: `level`."""

    codec_name = "numcodecs.zlib"


#: The classes, by the name of the codec.
CODECS: dict[str, type[Any]] = {
    codec.codec_name: codec
    for codec in (
        BitRound, Blosc, Crc32c, Gzip, Hdf5Filter, NumcodecsBZ2, NumcodecsLZ4, NumcodecsLZMA, NumcodecsPCodec,
        NumcodecsShuffle, NumcodecsZfpy, NumcodecsZlib, PackBits, Zfp, Zstd,
    )
}  # fmt: skip
for _codec in CODECS.values():
    # Where users and zarr's configuration name it.
    _codec.__module__ = "ncz.zarr"


def _elements(spec: ArraySpec, order: Literal["<", ">"] = "<") -> tuple[str, list[int]]:
    """The type, in this byte order, and shape of a chunk; of elements of any length those of no chunk.

    The byte order of the array's type is that of numpy arrays that are made of it, not that of stored bytes.
    """
    dtype = spec.dtype.to_native_dtype().newbyteorder(order)
    if dtype.kind in "OT" or dtype.itemsize == 0:
        return "|u1", [0]
    return (dtype.str if dtype.kind != "V" else f"|V{dtype.itemsize}"), list(spec.shape)
