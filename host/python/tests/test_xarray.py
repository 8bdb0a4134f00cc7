"""The engine ncz of xarray: what is its own."""

import pickle
import shutil
import subprocess
import sys
import warnings
import zipfile

import dask
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import ncz
import ncz.xarray


@pytest.fixture
def ocean(fixtures):
    return fixtures / "ocean.nczarr"


def test_the_engine_is_found_by_its_entry_point_and_imports_fast():
    assert type(xr.backends.list_engines()["ncz"]).__name__ == "NczBackendEntrypoint"
    code = (
        "import numpy, xarray, time; start = time.perf_counter(); import ncz.xarray;print(time.perf_counter() - start)"
    )
    took = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(3)
    )
    assert took < 0.1


def test_it_is_taken_for_nczarr_alone(ocean, fixtures, tmp_path):
    guess = ncz.xarray.NczBackendEntrypoint().guess_can_open
    assert guess(ocean) and guess(str(ocean)) and guess(f"file://{ocean}#mode=nczarr,file")
    assert guess(fixtures / "netcdf-c-4.10.2/nczarr/simple.zip") and guess("s3://bucket/a#mode=nczarr")
    xr.Dataset({"v": ("x", [1])}).to_zarr(tmp_path / "a.zarr")
    for other in [
        tmp_path / "a.zarr",
        fixtures / "netcdf-files/netcdf4.nc",
        tmp_path / "nothing",
        "https://host/a.nc",
        b"CDF",
        3,
    ]:
        assert not guess(other)
    with xr.open_dataset(ocean) as dataset:
        np.testing.assert_array_equal(dataset.lat, ncz.open(ocean)["lat"][...])
    with pytest.raises(TypeError, match="paths and URLs"):
        xr.open_dataset(b"CDF", engine="ncz")


def test_groups_and_trees(ocean):
    groups = xr.open_groups(ocean, engine="ncz")
    assert list(groups) == ["/", "/model"]
    tree = xr.open_datatree(ocean, engine="ncz")
    assert tree["model/salinity"].dims == ("depth", "lat", "lon")
    with xr.open_dataset(ocean, engine="ncz", group="model") as model:
        xr.testing.assert_identical(model, groups["/model"])
    assert list(xr.open_groups(ocean, engine="ncz", group="/model")) == ["/"]
    with pytest.raises((KeyError, OSError)):
        xr.open_dataset(ocean, engine="ncz", group="nothing")


def test_variables_are_lazy_and_their_chunks_are_those_of_dask(ocean):
    dataset = xr.open_dataset(ocean, engine="ncz")
    assert not dataset.air_temperature.variable._in_memory
    assert dataset.air_temperature.encoding["preferred_chunks"] == {"time": 6, "lat": 73, "lon": 144}
    assert dataset.air_temperature.encoding["dtype"] == np.dtype("f4")
    assert dataset.encoding["unlimited_dims"] == {"time"} and dataset.encoding["source"] == str(ocean)
    chunked = xr.open_dataset(ocean, engine="ncz", chunks={})
    assert chunked.air_temperature.chunks == ((6, 6, 4), (73,), (144,))
    for scheduler in ["threads", "synchronous"]:
        with dask.config.set(scheduler=scheduler):
            xr.testing.assert_identical(chunked.compute(), dataset.compute())


def test_all_ways_of_indexing(ocean):
    lazy = xr.open_dataset(ocean, engine="ncz").air_temperature
    whole = xr.open_dataset(ocean, engine="ncz").air_temperature.load()
    for key in [
        {"time": 3, "lat": slice(None, None, -4)},
        {"time": [1, 5, 2], "lon": slice(3, 40, 5)},
        {"lat": np.array([0, 72, 3]), "lon": np.array([1, 1, 9])},
        {"lat": xr.DataArray([0, 72, 3], dims="p"), "lon": xr.DataArray([1, 1, 9], dims="p")},
        {"time": np.arange(16) % 3 == 0},
        {"time": slice(5, 5)},
    ]:
        xr.testing.assert_identical(lazy.isel(key).load(), whole.isel(key))


