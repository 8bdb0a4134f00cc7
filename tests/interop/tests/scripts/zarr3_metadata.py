"""Metadata of Zarr version 3 datasets.

zarr3_metadata.py make FOLDER      writes a dataset with zarr-python and tensorstore, then describes it
zarr3_metadata.py describe FOLDER  describes a dataset as zarr-python, its consolidated metadata, and tensorstore read it

A description has for each array its shape, chunks, shards, type, the bytes of its fill value in little-endian order,
the names of its dimensions and its attributes.
"""

import itertools
import json
import math
import os
import sys
import warnings

import numpy as np
import tensorstore
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec

FILLS = {
    "bool": [False, True],
    "i1": [0, -128],
    "u1": [0, 255],
    "i2": [-32767],
    "u2": [65535],
    "i4": [7],
    "u4": [2**32 - 1],
    "i8": [-(2**63), 2**53 + 1],
    "u8": [2**64 - 1],
    "f2": [0.1, math.inf],
    "f4": [0.1, math.nan, 9.969209968386869e36],
    "f8": [0.1, -math.inf, 5e-324, 1e300],
    "c8": [complex(0.1, math.nan)],
    "c16": [complex(1, -2)],
    "M8[10s]": [np.datetime64("NaT", "10s"), 5],
    "m8[ns]": [3],
    "U3": ["é"],
    "S4": [b"ab\xff"],
    "V3": [b"abc"],
}


def make(folder):
    root = zarr.create_group(folder, zarr_format=3, attributes={"title": "t", "list": [1, 2.5]})
    group = root.create_group("g")
    number = itertools.count()
    for dtype, fills in FILLS.items():
        for fill in fills:
            at = next(number)
            shards = (4, 6) if at % 3 == 0 else None
            names = [None, ["y", "x"], ["y", None]][at % 3]
            serializer = BytesCodec(endian=["little", "big"][at % 2]) if np.dtype(dtype).kind in "iufcM" else "auto"
            array = (root if at % 4 else group).create_array(
                f"a{at}", shape=(9, 13), chunks=(2, 3), shards=shards, dtype=np.dtype(dtype), fill_value=fill,
                dimension_names=names, filters=[TransposeCodec(order=(1, 0))] if at % 5 == 0 else (),
                serializer=serializer, compressors=[GzipCodec(level=1)] if at % 2 else (),
                chunk_key_encoding={"name": ["default", "v2"][at % 2], "separator": "./"[at % 4 // 2]})
            array.attrs["units"] = "K"
    root.create_array("scalar", shape=(), dtype="f8", fill_value=4.25)
    root.create_array("text", shape=(4,), chunks=(2,), dtype=str, fill_value="é")
    root.create_array("blob", shape=(4,), chunks=(2,), dtype="variable_length_bytes", fill_value=b"a\0b")
    root.create_array("empty", shape=(0, 4), chunks=(1, 4), dtype="i4", dimension_names=["t", "z"])
    root.create_array("index_first", shape=(8,), chunks=(8,), dtype="i4", compressors=(), filters=(), serializer=ShardingCodec(
        chunk_shape=(2,), codecs=[BytesCodec(), Crc32cCodec()], index_codecs=[BytesCodec(endian="big")], index_location="start"))
    for at, dtype in enumerate(["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]):
        metadata = {"shape": [5, 7], "data_type": dtype, "dimension_names": ["p", "q"] if at % 2 else None,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}}
        if at % 3 == 0:
            metadata["codecs"] = [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "index_location": "start"}}]
        tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{folder}/ts{at}/"},
                          "metadata": {key: value for key, value in metadata.items() if value is not None}}, create=True).result()
    zarr.consolidate_metadata(folder)
    return {"zarr": arrays(zarr.open_group(folder, mode="r"))}


def describe(folder):
    root = zarr.open_group(folder, mode="r", use_consolidated=False)
    assert math.isnan(root.attrs["nan"]), root.attrs["nan"]
    found = {"zarr": arrays(root), "tensorstore": {},
             "consolidated": arrays(zarr.open_group(folder, mode="r", use_consolidated=True))}
    for path, array in found["zarr"].items():
        if array["type"][0] in "bifuc":
            found["tensorstore"][path] = by_tensorstore(f"{folder}/{path}/")
    return found


def arrays(root):
    return {path: one(array) for path, array in root.members(max_depth=None) if isinstance(array, zarr.Array)}


def one(array):
    kind = np.dtype(array.dtype).kind
    if kind in "TO":
        value = array.fill_value
        type_name, fill = ("text", value.encode()) if isinstance(value, str) else ("blob", value)
    else:
        plain = np.dtype(array.dtype).newbyteorder("<")
        type_name, fill = plain.str.lstrip("<>|"), np.array(array.fill_value).astype(plain).tobytes()
    names = array.metadata.dimension_names
    return {"shape": array.shape, "chunks": array.chunks, "shards": array.shards, "type": type_name, "fill": fill.hex(),
            "names": names and list(names), "attributes": dict(array.attrs)}


def by_tensorstore(path):
    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}).result()
    plain = array.dtype.numpy_dtype.newbyteorder("<")
    layout = array.chunk_layout
    chunks, shards = list(layout.read_chunk.shape or []), list(layout.write_chunk.shape or [])
    names = [label or None for label in array.domain.labels]
    return {"shape": array.shape, "chunks": chunks, "shards": shards if shards != chunks else None,
            "type": plain.str.lstrip("<>|"), "fill": np.array(array.fill_value).astype(plain).tobytes().hex(),
            "names": names if any(names) else None}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({"make": make, "describe": describe}[sys.argv[1]](os.path.abspath(sys.argv[2]))))
