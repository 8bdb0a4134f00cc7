"""The codecs as those of numcodecs: its own checks, its streams, its registry."""

import json
import os
import pickle
import subprocess
import sys

import hdf5plugin
import numcodecs
import numpy as np
import pytest
import zarr
from numcodecs.tests import common
from zarr.metadata.migrate_v3 import migrate_v2_to_v3

import ncz
import ncz.numcodecs as ours

#: Configurations of codecs that both have, which encode bytes of any kind.
CONFIGS = [
    {"id": "adler32"},
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0},
    {"id": "bz2", "level": 3},
    {"id": "crc32"},
    {"id": "fletcher32"},
    {"id": "gzip", "level": 5},
    {"id": "jenkins_lookup3"},
    {"id": "lz4", "acceleration": 1},
    {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    {"id": "shuffle", "elementsize": 4},
    {"id": "zlib", "level": 4},
    {"id": "zstd", "level": 3},
]
#: Those that only we have.
OWN = [
    {"id": "crc32c"},
    {"id": "imagecodecs_lz4h5"},
    {"id": "ncz.hdf5_filter", "filter": 307, "cd_values": [9]},
    {"id": "ncz.hdf5_filter", "filter": 32001, "cd_values": [0, 0, 0, 0, 5, 1, 1]},
    {"id": "ncz.hdf5_filter", "filter": 32026, "cd_values": [0, 0, 0, 0, 5, 1, 5]},
    {"id": "ncz.hdf5_filter", "filter": 2, "cd_values": [8]},
]
#: The arrays of numcodecs' own tests of compressors; their lengths are multiples of what shuffle wants.
ARRAYS = [
    np.arange(1000, dtype="i4"),
    np.linspace(1000, 1001, 1000, dtype="f8"),
    np.random.default_rng(1).normal(loc=1000, scale=1, size=(100, 10)),
    np.random.default_rng(1).integers(0, 200, size=1000, dtype="u1").astype(bool),
    np.random.default_rng(1).normal(loc=1000, scale=1, size=(10, 10, 10)).astype("f4", order="F"),
    np.random.default_rng(1).integers(0, 2**60, size=1000, dtype="u8").view("M8[ns]"),
    np.random.default_rng(1).integers(0, 2**25, size=1000, dtype="u8").view("m8[m]"),
]


def our(config):
    config = dict(config)
    return ours.codec_class(config.pop("id"))(**config)


def name(value):
    return json.dumps(value)[:60] if isinstance(value, dict) else f"{value.dtype}" if hasattr(value, "dtype") else None


@pytest.fixture
def registered():
    """Our classes instead of those of numcodecs, as far as a test registers them."""
    before = dict(numcodecs.registry.codec_registry)
    yield
    numcodecs.registry.codec_registry.clear()
    numcodecs.registry.codec_registry.update(before)


@pytest.mark.parametrize("array", ARRAYS, ids=name)
@pytest.mark.parametrize("config", CONFIGS + OWN, ids=name)
def test_numcodecs_check_of_encoding_and_decoding(config, array):
    common.check_encode_decode(array, our(config))


@pytest.mark.parametrize("config", CONFIGS, ids=name)
def test_streams_go_both_ways(config):
    """What we encode numcodecs decodes, and the reverse."""
    theirs, mine = numcodecs.get_codec(config), our(config)
    for array in ARRAYS:
        for one, other in ((theirs, mine), (mine, theirs)):
            common.compare_arrays(array, other.decode(one.encode(array)))


@pytest.mark.parametrize("config", CONFIGS + OWN, ids=name)
def test_numcodecs_checks_of_configuration_and_object_arrays(config, registered):
    codec = our(config)
    wanted = numcodecs.get_codec(config).get_config() if config in CONFIGS else config
    numcodecs.register_codec(type(codec), config["id"])
    common.check_config(codec)
    common.check_err_encode_object_buffer(codec)
    common.check_err_decode_object_buffer(codec)
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert codec.get_config() == wanted
    assert eval(repr(codec), {type(codec).__name__: type(codec)}) == codec


FIXTURES = [
    "adler32",
    "astype",
    "bitround",
    "crc32",
    "delta",
    "fixedscaleoffset",
    "jenkins_lookup3",
    "lzma",
    "packbits",
    "pcodec",
    "quantize",
    "zfpy",
]


