"""Zarr, NCZarr and netCDF datasets with the compression plugins of HDF5 and NCZarr.

Examples
--------
>>> import ncz
>>> ncz.threads() >= 1
True
"""

from pathlib import Path as _Path

from . import _ncz, _programs
from ._chain import Chain
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
from ._operations import Comparison, CopySummary, Verification, bench, codecs, copy, info, plugins, verify, why

#: The folder with our HDF5 filter plugins, for ``HDF5_PLUGIN_PATH``.
PLUGIN_PATH = str(_Path(__file__).parent / "plugins")

_worker = _programs.find("ncz-worker")
if _worker is not None:
    _ncz._set_programs(_worker.parent)

__all__ = [
    "Chain",
    "CodecError",
    "Comparison",
    "CopySummary",
    "DataError",
    "Dataset",
    "Dimension",
    "Error",
    "Group",
    "PLUGIN_PATH",
    "PlaceError",
    "Variable",
    "Verification",
    "__version__",
    "bench",
    "codecs",
    "copy",
    "info",
    "open",
    "plugins",
    "set_threads",
    "threads",
    "verify",
    "why",
]
