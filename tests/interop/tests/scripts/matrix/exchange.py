"""Exchanges the cells of the matrix with one peer.

exchange.py describe                prints the cells and their values
exchange.py write PEER FOLDER       writes FOLDER/theirs/PEER-VERSION-STORAGE
exchange.py read PEER FOLDER        reads FOLDER/ours/...

Both print {"VERSION STORAGE": {cell: what went wrong, empty if nothing did}}; values that are not as they should be start
with "wrong". {"VERSION STORAGE values": {dtype: values}} has what a writer stored instead, where it encodes.
"""

import json
import os
import sys
import warnings

import cases

warnings.simplefilter("ignore")


def attempt(action, *arguments):
    """What went wrong, in the peer's words."""
    try:
        return action(*arguments) or ""
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return " ".join(text.split())[:500]


def compare(found, dtype):
    wanted, got = cases.plain(cases.values(dtype)), cases.plain(found)
    return "" if got == wanted else f"wrong: {got[:80]} instead of {wanted[:80]}"


def zarr_python(action, folder):
    import zarr
    from zarr.codecs import BytesCodec, TransposeCodec
    from zarr.dtype import VariableLengthBytes
    from zarr.registry import get_codec_class

    def chain(version, dtype, codec):
        size = cases.item_size(dtype)
        if version == "v2":
            chain = cases.numcodecs_chain(codec, size)
            last = chain.pop() if codec in LAST else None
            text = {"vlen-utf8": "VLenUTF8", "vlen-bytes": "VLenBytes"}.get(dtype)
            if text:
                chain.insert(0, getattr(cases.numcodecs, text)())
            return {"filters": chain or None, "compressors": last, "order": "F" if codec == "order-F" else "C"}
        chain = [get_codec_class(config["name"]).from_dict(config)
                 for config in cases.with_sizes(cases.V3[codec], size)]
        return {"filters": [TransposeCodec(order=(1, 0))] if codec == "order-F" else (), "compressors": chain,
                "shards": cases.SHARD if codec == "sharded" else None,
                "serializer": BytesCodec(endian="big") if dtype.startswith("be") else "auto"}

    def write(group, version, name, dtype, codec):
        kind = {"vlen-utf8": str, "vlen-bytes": VariableLengthBytes()}.get(dtype) or cases.numpy_dtype(dtype)
        array = group.create_array(name, shape=cases.SHAPE, chunks=cases.CHUNK, dtype=kind, **chain(version, dtype, codec))
        array[...] = cases.values(dtype)
        if dtype.startswith("vlen") and codec == "order-F" and compare(array[...], dtype):
            return "zarr-python does not read back what it wrote"

    done = {}
    for version in ["v2", "v3"]:
        for storage in ["file", "zip"]:
            path = place(action, folder, "zarr-python", version, storage)
            mode = "w" if action == "write" else "r"
            store = zarr.storage.ZipStore(path, mode=mode) if storage == "zip" else path
            group = zarr.open_group(store, mode=mode, zarr_format=int(version[1]))
            cells = done[f"{version} {storage}"] = {}
            for name, dtype, codec in cases.cells(version, storage):
                if action == "write":
                    cells[name] = attempt(write, group, version, name, dtype, codec)
                else:
                    cells[name] = attempt(lambda: compare(group[name][...], dtype))
            if storage == "zip":
                store.close()
    return done


# Chains whose last codec is the `compressor` of version 2.
LAST = ["zlib", "gzip", "shuffle+zlib", "blosc-lz4", "blosc-zstd-bit", "zstd", "bz2"]