def is_refused(config, stored):
    """Whether numcodecs computes a number that its type does not have, and returns what the processor makes of it."""
    if config["id"] not in ("astype", "delta", "fixedscaleoffset", "quantize"):
        return False
    if config["id"] == "quantize":
        factor = 2.0 ** np.ceil(np.log2(10.0 ** config["digits"]))
        with np.errstate(over="ignore"):
            return not 0 < np.float64(factor).astype(config["dtype"]) < np.inf
    keys = ("decode_dtype", "encode_dtype") if config["id"] == "astype" else ("dtype", "astype")
    decoded, encoded = (np.dtype(config[key]) for key in keys)
    values = np.frombuffer(stored, encoded)
    computed = np.result_type(decoded, encoded) if config["id"] == "delta" else encoded
    if decoded.kind == "f" or computed.kind in "iu" and config["id"] != "fixedscaleoffset":
        return False  # integers wrap around
    with np.errstate(all="ignore"):
        values = values.astype(np.longdouble)
        if config["id"] == "delta":
            values = np.cumsum(values)
        if config["id"] == "fixedscaleoffset":
            values = values / config["scale"] + config["offset"]
        return not ((values >= np.iinfo(decoded).min) & (values <= np.iinfo(decoded).max)).all()


@pytest.mark.parametrize("codec_id", FIXTURES)
def test_streams_that_numcodecs_wrote_are_decoded(fixtures, codec_id):
    cases = json.loads((fixtures / "codecs/numcodecs" / f"{codec_id}.json").read_text())
    cases = [case for case in cases if case.get("encoded") is not None and case.get("decoded") is not None]
    assert cases
    for case in cases:
        codec = our(case["config"])
        wanted = bytes.fromhex(case["decoded"])
        stored = bytes.fromhex(case["encoded"])
        out = None
        if codec_id in ("bitround", "pcodec", "zfpy"):
            out = np.empty(case.get("shape", len(wanted) // np.dtype(case["dtype"]).itemsize), case["dtype"])
        if is_refused(case["config"], stored):
            with pytest.raises(ncz.CodecError, match="which is not a number|which no|numcodecs makes all numbers NaN"):
                codec.decode(stored, out)
        else:
            assert bytes(codec.decode(stored, out)) == wanted, case


@pytest.mark.parametrize(
    "config",
    [
        {"id": "delta", "dtype": "<i4", "astype": "<i8"},
        {"id": "fixedscaleoffset", "offset": 1000, "scale": 10, "dtype": "<f8", "astype": "<i4"},
        {"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"},
        {"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"},
        {"id": "packbits"},
        {"id": "bitround", "keepbits": 5},
    ],
    ids=name,
)
def test_codecs_of_elements_return_arrays_as_those_of_numcodecs(config):
    theirs, mine = numcodecs.get_codec(config), our(config)
    dtype = {"delta": "i4", "packbits": bool}.get(config["id"], "f8")
    values = (1000 + np.arange(60) * 0.5).astype(dtype).reshape(6, 10)
    encoded, wanted = mine.encode(values), theirs.encode(values)
    if config["id"] == "bitround":  # numcodecs returns integers of the same bits
        encoded, wanted = np.frombuffer(encoded, "f8"), wanted.view("f8")
    assert np.array_equal(np.ravel(encoded), np.ravel(wanted))
    decoded = mine.decode(encoded)
    assert decoded.dtype == theirs.decode(wanted).dtype
    assert np.array_equal(np.ravel(decoded), np.ravel(theirs.decode(wanted)))
    out = np.empty_like(values)
    mine.decode(encoded, out)
    assert np.array_equal(out.ravel(), np.ravel(theirs.decode(wanted)))


def test_blosc_knows_the_type_of_an_array():
    """As with numcodecs, typed arrays become smaller than the same bytes."""
    config = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}
    values = np.arange(20000, dtype="f8")
    sizes = [len(codec.encode(values)) for codec in (our(config), numcodecs.get_codec(config))]
    assert abs(sizes[0] - sizes[1]) < 0.05 * sizes[1]
    assert sizes[0] < len(our(config).encode(values.tobytes())) / 2


@pytest.mark.parametrize(
    "config, text",
    [
        # numcodecs reads 0 as "do not shuffle", netcdf-c as the size of the type.
        ({"id": "shuffle", "elementsize": 0}, "elementsize 0"),
        ({"id": "zstd", "levels": 3}, "levels"),
        ({"id": "zstd", "level": 99}, "level"),
        ({"id": "no-such-codec"}, "no-such-codec"),
        ({"id": "ncz.hdf5_filter", "filter": 40000, "cd_values": []}, "40000"),
    ],
    ids=name,
)
def test_what_is_not_understood_is_refused(config, text):
    with pytest.raises(ncz.CodecError, match=text):
        our(config)


@pytest.mark.parametrize("number, words", [(32008, [0, 2]), (2, []), (32013, [5]), (4, [141, 32]), (5, [])])
def test_a_codec_that_would_decode_without_the_type_is_refused_before_it_encodes(number, words):
    codec = our({"id": "ncz.hdf5_filter", "filter": number, "cd_values": words})
    with pytest.raises(ncz.CodecError):
        codec.encode(np.arange(64, dtype="f8"))


@pytest.mark.parametrize("config", CONFIGS + OWN, ids=name)
def test_damage_and_wrong_lengths_are_errors(config):
    codec = our(config)
    values = np.random.default_rng(3).integers(0, 9, 4000).astype("i4")
    stored = bytes(codec.encode(values))
    for out in (np.empty(3999, "i4"), np.empty(4001, "i4"), bytearray(16004)):
        with pytest.raises(ncz.CodecError):
            codec.decode(stored, out)
    if config["id"] not in ("shuffle",) and config.get("filter") != 2:
        with pytest.raises(ncz.CodecError):
            codec.decode(stored[: len(stored) // 2])
    with pytest.raises(ValueError):
        codec.encode(values[::2])


def test_ids_of_numcodecs_are_replaced_only_if_asked(registered):
    with pytest.raises(ValueError, match="override"):
        ours.register("zstd")
    assert numcodecs.get_codec({"id": "zstd"}).__class__ is numcodecs.Zstd
    assert ours.register("zstd", override=True) == ["zstd"]
    assert numcodecs.get_codec({"id": "zstd", "level": 3}).__class__ is ours.codec_class("zstd")
    assert ours.register("zstd") == ["zstd"]
    with pytest.raises(ncz.CodecError, match="there is no codec 'zst'"):
        ours.register("zst")


@pytest.mark.parametrize(
    "codec_id", ["zstd", "zlib", "gzip", "bz2", "lz4", "lzma", "blosc", "shuffle", "zfpy", "pcodec"]
)
def test_codecs_have_the_attributes_and_defaults_of_numcodecs(codec_id):
    theirs, mine = numcodecs.get_codec({"id": codec_id}), our({"id": codec_id})
    assert mine.get_config() == theirs.get_config()
    for key, value in theirs.get_config().items():
        assert key == "id" or getattr(mine, key) == value


@pytest.mark.parametrize("codec_id", ["zstd", "zlib", "gzip", "bz2", "lz4", "blosc"])
def test_arrays_of_zarr_2_live_on_with_our_codec(codec_id, registered):
    """zarr-python takes keys out of the configuration, and reads attributes."""
    store = {}
    zarr.create_array(
        store, shape=(4,), dtype="f8", zarr_format=2, compressors=numcodecs.get_codec({"id": codec_id}), filters=None
    )[:] = 5
    before = json.loads(store[".zarray"].to_bytes())["compressor"]
    ours.register(codec_id, override=True)
    array = zarr.open_array(store, mode="r+")
    array.resize((6,))
    array.attrs.update({"x": 1})
    array[4:] = 7
    assert array[:].tolist() == [5, 5, 5, 5, 7, 7] and str(array.info)
    assert json.loads(store[".zarray"].to_bytes())["compressor"] == before
    migrate_v2_to_v3(input_store=zarr.storage.MemoryStore(store))
    assert zarr.open_array(store, zarr_format=3).shape == (6,)


def test_a_changed_attribute_changes_the_encoding():
    codec, values = our({"id": "zlib", "level": 0}), np.zeros(1000)
    long = len(codec.encode(values))
    codec.level = 9
    assert codec.get_config() == {"id": "zlib", "level": 9} and len(codec.encode(values)) < long / 10
    with pytest.raises(ncz.CodecError, match="level"):
        codec.level = 99
    assert codec.level == 9 and len(codec.encode(values)) < long / 10


def test_configurations_of_numpy_are_those_of_numcodecs():
    for codec_id, config in (
        ("delta", {"dtype": np.dtype("<i4")}),
        ("delta", {"dtype": "i2", "astype": np.int32}),
        ("zlib", {"level": np.int64(3)}),
        ("fixedscaleoffset", {"offset": np.float64(2.5), "scale": np.int8(4), "dtype": np.dtype("f8")}),
    ):
        mine = ours.codec_class(codec_id)(**config)
        assert mine.get_config() == numcodecs.registry.codec_registry[codec_id](**config).get_config()
        assert json.loads(json.dumps(mine.get_config())) == mine.get_config()


@pytest.mark.parametrize("config", CONFIGS + OWN + [{"id": "delta", "dtype": "<f8"}], ids=name)
@pytest.mark.parametrize("value", [np.array(3.25), np.array(7, "M8[s]")], ids=name)
def test_arrays_without_dimensions_are_one_element(config, value):
    if config["id"] == "delta" and value.dtype.kind == "M":
        return  # not numbers
    codec = our(config)
    stored = codec.encode(value)
    assert bytes(codec.decode(stored)) == value.tobytes()
    out = np.empty_like(value)
    codec.decode(stored, out)
    assert out == value
    if config in CONFIGS:
        assert bytes(numcodecs.get_codec(config).decode(stored)) == value.tobytes()


def test_all_that_numcodecs_lacks_is_registered(registered):
    before = set(numcodecs.registry.codec_registry)
    added = ours.register()
    assert {"szip", "imagecodecs_lz4h5"} <= set(added) and not set(added) & before


def test_numcodecs_finds_the_filter_and_the_checksum_by_itself():
    code = """
        import sys, numcodecs
        codec = numcodecs.get_codec({"id": "ncz.hdf5_filter", "filter": 307, "cd_values": [9]})
        assert type(codec).__module__ == "ncz.numcodecs"
        assert bytes(codec.decode(codec.encode(b"abc"))) == b"abc"
    """
    subprocess.run([sys.executable, "-c", "\n".join(line.strip() for line in code.splitlines())], check=True)


def test_foreign_filters_of_a_folder_of_plugins_work():
    """hdf5plugin's SPERR, which ncz does not have, by HDF5_PLUGIN_PATH."""
    code = f"""
import numpy as np, ncz
words = {list(hdf5plugin.Sperr(rate=16).filter_options)!r}
values = np.arange(64 * 64, dtype="f4").reshape(64, 64)
chain = ncz.Chain([{{"id": "ncz.hdf5_filter", "filter": 32028, "cd_values": words}}], "<f4", (64, 64))
found = chain.decode(chain.encode(values))
assert np.abs(found - values).max() < 1, found
"""
    environment = os.environ | {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_chains_keep_type_and_shape():
    values = np.arange(600, dtype=">i2").reshape(20, 30)
    for codecs in (
        '[{"id":"shuffle","elementsize":2},{"id":"zlib","level":4}]',
        "2|1,4",
        "32008,0,2",
        [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
    ):
        chain = ncz.Chain(codecs, values.dtype, values.shape)
        found = chain.decode(chain.encode(values))
        assert found.dtype == values.dtype and np.array_equal(found, values), codecs
        assert np.array_equal(chain.decode(chain.encode(np.asfortranarray(values))), values)
        out = np.empty_like(values)
        assert chain.decode(chain.encode(values), out) is out and np.array_equal(out, values)
        assert np.array_equal(pickle.loads(pickle.dumps(chain)).decode(chain.encode(values)), values)
        with pytest.raises(ncz.CodecError):
            chain.encode(values.astype("<i2"))
        with pytest.raises(ncz.CodecError):
            chain.encode(values[:, :10])


def test_chains_decode_into_arrays_of_their_type_and_shape_in_any_layout():
    values = np.arange(20, dtype="<f4").reshape(4, 5)
    chain = ncz.Chain('[{"id":"shuffle","elementsize":4},{"id":"zlib","level":4}]', values.dtype, values.shape)
    stored = chain.encode(values)
    for out in (np.empty((4, 5), "f4"), np.empty((4, 5), "f4", order="F"), np.empty((4, 10), "f4")[:, ::2]):
        assert chain.decode(stored, out) is out and np.array_equal(out, values)
    for out in (np.empty((4, 5), ">f4"), np.empty((4, 5), "i4"), np.empty((5, 4), "f4"), np.empty((2, 5), "f8")):
        with pytest.raises(ncz.CodecError, match=r"expected elements float32 of shape \(4, 5\), got"):
            chain.decode(stored, out)
    out = bytearray(values.nbytes)
    chain.decode(stored, out)
    assert out == values.tobytes()


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("value", [np.array(3.25), np.array(7, ">M8[s]")], ids=name)
def test_chains_take_arrays_without_dimensions(value, bound):
    chain = ncz.Chain("1,6", *((value.dtype, ()) if bound else ()))
    stored = chain.encode(value)
    assert chain.decode(stored).tobytes() == value.tobytes()
    assert chain.decode(stored, np.empty_like(value)) == value
