"""The codecs as those of Zarr 3 in zarr-python, with zarr's own pipeline."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import zarr
import zfpy
from zarr.registry import get_codec_class

import ncz
import ncz.zarr as ours

ZARR, NCZ = "zarr.core.codec_pipeline.BatchedCodecPipeline", "ncz.zarr.CodecPipeline"
VALUES = (np.arange(60 * 40, dtype="f4") / 16).reshape(60, 40)
#: Chains of ours, and what zarr-python calls the same chain; None if it has none.
CHAINS = [
    ([ours.Zstd(level=3, checksum=True)], [zarr.codecs.ZstdCodec(level=3, checksum=True)]),
    ([ours.Gzip(level=5)], [zarr.codecs.GzipCodec(level=5)]),
    ([ours.Crc32c()], [zarr.codecs.Crc32cCodec()]),
    (
        [ours.Gzip(level=1), ours.Zstd(level=3, checksum=False), ours.Crc32c()],
        [zarr.codecs.GzipCodec(level=1), zarr.codecs.ZstdCodec(level=3), zarr.codecs.Crc32cCodec()],
    ),
    (
        [ours.Blosc(typesize=4, cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)],
        [zarr.codecs.BloscCodec(typesize=4, cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)],
    ),
    (
        [ours.NumcodecsShuffle(elementsize=4), ours.NumcodecsZlib(level=4)],
        [zarr.codecs.numcodecs.Shuffle(elementsize=4), zarr.codecs.numcodecs.Zlib(level=4)],
    ),
    ([ours.NumcodecsBZ2(level=3)], [zarr.codecs.numcodecs.BZ2(level=3)]),
    ([ours.NumcodecsLZ4(acceleration=2)], [zarr.codecs.numcodecs.LZ4(acceleration=2)]),
    ([ours.NumcodecsLZMA(preset=1)], [zarr.codecs.numcodecs.LZMA(preset=1)]),
    ([ours.Hdf5Filter(filter=32008, cd_values=[0, 2])], None),
    ([ours.Zstd(level=1, checksum=False), ours.Hdf5Filter(filter=32001, cd_values=[0, 0, 0, 0, 5, 1, 1])], None),
    ([ours.Hdf5Filter(filter=32026, cd_values=[0, 0, 0, 0, 5, 1, 5])], None),
    ([ours.Hdf5Filter(filter=4, cd_values=[141, 32])], None),
]
pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")


def create(store, codecs, **options):
    options = {"shape": VALUES.shape, "chunks": (25, 17), "dtype": "f4", "zarr_format": 3, "overwrite": True} | options
    return zarr.create_array(store, compressors=codecs, **options)


@pytest.mark.parametrize(
    "chain, theirs", CHAINS, ids=lambda chain: chain and str([codec.to_dict()["name"] for codec in chain])
)
@pytest.mark.parametrize("dtype", ["f4", "i2", "u1", "M8[s]"])
def test_arrays_round_trip_and_the_other_implementation_reads_them(chain, theirs, dtype):
    if theirs is None and dtype in ("M8[s]",) or "shuffle" in str(chain).lower() and theirs and dtype != "f4":
        return  # filters of HDF5 have no dates; shuffle by 4 takes elements of 4 bytes
    values = VALUES.astype("i8").astype(dtype)
    store = {}
    array = create(store, chain, dtype=dtype)
    array[:] = values
    assert np.array_equal(array[:], values)
    with zarr.config.set({"codec_pipeline.path": "ncz.zarr.CodecPipeline", "codec_pipeline.strict": True}):
        # The pipeline, which binds all codecs of a chain at once, stores and reads the same.
        assert np.array_equal(zarr.open_array(store, mode="r")[:], values)
        whole = create({}, chain, dtype=dtype)
        whole[:] = values
    for key in [key for key in store if "c/" in key]:
        assert whole.store._store_dict[key].to_bytes() == store[key].to_bytes()
    if theirs is None:
        return
    # The names mean zarr-python's codecs, unless asked otherwise.
    other = zarr.open_array(store, mode="r")
    assert not any(type(codec).__module__.startswith("ncz") for codec in other.metadata.codecs)
    assert np.array_equal(other[:], values)
    back = {}
    create(back, theirs, dtype=dtype)[:] = values
    ours_again = create({}, chain, dtype=dtype)
    for key in [key for key in back if "c/" in key]:
        ours_again.store._store_dict[key] = back[key]
    assert np.array_equal(ours_again[:], values)


@pytest.mark.parametrize(
    "serializer, exact",
    [
        (ours.Zfp(mode="reversible"), True),
        (ours.Zfp(mode="fixed_accuracy", tolerance=0.01), False),
        (ours.PackBits(), True),
        (ours.NumcodecsPCodec(level=8, mode_spec="auto"), True),
        (ours.NumcodecsZfpy(mode=4, tolerance=0.01), False),
    ],
    ids=repr,
)
def test_codecs_that_replace_bytes(serializer, exact):
    array = create({}, None, serializer=serializer)
    array[:] = VALUES
    assert np.array_equal(array[:], VALUES) if exact else np.abs(array[:] - VALUES).max() < 0.02
    other = zarr.open_array(array.store, mode="r")
    if "numcodecs" not in serializer.codec_name:
        assert np.array_equal(other[:], array[:])


def test_bitround_is_that_of_numcodecs():
    values = VALUES + np.float32(1 / 3)
    array = create({}, None, filters=[ours.BitRound(keepbits=5)])
    array[:] = values
    theirs = create({}, None, filters=[zarr.codecs.numcodecs.BitRound(keepbits=5)])
    theirs[:] = values
    assert np.array_equal(array[:], theirs[:]) and not np.array_equal(array[:], values)


def test_chunks_in_fortran_order_are_taken_as_they_are_meant():
    values = np.asfortranarray(VALUES + 1)
    for options in ({"filters": [ours.BitRound(keepbits=23)]}, {"serializer": ours.Zfp(mode="reversible")}):
        array = create({}, None, chunks=VALUES.shape, **options)
        array[:] = values
        assert np.array_equal(array[:], values)


def test_codecs_pickle_compare_and_hash():
    for codec, other in ((ours.Zstd(level=3, checksum=False), ours.Zstd(level=4, checksum=False)),):
        again = pickle.loads(pickle.dumps(codec))
        assert again == codec and hash(again) == hash(codec) and codec != other
        assert type(codec).from_dict(codec.to_dict()) == codec
        assert eval(repr(codec), {"Zstd": ours.Zstd}) == codec
    assert json.loads(json.dumps(ours.Crc32c().to_dict())) == {"name": "crc32c", "configuration": {}}


@pytest.mark.parametrize(
    "make",
    [
        lambda: ours.Zstd(level=99, checksum=False),
        lambda: ours.Hdf5Filter(filter=40000, cd_values=[]),
        lambda: ours.NumcodecsShuffle(elementsize=0),
        lambda: create({}, None, serializer=ours.Zfp(mode="reversible"), dtype="bool"),
        lambda: ours.Zstd.from_dict({"name": "gzip"}),
    ],
)
def test_what_does_not_fit_is_refused_at_creation(make):
    with pytest.raises(ncz.CodecError):
        make()


def test_damage_is_an_error():
    array = create({}, [ours.Zstd(level=3, checksum=True)])
    array[:] = VALUES
    key = next(key for key in array.store._store_dict if "c/" in key)
    good = array.store._store_dict[key]
    array.store._store_dict[key] = good[: len(good) // 2]
    with pytest.raises(ncz.CodecError):
        array[:]


def test_shards_with_our_checksum_as_index_codec():
    inner = zarr.codecs.ShardingCodec(
        chunk_shape=(10, 10),
        codecs=[zarr.codecs.BytesCodec(), ours.Zstd(level=1, checksum=False)],
        index_codecs=[zarr.codecs.BytesCodec(), ours.Crc32c()],
    )
    store = {}
    array = zarr.create_array(store, shape=(60, 40), chunks=(30, 40), dtype="f4", serializer=inner, compressors=None)
    array[:] = VALUES
    assert np.array_equal(array[:], VALUES)
    assert np.array_equal(zarr.open_array(store, mode="r")[:], VALUES)


def test_names_of_zarr_are_replaced_only_if_asked():
    before = dict(zarr.config.get("codecs"))
    try:
        assert get_codec_class("zstd") is zarr.codecs.ZstdCodec
        ours.use("zstd", "numcodecs.zlib")
        assert get_codec_class("zstd") is ours.Zstd and get_codec_class("numcodecs.zlib") is ours.NumcodecsZlib
        assert get_codec_class("gzip") is zarr.codecs.GzipCodec
        with pytest.raises(ncz.CodecError, match="no class"):
            ours.use("vlen-utf8")
        ours.use()
        assert get_codec_class("blosc") is ours.Blosc
    finally:
        zarr.config.set({"codecs": before})
    assert get_codec_class("zstd") is zarr.codecs.ZstdCodec


def test_zarr_finds_our_codecs_without_an_import():
    code = """
