"""The numbers in datasets as netcdf-c reads them: netcdf_values.py MODE DATASET OUT.npz [DATASET OUT.npz]..

MODE is the value of #mode=, such as nczarr,file. Variables are named by their paths; strings are left out.
"""

import sys

import netCDF4
import numpy as np


def numbers(group, path=""):
    for name, variable in group.variables.items():
        if variable.dtype is not str:
            yield f"{path}{name}", np.ascontiguousarray(variable[...])
    for name, inner in group.groups.items():
        yield from numbers(inner, f"{path}{name}/")


def main(mode, *pairs):
    for dataset, out in zip(pairs[::2], pairs[1::2]):
        with netCDF4.Dataset(f"file://{dataset}#mode={mode}") as group:
            group.set_auto_maskandscale(False)
            np.savez(out, **dict(numbers(group)))


if __name__ == "__main__":
    main(*sys.argv[1:])
