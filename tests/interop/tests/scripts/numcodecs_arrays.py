"""Arrays of zarr-python with every codec of numcodecs, single and in chains: numcodecs_arrays.py make FOLDER, later check FOLDER.

make: for each version (v2, v3) two groups of the same arrays: `theirs` with the codecs, `plain` without. FOLDER/cases.json lists the
arrays, [version, name, codecs as JSON, whether zarr-python spoils it]; FOLDER/VERSION.NAME.raw holds what zarr-python reads of `theirs`, in the machine's byte
order. check: reads VERSION/ours with zarr-python, and with zarrs and tensorstore where they have the codecs; prints a line for each
array that differs, and last how many each has read.
"""

import json
import os
import pathlib
import sys
import warnings

import numcodecs
import numpy as np
import tensorstore
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as v3

warnings.simplefilter("ignore")
SHAPE, CHUNKS = (23, 17), (10, 7)
# Of every type with every codec of bytes, each codec takes a third of the types, unless all are wanted.
STEP = 1 if os.environ.get("NCZ_MATRIX") == "all" else 3


def values(dtype):
    """Values that change slowly, so that nothing wraps around in a smaller type, with tenths where the type has them."""
    dtype = np.dtype(dtype)
    n = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    steps = n % SHAPE[1] + n // SHAPE[1]
    if dtype.kind == "b":
        return steps % 3 == 0
    if dtype.kind == "S":
        return np.char.mod("%d", steps).astype(dtype)
    if dtype.kind == "M":
        return (steps * 3600).astype("<i8").view("<M8[s]").astype(dtype)
    if dtype.kind in "fc":
        return (steps / 10 + 3).astype(dtype)
    return steps.astype(dtype)


