"""Copies on a cluster of Dask, and in parts for other schedulers.

A copy is a plan of independent parts, each of whole chunks or shards of the target. The workers make them in any order;
a part that runs again writes the same bytes, so that a worker that dies costs only its parts.

Examples
--------
>>> import ncz.dask
>>> plan = ncz.dask.plan_copy(fixtures / "ocean.nczarr", "ocean.zarr", parts=4, format="zarr3")
>>> [plan.run(part)["part"] for part in reversed(range(len(plan)))]
[3, 2, 1, 0]
>>> plan.finish().chunks
22
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _ncz
from ._ncz import CodecError, Error
from ._operations import CopySummary, Location, R, Report, Source, _location, _report

if TYPE_CHECKING:
    from distributed import Client

#: Options of the program that say where plugins come from: they apply to each step of a copy.
_OF_PLUGINS = ("plugin_path", "plugin_lock", "prefer", "no_plugins", "trust_all", "require")


class Plan:
    """A copy that is divided into parts.

    Parameters
    ----------
    text : str
        The plan, as JSON: the file of ``ncz copy --plan``.

    Examples
    --------
    >>> import ncz.dask
    >>> plan = ncz.dask.plan_copy(fixtures / "ocean.nczarr", "a.zarr", parts=2)
    >>> plan
    <ncz.dask.Plan: 2 parts, 1.2 MB, to .../a.zarr>
    >>> plan.save("plan.json")
    >>> ncz.dask.Plan.load("plan.json") == plan
    True
    >>> plan.discard()
    """

    def __init__(self, text: str, **options: Any) -> None:
        self._text = text
        self._location = _ncz.plan_location(text)
        self._json: dict[str, Any] = json.loads(text)
        self._options = options

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan from a file, also one in S3 or on an HTTP server."""
        location = os.fspath(path)
        return cls(_ncz.load_plan(location) if "://" in location else Path(location).read_text(encoding="utf-8"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file, for ``ncz copy --part K FILE`` and ``ncz copy --finish FILE``."""
        Path(path).write_text(self._text, encoding="utf-8")

    @property
    def text(self) -> str:
        """The plan, as JSON."""
        return self._text

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The parts, by their numbers: the decoded bytes, and the boxes of the target that each writes."""
        parts: list[dict[str, Any]] = self._json["parts"]
        return parts

    @property
    def source(self) -> str:
        """The location of the source."""
        return str(self._json["source"])

    @property
    def target(self) -> str:
        """The location of the target."""
        return str(self._json["target"])

    @property
    def location(self) -> str:
        """Where the plan is kept until the copy is finished, for :meth:`load`."""
        return self._location

    @property
    def token(self) -> str:
        """What identifies the plan."""
        return str(self._json["token"])

    @property
    def nbytes(self) -> int:
        """The decoded bytes of all parts."""
        return sum(part["bytes"] for part in self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        count = f"{len(self)} part{'s' * (len(self) != 1)}"
        return f"<ncz.dask.Plan: {count}, {self.nbytes / 1e6:.1f} MB, to {self.target}>"

    def check(self) -> None:
        """Check that this process can make parts: it has the same codecs, and sees source and target.

        Raises
        ------
        CodecError
            Codecs differ in version or file.
        Error
            The source has changed, or the target is not there.
        """
        _ncz.check_plan(self._text)

    def run(
        self, part: int, *, threads: int | None = None, memory: int | None = None, verify: bool = False
    ) -> dict[str, Any]:
        """Make a part in this process. It may run again, and at the same time as others.

        Parameters
        ----------
        part : int
            Its number, from 0 on. There is nothing to do for one that was asked for, if fewer parts were made.
        threads : int, optional
            The size of a pool that all calls with this number share, 1 to 1024; by default the pool of the process.
        memory : int, optional
            Bytes of data to hold at most.
        verify : bool
            Compare what was written with the source.

        Returns
        -------
        dict
            The number, the chunks, the decoded and the stored bytes, and the seconds.
        """
        names = ("chunks", "decoded_bytes", "stored_bytes", "seconds")
        return {"part": part, **dict(zip(names, _ncz.run_part(self._text, part, threads, memory, verify), strict=True))}

    def finish(self, *, verify: bool = False) -> CopySummary:
        """Make the parts the target, when all of them are complete.

        If that is done already, only ``verify=True`` can tell; the summary then has no variables, and a note says so.

        Parameters
        ----------
        verify : bool
            Compare everything with the source before, in this process. Otherwise the source is not read.

        Raises
        ------
        Error
            Names the parts that are not complete; or the copy was probably finished before.
        """
        return self._step(CopySummary, "--finish", {"verify": verify})

    def discard(self) -> None:
        """Give up the copy: remove what its parts have written."""
        self._step(Report, "--discard", {})

    def _step(self, of: type[R], step: str, options: dict[str, Any]) -> R:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "plan.json")
            self.save(file)
            try:
                return _report(of, ["copy", step, str(file)], {**self._options, **options})
            except Error as error:
                # The file is gone when the message is read.
                name = re.escape(str(file))
                text = re.sub(rf"run ncz copy --part \S+ {name}", "make them with plan.run", str(error))
                text = re.sub(rf"ncz copy --finish {name} --verify", "plan.finish(verify=True)", text)
                raise Error(text) from None


def plan_copy(source: Source, target: Location, *, parts: int | None = None, **options: Any) -> Plan:
    """Divide a copy into parts, and reserve the target. Nothing is copied yet.

    Parameters
    ----------
    source : path, URL or Dataset
        The dataset to copy.
    target : path or URL
        The new dataset: a directory, or a prefix in S3. All that make parts must see both.
    parts : int, optional
        How many parts, at most; by default they have about 128 MB of decoded data each.
    **options
        The options of :func:`ncz.copy`, except ``append``, ``concat``, ``overwrite``, ``resume`` and ``salvage``.
        With ``verify=True`` each part is compared with the source.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import ncz.dask
    >>> plan = ncz.dask.plan_copy(fixtures / "ocean.nczarr", "b.zarr", codec={"id": "zstd", "level": 3}, parts=3)
    >>> sorted({region["variable"] for region in plan.parts[-1]["regions"]})
    ['/model/depth', '/model/salinity', '/sea_surface_temperature']
    >>> plan.discard()
    """
    if parts is not None and parts < 1:
        raise ValueError(f"parts: expected 1 or more, got {parts}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "plan.json")
        number = "auto" if parts is None else str(parts)
        arguments = ["copy", _location(source), os.fspath(target), "--plan", number, str(file)]
        _report(Report, arguments, options)
        of_plugins = {name: value for name, value in options.items() if name in _OF_PLUGINS}
        return Plan(file.read_text(encoding="utf-8"), **of_plugins)


def copy(
    source: Source | Plan,
    target: Location | None = None,
    *,
    client: Client | None = None,
    parts: int | None = None,
    retries: int = 3,
    progress: Callable[[str, int, int], object] | None = None,
    **options: Any,
) -> CopySummary:
    """Copy a dataset on a cluster of Dask: the same bytes as :func:`ncz.copy`.

    Before anything is written, every worker is asked for its codecs. Each part is a task, which the dashboard shows by
    the name of the target. Workers that die cost only the parts that they were making.

    Parameters
    ----------
    source : path, URL, Dataset or Plan
        The dataset to copy; or a plan, to go on with a copy that was interrupted.
    target : path or URL
        The new dataset: a directory, or a prefix in S3. It appears when it is complete.
    client : distributed.Client, optional
        By default the last one that was made.
    parts : int, optional
        How many tasks; by default they have about 128 MB of decoded data each.
    retries : int
        How often a part that failed is tried again.
    progress : callable, optional
        Called with the phase, and the bytes that are done and all bytes.
    **options
        The options of :func:`plan_copy`.

    Returns
    -------
    CopySummary

    Raises
    ------
    CodecError
        Codecs of a worker differ. Nothing is left of the target.
    Error
        A part failed. What is complete stays: with ``plan = Plan.load("TARGET.ncz-parts/plan.json")``, ``copy(plan)``
        goes on, and ``plan.discard()`` removes it.

    Examples
    --------
    >>> import ncz.dask
    >>> from distributed import Client
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     done = ncz.dask.copy(fixtures / "ocean.nczarr", "c.zarr", client=client, parts=3, verify=True)
    >>> done.verified, done.chunks
    (True, 22)
    """
    if client is None:
        client = _distributed().default_client()
    if isinstance(source, Plan):
        plan = source
        if target is not None or options:
            raise TypeError("a plan has its target and options; give the plan alone")
        _check_plan(client, plan)
    else:
        if target is None:
            raise TypeError("target: expected a path or URL, got None")
        check(client)
        plan = plan_copy(source, target, parts=parts, **options)
        try:
            _check_plan(client, plan)
        except BaseException:
            plan.discard()
            raise
    try:
        _run(client, plan, retries, progress)
    except BaseException as error:
        error.add_note(
            "What is complete stays. To go on: ncz.dask.copy(plan, client=client); to give up: plan.discard(); with "
            f"plan = ncz.dask.Plan.load({plan.location!r})"
        )
        raise
    return plan.finish()


def check(client: Client) -> None:
    """Check that all workers have the codecs of this process: the same names, versions and files of plugins.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    CodecError
        Names each worker that differs, and in what.

    Examples
    --------
    >>> import ncz.dask
    >>> from distributed import Client
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     ncz.dask.check(client)
    """
    here = _ncz.codec_set()
    there = client.run(_codec_set)
    differing = {worker: _ncz.codec_differences(here, found) for worker, found in there.items()}
    texts = [f"worker {worker}: {'; '.join(found)}" for worker, found in differing.items() if found]
    if texts:
        raise CodecError(
            "the codecs of workers differ from those of the client; install the same version of ncz and the same "
            f"plugins there, and set HDF5_PLUGIN_PATH: {' | '.join(texts)}"
        )


def _distributed() -> Any:
    """The package, which has types in part only."""
    import distributed

    return distributed


def _codec_set() -> str:
    return _ncz.codec_set()


def _check_plan(client: Client, plan: Plan) -> None:
    """Check that every worker can make parts of a plan."""
    found: dict[str, tuple[bool, str] | None] = client.run(_try_plan, plan.text)
    wrong = {worker: answer for worker, answer in found.items() if answer is not None}
    if wrong:
        texts = (f"worker {worker}: {text}" for worker, (_, text) in wrong.items())
        is_codec = any(of_codec for of_codec, _ in wrong.values())
        raise (CodecError if is_codec else Error)("workers cannot make parts of the copy: " + " | ".join(texts))


def _try_plan(text: str) -> tuple[bool, str] | None:
    try:
        _ncz.check_plan(text)
    except Error as error:
        return isinstance(error, CodecError), str(error)
    return None


def _run(client: Client, plan: Plan, retries: int, progress: Callable[[str, int, int], object] | None) -> None:
    """Make all parts."""
    # Dask keeps the failures of a key as long as somebody has one of them.
    name = f"copy {Path(plan.target).name}-{uuid.uuid4().hex}"
    # A task, so that it can be made again: what is scattered is lost with its workers.
    text = client.submit(str, plan.text, key=f"plan {name}", pure=False)
    keys = [f"{name}-{part}" for part in range(len(plan))]
    sizes = dict(zip(keys, (part["bytes"] for part in plan.parts), strict=True))
    futures = client.map(_part, [text] * len(plan), range(len(plan)), key=keys, retries=retries, pure=False)
    done, total = 0, sum(sizes.values())
    completed = _distributed().as_completed(futures)
    # A result without a reference is not computed again if its worker dies; results are neither fetched nor kept.
    del futures
    for future in completed:
        if future.status != "finished":
            completed.clear()
            future.result()
            raise Error(f"{future.key} was {future.status}")
        done += sizes[future.key]
        future.release()
        if progress is not None:
            progress("copying", done, total)


def _part(text: str, part: int) -> None:
    """A part as a task: with as many threads as the worker has for all its tasks."""
    try:
        threads: int | None = min(_distributed().get_worker().state.nthreads, 1024)
    except ValueError:
        threads = None
    Plan(text).run(part, threads=threads)
