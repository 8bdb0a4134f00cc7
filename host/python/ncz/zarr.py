"""The codecs of ncz for zarr-python, and a pipeline that runs whole chains over whole batches of chunks.

Codecs that zarr-python lacks are there without a call: ``ncz.hdf5_filter``, ``bitround``, ``zfp``, ``packbits``.
:func:`use` replaces those that it has. The pipeline is for all arrays of a process:

>>> import zarr
>>> with zarr.config.set({"codec_pipeline.path": "ncz.zarr.CodecPipeline"}):
...     array = zarr.create_array("numbers.zarr", shape=(100, 100), chunks=(10, 100), dtype="i4", overwrite=True)
...     array[:] = 7
...     int(array[::3].sum())
23800

or ``ZARR_CODEC_PIPELINE__PATH=ncz.zarr.CodecPipeline`` in the environment, which reaches the workers of a cluster.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import zarr.abc.codec
from zarr.codecs import ShardingCodec
from zarr.codecs._v2 import V2Codec
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.common import concurrent_map
from zarr.core.config import config
from zarr.registry import register_codec, register_pipeline
from zarr.storage import LocalStore, StorePath

from . import _ncz
from ._ncz import CodecError
from ._zarr_codecs import (
    CODECS,
    BitRound,
    Blosc,
    Crc32c,
    Gzip,
    Hdf5Filter,
    NumcodecsBZ2,
    NumcodecsLZ4,
    NumcodecsLZMA,
    NumcodecsPCodec,
    NumcodecsShuffle,
    NumcodecsZfpy,
    NumcodecsZlib,
    PackBits,
    Zfp,
    Zstd,
)

__all__ = [
    "BitRound",
    "Blosc",
    "CodecPipeline",
    "Crc32c",
    "Gzip",
    "Hdf5Filter",
    "NumcodecsBZ2",
    "NumcodecsLZ4",
    "NumcodecsLZMA",
    "NumcodecsPCodec",
    "NumcodecsShuffle",
    "NumcodecsZfpy",
    "NumcodecsZlib",
    "PackBits",
    "Zfp",
    "Zstd",
    "use",
]

_T = TypeVar("_T")

#: Decoded chunks of about so many bytes are fetched, or written, at a time where a store is not a folder of files.
_GROUP_BYTES = 64 << 20

#: Calls that run: they end when the interpreter does, which waits for their threads.
_running: set[_ncz.Stop] = set()


def use(*names: str) -> None:
    """Let zarr-python use codecs of ncz, in this process, for names that it has codecs for.

    Parameters
    ----------
    *names : str
        The names of codecs; without any, all that ncz has a class for.

    Raises
    ------
    CodecError
        ncz has no class for a name.

    Examples
    --------
    >>> import zarr, ncz.zarr
    >>> ncz.zarr.use("zstd")
    >>> zarr.registry.get_codec_class("zstd")
    <class 'ncz.zarr.Zstd'>
    >>> _ = zarr.config.set({"codecs.zstd": "zarr.codecs.zstd.ZstdCodec"})
    """
    codecs = dict(config.get("codecs"))
    for name in names or CODECS:
        if name not in CODECS:
            raise CodecError(f"ncz has no class for the codec {name!r}; it has {', '.join(sorted(CODECS))}")
        register_codec(name, CODECS[name])
        codecs[name] = f"ncz.zarr.{CODECS[name].__name__}"
    # Not name by name: a dot in a name is a level there.
    config.set({"codecs": codecs})


class _Unsupported(Exception):
    """What zarr-python's own pipeline has to do."""


_SCALAR = "other selections of scalars than all"