# Version 2: a type, filters, and the compressor.
def cases_v2():
    lzma_raw = {"format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 0x21, "preset": 1}]}
    byte_codecs = [
        numcodecs.Zlib(6), numcodecs.GZip(3), numcodecs.BZ2(2), numcodecs.LZMA(preset=1), numcodecs.LZMA(**lzma_raw), numcodecs.LZMA(format=2),
        numcodecs.Zstd(1), numcodecs.Zstd(3, checksum=True), numcodecs.LZ4(3), numcodecs.Blosc("zstd", 3, 2), numcodecs.Blosc("lz4", 5, 1),
        numcodecs.CRC32(), numcodecs.CRC32("end"), numcodecs.CRC32C(), numcodecs.CRC32C("start"), numcodecs.Adler32(), numcodecs.Adler32("end"),
        numcodecs.Fletcher32(), numcodecs.JenkinsLookup3(), numcodecs.JenkinsLookup3(initval=9),
    ]
    for number, dtype in enumerate(("|b1", "|i1", "|u1", "<i2", ">i4", "<i8", "<u4", ">u8", "<f2", ">f4", "<f8", "<c8", "|S5", "<M8[s]", ">M8[ns]")):
        size = np.dtype(dtype).itemsize
        for codec in byte_codecs[number % STEP :: STEP]:
            yield dtype, None, codec
        yield dtype, [numcodecs.Shuffle(size)], numcodecs.LZMA(preset=0)
        yield dtype, [numcodecs.Shuffle(size), numcodecs.CRC32()], numcodecs.GZip(1)
        yield dtype, [numcodecs.LZ4(), numcodecs.Adler32()], None
        yield dtype, [numcodecs.Shuffle(size), numcodecs.Zlib(1), numcodecs.JenkinsLookup3()], numcodecs.CRC32C()
    for dtype in ("|i1", "<i2", ">i4", "<i8", "|u1", "<u4", ">u8"):
        yield dtype, [numcodecs.Delta(dtype)], numcodecs.Zstd(3)
        yield dtype, [numcodecs.Delta(dtype, "|i1")], None
        yield dtype, [numcodecs.Delta(dtype), numcodecs.Shuffle(np.dtype(dtype).itemsize)], numcodecs.Blosc("zlib", 5, 0)
        # Unsigned numbers less 3 wrap around, and numcodecs reads others.
        yield dtype, [numcodecs.FixedScaleOffset(0 if "u" in dtype else 3, 2, dtype, "<f8")], numcodecs.LZ4()
        yield dtype, [numcodecs.AsType("<i2", dtype)], numcodecs.Zlib(1)
        yield dtype, [numcodecs.AsType(">f8", dtype), numcodecs.CRC32()], numcodecs.GZip(1)
        yield dtype, [numcodecs.AsType("<i2", dtype), numcodecs.Delta("<i2", "|i1")], numcodecs.BZ2(1)
    for dtype in ("<f2", "<f4", ">f4", "<f8", ">f8"):
        yield dtype, [numcodecs.FixedScaleOffset(3, 10, dtype, "<i2")], numcodecs.Zlib(3)
        yield dtype, [numcodecs.FixedScaleOffset(-1.5, 100.0, dtype, ">i4"), numcodecs.Delta(">i4", "<i2"), numcodecs.Shuffle(2)], numcodecs.Zstd(1)
        yield dtype, [numcodecs.Quantize(1, dtype)], numcodecs.Blosc("lz4", 5, 1)
        yield dtype, [numcodecs.Quantize(2, dtype, "<f4")], numcodecs.LZMA(preset=0)
        yield dtype, [numcodecs.AsType("<f4", dtype), numcodecs.BitRound(9)], numcodecs.Zstd(1)
        yield dtype, [numcodecs.AsType("|u1", dtype)], None
        if dtype[0] == "<":
            yield dtype, [numcodecs.BitRound(7)], numcodecs.Zlib(1)
            yield dtype, [numcodecs.BitRound(5)], numcodecs.PCodec()
    for dtype in ("<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<M8[s]"):
        yield dtype, None, numcodecs.PCodec(level=4)
        yield dtype, None, numcodecs.PCodec(delta_spec="try_consecutive", delta_encoding_order=1, equal_pages_up_to=20)
    yield ">i4", [numcodecs.Delta(">i4", "<i4")], numcodecs.PCodec()
    yield ">f8", [numcodecs.FixedScaleOffset(0, 10, ">f8", "<i4")], numcodecs.PCodec(delta_spec="try_lookback")
    yield "<M8[s]", [numcodecs.Delta("<i8")], numcodecs.Zlib(1)
    for dtype in ("<i4", "<i8", "<f4", "<f8"):
        yield dtype, None, numcodecs.ZFPY()
        yield dtype, None, numcodecs.ZFPY(mode=3, precision=20)
        yield dtype, [numcodecs.ZFPY(), numcodecs.CRC32()], numcodecs.Zstd(1)
        if dtype[1] == "f":
            yield dtype, None, numcodecs.ZFPY(tolerance=0.01)
            yield dtype, None, numcodecs.ZFPY(mode=2, rate=16)
    for dtype in ("|b1", "|u1"):
        yield dtype, [numcodecs.PackBits()], numcodecs.Zlib(1)
        yield dtype, [numcodecs.PackBits(), numcodecs.CRC32()], numcodecs.BZ2(1)


# Version 3: a type, and the arguments of zarr.create_array.
def cases_v3():
    byte_codecs = [
        [v3.Zlib(level=6)], [v3.GZip(level=3)], [v3.BZ2(level=2)], [v3.LZMA(preset=1)], [v3.LZMA(format=2)], [v3.Zstd(level=1)], [v3.LZ4(acceleration=3)],
        [v3.Blosc(cname="zstd", clevel=3, shuffle=2)], [v3.Blosc(cname="lz4", clevel=5, shuffle=1, blocksize=64)],
        [v3.CRC32()], [v3.CRC32(location="end")], [v3.CRC32C()], [v3.Adler32()], [v3.Fletcher32()], [v3.JenkinsLookup3()],
        [v3.Shuffle(elementsize=2)], [v3.Shuffle(), v3.LZ4()], [v3.Shuffle(), v3.Zlib(level=1), v3.Adler32()],
        [GzipCodec(level=1), v3.CRC32()], [v3.LZMA(preset=0), Crc32cCodec()], [v3.BZ2(level=1), ZstdCodec(level=1), v3.Fletcher32()],
        [BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")], [GzipCodec(level=5)], [ZstdCodec(level=3), Crc32cCodec()],
    ]
    for number, dtype in enumerate(("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64")):
        for chain in byte_codecs[number % STEP :: STEP]:
            yield dtype, {"compressors": chain}
    for layout in ({}, {"shards": (20, 14)}):
        for dtype in ("int8", "int16", "uint32", "int64"):
            short = "<" + np.dtype(dtype).str[1:]
            yield dtype, {"filters": [v3.Delta(dtype=short)], "compressors": [ZstdCodec(level=1)], **layout}
            yield dtype, {"filters": [v3.Delta(dtype=short, astype="int8")], "compressors": [], **layout}
            yield dtype, {"filters": [v3.FixedScaleOffset(offset=0 if dtype[0] == "u" else 3, scale=2, dtype=short, astype="float64")], "compressors": [v3.LZ4()], **layout}
            yield dtype, {"filters": [v3.AsType(encode_dtype="int16", decode_dtype=dtype)], "compressors": [GzipCodec(level=1)], **layout}
            yield dtype, {"filters": [v3.AsType(encode_dtype="float64")], "compressors": [], **layout}
        for dtype in ("float32", "float64"):
            yield dtype, {"filters": [v3.FixedScaleOffset(offset=3, scale=10, dtype=dtype, astype="int16")], "compressors": [v3.Zlib(level=1)], **layout}
            yield dtype, {"filters": [v3.FixedScaleOffset(offset=3, scale=10, dtype="<" + np.dtype(dtype).str[1:], astype="<i4")], "serializer": v3.PCodec(), "compressors": [], **layout}
            yield dtype, {"filters": [v3.Quantize(digits=1, dtype=dtype)], "compressors": [BloscCodec(cname="lz4")], **layout}
            yield dtype, {"filters": [v3.Quantize(digits=2)], "compressors": [v3.BZ2(level=1), v3.CRC32()], **layout}
            yield dtype, {"filters": [v3.BitRound(keepbits=7)], "compressors": [ZstdCodec(level=1)], **layout}
            yield dtype, {"filters": [v3.BitRound(keepbits=7)], "serializer": v3.PCodec(level=5), "compressors": [v3.CRC32()], **layout}
            yield dtype, {"serializer": v3.ZFPY(tolerance=0.01), "compressors": [], **layout}
            yield dtype, {"serializer": v3.ZFPY(mode=2, rate=16), "compressors": [Crc32cCodec()], **layout}
            yield dtype, {"serializer": v3.ZFPY(mode=3, precision=20), "compressors": [GzipCodec(level=1)], **layout}
        for dtype in ("int16", "uint32", "int64", "float16", "float64"):
            yield dtype, {"serializer": v3.PCodec(), "compressors": [], **layout}
            yield dtype, {"serializer": v3.PCodec(level=2, delta_spec="none"), "compressors": [ZstdCodec(level=1), Crc32cCodec()], **layout}
            yield dtype, {"filters": [TransposeCodec(order=(1, 0))], "serializer": v3.PCodec(), "compressors": [], **layout}
        yield "bool", {"filters": [v3.PackBits()], "compressors": [v3.Zlib(level=1)], **layout}
        yield "bool", {"filters": [v3.PackBits()], "compressors": [], **layout}


def native(array):
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).tobytes()


def theirs_is_lossless(arguments):
    text = str(arguments).lower()
    return not any(name in text for name in ("quantize", "bitround", "zfpy", "fixedscaleoffset", "astype"))


def make(folder):
    cases, refused = [], []
    roots = {(version, kind): zarr.open_group(folder / version / kind, mode="w", zarr_format=int(version[1]))
             for version in ("v2", "v3") for kind in ("theirs", "plain")}

    def add(version, name, dtype, theirs, plain, codecs_of):
        data = values(dtype)
        if "PackBits" in str(theirs) and dtype == "|u1":
            data %= 2
        try:
            array = roots[version, "theirs"].create_array(name, shape=SHAPE, chunks=CHUNKS, dtype=dtype, **theirs)
            array[:20] = data[:20]
            read = array[:]
        except Exception as error:
            refused.append(f"{version} {dtype} {theirs}: {type(error).__name__}: {error}")
            del roots[version, "theirs"][name]
            return
        roots[version, "plain"].create_array(name, shape=SHAPE, chunks=CHUNKS, dtype=dtype, **plain)[:20] = data[:20]
        written = array[:]
        written[:20] = data[:20]
        # Of a transposed chunk, pcodec gets the elements as they were before, and zarr-python reads others than it wrote.
        spoiled = "TransposeCodec" in str(theirs)
        assert spoiled == (theirs_is_lossless(theirs) and native(read) != native(written)), theirs
        codecs = codecs_of(json.loads((folder / version / "theirs" / name / document[version]).read_text()))
        if spoiled:
            del roots[version, "theirs"][name]
        (folder / f"{version}.{name}.raw").write_bytes(native(written if spoiled else read))
        cases.append([version, name, codecs, spoiled])

    document = {"v2": ".zarray", "v3": "zarr.json"}
    for number, (dtype, filters, compressor) in enumerate(cases_v2()):
        # zfpy takes C order only, and bitround turns chunks to C order, so that zarr-python reads others than it wrote
        order = "C" if number % 3 or any(name in f"{filters} {compressor}" for name in ("ZFPY", "BitRound")) else "F"
        theirs = {"filters": filters, "compressors": compressor, "order": order}
        add("v2", f"a{number}", dtype, theirs, {"filters": None, "compressors": None, "order": order},
            lambda array: [*(array["filters"] or []), *([array["compressor"]] if array["compressor"] else [])])
    for number, (dtype, arguments) in enumerate(cases_v3()):
        plain = {"filters": [codec for codec in arguments.get("filters", []) if isinstance(codec, TransposeCodec)] or None,
                 "compressors": None, "shards": arguments.get("shards")}
        add("v3", f"a{number}", dtype, {"filters": None} | arguments, plain, codecs_of_v3)
    (folder / "cases.json").write_text(json.dumps({"cases": cases, "refused": refused}))


def codecs_of_v3(array):
    codecs = array["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        codecs = codecs[0]["configuration"]["codecs"]
    return [codec for codec in codecs if codec["name"] not in ("bytes", "transpose")]


def readers(version, path):
    """Yields each reader: its name and a function that returns the array, or None if it lacks a codec."""
    yield "zarr-python", lambda: zarr.open_array(path, mode="r")[:]
    if version == "v3":
        yield "zarrs", lambda: by_zarrs(path)
    yield "tensorstore", lambda: by_tensorstore("zarr3" if version == "v3" else "zarr", path)


def by_zarrs(path):
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = zarr.open_array(path, mode="r")[:]
    # without its own codec it falls back to zarr-python
    return None if any("unsupported by ZarrsCodecPipeline" in str(warning.message) for warning in caught) else found


def fails(reader, version, path):
    """Whether a reader fails for what zarr-python has written."""
    try:
        dict(readers(version, path))[reader]()
    except Exception:
        return True
    return False


def by_tensorstore(driver, path):
    known = {"bytes", "transpose", "sharding_indexed", "gzip", "zstd", "blosc", "crc32c"} if driver == "zarr3" else {"zlib", "gzip", "bz2", "zstd", "blosc"}
    array = json.loads((path / ("zarr.json" if driver == "zarr3" else ".zarray")).read_text())
    codecs = {codec["name"] for codec in array["codecs"] + codecs_of_v3(array)} if driver == "zarr3" else {array["compressor"]["id"]} if array["compressor"] else set()
    if codecs - known or array.get("filters"):
        return None
    try:
        return tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/"}}).result().read().result()
    except ValueError as error:
        # types and keys that it lacks
        if "checksum" in str(error) or "dtype" in str(error):
            return None
        raise


def check(folder):
    counts = {}
    for version, name, codecs, _ in json.loads((folder / "cases.json").read_text())["cases"]:
        wanted = (folder / f"{version}.{name}.raw").read_bytes()
        for reader, read in readers(version, folder / version / "ours" / name):
            try:
                found = read()
                if found is not None:
                    counts[reader] = counts.get(reader, 0) + 1
                    if native(np.asarray(found)) != wanted:
                        print(f"{reader} reads other values: {version}/{name} {codecs}")
            except Exception as error:
                # tensorstore fails for fill values of text that zarr-python writes, zarrs for parts of some chunks with pcodec
                if reader != "zarr-python" and fails(reader, version, folder / version / "theirs" / name):
                    continue
                print(f"{reader}: {version}/{name} {codecs}: {type(error).__name__}: {error}")
    print(json.dumps(counts))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
