"""Datasets, groups and variables."""

from __future__ import annotations

import html
import json
import operator
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _ncz
from ._ncz import DataError

_SCALARS = {
    "byte": "i1",
    "ubyte": "u1",
    "char": "S1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float": "f4",
    "double": "f8",
    "string": "O",
}


class Dimension(NamedTuple):
    """A named length."""

    length: int
    unlimited: bool


def open(  # noqa: A001
    location: str | os.PathLike[str],
    mode: str = "r",
    *,
    threads: int | None = None,
    plugins: Sequence[str | os.PathLike[str]] | None = None,
    shuffle_size: str | None = None,
) -> Dataset:
    """Open a dataset for reading.

    It is a Zarr or NCZarr dataset in a directory, a zip file, S3 or on an HTTP server, or a netCDF or HDF5 file.

    Parameters
    ----------
    location : str or path
        A path or URL, with the mode words of netCDF after ``#`` or without: ``s3://bucket/ocean.nczarr#mode=nczarr``.
    mode : str
        ``"r"``, the only one.
    threads : int, optional
        Threads of this dataset, from 1 to 1024. Otherwise it shares those of the process, and reads within a task of Dask use that
        task's thread alone.
    plugins : list of paths, optional
        Folders of codec plugins, instead of those of ``HDF5_PLUGIN_PATH``.
    shuffle_size : {"type", "stored"}, optional
        What an element size of shuffle means on which netcdf-c and numcodecs disagree. Such data are refused
        otherwise.

    Returns
    -------
    Dataset

    Raises
    ------
    PlaceError
        There is no dataset, or it cannot be read.

    Examples
    --------
    >>> import ncz
    >>> with ncz.open(fixtures / "ocean.nczarr") as ds:
    ...     print(ds.format, list(ds.dims), list(ds.groups))
    ...     ds["lat"][:3]
    nczarr ['time', 'lat', 'lon'] ['model']
    array([90. , 87.5, 85. ], dtype=float32)
    """
    if mode != "r":
        raise ValueError(f'mode: expected "r", got {mode!r}; datasets are written by ncz.copy')
    return Dataset(_File(os.fspath(location), _Options(threads, _folders(plugins), shuffle_size)), "/")


def _folders(plugins: Sequence[str | os.PathLike[str]] | None) -> tuple[str, ...] | None:
    return None if plugins is None else tuple(os.fspath(folder) for folder in plugins)


class _Options(NamedTuple):
    threads: int | None = None
    plugins: tuple[str, ...] | None = None
    shuffle_size: str | None = None


class _File:
    """An open dataset and what is in it, which groups and variables share."""

    def __init__(self, location: str, options: _Options) -> None:
        plugins = None if options.plugins is None else list(options.plugins)
        self.location = location
        self.options = options
        self.handle = _ncz.Handle(location, options.threads, plugins, options.shuffle_size)
        described = self.handle.describe()
        self.format: str = described["format"]
        self.netcdf_model: bool = described["netcdf_model"]
        self.warnings: list[str] = described["warnings"]
        self.groups: dict[str, dict[str, Any]] = {}
        self._add(described["root"])

    def _add(self, group: dict[str, Any]) -> None:
        self.groups[group["path"]] = group
        for child in group["groups"]:
            self._add(child)

    def dimension(self, group: str, name: str) -> Dimension:
        for found, length, unlimited, _ in self.groups[group]["dimensions"]:
            if found == name:
                return Dimension(length, unlimited)
        raise KeyError(name)


_recent: OrderedDict[tuple[Any, ...], _File] = OrderedDict()
_shared: weakref.WeakValueDictionary[tuple[Any, ...], _File] = weakref.WeakValueDictionary()
_sharing = threading.Lock()
os.register_at_fork(after_in_child=lambda: globals().update(_sharing=threading.Lock()))


