"""xarray's engine ``ncz``: ``xarray.open_dataset(location, engine="ncz")``."""

from __future__ import annotations

import asyncio
import os
import warnings
import zipfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.variable import Variable as XarrayVariable

from . import _dataset
from ._ncz import DataError

#: The type of strings of any length, with xarray's mark.
STRINGS = np.dtype(object, metadata={"element_type": str})

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


class NczBackendArray(BackendArray):
    """A variable that is read when its values are asked for."""

    def __init__(self, variable: _dataset.Variable) -> None:
        self.variable = variable
        self.shape = variable.shape
        self.dtype = _dtype(variable)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        return await asyncio.to_thread(self.__getitem__, key)

    def _read(self, key: tuple[Any, ...]) -> Any:
        return self.variable._part(key)


class NczDataStore(AbstractDataStore):
    """A group of a dataset, as xarray's decoders want it."""

    def __init__(self, group: _dataset.Group, strict: bool, fill_value_as_mask: bool | None) -> None:
        self.group = group
        self.strict = strict
        self.fill_value_as_mask = fill_value_as_mask

    def get_attrs(self) -> dict[str, Any]:
        return _readable(self.group.attrs)

    def get_dimensions(self) -> dict[str, int]:
        return {name: dimension.length for name, dimension in self.group.dims.items()}

    def get_encoding(self) -> dict[str, Any]:
        unlimited = {name for variable in self.group.variables.values() for name in _unlimited(variable)}
        unlimited |= {name for name, dimension in self.group.dims.items() if dimension.unlimited}
        return {"unlimited_dims": unlimited}

    def get_variables(self) -> dict[str, XarrayVariable]:
        left_out = [*self.group.unreadable.items()]
        variables = {}
        for name, variable in self.group.variables.items():
            try:
                variables[name] = self._variable(variable)
            except (DataError, ValueError) as error:
                left_out.append((name, str(error)))
        for name, reason in left_out:
            if self.strict:
                raise DataError(reason)
            warnings.warn(f"variable {name!r} is left out: {reason}", stacklevel=2)
        return variables

    def _variable(self, variable: _dataset.Variable) -> XarrayVariable:
        if len(set(variable.dims)) != len(set(variable.dimensions)):
            raise ValueError(f"variable {variable.path!r}: dimensions of the same name {variable.dimensions}")
        array = NczBackendArray(variable)
        attrs = _readable(variable.attrs)
        self._mark_missing(variable, attrs)
        encoding: dict[str, Any] = {"original_shape": variable.shape}
        if variable.dtype.kind not in "mM":
            # xarray writes dates and durations as numbers, whose type it chooses.
            encoding["dtype"] = _encoded_dtype(variable)
        if variable.chunks is not None:
            encoding["chunks"] = variable.chunks
            encoding["chunksizes"] = variable.chunks
            encoding["preferred_chunks"] = dict(zip(variable.dims, variable.chunks, strict=True))
        if variable.shards is not None:
            encoding["shards"] = variable.shards
        if self.group._file.netcdf_model:
            encoding |= _netcdf_encoding(variable)
        return XarrayVariable(variable.dims, indexing.LazilyIndexedArray(array), attrs, encoding)

    def _mark_missing(self, variable: _dataset.Variable, attrs: dict[str, Any]) -> None:
        """Sets the attribute ``_FillValue``, which xarray masks, as the format means it."""
        form = self.group._file.format
        if isinstance(attrs.get("_FillValue"), str) and variable.dtype.kind not in "UO":
            if form == "zarr3":
                from xarray.backends.zarr import FillValueCoder

                dtype = "bytes" if variable.dtype.kind == "S" else variable.stored_dtype.str
                attrs["_FillValue"] = FillValueCoder.decode(attrs["_FillValue"], dtype)
            elif variable.dtype.kind == "S":
                attrs["_FillValue"] = np.bytes_(attrs["_FillValue"].encode("utf-8", "surrogateescape"))
        wanted = form == "zarr" if self.fill_value_as_mask is None else self.fill_value_as_mask
        if not wanted and variable._variable["implied_fill"]:
            # ncz has taken it from the fill value.
            attrs.pop("_FillValue", None)
        # xarray masks no dates, durations and raw bytes, and fails with the attribute.
        masked = wanted and form in ("zarr", "zarr3") and variable.dtype.kind not in "mMV"
        if masked and variable.fill is not None:
            # Also where the attribute differs, as in the engine zarr.
            attrs["_FillValue"] = variable.fill


