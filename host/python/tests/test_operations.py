"""Operations on whole datasets."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

import ncz
from ncz import _programs


def test_a_copy_has_the_values_and_the_chosen_codecs(fixtures, tmp_path):
    source = fixtures / "ocean.nczarr"
    seen = []
    done = ncz.copy(
        source,
        tmp_path / "out.zarr",
        format="zarr3",
        codec=[{"id": "zstd", "level": 5}],
        chunks="time/4,lat/73,lon/72",
        verify=True,
        threads=2,
        progress=lambda *now: seen.append(now),
    )
    assert isinstance(done, ncz.CopySummary) and done.verified and done.format == "Zarr version 3"
    assert done.json["schema"] == 1 and done.chunks == sum(one["chunks"] for one in done.variables)
    one, other = ncz.open(source), ncz.open(tmp_path / "out.zarr")
    for name in ["air_temperature", "model/salinity"]:
        np.testing.assert_array_equal(other[name][...], one[name][...])
    assert other["air_temperature"].chunks == (4, 73, 72)
    phases = [phase for phase, _, _ in seen]
    assert phases[0] == "copying" and phases[-1] == "verifying"
    assert seen[-1][1] == seen[-1][2] > 0


def test_arguments_are_the_options_of_the_command(fixtures, tmp_path):
    done = ncz.copy(
        fixtures / "ocean.nczarr",
        tmp_path / "part.zarr",
        variables=["lat", "air_temperature"],
        slab="lat=0:10",
        no_coordinates=True,
        consolidated=False,
    )
    assert {one["path"] for one in done.variables} == {"/lat", "/air_temperature"}
    assert ncz.open(tmp_path / "part.zarr")["lat"].shape == (10,)


def test_an_open_dataset_is_taken_by_its_location(fixtures, tmp_path):
    with ncz.open(fixtures / "ocean.nczarr") as dataset:
        assert ncz.copy(dataset, tmp_path / "a.zarr", variables="lat").source == str(fixtures / "ocean.nczarr")
        assert ncz.verify(dataset).warnings == 3 and ncz.info(dataset)["nczarr"] is True
        assert ncz.bench(dataset, "lat", time=1).variable == "/lat"
        one = ncz.open(tmp_path / "a.zarr")
        joined = ncz.copy([one, one], tmp_path / "b.zarr", concat="lat", any_order=True)
        assert joined.variables and ncz.open(tmp_path / "b.zarr")["lat"].shape == (146,)
        for other in [dataset["model"], dict(dataset), 3]:
            for call in [ncz.verify, ncz.info, lambda it: ncz.copy(it, "c.zarr"), lambda it: ncz.bench(it, "lat")]:
                with pytest.raises(TypeError):
                    call(other)


@pytest.mark.parametrize("form", ["nczarr", "zarr3"])
def test_a_list_of_codecs_is_one_chain_as_variables_have_it(fixtures, tmp_path, form):
    chain = [{"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 4}]
    source, part = fixtures / "ocean.nczarr", {"format": form, "variables": "air_temperature,lat,lon"}
    part["no_coordinates"] = True
    ncz.copy(source, tmp_path / "a", codec=chain, **part)
    codecs = ncz.open(tmp_path / "a")["air_temperature"].codecs
    assert [codec.get("id", codec.get("name", "")).removeprefix("numcodecs.") for codec in codecs] == ["shuffle", "zlib"]
    ncz.copy(source, tmp_path / "b", codec=codecs, **part)
    ncz.copy(source, tmp_path / "c", codec=[chain, "lat=none"], **part)
    for name in ["b", "c"]:
        copied = ncz.open(tmp_path / name)
        assert copied["air_temperature"].codecs == codecs
        assert bool(copied["lat"].codecs) is (name == "b")
    none = ncz.open(tmp_path / "c")["lat"].codecs
    ncz.copy(source, tmp_path / "d", codec=none, **part)
    assert none == [] == ncz.open(tmp_path / "d")["air_temperature"].codecs


def test_lengths_of_chunks_are_a_mapping_of_dimensions(fixtures, tmp_path):
    source, target = fixtures / "ocean.nczarr", tmp_path / "a.zarr"
    ncz.copy(source, target, format="zarr3", chunks={"lat": 10, "lon": np.int64(20)}, shards={"lat": 40, "lon": 40})
    air = ncz.open(target)["air_temperature"]
    assert air.chunks == (6, 10, 20) and air.shards == (6, 40, 40)
    ncz.copy(source, target, chunks=[{"lat": 10}, "air_temperature:1,2,3"], overwrite=True)
    copied = ncz.open(target)
    assert copied["lat"].chunks == (10,) and copied["air_temperature"].chunks == (1, 2, 3)
    strange = "a,b:c\\d=e"
    xr.Dataset({"v": (strange, np.zeros(9))}).to_zarr(tmp_path / "strange.zarr", zarr_format=3, consolidated=False)
    ncz.copy(tmp_path / "strange.zarr", target, chunks={strange: 4}, overwrite=True)
    assert ncz.open(target)["v"].chunks == (4,)


def test_errors_have_the_text_of_the_command(fixtures, tmp_path):
    command = [_programs.find("ncz"), "copy", tmp_path / "nothing", tmp_path / "out.zarr"]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    with pytest.raises(ncz.Error) as caught:
        ncz.copy(tmp_path / "nothing", tmp_path / "out.zarr")
    assert str(caught.value) == said.removeprefix("error: ").strip()
    with pytest.raises(ncz.Error, match="cannot use --codec.*: no codec for numcodecs codec"):
        ncz.copy(fixtures / "ocean.nczarr", tmp_path / "out.zarr", codec={"id": "no-such"})
    with pytest.raises(ncz.Error) as caught:
        ncz.copy(fixtures / "ocean.nczarr", tmp_path / "out.zarr", compress=True, deflate=1)
    assert str(caught.value) == "the argument '--compress' cannot be used with '--deflate <LEVEL>'"
    assert not (tmp_path / "out.zarr").exists()


def test_options_that_do_not_exist_are_unexpected_arguments(fixtures, tmp_path):
    source = fixtures / "ocean.nczarr"
    for call, text in [
        (lambda: ncz.copy(source, tmp_path / "a", codecs="zstd"), "copy.. .* 'codecs'; did you mean 'codec'?"),
        (lambda: ncz.copy(source, tmp_path / "a", no_plugin=True), "copy.. .* 'no_plugin'; did you mean 'no_plugins'?"),
        (lambda: ncz.copy(source, tmp_path / "a", reader="hdf5"), "copy.. .* 'reader'; did you mean 'readers'?"),
        (lambda: ncz.copy(source, tmp_path / "a", dry_run=True), "copy.. .* 'dry_run'"),
        (lambda: ncz.copy(source, tmp_path / "a", json=True), "copy.. .* 'json'"),
        (lambda: ncz.copy(source, tmp_path / "a", xyz=1, threads=2), "copy.. .* 'xyz'"),
        (lambda: ncz.verify(source, help=True), "verify.. .* 'help'"),
        (lambda: ncz.bench(source, "lat", tim=1), "bench.. .* 'tim'; did you mean 'time'?"),
        (lambda: ncz.info(source, version=True), "info.. .* 'version'"),
        (lambda: ncz.plugins(jso=True), "plugins.. .* 'jso'"),
        (lambda: ncz.why("zstd", json=True), "why.. .* 'json'"),
    ]:
        with pytest.raises(TypeError) as caught:
            call()
        wanted = text.replace(".. .* ", "() got an unexpected option ")
        assert str(caught.value) == wanted
    assert not (tmp_path / "a").exists()
    assert ncz.verify(source, repair=True, dry_run=True).findings


def test_a_callable_that_fails_ends_the_copy(fixtures, tmp_path):
    def fail(*_):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        ncz.copy(fixtures / "ocean.nczarr", tmp_path / "out.zarr", progress=fail)
    assert os.listdir(tmp_path) in ([], ["out.zarr"])


def test_verify_finds_faults_and_repairs_them(fixtures, tmp_path):
    found = ncz.verify(fixtures / "ocean.nczarr")
    assert not found and found.warnings == 3 and found.findings[0]["code"] == "shuffle-size-zero"
    repaired = ncz.verify(fixtures / "ocean.nczarr", repair_to=tmp_path / "fixed.nczarr")
    assert repaired.target == str(tmp_path / "fixed.nczarr")
    assert ncz.verify(tmp_path / "fixed.nczarr").warnings == 0


def test_bench_plugins_and_info(fixtures):
    tried = ncz.bench(fixtures / "ocean.nczarr", "air_temperature", time=1)
    assert tried.table()[0]["ratio"] > 1 and "<table>" in tried._repr_html_()
    assert {codec["name"] for codec in ncz.codecs()} >= {"zstd", "blosc", "deflate"}
    assert ncz.info(fixtures / "ocean.nczarr")["nczarr"] is True
    assert ncz.why("no-such-codec").startswith("no codec found")


def test_the_folder_that_netcdf4_sets_is_not_taken_for_a_choice(monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", "/somewhere/netCDF4/plugins")
    assert {folder["origin"] for folder in ncz.plugins()["folders"]} == {"default"}
    monkeypatch.setenv("HDF5_PLUGIN_PATH", "/somewhere/else")
    assert [folder["path"] for folder in ncz.plugins()["folders"]] == ["/somewhere/else"]


def test_ctrl_c_ends_a_copy_and_leaves_nothing(tmp_path):
    import signal

    import zarr

    values = np.random.default_rng(1).integers(0, 1 << 30, (4000, 5000))
    zarr.open_group(tmp_path / "in.zarr", mode="w", zarr_format=2).create_array("v", data=values, chunks=(100, 5000))
    code = (
        "import ncz, sys; print('go', flush=True); ncz.copy(*sys.argv[1:], codec={'id': 'bz2', 'level': 9}, threads=1)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "in.zarr"), str(tmp_path / "out.zarr")]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.5)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert time.monotonic() - start < 1.5 and "KeyboardInterrupt" in said
    assert os.listdir(tmp_path) == ["in.zarr"]
