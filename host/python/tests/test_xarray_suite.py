"""xarray's own tests of backends: written by other engines, read by ours."""

import contextlib

import pytest
import xarray as xr
from xarray.tests.test_backends import CFEncodedBase, DatasetIOBase, NetCDF3Only, NetCDF4Base

#: Tests that fail, by class and name, with the reason. A test that passes must not be here.
EXPECTED = {
    ("Zarr", "test_encoding_unlimited_dims"): "Zarr has no unlimited dimensions",
    ("Zarr", "test_encoding_kwarg_fixed_width_string"): "Zarr stores strings whole; xarray's tests of Zarr skip it",
    ("Zarr", "test_append_with_invalid_dim_raises"): "the writer says it in other words",
    ("Zarr", "test_roundtrip_mask_and_scale[dtype1"): "the writer makes float64 of it; xarray's tests of Zarr skip it",
    ("NetCDF", "test_encoding_kwarg_vlen_string"): "strings stay lazy; the engine netcdf4 reads all to make U of them",
    ("NCZarr", "test_append_write"): "netCDF4-python makes a new dataset if a URL is opened with mode a",
    ("NCZarr", "test_append_overwrite_values"): "as above",
    ("NCZarr", "test_append_with_invalid_dim_raises"): "as above",
}
#: Reasons for which a test of xarray's may skip itself.
SKIPPED = ["uint8 data can't be written to non-NetCDF4 data"]


class ReadByNcz:
    """Reads by the engine ncz what the class before it writes."""

    # They write and read by another engine alone, and netcdf-c crashes in the first on NCZarr.
    test_write_store = None
    test_refresh_from_disk = None
    # They want a package that is not installed: pooch, iris, scipy.
    test_roundtrip_example_1_netcdf = None
    test_coordinate_variables_after_iris_roundtrip = None
    test_dtype_coercion_error = None

    async def test_load_async(self):
        await DatasetIOBase.test_load_async(self)

    @contextlib.contextmanager
    def open(self, path, **kwargs):
        with xr.open_dataset(self.location(path), engine="ncz", **kwargs) as dataset:
            yield dataset

    def location(self, path):
        return path

    @pytest.fixture(autouse=True)
    def expect(self, request):
        kind = type(self).__name__.removeprefix("Test").rstrip("234")
        for (case, name), reason in EXPECTED.items():
            good = "bad_unsigned" not in request.node.name
            if case == kind and good and request.node.name.startswith(name):
                request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    @pytest.fixture
    def use_dask(self):
        return True

    @pytest.fixture(params=["s", "ms", "us", "ns"])
    def time_unit(self, request):
        return request.param


class ByZarr(ReadByNcz, CFEncodedBase):
    zarr_format: int
    engine = "netcdf4"  # what tells xarray's tests that every type can be stored

    def test_roundtrip_endian(self):
        self.engine = None  # else it expects a writer of netCDF that refuses
        super().test_roundtrip_endian()

    def save(self, dataset, path, **kwargs):
        return dataset.to_zarr(path, zarr_format=self.zarr_format, **kwargs)


class TestZarr2(ByZarr):
    zarr_format = 2


class TestZarr3(ByZarr):
    zarr_format = 3


class TestNCZarr(ReadByNcz, CFEncodedBase):
    engine = "netcdf4"

    def save(self, dataset, path, **kwargs):
        return dataset.to_netcdf(self.location(path), engine="netcdf4", **kwargs)

    def location(self, path):
        return f"file://{path}#mode=nczarr,file"


class TestNetCDF4(ReadByNcz, NetCDF4Base):
    engine = "netcdf4"


class TestNetCDF3(ReadByNcz, NetCDF3Only, CFEncodedBase):
    engine = "netcdf4"
    file_format = "NETCDF3_CLASSIC"
