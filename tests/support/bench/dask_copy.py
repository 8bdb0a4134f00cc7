"""Compares copies on Dask clusters of one and of two processes.

    dask_copy.py --dir /dev/shm/bench               ncz must be importable

Recompresses a field of --steps chunks of 1 MiB (float32, shuffle and deflate to zstd) by ncz.dask.copy, on a
LocalCluster of one process and on one of two, each process with one thread, in turns. Starting the cluster is not timed.
Prints the median seconds and how much faster two processes are; besides, `ncz copy` with one thread in this process.
--dir must be a folder of a memory file system for figures that mean something.
"""

import argparse
import pathlib
import shutil
import statistics
import time

import ncz
import ncz.dask
import numpy as np
import xarray as xr
from distributed import Client, LocalCluster

SIDE = 512


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="a folder for the datasets, on tmpfs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    folder = args.dir / "dask"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    values = (rng.integers(0, 256, (args.steps, SIDE, SIDE)) / 256).astype("f4")
    encoding = {"v": {"zlib": True, "shuffle": True, "chunksizes": (1, SIDE, SIDE)}}
    xr.Dataset({"v": (("t", "y", "x"), values)}).to_netcdf(folder / "in.nc", encoding=encoding, engine="netcdf4")
    options = {"format": "zarr3", "codec": "shuffle|zstd,9", "threads": 1}
    seconds = {0: [], 1: [], 2: []}
    for run in range(args.runs):
        for processes in (0, 1, 2) if run % 2 else (2, 1, 0):
            target = folder / "out.zarr"
            if processes == 0:
                start = time.perf_counter()
                ncz.copy(folder / "in.nc", target, **options)
                seconds[0].append(time.perf_counter() - start)
            else:
                with (
                    LocalCluster(
                        n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=None
                    ) as cluster,
                    Client(cluster) as client,
                ):
                    client.wait_for_workers(processes)
                    start = time.perf_counter()
                    ncz.dask.copy(folder / "in.nc", target, client=client, parts=16, **options)
                    seconds[processes].append(time.perf_counter() - start)
            shutil.rmtree(target)
    medians = {processes: statistics.median(taken) for processes, taken in seconds.items()}
    ratio = statistics.median(one / two for one, two in zip(seconds[1], seconds[2], strict=True))
    print("| ncz copy, one thread | one process | two processes | one / two |")
    print("| --- | --- | --- | --- |")
    print(f"| {medians[0]:.2f} s | {medians[1]:.2f} s | {medians[2]:.2f} s | {ratio:.2f} |")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
