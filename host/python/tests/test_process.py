"""Processes, threads and signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import ncz


def checksum(variable):
    return float(np.asarray(variable[...], "f8").sum())


def in_child(variable, wanted, queue):
    queue.put(checksum(variable) == wanted)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("threads", [None, 3])
def test_a_dataset_that_was_opened_before_works_in_the_child_and_after(fixtures, method, threads):
    variable = ncz.open(fixtures / "ocean.nczarr", threads=threads)["air_temperature"]
    wanted = checksum(variable)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_child, args=(variable, wanted, queue))
    child.start()
    assert queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0 and checksum(variable) == wanted


def test_a_child_of_a_fork_ends_that_never_reads(fixtures):
    datasets = [ncz.open(fixtures / "ocean.nczarr", threads=2) for _ in range(3)]
    assert datasets[0]["lat"][0] == 90
    child = os.fork()
    if child == 0:
        del datasets
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_forks_while_other_threads_read(fixtures):
    variable = ncz.open(fixtures / "ocean.nczarr")["air_temperature"]
    wanted = checksum(variable)
    done = threading.Event()

    def read():
        while not done.is_set():
            assert checksum(variable) == wanted

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if checksum(variable) == wanted else 1)
            deadline = time.monotonic() + 30
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.01)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                pytest.fail("the child hangs")
            assert ended[1] == 0
    finally:
        done.set()
        for reader in readers:
            reader.join()


def test_eight_threads_read_one_dataset(fixtures):
    dataset = ncz.open(fixtures / "ocean.nczarr")
    names = ["air_temperature", "sea_surface_temperature", "model/salinity", "lat"]
    wanted = {name: checksum(dataset[name]) for name in names}
    failed = []

    def read(first):
        for turn in range(20):
            name = names[(first + turn) % len(names)]
            if checksum(dataset[name]) != wanted[name]:
                failed.append(name)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_other_threads_of_python_run_during_a_read(slow):
    """The interpreter's lock is released: a thread counts while another reads."""
    variable = ncz.open(slow)["v"]
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.monotonic()
    variable[...]
    took = time.monotonic() - start
    done.set()
    counter.join()
    assert counted[0] > took * 100


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A dataset that takes a while to decode: 400 MB, of which nothing is stored twice."""
    import zarr

    path = tmp_path_factory.mktemp("slow") / "slow.zarr"
    values = np.arange(1_000_000, dtype="f8").reshape(1000, 1000) ** 0.5
    options = {"chunks": (10, 1000), "compressors": zarr.codecs.GzipCodec(level=1), "dimension_names": ("y", "x")}
    group = zarr.open_group(path, mode="w", zarr_format=3)
    array = group.create_array("v", shape=(50_000, 1000), dtype="f8", **options)
    array[:1000] = values
    for number in range(100, 5000):
        os.symlink(path / f"v/c/{number % 100}", path / f"v/c/{number}")
    return path


@pytest.mark.parametrize("call", ["ncz.open(path, threads=1)['v'][...]"])
def test_ctrl_c_ends_a_long_call_within_a_second(slow, call):
    code = f"""
        import sys, time
        import ncz
        path = sys.argv[1]
        print("go", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("ended", flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(slow)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "go\n"
    time.sleep(0.3)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    said = child.stdout.readline()
    took = time.monotonic() - start
    assert said == "interrupted\n" and took < 1
    assert child.wait(30) == 0


def test_the_python_threads_of_dask_do_the_work_alone(fixtures):
    """A task of Dask has one core: no threads of ours work for it."""
    from ncz import _dataset

    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(_dataset._in_task_of_dask()), name=name)
        for name in ["Dask-Default-Threads-1-0", "MainThread"]
    ]
    for thread in threads:
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_many_calls_keep_the_memory(fixtures):
    import resource

    variable = ncz.open(fixtures / "ocean.nczarr")["lat"]
    for _ in range(500):
        variable[...]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5000):
        variable[...]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10
