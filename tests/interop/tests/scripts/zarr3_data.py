"""Data of Zarr version 3, exchanged with zarr-python and tensorstore.

`make FOLDER` writes the same arrays with both, into FOLDER/zarr and FOLDER/tensorstore, and their metadata alone into
FOLDER/ours. FOLDER/NAME.raw has the values, FOLDER/cases.json names the arrays and the part of each that was written.
`check FOLDER` reads FOLDER/ours with both and prints what is not as it should be.
"""

import itertools
import json
import pathlib
import sys

import numpy as np
import tensorstore
import zarr

INNER = {
    "none": [],
    "gzip": [{"name": "gzip", "configuration": {"level": 1}}],
    "zstd": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
    "blosc": [
        {
            "name": "blosc",
            "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
        }
    ],
    "zstd-crc32c": [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}, {"name": "crc32c"}],
}
DTYPES = {
    "bool": "bool",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "complex64": "c8",
    "complex128": "c16",
}


def case(name, shape, chunk, shard=None, dtype="int32", inner="zstd", order=None, endian="little", **more):
    return {"name": name, "shape": shape, "chunk": chunk, "shard": shard, "dtype": dtype, "inner": inner,
            "order": order, "endian": endian, "at": "end", "checksum": True, "index_endian": "little",
            "part": None, "keys": {"name": "default", "configuration": {"separator": "/"}}} | more


def cases():
    yield case("rank1", [10], [3])
    yield case("rank1-sharded", [20], [2], [6])
    yield case("rank2-sharded", [50, 37], [20, 15], [40, 30], "float32")
    yield case("rank3-sharded", [9, 10, 11], [2, 3, 4], [4, 9, 4], "uint16", "gzip")
    yield case("rank4-sharded", [3, 4, 5, 6], [1, 2, 2, 3], [2, 2, 4, 6], "float64", "blosc")
    yield case("one-chunk-shards", [7, 7], [3, 3], [3, 3])
    yield case("scalar", [], [], dtype="float64")
    for inner in INNER:
        yield case(f"inner-{inner}", [12, 12], [3, 4], [6, 8], "int32", inner)
        yield case(f"plain-{inner}", [12, 13], [5, 4], None, "int32", inner)
    yield case("index-start", [12, 12], [3, 4], [6, 8], at="start")
    yield case("index-start-none", [12, 12], [3, 4], [6, 8], inner="none", at="start")
    yield case("index-bare", [12, 12], [3, 4], [6, 8], checksum=False)
    yield case("index-big", [12, 12], [3, 4], [6, 8], index_endian="big")
    yield case("holes", [20, 20], [2, 2], [8, 8], part=[[3, 5], [4, 9]])
    yield case("holes-start", [20, 20], [2, 2], [8, 8], at="start", part=[[0, 0], [1, 20]])
    yield case("holes-transposed", [20, 20], [2, 3], [8, 9], order=[1, 0], part=[[7, 7], [13, 2]])
    for order in itertools.permutations(range(3)):
        name = "".join(map(str, order))
        yield case(f"transpose-{name}", [5, 6, 7], [2, 3, 4], None, "int16", "zstd", list(order))
        yield case(f"transpose-{name}-sharded", [5, 6, 7], [2, 3, 4], [4, 3, 8], "int16", "none", list(order))
    for dtype in DTYPES:
        for endian in ["little", "big"]:
            if DTYPES[dtype][-1] == "1" and endian == "big":
                continue
            inner = "none" if endian == "big" else "gzip"
            yield case(f"{dtype}-{endian}", [6, 7], [2, 3], [4, 6], dtype, inner, endian=endian)
    yield case("keys-dot", [5, 6], [2, 2], [4, 4], keys={"name": "default", "configuration": {"separator": "."}})
    yield case("keys-v2", [5, 6], [2, 2], keys={"name": "v2", "configuration": {"separator": "."}})
    yield case("keys-v2-slash", [5, 6], [2, 2], [4, 4], keys={"name": "v2", "configuration": {"separator": "/"}})