class NczBackendEntrypoint(BackendEntrypoint):
    """Opens Zarr 2 and 3, NCZarr, netCDF and HDF5 by ncz: in directories, zip files, S3 and on HTTP servers."""

    description = "Open Zarr, NCZarr, netCDF and HDF5 using ncz in Xarray"
    url = "https://docs.rs/ncz"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether it is NCZarr, which no other engine reads in full. Asks no server."""
        if not _dataset.is_path(filename_or_obj):
            return False
        path, _, fragment = os.fspath(filename_or_obj).partition("#")
        if "nczarr" in fragment:
            return True
        path = path.removeprefix("file://")
        return "://" not in path and any("_nczarr" in text.lower() for text in _root_metadata(path))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        threads: int | None = None,
        plugins: list[str] | None = None,
        shuffle_size: str | None = None,
        strict: bool = False,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        """Open a group as a dataset; see :func:`xarray.open_dataset`.

        Parameters
        ----------
        group : str, optional
            The path of the group; the root otherwise.
        threads, plugins, shuffle_size
            As for :func:`ncz.open`.
        strict : bool
            Whether a variable that cannot be read is an error. Otherwise it is left out, with a warning.
        use_zarr_fill_value_as_mask : bool, optional
            Whether Zarr's fill value marks missing values: True by default for Zarr 2, False for Zarr 3. In NCZarr and
            netCDF only the attribute ``_FillValue`` does.
        """
        found = _group(filename_or_obj, _options(threads, plugins, shuffle_size), group)
        store = NczDataStore(found, strict, use_zarr_fill_value_as_mask)
        return _opened(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        threads: int | None = None,
        plugins: list[str] | None = None,
        shuffle_size: str | None = None,
        strict: bool = False,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> dict[str, Dataset]:
        """Open all groups; see :func:`xarray.open_groups`."""
        options = _options(threads, plugins, shuffle_size)
        root = _group(filename_or_obj, options, group)
        datasets = {}
        for found in _all_groups(root):
            path = found.path if root.path == "/" else found.path.removeprefix(root.path) or "/"
            datasets[path] = _opened(
                NczDataStore(found, strict, use_zarr_fill_value_as_mask),
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        return datasets

    def open_datatree(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        threads: int | None = None,
        plugins: list[str] | None = None,
        shuffle_size: str | None = None,
        strict: bool = False,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> DataTree:
        """Open all groups as a tree; see :func:`xarray.open_datatree`."""
        from xarray import DataTree

        datasets = self.open_groups_as_dict(
            filename_or_obj,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
            group=group,
            threads=threads,
            plugins=plugins,
            shuffle_size=shuffle_size,
            strict=strict,
            use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask,
        )
        return DataTree.from_dict(datasets)


def _options(threads: int | None, plugins: list[str] | None, shuffle_size: str | None) -> _dataset._Options:
    return _dataset._Options(threads, _dataset._folders(plugins), shuffle_size)


def _group(location: Any, options: _dataset._Options, path: str | None) -> _dataset.Group:
    if not _dataset.is_path(location):
        raise TypeError(f"the engine ncz opens paths and URLs, got {type(location).__name__}")
    location = os.fspath(location)
    if "://" not in location:
        location = os.path.abspath(os.path.expanduser(location))
    root = _dataset.Group(_dataset._shared_file(location, options), "/")
    found = root[path] if path and path.strip("/") else root
    if not isinstance(found, _dataset.Group):
        raise OSError(f"{path} is no group of {location}")
    return found


def _opened(store: NczDataStore, **decoders: Any) -> Dataset:
    """The dataset of a group, with the warnings about its variables."""
    dataset = StoreBackendEntrypoint().open_dataset(store, **decoders)
    for name, variable in store.group.variables.items():
        if name in dataset.variables:
            for warning in store.group._file.warnings:
                if warning.startswith(f"{variable.path}: "):
                    warnings.warn(warning, stacklevel=2)
    return dataset


def _all_groups(group: _dataset.Group) -> Iterable[_dataset.Group]:
    yield group
    for inner in group.groups.values():
        yield from _all_groups(inner)


def _readable(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes whose texts can be printed: bytes that are not UTF-8 are marked, as by the engine netcdf4."""

    def text(value: Any) -> Any:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value

    return {name: [*map(text, value)] if isinstance(value, list) else text(value) for name, value in attrs.items()}


def _unlimited(variable: _dataset.Variable) -> Iterable[str]:
    for group, name in variable._variable["dimensions"]:
        if variable._file.dimension(group, name).unlimited:
            yield name


def _dtype(variable: _dataset.Variable) -> np.dtype[Any]:
    """The type of an element; that of strings has xarray's mark."""
    return STRINGS if variable._variable["kind"] == "strings" else variable.dtype


def _encoded_dtype(variable: _dataset.Variable) -> Any:
    """The type to write: that of the elements, strings, or an enumeration as xarray's engine netcdf4 has it.

    It is in native byte order: in another one, xarray reads `_Unsigned` numbers without their mask.
    """
    if variable._variable["kind"] == "strings":
        # Not `str`: xarray would read the strings at once to make that of them.
        return STRINGS
    described = variable.type
    if described is None or described["class"] != "enum":
        return variable.dtype
    name = described["name"].rsplit("/", 1)[-1]
    return np.dtype(variable.dtype, metadata={"enum": described["members"], "enum_name": name})


def _netcdf_encoding(variable: _dataset.Variable) -> dict[str, Any]:
    """The codecs of a netCDF variable as writers of netCDF take them, as far as these have words for them."""
    encoding: dict[str, Any] = {"zlib": False, "complevel": 0, "shuffle": False, "fletcher32": False}
    for codec in variable.codecs:
        name = codec.get("filter", codec["id"])
        if name in (1, "zlib"):
            level = codec["cd_values"][:1] or [1] if name == 1 else [codec.get("level", 1)]
            encoding |= {"zlib": True, "complevel": level[0]}
        elif name in (2, "shuffle"):
            encoding["shuffle"] = True
        elif name in (3, "fletcher32"):
            encoding["fletcher32"] = True
    encoding["contiguous"] = variable.chunks is None
    return encoding


def _root_metadata(path: str) -> Iterable[str]:
    """The documents of the root of a local folder or zip file."""
    names = (".zgroup", ".zattrs", ".zarray", ".nczarr", "zarr.json")
    try:
        if os.path.isdir(path):
            for name in names:
                document = os.path.join(path, name)
                if name == ".nczarr" and os.path.exists(document):
                    yield "_nczarr"
                elif os.path.isfile(document):
                    with open(document, encoding="utf-8", errors="replace") as file:
                        yield file.read()
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.lstrip("/") in names:
                        yield archive.read(name).decode("utf-8", "replace")
    except OSError:
        return