def test_arguments(ocean, fixtures):
    with xr.open_dataset(ocean, engine="ncz", drop_variables=["lat", "air_temperature"], threads=2) as dataset:
        assert set(dataset.variables) == {"time", "lon", "sea_surface_temperature"}
    with xr.open_dataset(ocean, engine="ncz", mask_and_scale=False) as raw:
        assert raw.sea_surface_temperature.dtype == np.int16
    with pytest.raises(TypeError):
        xr.open_dataset(ocean, engine="ncz", no_such_argument=1)
    types = fixtures / "netcdf-files/types.h5"
    with pytest.warns(UserWarning, match="'field' is left out"):
        xr.open_dataset(types, engine="ncz")
    with pytest.raises(ncz.DataError, match="cannot be read"):
        xr.open_dataset(types, engine="ncz", strict=True)


def test_the_fill_value_of_zarr_masks_where_xarray_masks(tmp_path):
    values = xr.Dataset({"v": ("x", np.array([1, 2, 3], "f4"))})
    for version, masked in [(2, True), (3, False)]:
        path = tmp_path / f"{version}.zarr"
        values.to_zarr(path, zarr_format=version, encoding={"v": {"_FillValue": None}})
        zarr.create_array(
            f"{path}/w",
            shape=(3,),
            chunks=(3,),
            dtype="f4",
            fill_value=7,
            zarr_format=version,
            dimension_names=["x"] if version == 3 else None,
            attributes={"_ARRAY_DIMENSIONS": ["x"]} if version == 2 else {},
        )
        with (
            xr.open_dataset(path, engine="ncz") as ours,
            xr.open_dataset(path, engine="zarr", consolidated=False) as theirs,
        ):
            assert bool(ours.w.isnull().all()) is masked
            xr.testing.assert_equal(ours.load(), theirs.load())
        with xr.open_dataset(path, engine="ncz", use_zarr_fill_value_as_mask=not masked) as other:
            assert bool(other.w.isnull().all()) is not masked


def test_open_mfdataset_joins_files(tmp_path):
    for day in range(3):
        data = xr.Dataset({"v": (("time", "x"), np.full((2, 3), day))}, coords={"time": [2 * day, 2 * day + 1]})
        data.to_netcdf(tmp_path / f"{day}.nc", engine="netcdf4")
    for parallel in [False, True]:
        with xr.open_mfdataset(str(tmp_path / "*.nc"), engine="ncz", parallel=parallel) as joined:
            np.testing.assert_array_equal(joined.v[:, 0], [0, 0, 1, 1, 2, 2])


def test_datasets_pickle_and_a_zip_file_is_read_as_its_folder(ocean, tmp_path):
    lazy = xr.open_dataset(ocean, engine="ncz")
    again = pickle.loads(pickle.dumps(lazy))
    assert not again.air_temperature.variable._in_memory
    xr.testing.assert_identical(again.load(), lazy.load())
    with zipfile.ZipFile(tmp_path / "ocean.zip", "w") as archive:
        for path in sorted(ocean.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(ocean))
    with xr.open_dataset(tmp_path / "ocean.zip", engine="ncz") as zipped:
        xr.testing.assert_identical(zipped.load(), lazy.load())


def test_a_dataset_that_is_written_again_is_read_again(ocean, tmp_path):
    path = tmp_path / "a.nczarr"
    shutil.copytree(ocean, path)
    first = xr.open_dataset(path, engine="ncz").load()
    shutil.rmtree(path)
    xr.Dataset({"v": ("x", [1, 2])}).to_zarr(path, zarr_format=2)
    with xr.open_dataset(path, engine="ncz") as second:
        assert list(second) == ["v"] and "air_temperature" in first


def test_a_cluster_of_processes_reads(ocean):
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):
        mean = xr.open_dataset(ocean, engine="ncz", chunks={}).air_temperature.mean().compute()
    wanted = xr.open_dataset(ocean, engine="ncz").air_temperature.mean()
    np.testing.assert_allclose(mean, wanted, rtol=1e-6)


async def test_variables_load_asynchronously(ocean):
    dataset = xr.open_dataset(ocean, engine="ncz")
    loaded = await dataset.air_temperature.load_async()
    np.testing.assert_array_equal(loaded, xr.open_dataset(ocean, engine="ncz").air_temperature)