def _shared_file(location: str, options: _Options) -> _File:
    """A file that is open already, unless it was written again since: for objects that come from another process."""
    key = (location, options, _identity(location))
    with _sharing:
        file = _shared.get(key)
    if file is None:
        file = _File(location, options)
    with _sharing:
        file = _shared.setdefault(key, file)
        _recent[key] = file
        _recent.move_to_end(key)
        while len(_recent) > 16:
            _recent.popitem(last=False)
    return file


def _identity(location: str) -> tuple[Any, ...]:
    """What changes when a local dataset is written again; nothing for others."""
    path = location.split("#")[0].removeprefix("file://")
    found = []
    for name in ("", ".zgroup", ".zattrs", ".zarray", ".zmetadata", "zarr.json"):
        try:
            status = os.stat(os.path.join(path, name) if name else path)
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


class Group(Mapping[str, Any]):
    """A group of a dataset: a mapping of the names of its variables and groups.

    Attributes
    ----------
    path : str
    dims : dict of str to Dimension
        The dimensions that this group defines.
    attrs : dict
    variables : dict of str to Variable
    groups : dict of str to Group
    unreadable : dict of str to str
        Variables that exist, but cannot be read, with the reason.
    """

    def __init__(self, file: _File, path: str) -> None:
        self._file = file
        self._group = file.groups[path]
        self.path = path

    @property
    def name(self) -> str:
        return str(self._group["name"])

    @property
    def dims(self) -> dict[str, Dimension]:
        return {name: Dimension(length, unlimited) for name, length, unlimited, _ in self._group["dimensions"]}

    @property
    def attrs(self) -> dict[str, Any]:
        return _attrs(self._group["attributes"])

    @property
    def variables(self) -> dict[str, Variable]:
        return {variable["name"]: Variable(self._file, variable) for variable in self._group["variables"]}

    @property
    def groups(self) -> dict[str, Group]:
        return {group["name"]: Group(self._file, group["path"]) for group in self._group["groups"]}

    @property
    def unreadable(self) -> dict[str, str]:
        return dict(self._group["unreadable"])

    def __getitem__(self, path: str) -> Any:
        if not isinstance(path, str):
            raise KeyError(path)
        here = "/" if path.startswith("/") else self.path
        *groups, name = [part for part in path.split("/") if part] or [""]
        for group in groups:
            here = _join(here, group)
        if not name:
            return Group(self._file, here)
        if here in self._file.groups:
            within = self._file.groups[here]
            for variable in within["variables"]:
                if variable["name"] == name:
                    return Variable(self._file, variable)
            for group in within["groups"]:
                if group["name"] == name:
                    return Group(self._file, group["path"])
            for unreadable, reason in within["unreadable"]:
                if unreadable == name:
                    raise DataError(reason)
        raise KeyError(f"{path}: no such variable or group in {self._file.location}")

    def __iter__(self) -> Iterator[str]:
        yield from (variable["name"] for variable in self._group["variables"])
        yield from (group["name"] for group in self._group["groups"])

    def __len__(self) -> int:
        return len(self._group["variables"]) + len(self._group["groups"])

    def __contains__(self, path: Any) -> bool:
        try:
            self[path]
        except (KeyError, DataError):
            return False
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return (self._file.location, self.path) == (other._file.location, other.path)

    def __hash__(self) -> int:
        return hash((self._file.location, self.path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _group_again, (type(self), self._file.location, tuple(self._file.options), self.path)

    def __repr__(self) -> str:
        lines = [f"<ncz.{type(self).__name__} {self._file.location} {self.path} ({self._file.format})>"]
        for name, dimension in self.dims.items():
            lines.append(f"  {name} = {dimension.length}" + (", unlimited" if dimension.unlimited else ""))
        lines += [f"  {variable._title()}" for variable in self.variables.values()]
        lines += [f"  {name}/" for name in self.groups]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(*cells: object) -> str:
            return (
                "<tr>"
                + "".join(f"<td style='text-align:left'>{html.escape(str(cell))}</td>" for cell in cells)
                + "</tr>"
            )

        def table(heading: str, rows: list[str]) -> str:
            if not rows:
                return ""
            return f"<details open><summary>{heading} ({len(rows)})</summary><table>{''.join(rows)}</table></details>"

        dims = [row(name, d.length, "unlimited" if d.unlimited else "") for name, d in self.dims.items()]
        variables = [
            row(name, v.dtype, ", ".join(v.dims), v.shape, "" if v.chunks is None else f"chunks {v.chunks}")
            for name, v in self.variables.items()
        ]
        attrs = [row(name, value) for name, value in self.attrs.items()]
        inner = "".join(
            f"<details><summary>{html.escape(name)}/</summary>{group._repr_html_()}</details>"
            for name, group in self.groups.items()
        )
        title = html.escape(f"ncz.{type(self).__name__} {self._file.location} {self.path} ({self._file.format})")
        return (
            f"<div><b>{title}</b>{table('Dimensions', dims)}{table('Variables', variables)}"
            f"{table('Attributes', attrs)}{inner}</div>"
        )


class Dataset(Group):
    """An open dataset: its root group. A context manager; :meth:`close` ends it.

    Attributes
    ----------
    location : str
    format : str
        ``"zarr"``, ``"zarr3"``, ``"nczarr"``, ``"nczarr3"``, or the kind of a netCDF file as ncdump names it.
    warnings : list of str
        What was noticed in the metadata.
    """

    @property
    def location(self) -> str:
        return self._file.location

    @property
    def format(self) -> str:
        return self._file.format

    @property
    def warnings(self) -> list[str]:
        return list(self._file.warnings)

    def close(self) -> None:
        """Forget the files and connections. Variables of this dataset cannot be read any more."""
        self._file.handle.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Variable:
    """A variable: an array in a dataset, which is read by parts.

    Indexing reads: integers, slices with any step, and ``...``. Numbers are in the machine's byte order; strings are
    an object array of ``str``.

    Attributes
    ----------
    name, path : str
    shape : tuple of int
    dtype : numpy.dtype
    ndim, size, itemsize, nbytes : int
        As of the array that is read.
    dims : tuple of str
        The names of its dimensions.
    chunks : tuple of int, or None
        The lengths of a chunk, which the codecs encode; None if it is not chunked.
    shards : tuple of int, or None
        The lengths of a shard, if chunks are grouped into shards.
    attrs : dict
    fill : scalar, or None
        What elements that were not written read as. It is no missing value: that is the attribute ``_FillValue``.

    Examples
    --------
    >>> import ncz
    >>> ds = ncz.open(fixtures / "ocean.nczarr")
    >>> v = ds["air_temperature"]
    >>> v.dims, v.shape, v.dtype
    (('time', 'lat', 'lon'), (16, 73, 144), dtype('float32'))
    >>> v[0, 10:20, ::-2].shape
    (10, 72)
    """

    def __init__(self, file: _File, variable: dict[str, Any]) -> None:
        self._file = file
        self._variable = variable

    @property
    def name(self) -> str:
        return str(self._variable["name"])

    @property
    def path(self) -> str:
        return str(self._variable["path"])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._variable["shape"])

    @property
    def ndim(self) -> int:
        return len(self._variable["shape"])

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(name for _, name in self._variable["dimensions"])

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The full names of its dimensions, with the groups that define them."""
        return tuple(_join(group, name) for group, name in self._variable["dimensions"])

    @property
    def chunks(self) -> tuple[int, ...] | None:
        chunks = self._variable["chunks"]
        return None if chunks is None else tuple(chunks)

    @property
    def shards(self) -> tuple[int, ...] | None:
        shards = self._variable["shards"]
        return None if shards is None else tuple(shards)

    @property
    def attrs(self) -> dict[str, Any]:
        return _attrs(self._variable["attributes"])

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """The codecs of a chunk in the order of encoding, as its metadata have them."""
        codecs: list[dict[str, Any]] = json.loads(self._file.handle.codecs(self.path))
        return codecs

    @property
    def type(self) -> dict[str, Any] | None:
        """The user-defined type, if any: ``name``, ``class``, and ``members``, ``fields``, ``size`` or ``base``."""
        described: dict[str, Any] | None = self._variable["type"]
        return described

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """The type of an element as it is stored, in its byte order."""
        kind = self._variable["kind"]
        if kind in ("strings", "bytes"):
            return np.dtype(object)
        if kind == "values":
            return _value_dtype(self._variable["type"])
        text = self._variable["dtype"]
        try:
            return np.dtype(_fields(json.loads(text)) if text.startswith("[") else text)
        except (TypeError, ValueError) as error:
            raise DataError(f"variable {self.path!r}: numpy has no type {text}") from error

    @property
    def dtype(self) -> np.dtype[Any]:
        stored = self.stored_dtype
        return stored if self._variable["kind"] == "stored" else stored.newbyteorder("=")

    @property
    def fill(self) -> Any:
        fill = self._variable["fill"]
        if fill is None or self._variable["kind"] == "values":
            return None
        if self.dtype == object:
            value = json.loads(self._variable["fill_json"])
            return value if self._variable["kind"] == "strings" else bytes(fill)
        return np.frombuffer(fill, self.stored_dtype, 1).astype(self.dtype)[0]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a variable without dimensions")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        part = self._part(key)
        parts = key if isinstance(key, tuple) else (key,)
        return part if part.ndim or any(one is Ellipsis for one in parts) else part[()]

    def _part(self, key: Any) -> np.ndarray[Any, Any]:
        """What a basic index selects, always as an array."""
        start, count, stride, flipped, kept = _basic(key, self.shape)
        values = self.read(start, count, stride)
        if any(flipped):
            values = values[tuple(slice(None, None, -1) if flip else slice(None) for flip in flipped)]
        return values.reshape([length for length, keep in zip(count, kept, strict=True) if keep])

    def read(
        self,
        start: tuple[int, ...] | list[int],
        count: tuple[int, ...] | list[int],
        stride: tuple[int, ...] | list[int] | None = None,
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Read a hyperslab, straight into the memory of the result, without the interpreter's lock.

        Parameters
        ----------
        start, count : sequence of int
            The first element, and the number of elements, of each dimension.
        stride : sequence of int, optional
            The step of each dimension, 1 or more.
        out : numpy.ndarray, optional
            Where to put the elements: of this shape and type.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array of the shape `count`.

        Examples
        --------
        >>> import ncz, numpy
        >>> v = ncz.open(fixtures / "ocean.nczarr")["lat"]
        >>> out = numpy.empty(3, v.dtype)
        >>> v.read([0], [3], [2], out=out) is out
        True
        >>> out
        array([90., 85., 80.], dtype=float32)
        """
        dtype, kind = self.dtype, self._variable["kind"]
        start, count = _lengths("start", start), _lengths("count", count)
        stride = [1] * len(start) if stride is None else _lengths("stride", stride)
        if len(count) != self.ndim:
            raise ValueError(f"count: expected {self.ndim} lengths, got {len(count)}")
        if out is not None and (out.shape != tuple(count) or out.dtype != dtype):
            raise ValueError(f"out: expected {dtype} {tuple(count)}, got {out.dtype} {out.shape}")
        serial = self._file.options.threads is None and _in_task_of_dask()
        handle, path = self._file.handle, self.path
        if kind in ("plain", "stored"):
            if dtype.hasobject:
                raise DataError(f"variable {path!r}: objects of Python are not read; its type is {dtype}")
            direct = out is not None and out.flags.c_contiguous
            result = out if direct and out is not None else np.empty(tuple(count), dtype)
            memory = result.reshape(-1).view(np.uint8) if result.itemsize else np.empty(0, np.uint8)
            handle.read_into(path, start, count, stride, memory, kind == "stored", serial)
            if out is None or direct:
                return result
            out[...] = result
            return out
        if kind == "values":
            values = json.loads(handle.read_values(path, start, count, stride))
            flat = np.empty(len(values), dtype)
            flat[:] = [_element(value, self._variable["type"]) for value in values]
        else:
            flat = np.empty(int(np.prod(count, dtype=object)), object)
            flat[:] = handle.read_strings(path, start, count, stride, kind == "strings", serial)
        result = flat.reshape(tuple(count))
        if out is None:
            return result
        out[...] = result
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("reading a variable always makes a new array")
        values = self.read([0] * self.ndim, self.shape)
        return values if dtype is None else values.astype(dtype, copy=False)

    def dask(self, chunks: Any = None, **options: Any) -> Any:
        """A Dask array of this variable: a task for each chunk, or shard if it has any.

        Parameters
        ----------
        chunks : optional
            As for :func:`dask.array.from_array`; multiples of the lengths of a chunk or shard are best.
        **options
            More arguments of :func:`dask.array.from_array`.

        Examples
        --------
        >>> import ncz
        >>> ncz.open(fixtures / "ocean.nczarr")["lat"].dask().sum().compute()
        np.float32(0.0)
        """
        import dask.array

        if chunks is None:
            chunks = self.shards or self.chunks or "auto"
        if isinstance(chunks, tuple) and all(isinstance(length, int) for length in chunks):
            chunks = tuple(max(1, min(length, whole)) for length, whole in zip(chunks, self.shape, strict=True))
        from_array: Any = dask.array.from_array
        return from_array(self, chunks=chunks, asarray=False, fancy=False, **options)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("ncz.Variable", self._file.location, self._file.options, self.path, _identity(self._file.location))

    def __reduce__(self) -> tuple[Any, ...]:
        return _variable_again, (self._file.location, tuple(self._file.options), self.path)

    def _title(self) -> str:
        dims = ", ".join(f"{name}: {length}" for name, length in zip(self.dims, self.shape, strict=True))
        return f"{self.name}({dims}) {self._variable['dtype']}"

    def __repr__(self) -> str:
        return f"<ncz.Variable {self.path} {self._title()}>"


def _group_again(cls: type[Group], location: str, options: tuple[Any, ...], path: str) -> Group:
    return cls(_shared_file(location, _Options(*options)), path)


def _variable_again(location: str, options: tuple[Any, ...], path: str) -> Variable:
    variable = Group(_shared_file(location, _Options(*options)), "/")[path]
    if not isinstance(variable, Variable):
        raise KeyError(f"{path}: no such variable in {location}")
    return variable


def _join(group: str, name: str) -> str:
    return f"/{name}" if group == "/" else f"{group}/{name}"


def _in_task_of_dask() -> bool:
    """Whether this thread is one of Dask's, which has a task on each core already."""
    name = threading.current_thread().name
    threaded = "dask.threaded" in sys.modules and name.startswith("ThreadPoolExecutor")
    return threaded or name.startswith("Dask-Default-Threads")


def _lengths(what: str, values: Any) -> list[int]:
    numbers = [operator.index(value) for value in values]
    if any(number < 0 for number in numbers):
        raise ValueError(f"{what}: expected numbers from 0 on, got {numbers}")
    return numbers


def _basic(key: Any, shape: tuple[int, ...]) -> tuple[list[int], list[int], list[int], list[bool], list[bool]]:
    """The hyperslab of a key, which dimensions are backwards, and which stay."""
    keys = list(key) if isinstance(key, tuple) else [key]
    ellipses = [at for at, part in enumerate(keys) if part is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not ellipses:
        ellipses, keys = [len(keys)], [*keys, Ellipsis]
    missing = len(shape) - (len(keys) - 1)
    if missing < 0:
        raise IndexError(f"too many indices: the variable has {len(shape)} dimensions, got {len(keys) - 1}")
    keys[ellipses[0] : ellipses[0] + 1] = [slice(None)] * missing
    start, count, stride, flipped, kept = [], [], [], [], []
    for axis, (part, length) in enumerate(zip(keys, shape, strict=True)):
        if isinstance(part, slice):
            indices = range(*part.indices(length))
            backwards = indices.step < 0
            if backwards:
                indices = indices[::-1]
            start.append(indices.start if len(indices) else 0)
            count.append(len(indices))
            stride.append(indices.step if len(indices) > 1 else 1)
            flipped.append(backwards)
            kept.append(True)
            continue
        try:
            # A truth value adds a dimension in numpy.
            index = operator.index(None if isinstance(part, bool) else part)
        except TypeError:
            raise IndexError(
                f"expected integers, slices and '...', got {part!r}; read more, then index the array"
            ) from None
        if not -length <= index < length:
            raise IndexError(f"index {index} is out of bounds for dimension {axis} with {length} elements")
        start.append(index % length)
        count.append(1)
        stride.append(1)
        flipped.append(False)
        kept.append(False)
    return start, count, stride, flipped, kept


def _attrs(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: _attribute(value) for name, value in attributes.items()}


def _attribute(value: Any) -> Any:
    """Text, a list of texts, JSON, or numbers of their type: one as a scalar, several as an array."""
    if not isinstance(value, tuple):
        return value[0] if isinstance(value, list) and len(value) == 1 else value
    kind, stored = value
    if kind == "json":
        return json.loads(stored)
    numbers = np.frombuffer(stored, kind)
    return numbers[0] if len(numbers) == 1 else numbers.copy()


def _fields(described: list[Any]) -> list[tuple[Any, ...]]:
    """The dtype of a structure as numpy takes it: tuples instead of lists."""
    fields = []
    for name, kind, *shape in described:
        inner = _fields(kind) if isinstance(kind, list) else kind
        fields.append((name, inner, *(tuple(lengths) for lengths in shape)))
    return fields


def _value_dtype(described: Any) -> np.dtype[Any]:
    """The dtype of values of a netCDF type: structures for compounds, ``V`` for opaque values, objects for rows."""
    if isinstance(described, str):
        return np.dtype(_SCALARS[described])
    kind = described["class"]
    if kind == "opaque":
        return np.dtype(f"V{described['size']}")
    if kind == "compound":
        return np.dtype([(name, _value_dtype(of), tuple(shape)) for name, of, shape in described["fields"]])
    return np.dtype(object)


def _element(value: Any, described: Any) -> Any:
    """A value as numpy takes it, from its JSON."""
    if isinstance(described, str):
        if described in ("float", "double") and isinstance(value, str):
            return float(value)
        return value.encode() if described == "char" and isinstance(value, str) else value
    kind = described["class"]
    if kind == "opaque":
        return bytes.fromhex(value)
    if kind == "enum":
        return value
    if kind == "vlen":
        base = described["base"]
        rows = np.empty(len(value), _value_dtype(base))
        rows[:] = [_element(one, base) for one in value]
        return rows
    return tuple(
        _array(value[name], of, shape) if shape else _element(value[name], of)
        for name, of, shape in described["fields"]
    )


def _array(values: Any, described: Any, shape: list[int]) -> Any:
    if described == "char" and isinstance(values, str):
        text = values.encode().ljust(int(np.prod(shape)), b"\0")
        return np.frombuffer(text, "S1").reshape(shape)
    flat = np.empty(int(np.prod(shape)), _value_dtype(described))
    flat[:] = [_element(value, described) for value in values]
    return flat.reshape(shape)


def is_path(value: object) -> bool:
    """Whether a value names a dataset."""
    return isinstance(value, str | Path | os.PathLike)
