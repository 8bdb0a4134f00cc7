"""Operations on whole datasets: they run the program ncz of this installation, and return its reports."""

from __future__ import annotations

import html
import io
import json
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import IO, Any, TypeVar

from . import _programs
from ._dataset import Dataset
from ._ncz import Error

Location = str | os.PathLike[str]
Source = Location | Dataset


@dataclass(frozen=True)
class Report:
    """A report of the program. Its attributes have the names of the program's ``--json``; `json` is all of it."""

    json: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class CopySummary(Report):
    """What a copy did."""

    source: str = ""
    target: str = ""
    format: str = ""
    verified: bool = False
    seconds: float = 0.0
    threads: int = 0
    chunks: int = 0
    decoded_bytes: int = 0
    stored_bytes_before: int = 0
    stored_bytes: int = 0
    notes: list[str] = field(default_factory=list)
    variables: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Verification(Report):
    """What a check found. It is true if the dataset is sound."""

    dataset: str = ""
    target: str | None = None
    sound: bool = False
    does_not_open: str | None = None
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.sound


@dataclass(frozen=True)
class Comparison(Report):
    """The chains of codecs that were tried on a variable."""

    dataset: str = ""
    variable: str = ""
    threads: int = 0
    seconds: float = 0.0
    sample: dict[str, Any] = field(default_factory=dict)
    chains: list[dict[str, Any]] = field(default_factory=list)

    def table(self) -> list[dict[str, Any]]:
        """A row for each chain, for :class:`pandas.DataFrame`."""
        names = ["name", "ratio", "encode_bytes_per_second", "decode_bytes_per_second", "chain", "present", "unread"]
        return [{name: chain.get(name) for name in names} for chain in self.chains]

    def _repr_html_(self) -> str:
        def row(chain: dict[str, Any]) -> str:
            speeds = (chain["encode_bytes_per_second"] / 1e6, chain["decode_bytes_per_second"] / 1e6)
            cells = [f"{chain['ratio']:.2f}", *(f"{speed:.0f}" for speed in speeds)]
            name = f"<td style='text-align:left'>{html.escape(chain['name'])}</td>"
            return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

        rows = "".join(row(chain) for chain in self.table() if chain["ratio"] is not None)
        heads = "<tr><th>chain</th><th>ratio</th><th>encoding MB/s</th><th>decoding MB/s</th></tr>"
        return f"<div><b>{html.escape(self.variable)}</b><table>{heads}{rows}</table></div>"


R = TypeVar("R", bound=Report)

#: Options of the program that have no meaning here.
_NOT_OPTIONS = ("json", "help", "version")

#: The exit codes of the program that are no error: done, and done with findings.
_DONE = (0, 1)


def copy(
    source: Source | Iterable[Source],
    target: Location,
    *,
    progress: Callable[[str, int, int], object] | bool | None = None,
    **options: Any,
) -> CopySummary:
    """Copy a dataset or a part of it, with other codecs or chunks, or in another format.

    Parameters
    ----------
    source : path, URL or Dataset
        The dataset to copy; several with ``concat=``.
    target : path or URL
        The new dataset. It appears when it is complete, or not at all.
    progress : callable or bool, optional
        Called with the phase, and the bytes that are done and all bytes. True shows a bar, by tqdm if it is there.
    **options
        The options of ``ncz copy`` by their names, ``-`` as ``_``: ``codec``, ``chunks``, ``format``,
        ``overwrite=True``, ``verify=True``, ``threads``, ``variables``, ``slab``, ``readers`` (which is ``--for``). A
        list gives an option several times. A codec may be a dictionary, and a chain a list of them, as
        :attr:`Variable.codecs` is. ``chunks`` and ``shards`` may map dimensions to lengths: ``{"lat": 10, "lon": 20}``.

    Returns
    -------
    CopySummary

    Raises
    ------
    Error
        With the text of the program. Nothing is left of the target.

    Examples
    --------
    >>> import ncz
    >>> done = ncz.copy(fixtures / "ocean.nczarr", "ocean.zarr", format="zarr3", codec={"id": "zstd", "level": 3})
    >>> done.format, done.chunks
    ('Zarr version 3', 22)
    >>> ncz.open("ocean.zarr")["lat"].codecs
    [{'name': 'zstd', 'configuration': {'level': 3, 'checksum': False}}]
    """
    sources = [source] if isinstance(source, str | os.PathLike | Mapping) else list(source)
    return _report(CopySummary, ["copy", *map(_location, sources), os.fspath(target)], options, progress)


