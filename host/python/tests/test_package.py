"""The package as such: versions, errors, programs."""

import os
import subprocess
import sys

import pytest

import ncz
from ncz import _programs


def test_errors_are_ours_and_pythons():
    assert issubclass(ncz.PlaceError, (ncz.Error)) and issubclass(ncz.PlaceError, OSError)
    assert issubclass(ncz.CodecError, (ncz.Error)) and issubclass(ncz.CodecError, ValueError)
    assert issubclass(ncz.DataError, (ncz.Error)) and issubclass(ncz.DataError, OSError)
    assert not issubclass(ncz.Error, (OSError, ValueError))
    assert repr(ncz.DataError) == "<class 'ncz.DataError'>" and repr(ncz.Error) == "<class 'ncz.Error'>"
    assert str(ncz.DataError("damaged")) == "damaged"


def test_programs_have_the_version_of_the_module():
    program = _programs.find("ncz")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert ncz.__version__ in said
    assert _programs.find("ncz-worker") and _programs.find("no-such-program") is None


def test_plugins_are_beside_the_module():
    names = os.listdir(ncz.PLUGIN_PATH)
    assert "libncz_h5zstd.so" in names and len(names) == 9


def test_threads_are_chosen_per_process():
    ncz.set_threads(3)
    assert ncz.threads() == 3
    ncz.set_threads(None)
    environment = os.environ | {"NCZ_THREADS": "5"}
    code = "import ncz; print(ncz.threads())"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "5\n"


@pytest.mark.parametrize("threads", [0, -1, 1025, 10**9, 2**70, -(2**70)])
def test_numbers_of_threads_that_no_machine_has_are_refused_at_once(fixtures, threads):
    wanted = f"threads: expected 1 to 1024, got {threads}"
    with pytest.raises(ValueError, match=wanted):
        ncz.open(fixtures / "ocean.nczarr", threads=threads)
    with pytest.raises(ValueError, match=wanted):
        ncz.set_threads(threads)
    environment = os.environ | {"NCZ_THREADS": str(threads)}
    command = [sys.executable, "-c", "import ncz; ncz.threads()"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True).stderr
    assert f"ValueError: NCZ_THREADS: expected 1 to 1024, got {threads}" in said


@pytest.mark.parametrize("threads", [1.5, "2"])
def test_numbers_of_threads_are_integers(fixtures, threads):
    with pytest.raises(TypeError):
        ncz.open(fixtures / "ocean.nczarr", threads=threads)
    with pytest.raises(TypeError):
        ncz.set_threads(threads)


def test_the_pool_of_a_parent_is_not_used_after_a_fork():
    ncz.set_threads(2)
    assert ncz.threads() == 2
    child = os.fork()
    if child == 0:
        os._exit(ncz.threads())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) >= 1
