"""Reads datasets of one variable with one program after the other.

readers.py make FOLDER    adds what other programs write: arrays without a group, without names, and types of HDF5
readers.py PART FOLDER    PART is netcdf, netcdf+plugins, python or python+packages

Prints {program: {dataset: what went wrong, empty if nothing did}, "versions": {program: version}}; values that are not as
they should be start with "wrong". Without "+packages" the optional packages of zarr-python are as not installed.
"""

import base64
import json
import os
import pathlib
import struct
import sys
import warnings

PART, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
if PART == "python":
    # as if they were not installed
    for name in ["pcodec", "zfpy", "imagecodecs", "hdf5plugin"]:
        sys.modules[name] = None

import numpy as np

warnings.simplefilter("ignore")
NUMBERS = np.arange(24).reshape(4, 6) % 7


def attempt(action, *arguments):
    try:
        return action(*arguments) or ""
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:200] or "error"


def compare(found, name):
    found = np.ma.getdata(np.asanyarray(found))
    if found.dtype.names:
        found = found["r"] + 1j * found["i"]
    if found.dtype.kind in "SUOT":
        texts = [value.decode() if isinstance(value, bytes) else str(value) for value in found.ravel().tolist()]
        wanted = [f"s{number}" for number in NUMBERS.ravel()]
        chars = [chr(ord("a") + number) for number in NUMBERS.ravel()]
        # xarray joins characters along their last dimension
        joined = ["".join(chars[row * 6:row * 6 + 6]) for row in range(4)]
        return "" if texts in (wanted, chars, joined) else f"wrong: {texts[:4]}"
    if found.dtype.kind in "mM":
        found = found.astype("i8")
    is_bool = found.dtype == bool or "b1" in name or "packbits" in name or "bool" in name
    wanted = NUMBERS % 2 if is_bool else NUMBERS
    if found.shape != wanted.shape:
        return f"wrong: shape {found.shape}"
    return "" if np.allclose(found.astype("c16"), wanted, atol=0.01) else f"wrong: {found.ravel()[:4]}"


