"""Compares engines of xarray: reading one variable through ncz and through netcdf4.

    xarray_read.py --dir /dev/shm/bench             ncz must be importable

Makes a netCDF-4 file of 200 chunks of 1 MiB (float32, shuffle and deflate) and its NCZarr copy with 2-byte packed values
beside it. Each case is opened and read by both engines in turns, as often as --runs says, in one process, with xarray's
masks and scales and without. The values are compared before anything is timed. Prints a table: the median seconds of each
engine and how much faster ncz is. --dir must be a folder of a memory file system for figures that mean something.
"""

import argparse
import pathlib
import shutil
import statistics
import time

import ncz
import netCDF4
import numpy as np
import xarray as xr

CHUNKS, SIDE = 200, 512


def make(path):
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("time", None), ("y", SIDE), ("x", SIDE)):
            file.createDimension(name, length)
        options = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, SIDE, SIDE)}
        plain = file.createVariable("plain", "f4", ("time", "y", "x"), **options)
        packed = file.createVariable("packed", "i2", ("time", "y", "x"), fill_value=-32768, **options)
        packed.scale_factor, packed.add_offset = 0.01, 280.0
        for step in range(CHUNKS):
            values = rng.integers(0, 256, (SIDE, SIDE)) / 256
            plain[step] = values
            packed[step] = 280 + values


def read(location, engine, variable, decode):
    start = time.perf_counter()
    with xr.open_dataset(location, engine=engine, mask_and_scale=decode, decode_times=False) as data:
        values = data[variable].values
    return time.perf_counter() - start, values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="a folder for the datasets, on tmpfs")
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    folder = args.dir / "xarray"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make(folder / "in.nc")
    ncz.copy(folder / "in.nc", folder / "in.nczarr")
    nczarr = folder / "in.nczarr"
    locations = {".nc": (folder / "in.nc",) * 2, "NCZarr": (nczarr, f"file://{nczarr}#mode=nczarr,file")}
    print("| dataset | variable | decoded by xarray | netcdf4 s | ncz s | netcdf4 / ncz |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (ours, theirs) in locations.items():
        for variable, decode in (("plain", False), ("plain", True), ("packed", False), ("packed", True)):
            cases = {"netcdf4": (theirs, "netcdf4"), "ncz": (ours, "ncz")}
            first = {engine: read(*case, variable, decode)[1] for engine, case in cases.items()}
            np.testing.assert_array_equal(first["ncz"], first["netcdf4"])
            seconds = {engine: [] for engine in cases}
            for _ in range(args.runs):
                for engine, case in cases.items():
                    seconds[engine].append(read(*case, variable, decode)[0])
            ratio = statistics.median(a / b for a, b in zip(seconds["netcdf4"], seconds["ncz"], strict=True))
            medians = [f"{statistics.median(seconds[engine]):.3f}" for engine in ("netcdf4", "ncz")]
            print(f"| {name} | {variable} | {'yes' if decode else 'no'} | {' | '.join(medians)} | {ratio:.2f} |")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