@dataclass(frozen=True)
class CodecPipeline(BatchedCodecPipeline):
    """Runs the codecs of an array over batches of its chunks, in Rust on all threads of the process.

    Set ``codec_pipeline.path`` of ``zarr.config`` to ``"ncz.zarr.CodecPipeline"``. Other keys:

    ``codec_pipeline.strict``
        What is left to zarr-python's own pipeline is an error. Otherwise it is counted in :attr:`counts`.
    ``codec_pipeline.shuffle_size``
        ``"type"`` or ``"stored"``: what the element size 0 of shuffle means in Zarr 2. netcdf-c writes it and shuffles
        by the size of the type, numcodecs does not shuffle then. Such data are refused otherwise.
    """

    #: Chunks that were read and written, and those that were left to zarr-python, by the reason.
    counts: ClassVar[Counter[str]] = Counter()

    #: Whether netcdf-c wrote the array, or will read it.
    nczarr: bool = False
    #: The lengths of an array of Zarr 2, which netcdf-c's szip depends on.
    array_shape: tuple[int, ...] | None = None

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Self:
        if array_metadata.zarr_format == 3:
            return cls.from_codecs(array_metadata.codecs)
        codec = V2Codec(filters=array_metadata.filters, compressor=array_metadata.compressor)
        pipeline = cls.from_codecs([codec])
        attributes = array_metadata.attributes or {}
        nczarr = any(key in attributes for key in ("_nczarr_array", "_NCZARR_ARRAY", "_nczarr_attr", "_NCZARR_ATTR"))
        return dataclasses.replace(pipeline, nczarr=nczarr, array_shape=tuple(array_metadata.shape))

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        pipeline = super().evolve_from_array_spec(array_spec)
        return dataclasses.replace(pipeline, nczarr=self.nczarr, array_shape=self.array_shape)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_plans"}

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        batch = list(batch_info)
        if not batch:
            return await super().read(batch, out, drop_axes)
        try:
            plan, array = self._plan(batch, out)
        except _Unsupported as reason:
            self._count_fallback("read", str(reason), len(batch))
            return await super().read(batch, out, drop_axes)
        parts = None if drop_axes else _parts(plan, batch, array, is_read=True)
        if parts is not None:
            present = await _read(parts, plan, batch)
        elif batch[0][1].shape:
            present = await _read_and_pick(plan, batch, out, drop_axes)
        else:
            self._count_fallback("read", _SCALAR, len(batch))
            return await super().read(batch, out, drop_axes)
        self.counts["read"] += len(batch)
        result = getattr(zarr.abc.codec, "GetResult", None)
        if result is None:
            return None
        return tuple(result(status="present" if is_there else "missing") for is_there in present)

    async def write(self, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        batch = list(batch_info)
        if not batch:
            return
        try:
            plan, array = self._plan(batch, value)
        except _Unsupported as reason:
            self._count_fallback("write", str(reason), len(batch))
            return await super().write(batch, value, drop_axes)
        parts = None if drop_axes else _parts(plan, batch, array, is_read=False)
        if parts is not None:
            await _write(parts, plan, batch)
        elif batch[0][1].shape:
            await _pick_and_write(plan, batch, array, drop_axes)
        else:
            self._count_fallback("write", _SCALAR, len(batch))
            await super().write(batch, value, drop_axes)
            return
        self.counts["written"] += len(batch)

    def _count_fallback(self, action: str, reason: str, chunks: int) -> None:
        if config.get("codec_pipeline.strict", False):
            raise CodecError(f"ncz's pipeline cannot {action} this array: {reason}")
        self.counts[f"fallback to zarr: {reason}"] += chunks

    def _plan(self, batch: Sequence[Any], array: Any) -> tuple[_ncz.Plan, np.ndarray[Any, Any]]:
        """Return the codecs for the chunks of a batch, and the memory of an array as numpy has it."""
        spec = batch[0][1]
        if isinstance(self.array_bytes_codec, ShardingCodec):
            # It comes here again with the chunks in a shard.
            raise _Unsupported("shards as a whole")
        for _, other, *_ in batch:
            if other.shape != spec.shape or other.dtype is not spec.dtype and other.dtype != spec.dtype:
                raise _Unsupported("chunks of several shapes or types in a batch")
        memory = array.as_ndarray_like()
        if not isinstance(memory, np.ndarray):
            raise _Unsupported("memory that is not numpy's")
        native = spec.dtype.to_native_dtype()
        if native.kind in "OT" or native.itemsize == 0:
            raise _Unsupported("elements of any length")
        if memory.dtype.newbyteorder("=") != native.newbyteorder("="):
            raise _Unsupported("another type than the array's")
        if native.kind == "V" and memory.dtype != native:
            raise _Unsupported("structures in another byte order")
        fill = np.asarray(_fill_value(spec), native if native.kind == "V" else native.newbyteorder("="))
        # A plan belongs to the process that made it.
        shuffle_size = config.get("codec_pipeline.shuffle_size", None)
        key = (os.getpid(), spec.shape, spec.dtype, spec.order, fill.tobytes(), shuffle_size)
        plans: dict[Any, _ncz.Plan | str] = self.__dict__.setdefault("_plans", {})
        plan = plans.get(key)
        if plan is None:
            try:
                plan = self._bind(spec, fill.tobytes(), shuffle_size)
            except _Unsupported as reason:
                plan = str(reason)
            plans[key] = plan
        if isinstance(plan, str):
            # A kept exception would keep the arrays of the calls that it ended.
            raise _Unsupported(plan)
        return plan, memory

    def _bind(self, spec: Any, fill: bytes, shuffle_size: str | None) -> _ncz.Plan:
        codecs = list(self)
        if isinstance(codecs[0], V2Codec):
            version, document = 2, _document_of_v2(codecs[0], spec, self.array_shape)
        else:
            version, document = 3, _document_of_v3(codecs, spec)
        try:
            text = json.dumps(document).encode()
        except (TypeError, ValueError) as error:
            raise _Unsupported(f"metadata that are not JSON ({error})") from error
        try:
            return _ncz.Plan(text, version, fill, shuffle_size, self.nczarr)
        except CodecError as error:
            raise _Unsupported(str(error)) from error


def _document_of_v2(codec: V2Codec, spec: Any, array_shape: tuple[int, ...] | None) -> dict[str, Any]:
    native = spec.dtype.to_native_dtype()
    dtype = native.str if native.fields is None else spec.dtype.to_json(zarr_format=2)["name"]
    return {
        "zarr_format": 2,
        "shape": list(array_shape or spec.shape),
        "chunks": list(spec.shape),
        "dtype": dtype,
        "order": spec.order,
        "fill_value": None,
        "filters": [filter_.get_config() for filter_ in codec.filters or ()] or None,
        "compressor": codec.compressor.get_config() if codec.compressor else None,
    }


def _document_of_v3(codecs: Sequence[Any], spec: Any) -> dict[str, Any]:
    fill = _fill_value(spec)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(spec.shape),
        "data_type": spec.dtype.to_json(zarr_format=3),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(spec.shape)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": spec.dtype.to_json_scalar(fill, zarr_format=3),
        "codecs": [codec.to_dict() for codec in codecs],
        "attributes": {},
    }