import sys, warnings, numpy as np, zarr
warnings.simplefilter("error")
assert "ncz" not in sys.modules
codecs = [{"name": "ncz.hdf5_filter", "configuration": {"filter": 32008, "cd_values": [0, 3, 5]}}]
array = zarr.create_array({}, shape=(100,), chunks=(30,), dtype="i8", compressors=codecs)
array[:] = np.arange(100)
assert (array[:] == np.arange(100)).all() and "ncz.zarr" in sys.modules
filters = [{"name": "bitround", "configuration": {"keepbits": 9}}]
array = zarr.create_array({}, shape=(100,), chunks=(30,), dtype="f8", filters=filters)
array[:] = np.arange(100)
assert (array[:] == np.arange(100)).all()
"""
    with warnings.catch_warnings():
        subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_ncz_imports_nothing_else():
    code = "import sys, ncz; print(sorted({'zarr', 'numcodecs', 'h5py', 'xarray', 'dask'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


#: Codecs that see the lengths of a chunk.
SHAPED = {
    "zfp": {"serializer": ours.Zfp(mode="reversible"), "compressors": None},
    "zfp+zstd": {"serializer": ours.Zfp(mode="reversible"), "compressors": [ours.Zstd(level=1, checksum=False)]},
    "numcodecs.zfpy": {"serializer": ours.NumcodecsZfpy(mode=4, tolerance=-1), "compressors": None},
    "filter zfp": {"compressors": [ours.Hdf5Filter(filter=32013, cd_values=[5])]},
    "filter blosc2": {"compressors": [ours.Hdf5Filter(filter=32026, cd_values=[0, 0, 0, 0, 5, 1, 1])]},
    "filter szip": {"compressors": [ours.Hdf5Filter(filter=4, cd_values=[141, 4])]},
}


def use(pipeline):
    return zarr.config.set({"codec_pipeline.path": pipeline, "codec_pipeline.strict": False})


@pytest.fixture
def cube(tmp_path):
    """Makes an array of a group by a pipeline."""

    def make(pipeline, name="a.zarr", dtype="f8", order=(2, 0, 1), shards=None, **options):
        values = np.arange(9 * 10 * 11).reshape(9, 10, 11).astype(dtype)
        filters = [zarr.codecs.TransposeCodec(order=order)] if order else None
        with use(pipeline):
            group = zarr.open_group(tmp_path / name, mode="w", zarr_format=3)
            array = group.create_array(
                "v", shape=values.shape, chunks=(3, 5, 4), shards=shards, dtype=dtype, filters=filters, **options
            )
            array[:] = values
        return tmp_path / name, values

    return make


def values_by(pipeline, path):
    with use(pipeline):
        return zarr.open_group(path, mode="r")["v"][:]


@pytest.mark.parametrize("writer", [ZARR, NCZ], ids=["zarr", "ncz"])
@pytest.mark.parametrize("shards", [None, (9, 10, 12)], ids=["chunks", "shards"])
@pytest.mark.parametrize("order", [None, (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("chain", SHAPED)
def test_codecs_see_the_lengths_that_transpose_made(cube, chain, order, shards, writer):
    path, values = cube(writer, order=order, shards=shards, **SHAPED[chain])
    for reader in (ZARR, NCZ):
        assert np.array_equal(values_by(reader, path), values), reader
    assert np.array_equal(ncz.open(path)["v"][...], values)


@pytest.mark.parametrize("pipeline", [ZARR, NCZ], ids=["zarr", "ncz"])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (1, 2, 0)], ids=str)
def test_zfp_of_a_transposed_chunk_is_that_of_zfpy(cube, order, pipeline):
    path, values = cube(pipeline, order=order, **SHAPED["zfp"])
    chunk, stored = values[:3, 5:10, 4:8].transpose(order), path / "v/c/0/1/1"
    made = zfpy._decompress(stored.read_bytes(), zfpy.dtype_to_ztype(chunk.dtype), chunk.shape)
    assert np.array_equal(made, chunk)
    stored.write_bytes(zfpy.compress_numpy(np.ascontiguousarray(-chunk), write_header=False))
    values[:3, 5:10, 4:8] *= -1
    for found in (values_by(ZARR, path), values_by(NCZ, path), ncz.open(path)["v"][...]):
        assert np.array_equal(found, values)


@pytest.mark.parametrize("shards", [None, (9, 10, 12)], ids=["chunks", "shards"])
@pytest.mark.parametrize("chain", SHAPED)
def test_copies_that_keep_an_order_are_read_by_others(cube, tmp_path, chain, shards):
    path, values = cube(ZARR, shards=shards, compressors=[zarr.codecs.ZstdCodec(level=1)])
    codecs = [
        codec.to_dict() for codec in (SHAPED[chain].get("serializer"), *(SHAPED[chain]["compressors"] or ())) if codec
    ]
    ncz.copy(path, tmp_path / "copy.zarr", format="zarr3", codec=json.dumps(codecs), verify=True)
    made = json.loads((tmp_path / "copy.zarr/v/zarr.json").read_text())["codecs"]
    inner = made[0]["configuration"]["codecs"] if shards else made
    assert inner[0] == {"name": "transpose", "configuration": {"order": [2, 0, 1]}}
    for reader in (ZARR, NCZ):
        assert np.array_equal(values_by(reader, tmp_path / "copy.zarr"), values), reader


#: Filters of numbers, for elements of a type.
FILTERS = [
    (6, [2, 0], "i4"),
    (6, [0, 2], "f4"),
    (5, [], "i4"),
    (4, [141, 4], "i2"),
    (32013, [5], "f8"),
    (32032, [9], "f4"),
]


@pytest.mark.parametrize("writer", [ZARR, NCZ], ids=["zarr", "ncz"])
@pytest.mark.parametrize("number, words, dtype", FILTERS)
def test_filters_take_elements_as_bytes_makes_them(cube, number, words, dtype, writer):
    """An array that is created with a big-endian type stores little-endian elements."""
    chain = {"order": None, "compressors": [ours.Hdf5Filter(filter=number, cd_values=words)]}
    big, values = cube(writer, "big.zarr", dtype=f">{dtype}", **chain)
    little, _ = cube(writer, "little.zarr", dtype=f"<{dtype}", **chain)
    for key in ("v/c/0/0/0", "v/c/2/1/1"):
        assert (big / key).read_bytes() == (little / key).read_bytes()
    wanted = ncz.open(big)["v"][...]
    assert np.array_equal(wanted, values) or number in (6, 32032) and np.abs(wanted - values).max() < 2
    for reader in (ZARR, NCZ):
        assert np.array_equal(values_by(reader, big), wanted), reader


@pytest.mark.parametrize("pipeline", [ZARR, NCZ], ids=["zarr", "ncz"])
@pytest.mark.parametrize("number, words, dtype", FILTERS)
@pytest.mark.parametrize("order", "<>")
def test_filters_of_numbers_refuse_big_endian_bytes(cube, number, words, dtype, order, pipeline):
    chain = {"order": None, "compressors": [ours.Hdf5Filter(filter=number, cd_values=words)], "dtype": order + dtype}
    with pytest.raises(ncz.CodecError, match="little-endian"):
        cube(pipeline, serializer=zarr.codecs.BytesCodec(endian="big"), **chain)
    path, _ = cube(pipeline, **chain)
    document = path / "v/zarr.json"
    document.write_text(document.read_text().replace('"little"', '"big"'))
    with pytest.raises(ncz.CodecError, match="little-endian"):
        ncz.open(path)["v"][...]


@pytest.mark.parametrize("pipeline", [ZARR, NCZ], ids=["zarr", "ncz"])
def test_filters_of_bytes_take_big_endian_ones(cube, pipeline):
    chain = {"compressors": [ours.Hdf5Filter(filter=32008, cd_values=[0, 2])]}
    path, values = cube(pipeline, serializer=zarr.codecs.BytesCodec(endian="big"), **chain)
    for reader in (ZARR, NCZ):
        assert np.array_equal(values_by(reader, path), values)
    assert np.array_equal(ncz.open(path)["v"][...], values)