def tensorstore(action, folder):
    import numpy as np
    import tensorstore

    context = tensorstore.Context({"file_io_sync": False})

    def zarray(dtype, codec):
        chain = cases.with_sizes(cases.V2[codec], cases.item_size(dtype))
        last = chain.pop() if codec in LAST else None
        numpy = cases.numpy_dtype(dtype)
        return {"shape": cases.SHAPE, "chunks": cases.CHUNK, "dtype": numpy.str if numpy else "|O", "compressor": last,
                "filters": chain or None, "order": "F" if codec == "order-F" else "C", "fill_value": None}

    def zarr_json(dtype, codec):
        chain = cases.with_sizes(cases.V3[codec], cases.item_size(dtype))
        numpy = cases.numpy_dtype(dtype)
        bytes_ = {"name": "bytes", "configuration": {"endian": "big" if dtype.startswith("be") else "little"}}
        chain = [bytes_, *chain]
        if codec == "order-F":
            chain = [{"name": "transpose", "configuration": {"order": [1, 0]}}, *chain]
        outer = cases.SHARD if codec == "sharded" else cases.CHUNK
        if codec == "sharded":
            chain = [{"name": "sharding_indexed", "configuration": {"chunk_shape": cases.CHUNK, "codecs": chain}}]
        return {"shape": cases.SHAPE, "data_type": numpy.newbyteorder("=").name if numpy else dtype, "codecs": chain,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": outer}}}

    def kvstore(path, storage, name):
        if storage == "zip":
            return {"driver": "zip", "base": {"driver": "file", "path": path}, "path": f"{name}/"}
        return {"driver": "file", "path": f"{path}/{name}/"}

    def spec(path, version, storage, name):
        return {"driver": "zarr" if version == "v2" else "zarr3", "kvstore": kvstore(path, storage, name)}

    def write(path, version, storage, name, dtype, codec):
        metadata = zarray(dtype, codec) if version == "v2" else zarr_json(dtype, codec)
        new = spec(path, version, storage, name) | {"metadata": metadata}
        array = tensorstore.open(new, create=True, context=context).result()
        data = cases.values(dtype)
        if array.rank > data.ndim:
            data = np.ascontiguousarray(data)[..., None].view("S1")
        array.write(data.astype(array.dtype.numpy_dtype)).result()

    def read(path, version, storage, name, dtype):
        return compare(tensorstore.open(spec(path, version, storage, name)).result().read().result(), dtype)

    done = {}
    for version in ["v2", "v3"]:
        for storage in ["file", "zip"]:
            path = place(action, folder, "tensorstore", version, storage)
            if action == "write":
                root = {"v2": (".zgroup", {"zarr_format": 2}), "v3": ("zarr.json", {"zarr_format": 3, "node_type": "group"})}
                write_root(path, storage, *root[version])
            cells = done[f"{version} {storage}"] = {}
            for name, dtype, codec in cases.cells(version, storage):
                if action == "write":
                    cells[name] = attempt(write, path, version, storage, name, dtype, codec)
                else:
                    cells[name] = attempt(read, path, version, storage, name, dtype)
    return done


def write_root(path, storage, key, document):
    """tensorstore knows no groups."""
    if storage == "zip":
        import zipfile

        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(key, json.dumps(document))
        return
    os.makedirs(path)
    with open(os.path.join(path, key), "w") as file:
        json.dump(document, file)


def netcdf(action, folder):
    import netCDF4
    import numpy as np

    NAMES = {"zlib": {"compression": "zlib", "shuffle": False}, "shuffle+zlib": {"compression": "zlib", "shuffle": True},
             "blosc-lz4": {"compression": "blosc_lz4", "blosc_shuffle": 1, "complevel": 5},
             "blosc-zstd-bit": {"compression": "blosc_zstd", "blosc_shuffle": 2, "complevel": 5},
             "zstd": {"compression": "zstd", "complevel": 3}, "bz2": {"compression": "bzip2"}, "none": {},
             "fletcher32": {"fletcher32": True},
             "shuffle+zlib+fletcher32": {"compression": "zlib", "shuffle": True, "fletcher32": True}}

    def write(path, mode, dtype, codec):
        endian = {"le": "little", "be": "big"}.get(dtype[:2], "native")
        kind = {"char": "S1", "vlen-utf8": str, "vlen-bytes": bytes}.get(dtype) or cases.numpy_dtype(dtype).newbyteorder("=").str[1:]
        with netCDF4.Dataset(f"file://{path}#mode={mode},file", "w") as dataset:
            for name, length in zip("yx", cases.SHAPE):
                dataset.createDimension(name, length)
            if dtype == "vlen-utf8":
                dataset.setncattr("_nczarr_default_maxstrlen", 400)
            variable = dataset.createVariable(
                "v", kind, ("y", "x"), endian=endian, chunksizes=cases.CHUNK, fill_value=None, **NAMES[codec])
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            variable[...] = cases.values(dtype)

    def read(path, mode, dtype):
        with netCDF4.Dataset(f"file://{path}#mode={mode},file") as dataset:
            variable = dataset["v"]
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            found = variable[...]
        if found.dtype.kind == "O" and dtype in ["S7", "char"]:
            found = np.array([text.encode() for text in found.ravel()], cases.numpy_dtype(dtype))
        return compare(found, dtype)

    done = {}
    for mode in ["nczarr", "zarr"]:
        path = place(action, folder, "netCDF4", mode, "zip")
        text = attempt(netCDF4.Dataset, f"file://{path}#mode={mode},zip", action[0])
        done[f"{mode} zip"] = {name: text for name, _, _ in cases.cells("v2", "zip")}
        cells = done[f"{mode} file"] = {}
        base = place(action, folder, "netCDF4", mode, "file")
        os.makedirs(base, exist_ok=True)
        for name, dtype, codec in cases.cells("v2"):
            path = os.path.join(base, name)
            if action == "write" and codec not in NAMES:
                cells[name] = f"createVariable has no word for {codec}"
            elif action == "write":
                cells[name] = isolated(write, path, mode, dtype, codec)
            else:
                cells[name] = isolated(read, path, mode, dtype)
        # Its strings end at a NUL.
        texts = [word.split(b"\0")[0] for word in cases.values("S7").ravel()]
        done[f"{mode} file values"] = {"S7": cases.plain(np.array(texts, object))}
    return done


def isolated(action, *arguments):
    """As `attempt`, in a process of its own: netcdf-c may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, attempt(action, *arguments).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return f"crash: signal {status}" if status else text


def xarray(action, folder):
    import xarray
    import zarr

    def encoding(version, dtype, codec):
        size = cases.item_size(dtype)
        if version == "v2":
            chain = cases.numcodecs_chain(codec, size)
            last = chain.pop() if codec in LAST else None
            return {"chunks": cases.CHUNK, "compressors": [last] if last else None, **({"filters": chain} if chain else {})}
        chain = [zarr.registry.get_codec_class(config["name"]).from_dict(config)
                 for config in cases.with_sizes(cases.V3[codec], size)]
        return {"chunks": cases.CHUNK, "compressors": chain, **({"shards": cases.SHARD} if codec == "sharded" else {})}

    def write(store, version, dtype, codecs, consolidated):
        names = {codec: f"{dtype}.{codec}" for codec in codecs}
        data = cases.values(dtype)
        if dtype == "vlen-utf8":
            data = data.astype("T")
        dataset = xarray.Dataset({name: (("y", "x"), data) for name in names.values()})
        dataset.to_zarr(store, mode="a", zarr_format=int(version[1]), consolidated=consolidated,
                        encoding={name: encoding(version, dtype, codec) for codec, name in names.items()})

    done = {}
    for version in ["v2", "v3"]:
        for storage in ["file", "zip"]:
            path = place(action, folder, "xarray", version, storage)
            cells = {}
            codecs = [codec for codec in cases.chains(version) if codec in XARRAY]
            consolidated = storage == "file"
            mode = "w" if action == "write" else "r"
            store = zarr.storage.ZipStore(path, mode=mode) if storage == "zip" else path
            if action == "read":
                dataset = xarray.open_zarr(store, zarr_format=int(version[1]), consolidated=consolidated, decode_cf=False)
            for dtype in cases.DTYPES:
                if action == "write":
                    text = attempt(write, store, version, dtype, codecs, consolidated)
                    cells |= {f"{dtype}.{codec}": text for codec in codecs}
                else:
                    for name in [f"{dtype}.{codec}" for codec in codecs]:
                        cells[name] = attempt(lambda: compare(dataset[name].values, dtype))
            done[f"{version} {storage}"] = cells
            if storage == "zip":
                store.close()
            if action == "write":
                # It encodes times, and makes bytes of any length ones of a fixed length, without the NULs at their end.
                store = zarr.storage.ZipStore(path, mode="r") if storage == "zip" else path
                dataset = xarray.open_zarr(store, zarr_format=int(version[1]), consolidated=consolidated, decode_cf=False)
                done[f"{version} {storage} values"] = {
                    dtype: cases.plain(dataset[f"{dtype}.none"].values.astype(kind))
                    for dtype, kind in {"le-M8[ns]": "i8", "le-m8[s]": "i8", "vlen-bytes": object}.items()}
    return done


# Its codecs are zarr-python's; some of them show how it hands them on.
XARRAY = ["none", "zstd", "blosc-lz4", "shuffle+zlib", "sharded"]


def place(action, folder, peer, version, storage):
    if action == "write":
        return f"{folder}/theirs/{peer}-{version}-{storage}" + (".zip" if storage == "zip" else "")
    peer = "all" if peer != "xarray" else peer
    return f"{folder}/ours/{peer}-{version}-{storage}" + (".zip" if storage == "zip" else "")


PEERS = {"zarr-python": zarr_python, "tensorstore": tensorstore, "netCDF4": netcdf, "xarray": xarray}

if __name__ == "__main__":
    if sys.argv[1] == "describe":
        print(json.dumps(cases.describe()))
    else:
        action, peer, folder = sys.argv[1:]
        print(json.dumps(PEERS[peer](action, folder)))