def verify(
    dataset: Source, *, progress: Callable[[str, int, int], object] | bool | None = None, **options: Any
) -> Verification:
    """Check a dataset: decode every chunk, and find metadata that other programs misread.

    Parameters
    ----------
    dataset : path, URL or Dataset
    progress : callable or bool, optional
        As for :func:`copy`.
    **options
        The options of ``ncz verify``: ``variables``, ``missing``, ``repair``, ``dry_run``, ``repair_to`` and others.

    Examples
    --------
    >>> import ncz
    >>> found = ncz.verify(fixtures / "ocean.nczarr")
    >>> found.sound, found.errors, {finding["code"] for finding in found.findings} >= {"shuffle-size-zero"}
    (False, 0, True)
    """
    return _report(Verification, ["verify", _location(dataset)], options, progress)


def bench(dataset: Source, variable: str, **options: Any) -> Comparison:
    """Find the best codecs for a variable: try every lossless chain on a sample of its chunks.

    Parameters
    ----------
    dataset : path, URL or Dataset
    variable : str
    **options
        The options of ``ncz bench``: ``time`` in seconds, ``sample``, ``also`` (a list of chains), ``threads``,
        ``html``.

    Examples
    --------
    >>> import ncz
    >>> tried = ncz.bench(fixtures / "ocean.nczarr", "air_temperature", time=1)
    >>> tried.variable, len(tried.chains) > 10, "ratio" in tried.table()[0]
    ('/air_temperature', True, True)
    """
    return _report(Comparison, ["bench", _location(dataset), variable], options)


def info(dataset: Source, *variables: str, **options: Any) -> dict[str, Any]:
    """The dimensions, variables and codecs of a dataset, and its problems, as ``ncz info --json`` has them.

    Examples
    --------
    >>> import ncz
    >>> [variable["path"] for variable in ncz.info(fixtures / "ocean.nczarr", sizes=True)["variables"]][:3]
    ['/time', '/lat', '/lon']
    """
    return _report(Report, ["info", _location(dataset), *variables], options).json


def plugins(**options: Any) -> dict[str, Any]:
    """The folders that are searched for plugins, the files there, and all codecs, as ``ncz plugins --json`` has them.

    Examples
    --------
    >>> import ncz
    >>> ncz.plugins(no_plugins=True)["folders"]
    []
    """
    return _report(Report, ["plugins"], options).json


def codecs(**options: Any) -> list[dict[str, Any]]:
    """Every codec that can be used: its HDF5 number, its names, whether it loses digits.

    Examples
    --------
    >>> import ncz
    >>> next(codec["id"] for codec in ncz.codecs() if codec["name"] == "zstd")
    32015
    """
    found: list[dict[str, Any]] = plugins(**options)["codecs"]
    return found


def why(query: str, **options: Any) -> str:
    """Why a codec, by number or name, or a file is or is not used.

    Examples
    --------
    >>> import ncz
    >>> "zstd" in ncz.why("32015")
    True
    """
    return _run(["plugins", "why", query], options)


def _location(source: Source) -> str:
    return source.location if isinstance(source, Dataset) else os.fspath(source)


def _report(
    of: type[R],
    command: list[str],
    options: dict[str, Any],
    progress: Callable[[str, int, int], object] | bool | None = None,
) -> R:
    said = _run([*command, "--json"], options, progress)
    report = json.loads(said)
    known = {name.name for name in fields(of)} - {"json"}
    return of(json=report, **{name: value for name, value in report.items() if name in known})


def _arguments(options: dict[str, Any]) -> list[str]:
    """Keyword arguments as options of the program."""
    arguments = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        several = isinstance(value, list | tuple) and not (name == "codec" and _is_chain(value))
        for one in value if several else [value]:
            if one is None or one is False:
                continue
            arguments.append(option if one is True else f"{option}={_text_of(name, one)}")
    return arguments


def _is_chain(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(codec, dict) for codec in value)