def fill(dtype):
    if dtype == "bool":
        return True
    if dtype.startswith("complex"):
        return [2.0, 3.0]
    return 5.0 if dtype.startswith("float") else 5


def metadata(case):
    codecs = []
    if case["order"] is not None:
        codecs.append({"name": "transpose", "configuration": {"order": case["order"]}})
    one_byte = np.dtype(DTYPES[case["dtype"]]).itemsize == 1
    codecs.append({"name": "bytes"} if one_byte else {"name": "bytes", "configuration": {"endian": case["endian"]}})
    codecs += INNER[case["inner"]]
    if case["shard"] is not None:
        index = [{"name": "bytes", "configuration": {"endian": case["index_endian"]}}]
        if case["checksum"]:
            index.append({"name": "crc32c"})
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": case["chunk"], "codecs": codecs, "index_codecs": index, "index_location": case["at"]}}]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": case["shape"],
        "data_type": case["dtype"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case["shard"] or case["chunk"]}},
        "chunk_key_encoding": case["keys"],
        "fill_value": fill(case["dtype"]),
        "codecs": codecs,
        "attributes": {},
    }


def values(case):
    """The whole array, and a mask of the written elements."""
    dtype = np.dtype(DTYPES[case["dtype"]])
    shape = case["shape"]
    random = np.random.default_rng(len(case["name"]))
    bits = random.integers(0, 256, (int(np.prod(shape)), dtype.itemsize), dtype="u1")
    if dtype.kind == "b":
        written = (bits[:, 0] % 2).astype("?")
    elif dtype.kind in "fc":
        written = np.cumsum(bits[:, 0]).astype(dtype)
    else:
        written = bits.reshape(-1).view(dtype)
    number = fill(case["dtype"])
    all_fill = np.full(shape, complex(*number) if isinstance(number, list) else number, dtype)
    start, count = case["part"] or [[0] * len(shape), shape]
    region = tuple(slice(at, at + len) for at, len in zip(start, count))
    all_fill[region] = written.reshape(shape)[region]
    return all_fill, region


def open_zarr(folder, name):
    return zarr.open_array(str(folder / name), mode="r+")


def open_tensorstore(folder, name):
    kvstore = {"driver": "file", "path": f"{folder / name}/"}
    return tensorstore.open({"driver": "zarr3", "kvstore": kvstore}, open=True).result()


def make(folder):
    for writer in ["zarr", "tensorstore", "ours"]:
        (folder / writer).mkdir()
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        (folder / writer / "zarr.json").write_text(json.dumps(group))
    written = []
    for one in cases():
        whole, region = values(one)
        (folder / f"{one['name']}.raw").write_bytes(whole.tobytes())
        for writer in ["zarr", "tensorstore", "ours"]:
            (folder / writer / one["name"]).mkdir()
            (folder / writer / one["name"] / "zarr.json").write_text(json.dumps(metadata(one)))
        open_zarr(folder / "zarr", one["name"])[region if region else ...] = whole[region if region else ...]
        open_tensorstore(folder / "tensorstore", one["name"])[region].write(whole[region]).result()
        written.append({"name": one["name"], "start": [part.start for part in region],
                        "count": [part.stop - part.start for part in region]})
    (folder / "cases.json").write_text(json.dumps(written))


def check(folder):
    for one in cases():
        whole, _ = values(one)
        for reader, opened in [("zarr", open_zarr), ("tensorstore", open_tensorstore)]:
            try:
                array = opened(folder / "ours", one["name"])
                found = np.asarray(array[...] if reader == "zarr" else array.read().result())
            except Exception as error:
                print(f"{one['name']}: {reader}: {error}")
                continue
            if found.tobytes() != whole.astype(found.dtype).tobytes() or found.shape != whole.shape:
                print(f"{one['name']}: {reader} reads other values")


{"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
