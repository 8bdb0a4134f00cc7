"""Copies on a cluster: the same bytes as one copy, whatever dies; workers with other codecs are refused."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import ncz
import ncz.dask
from ncz import _programs

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def noise(tmp_path):
    """A dataset that takes its time: 24 chunks of 160 kB that hardly compress."""
    array = tmp_path / "noise.zarr/t"
    array.mkdir(parents=True)
    (array.parent / ".zgroup").write_text('{"zarr_format": 2}')
    (array / ".zarray").write_text(
        '{"zarr_format": 2, "shape": [480000], "chunks": [20000], "dtype": "<i8", "fill_value": 0, "order": "C",'
        ' "compressor": null, "filters": null}'
    )
    random = np.random.default_rng(1)
    for chunk in range(24):
        (array / str(chunk)).write_bytes(random.integers(0, 1 << 40, 20000).astype("<i8").tobytes())
    return array.parent


def objects(root):
    return {path.relative_to(root): path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}


def test_a_copy_has_the_same_bytes_as_one_in_one_process(client, fixtures, tmp_path):
    sources = [fixtures / "ocean.nczarr", fixtures / "netcdf-files/netcdf4.nc"]
    for source in sources:
        for number, options in enumerate([{}, {"format": "zarr3", "compress": True, "consolidated": True}]):
            whole, target = (tmp_path / f"{name}{number}{source.stem}" for name in ("whole", "target"))
            ncz.copy(source, whole, **options)
            said: list[tuple] = []
            done = ncz.dask.copy(
                source,
                target,
                client=client,
                parts=6,
                verify=True,
                progress=lambda *now, said=said: said.append(now),
                **options,
            )
            assert done.verified and done.chunks > 0
            assert objects(whole) == objects(target)
            assert said[-1][0] == "copying" and said[-1][1] == said[-1][2] > 0
    assert not list(tmp_path.glob("*.ncz-parts"))


def test_the_tasks_have_the_name_of_the_target(client, fixtures, tmp_path):
    with distributed.get_task_stream(client=client) as stream:
        ncz.dask.copy(fixtures / "ocean.nczarr", tmp_path / "named.zarr", client=client, parts=4)
    keys = {distributed.utils.key_split(task["key"]) for task in stream.data}
    assert "copy named.zarr" in keys, keys


def test_a_worker_that_is_killed_costs_only_its_parts(noise, tmp_path):
    whole, target = tmp_path / "whole", tmp_path / "target"
    options = {"codec": {"id": "lzma"}, "format": "zarr3"}
    ncz.copy(noise, whole, **options)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        victims = list(client.run(os.getpid).values())[:1]

        def progress(phase, done, total):
            if done > total / 4 and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        with distributed.get_task_stream(client=client) as stream:
            done = ncz.dask.copy(noise, target, client=client, parts=12, progress=progress, **options)
    assert not victims, "no worker was killed"
    assert done.chunks == 24
    assert objects(whole) == objects(target)
    made = [task["key"] for task in stream.data if str(task["key"]).startswith("copy target")]
    assert len(set(made)) == 12
    # One that was complete may not have been reported yet.
    assert len(made) <= 13, made


def test_a_worker_with_other_codecs_is_refused_before_anything_is_written(fixtures, tmp_path):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    shutil.copy(Path(hdf5plugin.PLUGIN_PATH, "libh5sperr.so"), plugins)
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        ncz.dask.check(client)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        command += ["--nthreads", "1", "--no-dashboard"]
        environment = {**os.environ, "HDF5_PLUGIN_PATH": str(plugins)}
        worker = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            client.wait_for_workers(2, timeout=60)
            with pytest.raises(ncz.CodecError, match=r"worker tcp.*libh5sperr\.so .*expected none"):
                ncz.dask.copy(fixtures / "ocean.nczarr", tmp_path / "target.zarr", client=client)
        finally:
            worker.terminate()
            worker.wait()
    assert not list(tmp_path.glob("target*"))


def test_codecs_of_a_plan_are_compared_by_the_bytes_of_their_files(fixtures, tmp_path, monkeypatch):
    hdf5plugin = pytest.importorskip("hdf5plugin")
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        shutil.copy(Path(hdf5plugin.PLUGIN_PATH, "libh5sperr.so"), tmp_path / folder)
    with open(tmp_path / "other/libh5sperr.so", "ab") as library:
        library.write(b"\0")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path / "one"))
    here = ncz._ncz.codec_set()
    assert ncz._ncz.codec_differences(here, here) == []
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path / "other"))
    [difference] = ncz._ncz.codec_differences(here, ncz._ncz.codec_set())
    assert "libh5sperr.so" in difference and "SHA-256" in difference


def test_other_schedulers_take_the_parts_as_json(fixtures, tmp_path):
    program = _programs.find("ncz")
    source, target = fixtures / "ocean.nczarr", tmp_path / "target.zarr"
    plan = ncz.dask.plan_copy(source, target, parts=3, format="zarr", chunks="time/4")
    assert sum(part["bytes"] for part in plan.parts) == plan.nbytes
    variables = {region["variable"] for part in plan.parts for region in part["regions"]}
    assert variables == {
        "/time",
        "/lat",
        "/lon",
        "/air_temperature",
        "/sea_surface_temperature",
        "/model/depth",
        "/model/salinity",
    }
    plan.save(tmp_path / "plan.json")
    subprocess.run([program, "copy", "--part", "0-1", tmp_path / "plan.json"], check=True, stdout=subprocess.DEVNULL)
    with pytest.raises(ncz.Error, match=r"1 of 3 parts is not complete: 2"):
        plan.finish()
    assert plan.run(2, threads=2, verify=True)["chunks"] > 0
    assert plan.run(2, memory=100_000)["part"] == 2
    with pytest.raises(ncz.Error, match="there is no part 3"):
        plan.run(3)
    ncz.dask.Plan.load(tmp_path / "plan.json").finish(verify=True)
    ncz.copy(source, tmp_path / "whole.zarr", format="zarr", chunks="time/4")
    assert objects(tmp_path / "whole.zarr") == objects(target)


def test_a_copy_that_failed_goes_on_with_its_plan(client, noise, tmp_path):
    target = tmp_path / "target.zarr"
    plan = ncz.dask.plan_copy(noise, target, parts=4)
    chunk = noise / "t/23"
    bytes_, times = chunk.read_bytes(), (chunk.stat().st_atime_ns, chunk.stat().st_mtime_ns)
    time.sleep(0.02)
    chunk.write_bytes(bytes_)
    with pytest.raises(ncz.Error, match=r"has changed since the plan was made") as failed:
        ncz.dask.copy(plan, client=client, retries=0)
    assert "target.zarr.ncz-parts/plan.json" in failed.value.__notes__[0]
    assert ncz.dask.Plan.load(f"{target}.ncz-parts/plan.json") == plan
    assert not target.exists()
    os.utime(chunk, ns=times)
    ncz.dask.copy(plan, client=client)
    ncz.copy(noise, tmp_path / "whole.zarr")
    assert objects(tmp_path / "whole.zarr") == objects(target)
    with pytest.raises(ncz.Error, match=r"plan\.finish\(verify=True\) compares.*probably finished before"):
        plan.discard()
    assert plan.finish(verify=True).notes == ["the copy is finished already"]


def test_what_is_not_for_parts_is_refused(client, fixtures, tmp_path):
    with pytest.raises(ncz.Error, match="cannot be written in parts"):
        ncz.dask.copy(fixtures / "ocean.nczarr", tmp_path / "target.zip", client=client)
    with pytest.raises(ncz.Error, match="--overwrite"):
        ncz.dask.plan_copy(fixtures / "ocean.nczarr", tmp_path / "target.zarr", overwrite=True)
    with pytest.raises(TypeError):
        ncz.dask.copy(fixtures / "ocean.nczarr", client=client)
    assert not list(tmp_path.iterdir())


def test_errors_name_the_target_and_what_to_do_in_python(fixtures, tmp_path):
    source, target = fixtures / "ocean.nczarr", tmp_path / "target.zarr"
    plan = ncz.dask.plan_copy(source, target, parts=3)
    with pytest.raises(ncz.Error, match=r"target\.zarr; make them with plan\.run: 3 of 3 parts") as early:
        plan.finish()
    with pytest.raises(ncz.Error, match=r"target\.zarr.*another copy in parts") as again:
        ncz.dask.plan_copy(source, target)
    for error in (early, again):
        # The file of the plan that the program was given is gone.
        assert tempfile.gettempdir() not in str(error.value).replace(str(tmp_path), "")
    plan.discard()


def test_a_plan_is_loaded_from_where_it_is_kept(fixtures, tmp_path):
    for target in ("plain.zarr", "mode.zarr#mode=nczarr", "a#1/hash.zarr#mode=zarr"):
        (tmp_path / target).parent.mkdir(exist_ok=True)
        plan = ncz.dask.plan_copy(fixtures / "ocean.nczarr", f"{tmp_path}/{target}", parts=2)
        name = target.partition("zarr")[0]
        assert plan.location == f"{tmp_path}/{name}zarr.ncz-parts/plan.json"
        assert ncz.dask.Plan.load(plan.location) == plan
        plan.discard()


def test_values_without_meaning_are_refused(fixtures, tmp_path):
    for text in ("{}", "[]", '{"schema": 1}', ""):
        with pytest.raises(ncz.Error, match="this is not the plan of a copy"):
            ncz.dask.Plan(text)
    source, target = fixtures / "ocean.nczarr", tmp_path / "target.zarr"
    for parts in (0, -1):
        with pytest.raises(ValueError, match="expected 1 or more"):
            ncz.dask.plan_copy(source, target, parts=parts)
    plan = ncz.dask.plan_copy(ncz.open(source), target, parts=100)
    assert len(plan) < 100 and plan.run(99)["chunks"] == 0
    for threads in (-1, 0, 1025, 5000):
        with pytest.raises(ValueError, match="threads: expected 1 to 1024"):
            plan.run(0, threads=threads)
    plan.discard()
