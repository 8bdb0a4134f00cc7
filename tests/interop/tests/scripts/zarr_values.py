"""Compares datasets with stored values, by zarr-python: zarr_values.py DATASET VALUES.npz [DATASET VALUES.npz]..

Prints a line for each array that differs. Dates and durations are stored as int64.
"""

import sys

import numpy as np
import zarr


def main(*pairs):
    for dataset, values in zip(pairs[::2], pairs[1::2]):
        with np.load(values) as stored:
            for name in stored.files:
                try:
                    got = zarr.open_array(dataset, path=name, mode="r", zarr_format=2)[...]
                except Exception as error:
                    print(f"{dataset} {name}: {type(error).__name__}: {error}")
                    continue
                if got.dtype.kind in "mM":
                    got = got.astype("<i8")
                # a scalar comes in the machine's byte order; it is stored as one element
                if np.ndim(got) == 0 and np.asarray(got).dtype.kind == stored[name].dtype.kind:
                    got = np.asarray(got, stored[name].dtype)
                if got.dtype != stored[name].dtype or got.tobytes() != stored[name].tobytes():
                    print(f"{dataset} {name} differs: {got.dtype} {got.shape}")


if __name__ == "__main__":
    main(*sys.argv[1:])
