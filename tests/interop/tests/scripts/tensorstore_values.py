"""Compares datasets with stored values, by tensorstore: tensorstore_values.py DATASET VALUES.npz [DATASET VALUES.npz]..

Prints a line for each array that differs. The array is `v`.
"""

import sys

import numpy as np
import tensorstore


def main(*pairs):
    for dataset, values in zip(pairs[::2], pairs[1::2]):
        with np.load(values) as stored:
            spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{dataset}/v/"}}
            try:
                got = tensorstore.open(spec).result().read().result()
            except Exception as error:
                print(f"{dataset}: {error}")
                continue
            if not np.array_equal(got, stored["v"]):
                print(f"{dataset} differs")


if __name__ == "__main__":
    main(*sys.argv[1:])