def _text_of(name: str, value: Any) -> str:
    if name in ("chunks", "shards") and isinstance(value, dict):
        # With a backslash before what ends a name.
        lengths = ((re.sub(r"([\\,:])", r"\\\1", dim), length) for dim, length in value.items())
        return ",".join(f"{dim}/{length}" for dim, length in lengths)
    if isinstance(value, dict) or _is_chain(value):
        return json.dumps(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _unexpected(command: list[str], name: str, others: Iterable[str] = ()) -> TypeError:
    """The error of an option that does not exist."""
    function = "why" if command[:2] == ["plugins", "why"] else command[0]
    meant = [other for other in others if other not in _NOT_OPTIONS]
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    return TypeError(f"{function}() got an unexpected option {name!r}{hint}")


def _run(
    command: list[str],
    options: dict[str, Any],
    progress: Callable[[str, int, int], object] | bool | None = None,
) -> str:
    for name in _NOT_OPTIONS:
        if name in options:
            raise _unexpected(command, name)
    program = _programs.find("ncz")
    if program is None:
        raise Error("the program ncz is not installed beside this package; install the wheel again")
    environment = dict(os.environ)
    # `import netCDF4` sets the variable to its own folder: nobody chose that.
    if environment.get("HDF5_PLUGIN_PATH", "").endswith("netCDF4/plugins"):
        del environment["HDF5_PLUGIN_PATH"]
    if progress:
        environment["NCZ_PROGRESS"] = "json"
    show, end = _shown(progress)
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    complaints = []
    # Files do not fill up as pipes do.
    with tempfile.TemporaryFile() as output:
        # In a session of its own: Ctrl-C comes to this process, which passes it on once.
        child = subprocess.Popen(
            [program, *command, *_arguments(options)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        reader = threading.Thread(target=_read, args=(child.stderr, lines), daemon=True)
        reader.start()
        try:
            while (line := _next(lines)) is not None:
                if line.startswith('{"progress":'):
                    now = json.loads(line)
                    show(now["progress"], now["done"], now["total"])
                elif line:
                    complaints.append(line)
            status = child.wait()
        except BaseException:
            _end(child)
            raise
        finally:
            end()
        reader.join()
        output.seek(0)
        said = output.read().decode()
    if status in _DONE:
        return said
    if status == 130:
        raise KeyboardInterrupt
    text = _text(complaints)
    if found := re.match(r"unexpected argument '--(\S+)' found", text):
        names = [one.replace("-", "_") for one in [found[1], *re.findall(r"'--([\w-]+)'", text[found.end() :])]]
        if names[0] in (name.rstrip("_") for name in options):
            similar = names[1:] if "similar argument" in text else []
            raise _unexpected(command, names[0], similar)
    raise Error(text or f"the program ncz ended with {status}")


def _read(stream: IO[bytes] | None, lines: queue.SimpleQueue[str | None]) -> None:
    with stream or io.BytesIO() as open_stream:
        for line in open_stream:
            lines.put(line.decode("utf-8", "replace").rstrip("\n"))
    lines.put(None)


def _next(lines: queue.SimpleQueue[str | None]) -> str | None:
    """The next line; an empty one if there is none yet, so that signals are heeded."""
    try:
        return lines.get(timeout=0.1)
    except queue.Empty:
        return ""


def _shown(
    progress: Callable[[str, int, int], object] | bool | None,
) -> tuple[Callable[[str, int, int], object], Callable[[], object]]:
    """What to call for progress, and at the end."""
    if progress is True:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            progress = None
        else:
            bar = tqdm(unit="B", unit_scale=True)

            def show(phase: str, done: int, total: int) -> None:
                bar.set_description(phase, refresh=False)
                bar.total = total
                bar.update(done - bar.n)

            return show, bar.close
    if progress is None or isinstance(progress, bool):
        return lambda *_: None, lambda: None
    return progress, lambda: None


def _text(complaints: list[str]) -> str:
    """What the program wrote about its error, as one line: the error and its causes."""
    started = next((at for at, line in enumerate(complaints) if line.startswith("error: ")), 0)
    parts = [line.strip().removeprefix("error: ").removeprefix("because: ") for line in complaints[started:]]
    # After that are the usage of the command, and its help.
    ended = next((at for at, part in enumerate(parts) if part.startswith(("Usage: ", "For more information, "))), None)
    parts = parts[:ended]
    return ": ".join(parts)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Lets the program clean up; kills it if it does not end soon."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(0.7)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
