"""Zarr, NCZarr and netCDF datasets with the compression plugins of HDF5 and NCZarr.

Examples
--------
>>> import ncz
>>> ncz.threads() >= 1
True
"""

from pathlib import Path as _Path

from . import _ncz, _programs
from ._dataset import Dataset, Dimension, Group, Variable, open
from ._ncz import (
    CodecError,
    DataError,
    Error,
    PlaceError,
    __version__,
    set_threads,
    threads,
)

#: The folder with our HDF5 filter plugins, for ``HDF5_PLUGIN_PATH``.
PLUGIN_PATH = str(_Path(__file__).parent / "plugins")

_worker = _programs.find("ncz-worker")
if _worker is not None:
    _ncz._set_programs(_worker.parent)

__all__ = [
    "PLUGIN_PATH",
    "CodecError",
    "DataError",
    "Dataset",
    "Dimension",
    "Error",
    "Group",
    "PlaceError",
    "Variable",
    "__version__",
    "open",
    "set_threads",
    "threads",
]
