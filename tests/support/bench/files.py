"""Compares ncz with other programs on whole files and folders: copies, reading, references, headers, verifying.

    files.py --dir /dev/shm/bench --ncz target/release/ncz

Makes a netCDF-4 file of 400 chunks of 1 MiB (shuffle and deflate, about 115 MB), its Zarr copy, and a file of 10,000
small chunks, and a Zarr folder of 100,000 chunks of 400 bytes. Each job is run by all programs in turns, as often as --runs says. Prints a table: the median and the best
seconds of each program, and how many times the first program's median the others take. Programs run as processes; only
the reading of netCDF4 and h5py is timed inside Python, after its imports. A program that is not installed is left out.
--dir must be a folder of a memory file system for figures that mean something.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

CHUNKS, SIDE = 400, 512
SMALL = 10_000
MANY = 100_000

MAKE = f"""
import sys, h5py, netCDF4, numpy as np
rng = np.random.default_rng(1)
with netCDF4.Dataset(sys.argv[1], "w") as file:
    for name, length in (("time", None), ("y", {SIDE}), ("x", {SIDE})):
        file.createDimension(name, length)
    v = file.createVariable("v", "f4", ("time", "y", "x"), zlib=True, complevel=4, shuffle=True,
                            chunksizes=(1, {SIDE}, {SIDE}))
    for step in range({CHUNKS}):
        v[step] = 1 + rng.integers(0, 256, ({SIDE}, {SIDE})).astype("f4") / 256
with netCDF4.Dataset(sys.argv[2], "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", 250)
    v = file.createVariable("v", "i4", ("time", "x"), zlib=True, complevel=1, chunksizes=(1, 250))
    for step in range(0, {SMALL}, 100):
        v[step : step + 100] = rng.integers(0, 2**31, (100, 250))
"""

H5PY_TO_ZARR = f"""
import sys, h5py, zarr, numcodecs
with h5py.File(sys.argv[1]) as file:
    v = file["v"]
    out = zarr.create_array(sys.argv[2], shape=v.shape, chunks=v.chunks, dtype=v.dtype, zarr_format=2,
                            filters=[numcodecs.Shuffle(4)], compressors=numcodecs.Zlib(4), fill_value=0)
    for step in range({CHUNKS}):
        out[step] = v[step]
"""

NETCDF4_READ = """
import sys, time, netCDF4
start = time.perf_counter()
with netCDF4.Dataset(sys.argv[1]) as file:
    file.set_auto_maskandscale(False)
    file["v"][:]
print(time.perf_counter() - start)
"""

H5PY_READ = """
import sys, time, h5py
start = time.perf_counter()
with h5py.File(sys.argv[1]) as file:
    file["v"][:]
print(time.perf_counter() - start)
"""

KERCHUNK = """
import sys, json
from kerchunk.hdf import SingleHdf5ToZarr
with open(sys.argv[2], "w") as out:
    json.dump(SingleHdf5ToZarr(sys.argv[1], inline_threshold=0).translate(), out)
"""


def make_many(folder):
    """A Zarr dataset of many small chunks, without a codec."""
    (folder / "v").mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    array = {"zarr_format": 2, "shape": [MANY * 100], "chunks": [100], "dtype": "<i4", "compressor": None,
             "filters": None, "fill_value": 0, "order": "C"}
    (folder / "v/.zarray").write_text(json.dumps(array))
    (folder / "v/.zattrs").write_text('{"_ARRAY_DIMENSIONS": ["x"]}')
    for number in range(MANY):
        (folder / f"v/{number}").write_bytes(number.to_bytes(4, "little") * 100)


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="a folder for the datasets, on tmpfs")
    parser.add_argument("--ncz", type=pathlib.Path, required=True, help="the program, a release build")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", nargs="+", help="only jobs whose names begin so")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    file, small, zarr, out = (args.dir / name for name in ("big.nc", "small.nc", "big.zarr", "out"))
    if not small.exists():
        subprocess.run([sys.executable, "-c", MAKE, file, small], check=True)
    many = args.dir / "many.zarr"
    if not many.exists():
        make_many(many)
    remove(zarr)
    ncz = str(args.ncz.resolve())
    subprocess.run([ncz, "copy", "-q", file, zarr, "--format", "zarr"], check=True)

    def python(code, *more):
        return [sys.executable, "-c", code, *more]

    def shell(text, *more):
        return ["sh", "-c", text, "sh", *more]

    to = {suffix: out.with_suffix(suffix) for suffix in (".nc", ".zarr", ".json", ".zip")}
    # The first of each job is what the others are compared with.
    jobs = {
        "copy .nc to Zarr": {
            "cp": ["cp", file, to[".nc"]],
            "ncz": [ncz, "copy", "-q", file, to[".zarr"], "--format", "zarr"],
            "ncz to .zip": [ncz, "copy", "-q", file, to[".zip"], "--format", "zarr"],
            "nccopy": ["nccopy", file, to[".nc"]],
            "h5py + zarr-python": python(H5PY_TO_ZARR, file, to[".zarr"]),
        },
        "copy Zarr to .nc": {
            "cp -r": ["cp", "-r", zarr, to[".zarr"]],
            "ncz": [ncz, "copy", "-q", zarr, to[".nc"]],
        },
        "copy a Zarr folder": {
            "cp -r": ["cp", "-r", zarr, to[".zarr"]],
            "ncz": [ncz, "copy", "-q", zarr, to[".zarr"]],
        },
        "copy a Zarr folder to a zip file": {
            "zip -0": shell('cd "$1" && zip -0 -q -r "$2" .', zarr, to[".zip"]),
            "ncz": [ncz, "copy", "-q", zarr, to[".zip"]],
        },
        "copy .nc to .nc": {"cp": ["cp", file, to[".nc"]], "ncz": [ncz, "copy", "-q", file, to[".nc"]]},
        "read a variable": {
            "ncz": [ncz, "cat", "--raw", file, "v"],
            "netCDF4": python(NETCDF4_READ, file),
            "h5py": python(H5PY_READ, file),
        },
        "references": {
            "ncz": [ncz, "copy", "-q", small, to[".json"]],
            "kerchunk": python(KERCHUNK, small, to[".json"]),
        },
        "check 100,000 chunks": {
            "find | cat": shell('find "$1" -type f -print0 | xargs -0 cat', many),
            "ncz verify": [ncz, "verify", "-q", many],
            "ncz info": [ncz, "info", many],
        },
        "header": {"ncz dump -h": [ncz, "dump", "-h", file], "ncdump -h": ["ncdump", "-h", file]},
    }
    for name, programs in jobs.items():
        if args.jobs and not any(name.startswith(wanted) for wanted in args.jobs):
            continue
        seconds = {program: [] for program, command in programs.items() if shutil.which(command[0])}
        for _ in range(args.runs):
            for program, taken in seconds.items():
                for path in to.values():
                    remove(path)
                times_itself = program in ("netCDF4", "h5py")
                start = time.perf_counter()
                with open("/dev/null", "wb") as null:
                    stdout = subprocess.PIPE if times_itself else null
                    done = subprocess.run(programs[program], stdout=stdout, check=True)
                elapsed = time.perf_counter() - start
                taken.append(float(done.stdout) if times_itself else elapsed)
        print(f"\n{name}\n{'program':<20} {'median':>8} {'best':>8} {'ratio':>7}")
        base = None
        for program, taken in seconds.items():
            median = statistics.median(taken)
            base = base or median
            print(f"{program:<20} {median:8.3f} {min(taken):8.3f} {median / base:7.2f}", flush=True)
    for path in to.values():
        remove(path)


if __name__ == "__main__":
    main()
