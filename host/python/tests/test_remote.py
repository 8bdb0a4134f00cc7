"""Datasets in S3 and on HTTP servers, also across a fork."""

import functools
import http.server
import multiprocessing
import os
import threading

import numpy as np
import pytest
import xarray as xr

import ncz
import ncz.dask

VARIABLES = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """A bucket with a dataset, in a service of this process."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    patch = pytest.MonkeyPatch()
    for name, value in {**VARIABLES, "AWS_ENDPOINT_URL": endpoint}.items():
        patch.setenv(name, value)
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="ocean")
    yield "s3://ocean"
    patch.undo()
    server.stop()


@pytest.fixture(scope="module")
def in_s3(bucket, request):
    from conftest import ROOT

    target = f"{bucket}/ocean.nczarr"
    ncz.copy(ROOT / "tests/fixtures/ocean.nczarr", target)
    return target


def test_a_dataset_is_copied_to_s3_and_read_there(in_s3, fixtures):
    with (
        xr.open_dataset(in_s3, engine="ncz") as there,
        xr.open_dataset(fixtures / "ocean.nczarr", engine="ncz") as here,
    ):
        xr.testing.assert_identical(there.load(), here.load())


def test_the_plan_of_a_copy_in_parts_is_loaded_from_s3(bucket, in_s3):
    plan = ncz.dask.plan_copy(in_s3, f"{bucket}/parts/target.zarr#mode=zarr", parts=2)
    assert plan.location == f"{bucket}/parts/target.zarr.ncz-parts/plan.json#mode=zarr"
    plan = ncz.dask.Plan.load(plan.location)
    for part in range(len(plan)):
        plan.run(part)
    plan.finish(verify=True)
    with pytest.raises(ncz.Error):
        ncz.dask.Plan.load(plan.location)


def read_in_child(variable, queue):
    queue.put(float(variable[...].astype("f8").sum()))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_reads_from_s3_what_its_parent_opened(in_s3, method):
    variable = ncz.open(in_s3)["air_temperature"]
    wanted = float(variable[...].astype("f8").sum())
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=read_in_child, args=(variable, queue))
    child.start()
    assert queue.get(timeout=60) == wanted
    child.join(60)
    assert child.exitcode == 0 and float(variable[...].astype("f8").sum()) == wanted


def test_a_dataset_on_an_http_server(fixtures, tmp_path):
    ncz.copy(fixtures / "ocean.nczarr", tmp_path / "ocean.nczarr", consolidated=True)
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    handler = functools.partial(quiet, directory=os.fspath(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with ncz.open(f"http://127.0.0.1:{server.server_port}/ocean.nczarr#mode=nczarr") as dataset:
            here = ncz.open(fixtures / "ocean.nczarr")
            np.testing.assert_array_equal(dataset["model/salinity"][...], here["model/salinity"][...])
        server.shutdown()
