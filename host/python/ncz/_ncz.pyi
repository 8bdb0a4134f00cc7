from pathlib import Path
from typing import Any

import numpy as np

__version__: str

class Error(Exception): ...
class PlaceError(Error, OSError): ...
class CodecError(Error, ValueError): ...
class DataError(Error, OSError): ...

def set_threads(threads: int | None = None) -> None: ...
def threads() -> int: ...
def _set_programs(folder: Path) -> None: ...

class Handle:
    location: str
    def __init__(
        self,
        location: str,
        threads: int | None = None,
        plugins: list[str] | None = None,
        shuffle_size: str | None = None,
    ) -> None: ...
    def describe(self) -> dict[str, Any]: ...
    def codecs(self, path: str) -> str: ...
    def read_into(
        self,
        path: str,
        start: list[int],
        count: list[int],
        stride: list[int],
        out: np.ndarray[Any, Any],
        stored: bool = False,
        serial: bool = False,
    ) -> None: ...
    def read_strings(
        self,
        path: str,
        start: list[int],
        count: list[int],
        stride: list[int],
        text: bool = True,
        serial: bool = False,
    ) -> list[str] | list[bytes]: ...
    def read_values(self, path: str, start: list[int], count: list[int], stride: list[int]) -> str: ...
    def close(self) -> None: ...
