"""Datasets, groups and variables, against numpy and what other programs wrote."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from conftest import ROOT

import ncz

OF_ZARR = sorted((ROOT / "tests/fixtures/zarr-python").glob("*.npz"))


@pytest.fixture
def ocean(fixtures):
    with ncz.open(fixtures / "ocean.nczarr") as dataset:
        yield dataset


@pytest.mark.parametrize("stored", OF_ZARR, ids=lambda path: path.stem)
def test_every_array_of_zarr_python_is_read_as_zarr_python_did(stored):
    dataset = ncz.open(stored.with_suffix(".zip"))
    with np.load(stored) as wanted:
        for name in wanted.files:
            got = dataset[name][...]
            if got.dtype.kind in "Mm":
                got = got.astype("i8")
            assert got.dtype == wanted[name].dtype.newbyteorder("="), name
            np.testing.assert_array_equal(got.ravel(), wanted[name].ravel(), err_msg=name)


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_strings_are_arrays_of_str(fixtures, version):
    wanted = json.loads((fixtures / "strings/values.json").read_text())[version]
    dataset = ncz.open(fixtures / f"strings/{version}.zip")
    read = 0
    for name, described in wanted.items():
        if name not in dataset or dataset[name].dtype != object or name in ("bytes", "sharded"):
            continue
        got = dataset[name][...]
        assert got.shape == tuple(described["shape"])
        assert got.ravel().tolist() == [text.rstrip("\0") for text in np.ravel(described["values"])], name
        read += 1
    assert read >= 5


def test_structure(ocean):
    assert ocean.format == "nczarr" and ocean.warnings == []
    assert ocean.dims == {"time": (16, True), "lat": (73, False), "lon": (144, False)}
    assert list(ocean.groups) == ["model"] and "model/salinity" in ocean and "nothing" not in ocean
    salinity = ocean["model/salinity"]
    assert salinity.dims == ("depth", "lat", "lon") and salinity.dimensions == ("/model/depth", "/lat", "/lon")
    assert salinity.dtype == np.dtype("f4") and salinity.stored_dtype == np.dtype(">f4")
    air = ocean["/air_temperature"]
    assert air.chunks == (6, 73, 144) and air.shards is None and air.fill == np.float32(-999)
    assert air.codecs == [{"id": "shuffle", "elementsize": 0}, {"id": "zlib", "level": 4}]
    assert air.attrs["units"] == "degC" and air.attrs["_FillValue"].dtype == np.float32
    assert ocean["model"] == ocean.groups["model"] and len(ocean) == 6
    for variable in [air, salinity, ocean["time"]]:
        wanted = variable[...]
        assert (variable.itemsize, variable.nbytes) == (wanted.itemsize, wanted.nbytes)


def test_other_keys_than_names_are_not_in_the_mapping(ocean):
    for key in [0, None, b"lat", ("lat",)]:
        with pytest.raises(KeyError):
            ocean[key]
        assert key not in ocean and ocean.get(key) is None


KEYS = [
    ...,
    0,
    -1,
    (slice(None), 3),
    (slice(2, 13, 3), slice(60, None), slice(None, None, -7)),
    (slice(None, None, -1), ..., 5),
    (1, 2, 3),
    (slice(10, 2), 0),
    (slice(12, 1, -4), slice(-3, None), slice(1, 2)),
    (np.int64(3), ..., slice(0, 4, 2)),
    slice(None, None, 2**70),
    (slice(None), slice(None, None, -(2**70)), slice(3, None, 2**63)),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_indexing_is_that_of_numpy(ocean, key):
    variable = ocean["air_temperature"]
    wanted = np.asarray(variable)[key]
    got = variable[key]
    assert type(got) is type(wanted) and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("key", [16, -17, (0, 0, 0, 0), ([0, 1],), (..., ...), "lat", None], ids=str)
def test_other_indices_are_refused_as_indices(ocean, key):
    with pytest.raises(IndexError):
        ocean["air_temperature"][key]


@pytest.mark.parametrize("key", [True, False, np.True_, np.array(True), (0, False), (..., True)], ids=str)
def test_truth_values_are_no_indices(ocean, key):
    """In numpy they add a dimension."""
    with pytest.raises(IndexError, match="expected integers, slices and '...', got "):
        ocean["air_temperature"][key]


def test_reading_into_memory(ocean):
    variable = ocean["air_temperature"]
    whole = variable[...]
    out = np.full((3, 20, 144), np.nan, "f4")
    assert variable.read([2, 0, 0], [3, 20, 144], [4, 2, 1], out=out) is out
    np.testing.assert_array_equal(out, whole[2:11:4, 0:40:2])
    backwards = np.zeros((144, 73, 16), "f4").T
    variable.read([0, 0, 0], variable.shape, out=backwards)
    np.testing.assert_array_equal(backwards, whole)
    with pytest.raises(ValueError, match="out: expected float32"):
        variable.read([0, 0, 0], [1, 1, 1], out=np.zeros((1, 1, 1)))
    frozen = np.zeros((1, 1, 1), "f4")
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        variable.read([0, 0, 0], [1, 1, 1], out=frozen)
    with pytest.raises(IndexError, match="dimension 0 has 16 elements"):
        variable.read([10, 0, 0], [7, 73, 144])
    with pytest.raises(ValueError, match="count"):
        variable.read([0], [1])
    with pytest.raises(ValueError, match="stride"):
        variable.read([0, 0, 0], [1, 1, 1], [0, 1, 1])


def test_large_reads_are_made_in_steps(tmp_path):
    import zarr

    values = np.arange(90_000 * 250, dtype="f4").reshape(90_000, 250)
    zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(7000, 250), zarr_format=2)
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=3)
    group.create_array("v", data=values, chunks=(1000, 250), shards=(10_000, 250), compressors=None)
    variable = ncz.open(tmp_path / "g.zarr")["v"]
    assert variable.chunks == (1000, 250) and variable.shards == (10_000, 250)
    np.testing.assert_array_equal(variable[...], values)
    np.testing.assert_array_equal(variable[3:89_000:3, ::2], values[3:89_000:3, ::2])
    (single,) = ncz.open(tmp_path / "a.zarr").variables.values()
    np.testing.assert_array_equal(single[5:, 1:], values[5:, 1:])


def test_netcdf_files_and_types_of_users(fixtures):
    files = fixtures / "netcdf-files"
    for name in ["cdf1.nc", "cdf2.nc", "cdf5.nc", "netcdf4.nc"]:
        with ncz.open(files / name) as dataset:
            assert all(variable[...].shape == variable.shape for variable in dataset.variables.values())
    dataset = ncz.open(files / "types.h5")
    assert "bit fields" in dataset.unreadable["field"]
    with pytest.raises(ncz.DataError, match="bit fields"):
        dataset["field"]
    kinds = {variable.type["class"] for variable in dataset.variables.values() if variable.type}
    assert {"enum", "compound", "vlen", "opaque"} <= kinds, kinds
    for variable in dataset.variables.values():
        values = variable[...]
        assert values.shape == variable.shape and values.dtype == variable.dtype


def test_pickles_hold_the_location_and_the_path(ocean):
    for thing in [ocean, ocean["model"]]:
        again = pickle.loads(pickle.dumps(thing))
        assert type(again) is type(thing) and again == thing and list(again) == list(thing)
    variable = ocean["model/salinity"]
    pickled = pickle.dumps(variable)
    assert len(pickled) < 400
    np.testing.assert_array_equal(pickle.loads(pickled)[...], variable[...])


def test_a_dataset_that_was_written_again_is_opened_again(tmp_path):
    import zarr

    path = tmp_path / "a.zarr"
    zarr.open_group(path, mode="w", zarr_format=2).create_array("v", data=np.zeros(3))
    pickled = pickle.dumps(ncz.open(path)["v"])
    assert pickle.loads(pickled).shape == (3,)
    group = zarr.open_group(path, mode="w", zarr_format=2)
    group.attrs["again"] = True
    group.create_array("v", data=np.ones(4))
    assert pickle.loads(pickled)[...].tolist() == [1, 1, 1, 1]


def test_dask_has_a_task_for_each_chunk(ocean):
    array = ocean["air_temperature"].dask()
    assert array.chunks == ((6, 6, 4), (73,), (144,))
    np.testing.assert_array_equal(array.compute(), ocean["air_temperature"][...])
    assert ocean["time"].dask(chunks=5).chunks == ((5, 5, 5, 1),)


def test_closed_datasets_say_so(fixtures):
    with ncz.open(fixtures / "ocean.nczarr") as dataset:
        variable = dataset["lat"]
    with pytest.raises(ValueError, match="is closed"):
        variable[...]


def test_errors_name_the_thing_and_the_cause(fixtures, tmp_path, ocean):
    with pytest.raises(ncz.PlaceError, match="nothing.zarr"):
        ncz.open(tmp_path / "nothing.zarr")
    with pytest.raises(ValueError, match='expected "r", got "w"|expected "r", got \'w\''):
        ncz.open(fixtures / "ocean.nczarr", "w")
    with pytest.raises(KeyError, match="no_such"):
        ocean["no_such"]
    with zipfile.ZipFile(fixtures / "zarr-python/v2-zlib.zip") as archive:
        archive.extractall(tmp_path / "damaged.zarr")
    chunk = next(path for path in sorted((tmp_path / "damaged.zarr").rglob("*")) if path.name[0].isdigit())
    chunk.write_bytes(b"no zlib")
    variable = next(iter(ncz.open(tmp_path / "damaged.zarr").variables.values()))
    with pytest.raises(ncz.DataError, match=f"{variable.name}.*: ") as caught:
        variable[...]
    assert isinstance(caught.value, OSError) and chunk.name in str(caught.value)


def test_an_unknown_codec_is_a_codec_error(fixtures, tmp_path):
    with zipfile.ZipFile(fixtures / "zarr-python/v2-zlib.zip") as archive:
        archive.extractall(tmp_path / "a.zarr")
    for document in (tmp_path / "a.zarr").rglob(".z*"):
        if document.is_file():
            document.write_text(document.read_text().replace('"zlib"', '"no-such-codec"'))
    variable = next(iter(ncz.open(tmp_path / "a.zarr").variables.values()))
    with pytest.raises(ncz.CodecError, match="no-such-codec"):
        variable[...]


def test_representations(ocean):
    assert "sea_surface_temperature(time: 16, lat: 73, lon: 144) <i2" in repr(ocean)
    assert repr(ocean["lat"]) == "<ncz.Variable /lat lat(lat: 73) <f4>"
    page = ocean._repr_html_()
    assert "<td style='text-align:left'>air_temperature</td>" in page and page.count("<div>") == page.count("</div>")
