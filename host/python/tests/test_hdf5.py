"""The HDF5 filter plugins in h5py and netCDF4."""

import os
import subprocess
import sys
import textwrap

import h5py
import hdf5plugin
import numpy as np
import pytest

import ncz
import ncz.hdf5

FILTERS = [
    (ncz.hdf5.Bitshuffle(), hdf5plugin.Bitshuffle()),
    (ncz.hdf5.Bitshuffle(64, "zstd", 5), hdf5plugin.Bitshuffle(64, "zstd", 5)),
    (ncz.hdf5.Bitshuffle(0, "none"), hdf5plugin.Bitshuffle(0, "none")),
    (ncz.hdf5.Blosc(), hdf5plugin.Blosc()),
    (ncz.hdf5.Blosc("zstd", 3, "bitshuffle"), hdf5plugin.Blosc("zstd", 3, hdf5plugin.Blosc.BITSHUFFLE)),
    (ncz.hdf5.Blosc2("zlib", 9, "none"), hdf5plugin.Blosc2("zlib", 9, hdf5plugin.Blosc2.NOFILTER)),
    (ncz.hdf5.BZip2(5), hdf5plugin.BZip2(5)),
    (ncz.hdf5.LZ4(), hdf5plugin.LZ4()),
    (ncz.hdf5.LZ4(4096), hdf5plugin.LZ4(4096)),
    (ncz.hdf5.Zfp(rate=10.5), hdf5plugin.Zfp(rate=10.5)),
    (ncz.hdf5.Zfp(precision=20), hdf5plugin.Zfp(precision=20)),
    (ncz.hdf5.Zfp(accuracy=0.001), hdf5plugin.Zfp(accuracy=0.001)),
    (ncz.hdf5.Zfp(reversible=True), hdf5plugin.Zfp(reversible=True)),
    (ncz.hdf5.Zstd(3), hdf5plugin.Zstd(3)),
]


@pytest.mark.parametrize("ours, theirs", FILTERS, ids=lambda value: repr(value))
def test_arguments_are_those_of_hdf5plugin(ours, theirs):
    assert dict(ours) == dict(theirs)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ncz.hdf5.Blosc("lzma"),
        lambda: ncz.hdf5.Zfp(),
        lambda: ncz.hdf5.Zstd(23),
        lambda: ncz.hdf5.Blosc2("snappy"),
        lambda: ncz.hdf5.Bitshuffle(7),
    ],
)
def test_arguments_out_of_range_are_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()


def in_a_process(code, **environment):
    """Runs code in a new interpreter, where nothing is imported yet."""
    environment = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"} | environment
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


WRITE_ALL = """
    import sys
    import numpy as np, h5py
    {imports}
    values = (np.arange(40 * 60, dtype="f4") / 8).reshape(40, 60)
    filters = [f for f in (ncz.hdf5.Bitshuffle(), ncz.hdf5.Blosc(), ncz.hdf5.Blosc2(), ncz.hdf5.BZip2(), ncz.hdf5.LZ4(),
               ncz.hdf5.LZF(), ncz.hdf5.Zfp(reversible=True), ncz.hdf5.Zstd(3), ncz.hdf5.BitRound(23))]
    with h5py.File({path!r}, "w") as file:
        for f in filters:
            file.create_dataset(type(f).__name__, data=values, chunks=(20, 30), **f)
    with h5py.File({path!r}) as file:
        for name, v in file.items():
            assert np.array_equal(v[:], values), name
    print("ncz" if any("libncz_h5zstd" in line for line in open("/proc/self/maps")) else "hdf5plugin")
"""


@pytest.mark.parametrize(
    "imports, server",
    [
        ("import ncz.hdf5", "ncz"),
        ("import ncz.hdf5, hdf5plugin", "ncz"),
        ("import hdf5plugin, ncz.hdf5", "hdf5plugin"),
    ],
)
def test_all_filters_write_and_read_beside_hdf5plugin_in_both_orders(tmp_path, imports, server):
    path = str(tmp_path / "all.h5")
    assert in_a_process(WRITE_ALL.format(imports=imports, path=path)) == [server]
    # What we wrote hdf5plugin reads, in a process without ours; BitRound is one that it lacks.
    check = f"""
        import h5py, hdf5plugin, numpy as np
        values = (np.arange(40 * 60, dtype="f4") / 8).reshape(40, 60)
        with h5py.File({path!r}) as file:
            for name in set(file) - {{"BitRound"}}:
                assert np.array_equal(file[name][:], values), name
                print(name)
    """
    assert len(in_a_process(check)) == 8


def test_files_of_hdf5plugin_are_read(tmp_path):
    path = str(tmp_path / "theirs.h5")
    values = np.linspace(0, 1, 5000).reshape(50, 100)
    with h5py.File(path, "w") as file:
        for number, (_, theirs) in enumerate(FILTERS):
            file.create_dataset(f"v{number}", data=values, chunks=(25, 50), **theirs)
        wanted = {name: v[:] for name, v in file.items()}
    np.savez(tmp_path / "wanted.npz", **wanted)
    code = f"""
        import h5py, ncz.hdf5, numpy as np
        wanted = np.load({str(tmp_path / "wanted.npz")!r})
        with h5py.File({path!r}) as file:
            for name, v in file.items():
                assert np.array_equal(v[:], wanted[name]), name
                print(name)
    """
    assert len(in_a_process(code)) == len(FILTERS)


def test_the_path_stands_in_front_once():
    code = """
        import h5py, importlib, ncz.hdf5
        importlib.reload(ncz.hdf5)
        paths = [h5py.h5pl.get(index).decode() for index in range(h5py.h5pl.size())]
        assert paths[0] == ncz.PLUGIN_PATH and paths.count(ncz.PLUGIN_PATH) == 1, paths
    """
    in_a_process(code)


def test_netcdf4_finds_the_plugins_by_its_environment(tmp_path):
    path = str(tmp_path / "v.nc")
    code = f"""
        import netCDF4, numpy as np
        with netCDF4.Dataset({path!r}, "w") as file:
            file.createDimension("x", 1000)
            for name in ("zstd", "bzip2", "blosc_lz4"):
                file.createVariable(name, "f4", ("x",), compression=name, chunksizes=(100,))[:] = np.arange(1000)
        for name in ("zstd", "bz2", "blosc"):
            assert any("libncz_h5" in line and name[:2] in line for line in open("/proc/self/maps"))
    """
    in_a_process(code, HDF5_PLUGIN_PATH=ncz.PLUGIN_PATH)
    with h5py.File(path) as file:
        assert np.array_equal(file["zstd"][:], np.arange(1000))
        assert file["zstd"]._filters.keys() >= {"32015"} and file["bzip2"]._filters.keys() >= {"307"}
