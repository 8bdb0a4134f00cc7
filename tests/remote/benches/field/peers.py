"""What zarr-python and tensorstore do in a turn of the benchmark field.rs.

    peers.py "PEER[ IN_FLIGHT]" write|read ENDPOINT BUCKET PREFIX FIELD STEPS CODEC

Prints {"seconds", "processor", "peak": MB} as one line of JSON; what was read is compared with FIELD.
"""

import json
import os
import pathlib
import re
import sys
import time

import numpy as np

peer, direction, endpoint, bucket, prefix, field_path, steps, codec = sys.argv[1:]
peer, _, in_flight = peer.partition(" ")
SHAPE, CHUNK = (int(steps), 721, 1440), (1, 181, 1440)


def zarr_python():
    import numcodecs
    import obstore.store
    import zarr
    import zarr.storage
    from zarr.core.buffer import default_buffer_prototype

    if in_flight:
        zarr.config.set({"async.concurrency": int(in_flight)})
    zarr.config.set({"array.write_empty_chunks": True})
    compressor = {
        "none": None,
        "zstd-1": numcodecs.Zstd(1),
        "blosc-lz4-5": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
        "blosc-zstd-5": numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE),
    }[codec]

    def store():
        return zarr.storage.ObjectStore(obstore.store.S3Store(
            bucket, prefix=prefix, endpoint=endpoint, region="us-east-1", virtual_hosted_style_request=False,
            access_key_id=os.environ["AWS_ACCESS_KEY_ID"], secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
            client_options={"allow_http": True}))

    def write(field):
        root = zarr.create_group(store(), zarr_format=2)
        array = root.create_array("v", shape=SHAPE, chunks=CHUNK, dtype="<f4", filters=None, compressors=compressor,
                                  fill_value=0)
        array[:] = field

    def read(buffer):
        out = default_buffer_prototype().nd_buffer.from_numpy_array(buffer)
        zarr.open_group(store(), mode="r", zarr_format=2)["v"].get_basic_selection(Ellipsis, out=out)

    return write, read


def tensorstore():
    import tensorstore as ts

    compressor = {
        "none": None,
        "zstd-1": {"id": "zstd", "level": 1},
        "blosc-lz4-5": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
        "blosc-zstd-5": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1},
    }[codec]
    context = {"s3_request_concurrency": {"limit": int(in_flight)}} if in_flight else {}
    spec = {"driver": "zarr", "kvstore": {
        "driver": "s3", "bucket": bucket, "path": f"{prefix}/v/", "endpoint": endpoint, "aws_region": "us-east-1",
        "aws_credentials": {"type": "environment"}}}
    metadata = {"shape": SHAPE, "chunks": CHUNK, "dtype": "<f4", "compressor": compressor, "filters": None,
                "fill_value": 0, "order": "C", "zarr_format": 2, "dimension_separator": "."}

    def write(field):
        array = ts.open(spec | {"metadata": metadata, "store_data_equal_to_fill_value": True}, create=True,
                        context=ts.Context(context)).result()
        array.write(field).result()

    def read(buffer):
        ts.array(buffer).write(ts.open(spec, context=ts.Context(context)).result()).result()

    return write, read


def main():
    write, read = {"zarr-python": zarr_python, "tensorstore": tensorstore}[peer]()
    if direction == "write":
        data = np.fromfile(field_path, "<f4").reshape(SHAPE)
    else:
        data = np.ones(SHAPE, "<f4")
    before, start = time.process_time(), time.perf_counter()
    (write if direction == "write" else read)(data)
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    peak = int(re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) * 1024 / 1e6
    if direction == "read" and not np.array_equal(data, np.fromfile(field_path, "<f4").reshape(SHAPE)):
        sys.exit("what was read is not what was written")
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak}))


main()