def isolated(action, *arguments):
    """As `attempt`, in a process of its own: netcdf-c may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, attempt(action, *arguments).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return f"crash: signal {status}" if status else text


def datasets(*kinds):
    """The paths of datasets whose names begin so."""
    for path in sorted(FOLDER.iterdir()):
        if path.name.startswith(kinds):
            yield path


ZARR = ("v2", "v3", "nczarr")
FILES = ("netcdf4", "classic", "offset64", "cdf5", "file", "filter")


def by_netcdf(path):
    import netCDF4

    url = str(path)
    if path.name.startswith(ZARR):
        mode = "nczarr" if path.name.startswith("nczarr") else "zarr"
        url = f"file://{path}#mode={mode},{'zip' if path.suffix == '.zip' else 'file'}"
    with netCDF4.Dataset(url) as dataset:
        variable = dataset["v"]
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        return compare(variable[...], path.name)


def by_h5py(path):
    import h5py

    with h5py.File(path) as file:
        return compare(file["v"][...], path.name)


def by_zarr(path):
    import zarr

    store = zarr.storage.ZipStore(path, mode="r") if path.suffix == ".zip" else path
    node = zarr.open(store, mode="r")
    array = node if isinstance(node, zarr.Array) else node["v"]
    return compare(array[...], path.name)


def by_zarrs(path):
    import zarr

    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = by_zarr(path)
    unsupported = [str(warning.message) for warning in caught if "unsupported by ZarrsCodecPipeline" in str(warning.message)]
    return unsupported[0] if unsupported else found


def by_xarray(path):
    import xarray

    if path.name.startswith(FILES):
        options = {"engine": "netcdf4"}
    else:
        import zarr

        store = zarr.storage.ZipStore(path, mode="r") if path.suffix == ".zip" else path
        path, options = store, {"engine": "zarr", "consolidated": False}
    name = str(getattr(path, "name", path))
    # values as they are stored; a fill value of structures concerns only those who mask
    masks = name.endswith("structure-fill")
    with xarray.open_dataset(path, decode_times=False, mask_and_scale=masks, **options) as dataset:
        return compare(dataset["v"].values, name)


def by_tensorstore(path):
    import tensorstore

    driver = "zarr3" if path.name.startswith("v3") else "zarr"
    inner = "" if "root" in path.name else "v/"
    if path.suffix == ".zip":
        store = {"driver": "zip", "base": {"driver": "file", "path": str(path)}, "path": inner}
    else:
        store = {"driver": "file", "path": f"{path}/{inner}"}
    found = tensorstore.open({"driver": driver, "kvstore": store}).result().read().result()
    return "a dimension of bytes for each string" if found.ndim == 3 else compare(found, path.name)


# Codecs of numcodecs in version 3: a type that they take, and their configuration.
NUMCODECS = {
    "astype": ("f8", {"encode_dtype": "<f4", "decode_dtype": "<f8"}),
    "bitround": ("f4", {"keepbits": 10}),
    "blosc": ("f4", {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
    "bz2": ("f4", {"level": 5}),
    "delta": ("i4", {"dtype": "<i4"}),
    "fixedscaleoffset": ("f8", {"offset": 0, "scale": 1, "dtype": "<f8", "astype": "<i4"}),
    "gzip": ("f4", {"level": 5}),
    "packbits": ("bool", {}),
    "quantize": ("f8", {"digits": 2, "dtype": "<f8"}),
    "shuffle": ("f4", {"elementsize": 4}),
    "zfpy": ("f4", {"mode": 4, "tolerance": 0.001}),
    "zlib": ("f4", {"level": 5}),
    "zstd": ("f4", {"level": 3}),
}


def make_numcodecs():
    """An array of version 3 for each codec of numcodecs that zarr-python has."""
    import zarr
    import zarr.codecs.numcodecs
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec

    made = 0
    for kind in vars(zarr.codecs.numcodecs).values():
        name = getattr(kind, "codec_name", None) or ""
        if not name.startswith("numcodecs."):
            continue
        dtype, configuration = NUMCODECS.get(name.removeprefix("numcodecs."), ("f4", {}))
        codec = kind(**configuration)
        options = {"compressors": None}
        if isinstance(codec, ArrayBytesCodec):
            options["serializer"] = codec
        else:
            options["filters" if isinstance(codec, ArrayArrayCodec) else "compressors"] = [codec]
        group = zarr.create_group(FOLDER / f"v3-{name}", zarr_format=3)
        array = group.create_array("v", shape=(4, 6), chunks=(2, 4), dtype=dtype, dimension_names=["y", "x"], **options)
        array[...] = NUMBERS % 2 == 1 if dtype == "bool" else NUMBERS.astype(dtype)
        made += 1
    assert made > 20, made


def make():
    import h5py
    import zarr

    make_numcodecs()

    texts = np.array([f"s{number}" for number in NUMBERS.ravel()]).reshape(NUMBERS.shape)

    def group_of(name, version):
        return zarr.create_group(FOLDER / name, zarr_format=version)

    for version in (2, 3):
        array = zarr.create_array(FOLDER / f"v{version}-root", data=NUMBERS.astype("f4"), chunks=(2, 4), zarr_format=version)
        del array
        group = zarr.create_group(FOLDER / f"v{version}-unnamed", zarr_format=version)
        group.create_array("v", data=NUMBERS.astype("f4"), chunks=(2, 4))
    group = zarr.create_group(FOLDER / "v2-type-structure", zarr_format=2)
    structures = group.create_array("v", shape=(4, 6), chunks=(2, 4), dtype=[("r", "<f4"), ("i", "<f4")], fill_value=None)
    values = np.zeros((4, 6), [("r", "<f4"), ("i", "<f4")])
    values["r"] = NUMBERS
    structures[...] = values
    structures.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    # with a fill value, which zarr-python gives it by itself
    filled = group_of("v2-structure-fill", 2).create_array("v", shape=(4, 6), chunks=(2, 4), dtype=values.dtype)
    filled[...] = values
    filled.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    packed = base64.standard_b64encode(struct.pack("<d", 9)).decode()
    for number, (dtype, fill) in enumerate([
        ("f4", packed), ("f2", packed), ("c8", [packed, packed]), ("bool", True), ("bool", "x"), ("i4", 9), ("u1", 9.0),
        ("f4", 9), ("f8", "NaN"), ("f4", [packed]), ("i4", "9"), ("i4", [9]), ("c8", [9, 0]), ("f4", "AAAA"),
        ("U5", "no"), ("S5", "no"), ("S5", "bm8="), ("string", "no"), ("M8[s]", 9), ("m8[s]", 9),
    ]):
        is_text, is_bool = dtype in ("U5", "S5", "string"), dtype == "bool"
        made = texts if is_text else NUMBERS % 2 == 1 if is_bool else NUMBERS.astype(dtype)
        array = group_of(f"v3-attribute-{number}-{dtype}", 3).create_array(
            "v", shape=(4, 6), chunks=(2, 4), dtype=dtype, dimension_names=["y", "x"])
        array[...] = made if dtype == "string" else made.astype(dtype)
        array.attrs["_FillValue"] = fill
    plain = group_of("v3-text-fill-alone", 3).create_array(
        "v", shape=(4, 6), chunks=(2, 4), dtype="S5", fill_value=b"no", dimension_names=["y", "x"])
    plain[...] = texts.astype("S5")
    for name, dtype in [("float16", "f2"), ("bool", "?")]:
        with h5py.File(FOLDER / f"file-type-{name}.nc", "w") as file:
            file["v"] = (NUMBERS % 2 if dtype == "?" else NUMBERS).astype(dtype)
    return {"make": "done"}


def read():
    found = {"versions": {}}
    if PART.startswith("netcdf"):
        import netCDF4
        import xarray

        found["versions"] = {"netcdf-c": netCDF4.__netcdf4libversion__, "xarray": xarray.__version__}
        # it reads no version 3; one dataset shows it, and one crashes it
        kinds = ("v2", "nczarr", "v3-type-|", *FILES)
        action = {"file-type-float16.nc": isolated}
        found["netcdf-c"] = {path.name: action.get(path.name, attempt)(by_netcdf, path) for path in datasets(*kinds)}
        found["xarray"] = {path.name: action.get(path.name, attempt)(by_xarray, path) for path in datasets(*FILES)}
        return found
    import h5py
    import tensorstore  # noqa: F401
    import xarray
    import zarr
    from importlib.metadata import version

    found["versions"] = {"HDF5": h5py.version.hdf5_version, "zarr-python": zarr.__version__, "xarray": xarray.__version__,
                         "zarrs": version("zarrs"), "tensorstore": version("tensorstore")}
    if PART == "python+packages":
        import hdf5plugin  # noqa: F401
        import imagecodecs.numcodecs

        imagecodecs.numcodecs.register_codecs()
    readers = {"zarr-python": by_zarr, "xarray": by_xarray}
    if PART == "python":
        readers |= {"zarrs": by_zarrs, "tensorstore": by_tensorstore}
    for name, reader in readers.items():
        found[name] = {path.name: attempt(reader, path) for path in datasets(*ZARR)}
    found["HDF5"] = {path.name: attempt(by_h5py, path) for path in datasets("netcdf4", "file", "filter")}
    return found


print(json.dumps(make() if PART == "make" else read()))