def _fill_value(spec: Any) -> Any:
    return spec.dtype.default_scalar() if spec.fill_value is None else spec.fill_value


def _memory(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], bool]:
    """Return a view with elements that Python's buffers know, and whether they are in the machine's byte order.

    Elements of several fields are stored as they are.
    """
    kind = array.dtype.kind
    return (array if kind in "biufcSU" else array.view(f"V{array.dtype.itemsize}")), kind == "V" or array.dtype.isnative


def _parts(plan: _ncz.Plan, batch: Sequence[Any], array: np.ndarray[Any, Any], *, is_read: bool) -> _ncz.Parts | None:
    selections = [(in_chunk, in_array, is_complete) for _, _, in_chunk, in_array, is_complete in batch]
    is_scalar = array.ndim == 0
    return plan.parts(selections, *_memory(array.reshape(1) if is_scalar else array), is_read, is_scalar)


def _groups(plan: _ncz.Plan, batch: Sequence[Any]) -> list[Sequence[Any]]:
    size = max(2, _GROUP_BYTES // max(plan.chunk_len, 1))
    return [batch[first : first + size] for first in range(0, len(batch), size)]


def _folder(batch: Sequence[Any]) -> LocalStore | None:
    """Return the folder in which all chunks of a batch are files."""
    first = batch[0][0]
    store = first.store if isinstance(first, StorePath) else None
    # Subclasses may do other things.
    if type(store) is not LocalStore or any(getattr(place, "store", None) is not store for place, *_ in batch):
        return None
    return store


def _keys(batch: Sequence[Any]) -> list[str]:
    return [getattr(place, "path", "") or f"chunk {getattr(place, 'chunk_coords', '')}" for place, *_ in batch]


async def _read(parts: _ncz.Parts, plan: _ncz.Plan, batch: Sequence[Any]) -> list[bool]:
    """Read parts of chunks into the memory that `parts` has; return which chunks there are."""
    store = _folder(batch)
    if store is not None:
        return await _run(parts.read_files, os.fspath(store.root), _keys(batch))

    async def read_group(first: int, group: Sequence[Any]) -> list[bool]:
        places = [(place, spec.prototype) for place, spec, *_ in group]
        buffers = await concurrent_map(places, _get, config.get("async.concurrency"))
        stored = [None if buffer is None else buffer.as_numpy_array() for buffer in buffers]
        return await _run(parts.read, first, stored, _keys(group))

    groups = _groups(plan, batch)
    firsts = [len(groups[0]) * number for number in range(len(groups))]
    present = await concurrent_map(list(zip(firsts, groups, strict=True)), read_group, 2)
    return [is_there for group in present for is_there in group]


async def _write(parts: _ncz.Parts, plan: _ncz.Plan, batch: Sequence[Any]) -> None:
    """Write chunks from the memory that `parts` has."""
    keep_empty = batch[0][1].config.write_empty_chunks
    store = _folder(batch)
    if store is not None:
        store._check_writable()
        await _run(parts.write_files, os.fspath(store.root), _keys(batch), keep_empty)
        return
    partial = parts.partial

    async def write_group(first: int, group: Sequence[Any]) -> None:
        places = [(place, spec.prototype) for place, spec, *_ in group]
        stays = [number for number in range(len(group)) if partial[first + number]]
        buffers = await concurrent_map([places[number] for number in stays], _get, config.get("async.concurrency"))
        old: list[Any] = [None] * len(group)
        for number, buffer in zip(stays, buffers, strict=True):
            old[number] = None if buffer is None else buffer.as_numpy_array()
        encoded = await _run(parts.write, first, old, _keys(group), keep_empty)
        changes = [(*place, chunk) for place, chunk in zip(places, encoded, strict=True)]
        await concurrent_map(changes, _set, config.get("async.concurrency"))

    groups = _groups(plan, batch)
    firsts = [len(groups[0]) * number for number in range(len(groups))]
    await concurrent_map(list(zip(firsts, groups, strict=True)), write_group, 2)


async def _get(place: Any, prototype: Any) -> Any:
    return await place.get(prototype=prototype)


async def _set(place: Any, prototype: Any, chunk: memoryview | None) -> None:
    if chunk is None:
        await place.delete()
    else:
        await place.set(prototype.buffer.from_bytes(chunk))


async def _read_and_pick(plan: _ncz.Plan, batch: Sequence[Any], out: Any, drop_axes: tuple[int, ...]) -> list[bool]:
    """Read by selections that numpy knows: whole chunks, from which it picks."""
    present = []
    for group in _groups(plan, batch):
        rows, chunks = _whole_chunks(group)
        present += await _read(_rows(plan, rows, range(len(group)), is_read=True), plan, group)
        for chunk, (_, spec, in_chunk, in_out, _) in zip(chunks, group, strict=True):
            picked = spec.prototype.nd_buffer.from_numpy_array(chunk)[in_chunk]
            out[in_out] = picked.squeeze(axis=drop_axes) if drop_axes else picked
    return present


async def _pick_and_write(
    plan: _ncz.Plan, batch: Sequence[Any], value: np.ndarray[Any, Any], drop_axes: tuple[int, ...]
) -> None:
    """Write chunks by selections that numpy knows: whole chunks, with the elements that are chosen replaced."""
    for group in _groups(plan, batch):
        rows, chunks = _whole_chunks(group)
        fill = _fill_value(group[0][1])
        stays = [number for number, item in enumerate(group) if not item[4]]
        old = [group[number] for number in stays]
        if old:
            await _read(_rows(plan, rows, stays, is_read=True), plan, old)
        for chunk, (_, spec, in_chunk, in_value, is_complete) in zip(chunks, group, strict=True):
            if is_complete:
                chunk[...] = fill
            part = value if value.ndim == 0 else value[in_value]
            if drop_axes and value.ndim:
                part = part[tuple(None if axis in drop_axes else slice(None) for axis in range(len(spec.shape)))]
            chunk[in_chunk] = part
        await _write(_rows(plan, rows, range(len(group)), is_read=False), plan, group)


def _whole_chunks(group: Sequence[Any]) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """Return memory for the chunks of a group, as one array in which they follow each other, and each by itself."""
    spec = group[0][1]
    length, *rest = spec.shape
    rows = np.empty((len(group) * length, *rest), spec.dtype.to_native_dtype())
    return rows, [rows[first : first + length] for first in range(0, len(rows), length)]


def _rows(plan: _ncz.Plan, rows: np.ndarray[Any, Any], numbers: Iterable[int], *, is_read: bool) -> _ncz.Parts:
    """Return the chunks of these numbers in such an array."""
    length = plan.shape[0]
    selections = [((), (slice(number * length, (number + 1) * length),), True) for number in numbers]
    parts = plan.parts(selections, *_memory(rows), is_read)
    if parts is None:
        raise CodecError("whole chunks do not fit the memory for them")
    return parts


async def _run(call: Callable[..., _T], *arguments: Any) -> _T:
    """Run a call on a thread; it ends early if the caller stops waiting."""
    stop = _ncz.Stop()
    _running.add(stop)
    try:
        return await asyncio.to_thread(call, *arguments, stop)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        _running.discard(stop)


def _stop_all() -> None:
    for stop in list(_running):
        stop.set()


# Before the interpreter waits for threads, which would work on after Ctrl-C.
if hasattr(threading, "_register_atexit"):
    threading._register_atexit(_stop_all)
register_pipeline(CodecPipeline)
