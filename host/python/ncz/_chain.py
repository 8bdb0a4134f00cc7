"""Chains of codecs over memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ncz
from ._ncz import CodecError


class Chain:
    """Codecs in a row, over arrays and bytes.

    Parameters
    ----------
    codecs : str, mapping or sequence of mappings
        The codecs in the order of encoding: JSON of numcodecs (``{"id": "zstd", "level": 3}``) or of Zarr 3
        (``{"name": "zstd", "configuration": {"level": 3}}``), or filters of HDF5 (``"2|1,6"``). HDF5 filters without a
        name are ``{"id": "ncz.hdf5_filter", "filter": 32028, "cd_values": [..]}``.
    dtype, shape : optional
        The arrays that are encoded. Without them each call encodes what it gets, and decodes to bytes, or to what
        `out` is.

    Raises
    ------
    CodecError
        A codec is not found, or does not fit.

    Examples
    --------
    >>> import ncz, numpy as np
    >>> chain = ncz.Chain([{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 4}], "<f4", (100, 200))
    >>> values = np.arange(20000, dtype="<f4").reshape(100, 200)
    >>> stored = chain.encode(values)
    >>> len(stored) < values.nbytes / 3
    True
    >>> np.array_equal(chain.decode(stored), values)
    True
    """

    def __init__(
        self,
        codecs: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        dtype: npt.DTypeLike | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        self._codecs = codecs if isinstance(codecs, str) else json.dumps(codecs)
        self._dtype = None if dtype is None else np.dtype(dtype)
        self._shape = None if shape is None else tuple(shape)
        self._chain = _ncz.Chain(
            self._codecs,
            None if self._dtype is None else self._dtype.str,
            None if self._shape is None else list(self._shape),
        )

    def encode(self, data: Any) -> bytes:
        """Encode an array or bytes.

        Arrays are not copied if their elements lie in C order without gaps. The interpreter's lock is released.

        Raises
        ------
        CodecError
            The data do not fit the chain, or a codec refuses them.

        Examples
        --------
        >>> import ncz
        >>> ncz.Chain({"id": "zstd", "level": 3}).encode(b"a" * 1000)[:4].hex()
        '28b52ffd'
        """
        if isinstance(data, np.ndarray):
            self._check(data)
            if self._dtype is not None or not data.flags.forc:
                data = np.ascontiguousarray(data)
        return self._chain.encode(as_buffer(data))

    def decode(self, data: Any, out: Any = None) -> np.ndarray[Any, Any] | Any:
        """Decode what was encoded.

        Parameters
        ----------
        data : bytes-like
            The encoded bytes.
        out : array or bytes-like, optional
            Memory to decode into, of the right length; an array is of the chain's type and shape, if it has them.

        Returns
        -------
        array
            `out`, or a new array that is read-only: of the chain's type and shape, otherwise of bytes.

        Raises
        ------
        CodecError
            The bytes are damaged, or do not have the length that is expected.

        Examples
        --------
        >>> import ncz
        >>> chain = ncz.Chain("zstd,3")
        >>> chain.decode(chain.encode(b"ocean")).tobytes()
        b'ocean'
        """
        if out is not None and (self._dtype is None or not isinstance(out, np.ndarray)):
            self._chain.decode(as_buffer(data), as_buffer(out))
            return out
        if out is not None:
            self._check(out)
            if out.flags.c_contiguous:
                self._chain.decode(as_buffer(data), as_buffer(out))
            else:
                np.copyto(out, self.decode(data))
            return out
        decoded = np.frombuffer(self._chain.decode(as_buffer(data)), "u1")
        return decoded if self._dtype is None else decoded.view(self._dtype).reshape(self._shape or ())

    def _check(self, array: np.ndarray[Any, Any]) -> None:
        if self._dtype is not None and (array.dtype, array.shape) != (self._dtype, self._shape):
            wanted = f"{self._dtype} of shape {self._shape}"
            raise CodecError(f"expected elements {wanted}, got {array.dtype} of shape {array.shape}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Chain, (self._codecs, self._dtype, self._shape)

    def __repr__(self) -> str:
        bound = "" if self._dtype is None else f", {self._dtype.str!r}, {self._shape}"
        return f"ncz.Chain({self._codecs!r}{bound})"


def as_buffer(data: Any) -> Any:
    """Return a view of an array that Python's buffers know: of times as integers, of a scalar as one element."""
    if not isinstance(data, np.ndarray):
        return data
    if data.dtype.kind in "mM":
        data = data.view(np.dtype("i8").newbyteorder(data.dtype.byteorder))
    return data if data.ndim else data.reshape(1)