WRITERS = {
    "zarr 2": lambda data, path: data.to_zarr(path, zarr_format=2, consolidated=False),
    "zarr 3": lambda data, path: data.to_zarr(path, zarr_format=3, consolidated=False),
    "netcdf4": lambda data, path: data.to_netcdf(path, engine="netcdf4"),
    "h5netcdf": lambda data, path: data.to_netcdf(path, engine="h5netcdf"),
}


def read_by_others(path, writer):
    if writer.startswith("zarr"):
        return xr.open_dataset(path, engine="zarr", consolidated=False, decode_timedelta=True)
    return xr.open_dataset(path, engine="netcdf4", decode_timedelta=True)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("fill", ["NaT", 0])
def test_dates_and_durations_are_written_as_they_were_read(tmp_path, fill, version, writer):
    wanted = {}
    group = zarr.open_group(tmp_path / "in.zarr", mode="w", zarr_format=version)
    for name in ["M8[s]", "M8[ns]", "m8[s]", "m8[ns]"]:
        values = np.array([500_000_000, "NaT", 500_000_001, 0], name)
        names = {"dimension_names": ["x"]} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}}
        array = group.create_array(name, shape=(4,), dtype=name, fill_value=np.array(fill, name)[()], **names)
        array[:] = values
        wanted[name] = values
    for mask in [None, True, False]:
        path = tmp_path / f"out-{mask}"
        with xr.open_dataset(tmp_path / "in.zarr", engine="ncz", use_zarr_fill_value_as_mask=mask) as read:
            WRITERS[writer](read, path)
        with read_by_others(path, writer) as written:
            for name, values in wanted.items():
                np.testing.assert_array_equal(written[name].values, values, err_msg=name)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("source", ["big-endian.nc", "big-endian.zarr"])
def test_big_endian_unsigned_numbers_are_masked_in_what_is_written(tmp_path, source, writer):
    path = tmp_path / source
    if source.endswith(".nc"):
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("x", 4)
            variable = file.createVariable("v", "i2", ("x",), fill_value=3)
            variable.set_auto_maskandscale(False)
            variable.setncattr("_Unsigned", "true")
            variable[:] = [0, 3, 4, -5]
    else:
        group = zarr.open_group(path, mode="w", zarr_format=2)
        attributes = {"_Unsigned": "true", "_ARRAY_DIMENSIONS": ["x"]}
        array = group.create_array("v", shape=(4,), dtype=">i2", fill_value=3, attributes=attributes)
        array[:] = [0, 3, 4, -5]
    wanted = [0, np.nan, 4, 65531]
    with xr.open_dataset(path, engine="ncz") as read:
        np.testing.assert_array_equal(read.v, wanted)
        assert read.v.encoding["dtype"] == np.dtype("i2")
        WRITERS[writer](read, tmp_path / "out")
    with read_by_others(tmp_path / "out", writer) as written:
        np.testing.assert_array_equal(written.v, wanted)


@pytest.mark.parametrize("mask", [None, True])
def test_the_fill_value_goes_before_an_attribute_that_differs_and_a_warning_says_so(tmp_path, mask):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    attributes = {"_FillValue": 2, "_ARRAY_DIMENSIONS": ["x"]}
    for name in ["v", "w"]:
        group.create_array(name, shape=(4,), dtype="i2", fill_value=1, attributes=attributes)[:] = range(4)
    options = {} if mask is None else {"use_zarr_fill_value_as_mask": mask}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = xr.open_dataset(tmp_path / "a.zarr", engine="ncz", drop_variables="w", **options)
    said = [str(one.message) for one in caught]
    assert said == ["/v: its attribute _FillValue differs from its fill_value, which missing chunks read as"]
    with xr.open_dataset(tmp_path / "a.zarr", engine="zarr", consolidated=False, **options) as theirs:
        xr.testing.assert_identical(ours, theirs.drop_vars("w"))


@pytest.mark.parametrize("version", [2, 3])
def test_raw_bytes_have_no_missing_values(tmp_path, version):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=version)
    names = {"dimension_names": ["x"]} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}}
    values = np.array([b"abc", b"\0\0\0"], "V3")
    group.create_array("v", shape=(2,), dtype="V3", **names)[:] = values
    for mask in [None, True, False]:
        with xr.open_dataset(tmp_path / "a.zarr", engine="ncz", use_zarr_fill_value_as_mask=mask) as read:
            assert read.v.values.tolist() == values.tolist()
