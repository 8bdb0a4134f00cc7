"""The engine ncz against the engines netcdf4 and zarr, on what other programs wrote.

netCDF4 crashes on some of these datasets, so that it reads them in a process of its own.
"""

import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import xarray as xr
from conftest import ROOT

FIXTURES = ROOT / "tests/fixtures"
OF_NETCDF = sorted(
    [*FIXTURES.glob("netcdf-c-*/*/*.zip"), *FIXTURES.glob("netcdf-files/*.nc"), FIXTURES / "ocean.nczarr"]
)

#: Where netCDF4 is no judge, by dataset, with the reason: of variables, of "dims", of "all".
NO_JUDGE = {
    "netcdf-c-4.10.2/noxarray/attrs.zip": ("all", "netCDF4 crashes"),
    "netcdf-c-4.10.2/zarr/attrs.zip": ("all", "netCDF4 crashes"),
    "netcdf-c-4.9.2/nczarr/scalars.zip": ("all", "netCDF4 crashes"),
    "netcdf-c-4.9.2/nczarr/simple.zip": ("all", "netCDF4 refuses it"),
    "netcdf-c-4.10.2/noxarray/scalars.zip": ("all", "netCDF4 shows no variables without dimensions in plain Zarr"),
    "netcdf-c-4.10.2/zarr/scalars.zip": ("all", "as above"),
    "netcdf-c-4.10.2/nczarr/attrs.zip": ("/v:json_number", "netCDF4 cuts a number that is the text of an attribute"),
    "netcdf-c-4.9.2/nczarr/attrs.zip": ("/v:json_number", "as above"),
    "netcdf-c-4.8.0/nczarr/names.zip": ("dims", "netCDF4 loses the names of dimensions of an early NCZarr"),
    "netcdf-c-4.8.0/nczarr/simple.zip": ("dims", "as above"),
    "netcdf-c-4.9.0/nczarr/simple.zip": ("dims", "as above"),
}

READ = """
import pickle, sys
import netCDF4

def walk(group):
    group.set_auto_maskandscale(False)
    group.set_auto_chartostring(False)
    yield group
    for inner in group.groups.values():
        yield from walk(inner)

found = {}
with netCDF4.Dataset(sys.argv[1]) as dataset:
    for group in walk(dataset):
        for name, variable in group.variables.items():
            attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
            found[group.path.rstrip("/") + "/" + name] = (variable.dimensions, variable[...], attrs)
sys.stdout.buffer.write(pickle.dumps(found))
"""


def location(path, folder):
    """The location for netCDF4: its build from PyPI does not read zip files, so they are unpacked."""
    if path.suffix == ".nc":
        return str(path)
    mode = "zarr" if path.parent.name == "zarr" else "nczarr"
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder / "unpacked")
        own = folder / "unpacked" / path.stem
        path = own if path.parent.name == "nczarr-own-zip" else folder / "unpacked"
    return f"file://{path}#mode={mode},file"


@pytest.mark.parametrize("path", OF_NETCDF, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_values_and_attributes_are_those_of_netcdf4(path, tmp_path):
    name = str(path.relative_to(FIXTURES))
    there = location(path, tmp_path)
    not_judged, _ = NO_JUDGE.get(name, ("", ""))
    judged = subprocess.run([sys.executable, "-c", READ, there], capture_output=True, timeout=60)
    assert judged.returncode == 0 or not_judged == "all", judged.stderr.decode()
    wanted = pickle.loads(judged.stdout or pickle.dumps({}))
    raw = dict.fromkeys(
        ["mask_and_scale", "decode_times", "decode_timedelta", "concat_characters", "decode_coords"], False
    )
    groups = xr.open_groups(path, engine="ncz", strict=True, use_zarr_fill_value_as_mask=False, **raw)
    got = {}
    for group, dataset in groups.items():
        for variable in dataset.variables:
            got[group.rstrip("/") + "/" + variable] = dataset[variable]
    assert got, "nothing is in it"
    if not_judged == "all":
        assert set(got) != set(wanted), "netCDF4 reads it now"
        return
    assert set(got) == set(wanted)
    for variable in got:
        dimensions, values, attrs = wanted[variable]
        assert got[variable].dims == dimensions or not_judged == "dims", variable
        values = np.asarray(values)
        if values.dtype.kind in "U":
            values = values.astype(object)
        read = got[variable].values
        if read.dtype.kind == "S" and values.dtype == object:
            # Bytes of a fixed length in Zarr, where netCDF4 has strings.
            read = np.array([text.decode() for text in read.ravel()], object).reshape(read.shape)
        np.testing.assert_array_equal(read, values, err_msg=variable)
        ours = got[variable].attrs
        attrs.pop("_NCZARR_ATTR", None)
        assert set(ours) == set(attrs), variable
        for key, value in attrs.items():
            if f"{variable}:{key}" == not_judged:
                continue
            np.testing.assert_array_equal(np.asarray(ours[key]), np.asarray(value), err_msg=f"{variable}:{key}")


def test_ocean_is_not_read_as_garbage():
    """The engine zarr reads netcdf-c's shuffled data as garbage; this one does not."""
    with xr.open_dataset(FIXTURES / "ocean.nczarr", engine="ncz") as dataset:
        air = dataset.air_temperature.values
    assert np.nanmin(air) > -60 and np.nanmax(air) < 60


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_xarray_wrote_is_read_as_the_engine_zarr_reads_it(tmp_path, zarr_format):
    dataset = xr.Dataset(
        {
            "t": (("time", "x"), np.linspace(250, 300, 60).reshape(6, 10), {"units": "K"}),
            "n": ("x", np.arange(10, dtype="i2")),
            "s": ("x", np.array([f"station {number}" for number in range(10)], dtype=object)),
            "flag": ("x", np.arange(10) % 2 == 0),
        },
        coords={"time": np.datetime64("2026-01-01") + np.arange(6) * np.timedelta64(6, "h")},
        attrs={"title": "a test", "levels": [1, 2, 3]},
    )
    dataset.t[0, 3] = np.nan
    dataset["packed"] = dataset.t
    encoding = {
        "t": {"chunks": (2, 5)},
        "packed": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 270.0, "_FillValue": -32768},
    }
    path = tmp_path / "a.zarr"
    dataset.to_zarr(path, zarr_format=zarr_format, encoding=encoding)
    with (
        xr.open_dataset(path, engine="zarr", chunks={}) as by_zarr,
        xr.open_dataset(path, engine="ncz", chunks={}) as by_ncz,
    ):
        xr.testing.assert_identical(by_ncz.load(), by_zarr.load())
        for name in by_zarr.variables:
            if name != "s":
                assert by_ncz[name].dtype == by_zarr[name].dtype
            ours, theirs = by_ncz[name].encoding, by_zarr[name].encoding
            assert ours.get("preferred_chunks") == theirs.get("preferred_chunks"), name
            for key in {"scale_factor", "add_offset", "units", "calendar"} & set(theirs):
                assert ours[key] == theirs[key], (name, key)
            np.testing.assert_array_equal(ours.get("_FillValue"), theirs.get("_FillValue"), err_msg=name)
