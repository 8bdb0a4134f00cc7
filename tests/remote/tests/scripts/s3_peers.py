"""Other programs write and read the sample of these tests in a bucket.

    s3_peers.py ENDPOINT BUCKET STEP...

    write,PEER,FORMAT,PREFIX     PEER zarr-python or tensorstore; FORMAT v2 or v3, behind it -consolidated or -sharded
    check,PEER,VERSION,PREFIX    compares all values, and fails if one differs
    write-netcdf,URL             netCDF4 in a folder
    check-netcdf,URL
    download,PREFIX,FOLDER       what lies below the prefix
    upload,FOLDER,PREFIX

Keys are in the environment. The sample (tests/remote/src/sample.rs): /a, /b and /g/c of int32 along t, of five rows.
"""

import os
import pathlib
import sys

import numpy as np

ENDPOINT, BUCKET = sys.argv[1:3]
ROWS, FILL = 5, -1
t = 5 * np.arange(ROWS, dtype="<i4")
SAMPLE = {"a": t[:, None] + np.arange(3, dtype="<i4"), "b": t + np.int32(3), "g/c": t + np.int32(4)}
CHUNKS = {"a": (2, 2), "b": (4,), "g/c": (2,)}
SHARDS = {"a": (4, 4), "b": (8,), "g/c": (4,)}
DIMENSIONS = {"a": ["t", "x"], "b": ["t"], "g/c": ["t"]}


def same(name, found):
    wanted = SAMPLE[name]
    if found.shape != wanted.shape or found.dtype.newbyteorder("=") != np.dtype("i4") or (found != wanted).any():
        sys.exit(f"{name}: {found}, not {wanted}")


def zarr_store(prefix):
    import obstore.store
    import zarr.storage

    return zarr.storage.ObjectStore(obstore.store.S3Store(
        BUCKET, prefix=prefix, endpoint=ENDPOINT, region="us-east-1", virtual_hosted_style_request=False,
        access_key_id=os.environ["AWS_ACCESS_KEY_ID"], secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        client_options={"allow_http": True}))


def write_zarr_python(form, prefix):
    import numcodecs
    import zarr
    import zarr.codecs

    version = int(form[1])
    store = zarr_store(prefix)
    root = zarr.create_group(store, zarr_format=version)
    root.create_group("g")
    for name, values in SAMPLE.items():
        options = {"shape": values.shape, "chunks": CHUNKS[name], "dtype": "<i4", "fill_value": FILL}
        if version == 2:
            options |= {
                "a": {"filters": None, "compressors": numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE)},
                "b": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zstd(3)},
                "g/c": {"filters": None, "compressors": None},
            }[name]
            options["attributes"] = {"_ARRAY_DIMENSIONS": DIMENSIONS[name]}
        else:
            options |= {
                "a": {"compressors": [zarr.codecs.BloscCodec(cname="zstd", shuffle="shuffle")]},
                "b": {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
                "g/c": {"compressors": None},
            }[name]
            options["dimension_names"] = DIMENSIONS[name]
        if form.endswith("-sharded"):
            options["shards"] = SHARDS[name]
        root.create_array(name, **options)[:] = values
    if form.endswith("-consolidated"):
        zarr.consolidate_metadata(store)


def check_zarr_python(version, prefix):
    import zarr

    root = zarr.open_group(zarr_store(prefix), mode="r", zarr_format=int(version))
    for name in SAMPLE:
        same(name, root[name][...])


def kvstore(path):
    return {"driver": "s3", "bucket": BUCKET, "path": f"{path}/", "endpoint": ENDPOINT, "aws_region": "us-east-1",
            "aws_credentials": {"type": "environment"}}


def write_tensorstore(form, prefix):
    import tensorstore as ts

    version = int(form[1])
    for folder in (prefix, f"{prefix}/g"):
        name, text = {2: (".zgroup", '{"zarr_format":2}'),
                      3: ("zarr.json", '{"zarr_format":3,"node_type":"group"}')}[version]
        ts.KvStore.open(kvstore(folder)).result().write(name, text).result()
    for name, values in SAMPLE.items():
        if version == 2:
            metadata = {"shape": values.shape, "chunks": CHUNKS[name], "dtype": "<i4", "fill_value": FILL,
                        "filters": None, "order": "C", "zarr_format": 2,
                        "compressor": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1}}
        else:
            codecs = [{"name": "bytes", "configuration": {"endian": "little"}},
                      {"name": "zstd", "configuration": {"level": 3}}]
            chunks = CHUNKS[name]
            if form.endswith("-sharded"):
                index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
                codecs = [{"name": "sharding_indexed", "configuration": {
                    "chunk_shape": chunks, "codecs": codecs, "index_codecs": index}}]
                chunks = SHARDS[name]
            metadata = {"shape": values.shape, "data_type": "int32", "fill_value": FILL, "codecs": codecs,
                        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                        "dimension_names": DIMENSIONS[name]}
        array = ts.open({"driver": "zarr" if version == 2 else "zarr3", "kvstore": kvstore(f"{prefix}/{name}"),
                         "metadata": metadata}, create=True).result()
        array.write(values).result()
        if version == 2:
            ts.KvStore.open(kvstore(f"{prefix}/{name}")).result().write(
                ".zattrs", '{"_ARRAY_DIMENSIONS":%s}' % str(DIMENSIONS[name]).replace("'", '"')).result()


def check_tensorstore(version, prefix):
    import tensorstore as ts

    for name in SAMPLE:
        spec = {"driver": "zarr" if version == "2" else "zarr3", "kvstore": kvstore(f"{prefix}/{name}")}
        same(name, ts.open(spec).result().read().result())


def write_netcdf(url):
    import netCDF4

    with netCDF4.Dataset(url, "w") as ds:
        ds.createDimension("t", ROWS)
        ds.createDimension("x", 3)
        ds.createGroup("g")
        for name, values in SAMPLE.items():
            options = {"chunksizes": CHUNKS[name], "fill_value": FILL, "compression": "zlib"}
            ds.createVariable(f"/{name}", "i4", DIMENSIONS[name], **options)[:] = values


def check_netcdf(url):
    import netCDF4

    with netCDF4.Dataset(url) as ds:
        ds.set_auto_mask(False)
        for name in SAMPLE:
            same(name, np.asarray(ds[f"/{name}"][:]))


def s3():
    import boto3

    return boto3.client("s3", endpoint_url=ENDPOINT)


def download(prefix, folder):
    client = s3()
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
    keys = [item["Key"] for page in pages for item in page.get("Contents", ())]
    if not keys:
        sys.exit(f"nothing below {prefix}")
    for key in keys:
        path = pathlib.Path(folder, key[len(prefix) + 1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.get_object(Bucket=BUCKET, Key=key)["Body"].read())


def upload(folder, prefix):
    client = s3()
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            client.put_object(Bucket=BUCKET, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())


STEPS = {
    "write": lambda peer, *args: {"zarr-python": write_zarr_python, "tensorstore": write_tensorstore}[peer](*args),
    "check": lambda peer, *args: {"zarr-python": check_zarr_python, "tensorstore": check_tensorstore}[peer](*args),
    "write-netcdf": lambda *url: write_netcdf(",".join(url)),
    "check-netcdf": lambda *url: check_netcdf(",".join(url)),
    "download": download,
    "upload": upload,
}

for step in sys.argv[3:]:
    print(step, flush=True)
    action, *args = step.split(",")
    STEPS[action](*args)
