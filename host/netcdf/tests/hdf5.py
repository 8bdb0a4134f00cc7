"""Makes HDF5 files with h5py and netCDF4, and `contents.json` with what these programs read from them.

hdf5.py FOLDER files|table
"""

import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys

import h5netcdf
import h5py
import netCDF4
import numpy as np
import xarray

folder = sys.argv[1]
os.chdir(folder)
files = []
rng = np.random.default_rng(1)


# What h5py does not pass on.
LIBRARY = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])


def call(name, plist, *values):
    function = getattr(LIBRARY, name)
    function.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * len(values)
    assert function(plist.id, *values) >= 0, name


def made(name, **kwargs):
    files.append(name)
    return h5py.File(name, "w", **kwargs)


def numbers(shape, dtype="<i4"):
    count = int(np.prod(shape)) if shape else 1
    return (np.arange(count) * 7 % 1001 - 300).astype(dtype).reshape(shape)


FILTERS = {
    "none": {},
    "deflate": dict(compression="gzip", compression_opts=4, shuffle=True),
    "sum": dict(compression="gzip", fletcher32=True),
}
VERSIONS = {"earliest": ("earliest", "latest"), "v108": ("v108", "v108"), "latest": ("latest", "latest")}


def grids(f, filters):
    """Every index of chunks."""

    def add(name, shape, chunks, maxshape=None, fill=None, **more):
        return f.create_dataset(name, shape, "<i4", chunks=chunks, maxshape=maxshape, fillvalue=fill, **filters, **more)

    def full(name, shape, chunks, maxshape=None, fill=None):
        add(name, shape, chunks, maxshape, fill)[...] = numbers(shape)

    full("single", (5, 4), (5, 4))
    full("single_larger", (5, 4), (8, 8), (8, 8))
    full("fixed", (10, 7), (3, 2))
    full("fixed_max", (4, 4), (2, 2), (4, 8))
    full("fixed_max_both", (5, 3), (2, 2), (9, 11))
    full("first", (10, 6), (2, 4), (None, 6))
    full("middle", (3, 9, 4), (2, 2, 3), (3, None, 4))
    full("last", (3, 9), (2, 2), (3, None))
    full("last_max", (3, 9), (2, 2), (10, None))
    full("two", (7, 9), (2, 4), (None, None))
    full("outer_two", (5, 3, 6), (2, 2, 4), (None, 3, None))
    full("long", (300,), (1,), (None,))
    full("paged", (3000,), (1,))
    full("many_two", (40, 50), (1, 1), (None, None))
    sparse = add("sparse", (20, 20), (3, 3), fill=-5)
    sparse[4:6, 10:12] = 8
    sparse[19, 19] = 9
    sparse = add("sparse_long", (5000,), (2,), (None,), fill=-5)
    sparse[4321:4330] = 8
    sparse = add("sparse_fixed", (5000,), (2,), fill=-6)
    sparse[4321:4330] = 8
    add("never", (6, 6), (2, 2), fill=3)
    add("never_unlimited", (6, 6), (2, 2), (None, 6), fill=3)
    add("empty", (0, 4), (2, 2), (None, 4))
    small = add("shrunk", (9, 9), (2, 2), (None, None))
    small[...] = numbers((9, 9))
    small.resize((4, 5))
    small = add("shrunk_one", (9, 9), (2, 2), (9, None), fill=1)
    small[...] = numbers((9, 9))
    small.resize((9, 3))
    small.resize((9, 7))


def index_files():
    for version, libver in VERSIONS.items():
        for kind, filters in FILTERS.items():
            with made(f"index_{version}_{kind}.h5", libver=libver) as f:
                grids(f, filters)
    # Early allocation without filters: the implicit index.
    with made("implicit.h5", libver="latest") as f:
        for name, shape, maxshape in [("a", (7, 5), None), ("max", (4, 4), (4, 8)), ("max_both", (5, 3), (9, 11))]:
            space = h5py.h5s.create_simple(shape, maxshape or shape)
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((2, 2))
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, space, plist)
            f[name][...] = numbers(shape)
    with made("ea_paged.h5", libver="latest") as f:
        d = f.create_dataset("pages", (140000,), "i1", chunks=(1,), maxshape=(None,))
        d[5:9] = 3
        d[131050:131080] = 4
        d[139990:] = 5


def edges_and_masks():
    with made("edges.h5", libver="latest") as f:
        for name, shape, maxshape in [("fixed", (7, 5), None), ("one", (7, 5), (None, 5)), ("two", (7, 5), (None, None)), ("single", (5, 3), (8, 4))]:
            space = h5py.h5s.create_simple(shape, tuple(h5py.h5s.UNLIMITED if m is None else m for m in (maxshape or shape)))
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((8, 4) if name == "single" else (4, 2))
            plist.set_shuffle()
            plist.set_deflate(5)
            call("H5Pset_chunk_opts", plist, 2)
            h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, space, plist)
            f[name][...] = numbers(shape)
    with made("masks.h5") as f:
        d = f.create_dataset("masked", (4, 4), "<i4", chunks=(2, 2), compression="gzip", shuffle=True)
        d[...] = numbers((4, 4))
        d.id.write_direct_chunk((0, 0), np.array([[1, 2], [3, 4]], "<i4").tobytes(), 0b11)
        import zlib

        d.id.write_direct_chunk((2, 2), zlib.compress(np.array([[5, 6], [7, 8]], "<i4").tobytes()), 0b01)


def types():
    with made("types.h5") as f:
        for order in "<>":
            for code in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
                name = ("little_" if order == "<" else "big_") + code
                f.create_dataset(name, data=numbers((4, 3), order + code))
                f[name].attrs["same"] = np.array([3, 4], order + code)
                f.create_dataset(name + "_fill", (3,), order + code, fillvalue=7, chunks=(2,))
        f.create_dataset("scalar", data=np.float64(2.5))
        f.create_dataset("chars", data=np.array([b"a", b"", b"c"], "S1"))
        f.create_dataset("fixed_text", data=np.array([b"abc", b"", b"abcde"], "S5"))
        f.create_dataset("text", data=["one", "", "drei", "vier" * 3000, "ü"], dtype=h5py.string_dtype())
        f.create_dataset("text_chunked", data=[["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]], dtype=h5py.string_dtype(), chunks=(2, 2), compression="gzip", shuffle=True, maxshape=(None, 3))
        f.create_dataset("text_never", (4,), dtype=h5py.string_dtype(), chunks=(2,))
        f.create_dataset("text_scalar", data="hello", dtype=h5py.string_dtype())
        many = [f"string number {i}" for i in range(3000)]
        f.create_dataset("text_many", data=many, dtype=h5py.string_dtype(), chunks=(500,))
        f.create_dataset("enum", data=np.array([1, 0], "i2"), dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i2"))
        f.create_dataset("bool", data=np.array([True, False]))
        f.create_dataset("complex", data=np.array([1 + 2j, -3.5j], "<c16"))
        f.create_dataset("complex_big", data=np.array([[1 + 2j, -3.5j]], ">c8"), chunks=(1, 1))
        nested = np.zeros(3, [("m", ">i2", (2, 3)), ("inner", [("x", "<f4"), ("text", "S4")]), ("last", "<u8")])
        nested["m"] = np.arange(18).reshape(3, 2, 3)
        nested["inner"]["x"] = [0.1, -2.5, 1e30]
        nested["inner"]["text"] = [b"ab", b"", b"abcd"]
        nested["last"] = 2**64 - 1
        f.create_dataset("nested", data=nested, chunks=(2,), compression="gzip", shuffle=True)
        f.create_dataset("compound", data=np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]))
        f.create_dataset("unreadable_long", data=np.array([1.5], np.longdouble))
        f.create_dataset("opaque", data=np.array([b"ab"], "V2"))
        rows = f.create_dataset("rows", (2,), dtype=h5py.vlen_dtype("i4"))
        rows[0] = [1, 2]
        f.create_dataset("unreadable_reference", (1,), dtype=h5py.ref_dtype)
        f.create_dataset("unreadable_null", data=h5py.Empty("f4"))
        t = h5py.h5t.STD_I32LE.copy()
        t.set_precision(17)
        h5py.h5d.create(f.id, b"unreadable_bits", t, h5py.h5s.create_simple((2,)))


def layouts():
    with made("layouts.h5") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((3, 4)), plist)
        f["compact"][...] = numbers((3, 4))
        f.create_dataset("contiguous", data=numbers((6, 7)))
        f.create_dataset("never", (6, 7), "<i4", fillvalue=11)
        f.create_dataset("large", data=numbers((37, 65537)))
        f.create_dataset("zero", (0, 3), "<i4")
        f.create_dataset("unreadable_external", (4,), "<i4", external=[("other.bin", 0, 16)])
        layout = h5py.VirtualLayout((6, 7), "<i4")
        layout[...] = h5py.VirtualSource("layouts.h5", "contiguous", (6, 7))
        f.create_virtual_dataset("unreadable_virtual", layout)


def table():
    """Every type in every layout, with every index of chunks and kind of filter, in every version of the format."""
    shape = (5, 3)
    grids = {"fixed": None, "one": (None, 3), "last": (5, None), "two": (None, None)}
    for version in ("earliest", "v108", "v110", "v112", "latest"):
        with made(f"table_{version}.h5", libver=(version, "latest")) as f:
            for code in ["i1", "<i2", ">u4", ">i8", "<f4", ">f8", "S1", "S3", "text"]:
                text = code == "text"
                kind = h5py.string_dtype() if text else np.dtype(code)
                name = code.strip("<>")
                if kind.kind in "SO":
                    words = [b"abcdefg"[i % 5 : i % 7] for i in range(15)]
                    data = np.array(words, object if text else kind).reshape(shape)
                else:
                    data = numbers(shape).astype(kind)

                def add(suffix, **more):
                    d = f.create_dataset(f"{name}_{suffix}", shape, kind, **more)
                    d[...] = data
                    d.attrs["one"] = "text" if text else data.astype(kind)[0, 1]
                    d.attrs["row"] = ["a", "", "bcd"] if text else data.astype(kind)[0]

                add("contiguous")
                for grid, maxshape in grids.items():
                    for filters, more in FILTERS.items():
                        if not (text and filters == "sum"):
                            add(f"{grid}_{filters}", chunks=(2, 2), maxshape=maxshape, **more)
                if not text:
                    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    plist.set_layout(h5py.h5d.COMPACT)
                    space = h5py.h5s.create_simple(shape)
                    h5py.h5d.create(f.id, f"{name}_compact".encode(), h5py.h5t.py_create(kind, logical=1), space, plist)
                    f[f"{name}_compact"][...] = data


def repacked():
    """The same files as an older HDF5 writes them."""
    program = shutil.which("h5repack")
    if program is None:
        return
    with open("block", "wb") as f:
        f.write(b"{" + b" " * 511)
    options = {
        "latest": ["-L"],
        "paged": ["-S", "PAGE", "-G", "4096"],
        "block": ["-u", "block", "-b", "512"],
        "compact": ["-l", "CONTI"],
        "chunked": ["-l", "CHUNK=3x2", "-f", "GZIP=3"],
        "dense": ["-c", "2", "-d", "1"],
    }
    for name, option in options.items():
        made_by = subprocess.run([program, *option, "table_v108.h5", f"repacked_{name}.h5"], capture_output=True)
        assert made_by.returncode == 0, made_by.stderr
        files.append(f"repacked_{name}.h5")


def by_xarray():
    """xarray's files, with coordinates, times, missing values and texts."""
    times = np.array(["2000-01-01", "2000-01-02", "2000-01-04"], "datetime64[ns]")
    dataset = xarray.Dataset(
        {
            "t": (("time", "x"), np.array([[1.5, np.nan], [2, 3], [4, 5]]), {"units": "K"}),
            "n": (("x",), np.array([1, 2], "i2")),
            "words": (("x",), np.array(["a", "bcd"], object)),
            "flag": (("x",), np.array([True, False])),
        },
        coords={"time": times, "x": [0.5, 1.5]},
        attrs={"title": "by xarray", "list": [1, 2]},
    )
    for kind in ("NETCDF4", "NETCDF4_CLASSIC"):
        name = f"xarray_{kind}.nc"
        files.append(name)
        encoding = {"t": {"zlib": True, "chunksizes": (2, 2)}}
        dataset.to_netcdf(name, engine="netcdf4", format=kind, unlimited_dims=["time"], encoding=encoding)


def by_h5netcdf():
    """Files of h5netcdf, by itself and for xarray."""
    files.append("h5netcdf.nc")
    with h5netcdf.File("h5netcdf.nc", "w") as f:
        f.attrs["title"] = "by h5netcdf"
        f.dimensions = {"time": None, "x": 5}
        f.resize_dimension("time", 3)
        v = f.create_variable("t", ("time", "x"), "f4", chunks=(1, 5), compression="gzip", shuffle=True, fillvalue=-1.0)
        v[...] = numbers((3, 5), "f4")
        v.attrs["units"] = "K"
        v.attrs["valid_range"] = np.array([0, 9], "f4")
        f.create_variable("x", ("x",), "f8")[...] = numbers((5,), "f8")
        g = f.create_group("g")
        g.dimensions["y"] = 4
        g.create_variable("s", ("y",), h5py.string_dtype())[...] = np.array(["a", "", "ccc", "\u00fc"], object)
        g.create_variable("never", ("time", "y"), "i2", chunks=(2, 2), fillvalue=7)
    files.append("xarray_h5netcdf.nc")
    dataset = xarray.Dataset(
        {"t": (("time", "x"), np.array([[1.5, np.nan], [2, 3], [4, 5]]), {"units": "K"}), "n": (("x",), np.array([1, 2], "i2"))},
        coords={"time": np.array(["2000-01-01", "2000-01-02", "2000-01-04"], "datetime64[ns]"), "x": ["a", "bc"]},
    )
    encoding = {"t": {"compression": "gzip", "chunksizes": (1, 2), "fletcher32": True}}
    dataset.to_netcdf("xarray_h5netcdf.nc", engine="h5netcdf", unlimited_dims=["time"], encoding=encoding)


def by_matlab():
    """A file as those of MATLAB 7.3: a block of text before it, classes in attributes, cells as references."""
    with made("matlab.mat", userblock_size=512) as f:
        def add(group, name, values, kind, **more):
            d = group.create_dataset(name, data=values, **more)
            d.attrs["MATLAB_class"] = np.bytes_(kind)
            return d

        add(f, "x", numbers((3, 4), "<f8"), "double")
        add(f, "z", numbers((300, 40), "<f8"), "double", chunks=(100, 40), compression="gzip", compression_opts=3)
        add(f, "text", np.array([[ord(c)] for c in "hello"], "<u2"), "char").attrs["MATLAB_int_decode"] = np.int32(2)
        add(f, "flag", np.array([[1], [0]], "u1"), "logical").attrs["MATLAB_int_decode"] = np.int32(1)
        add(f, "empty", np.array([0, 0], "<u8"), "double").attrs["MATLAB_empty"] = np.uint8(1)
        structure = f.create_group("structure")
        structure.attrs["MATLAB_class"] = np.bytes_("struct")
        fields = np.empty(2, object)
        fields[:] = [np.array([b"a"], "S1"), np.array([b"b", b"c"], "S1")]
        structure.attrs.create("MATLAB_fields", fields, dtype=h5py.vlen_dtype("S1"))
        add(structure, "a", np.array([[1.5]]), "double")
        add(structure, "bc", numbers((2, 2), "<i4"), "int32")
        add(f, "#refs#/a", np.array([[2.5]]), "double")
        add(f, "#refs#/b", numbers((2, 3), "<i8"), "int64")
        cells = np.array([[f["#refs#/a"].ref], [f["#refs#/b"].ref]], dtype=h5py.ref_dtype)
        add(f, "unreadable_cells", cells, "cell", dtype=h5py.ref_dtype)
        f["unreadable_empty"] = h5py.Empty("f8")
        f["x"].attrs["nothing"] = h5py.Empty("f8")
    with open("matlab.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 .".ljust(124) + b"\0\x02IM")


def containers():
    with made("user_block.h5", userblock_size=1024) as f:
        f.create_dataset("x", data=numbers((5,)))
        f.create_dataset("y", data=numbers((50,)), chunks=(7,), compression="gzip")
        f.create_dataset("t", data=["a", "bb"], dtype=h5py.string_dtype())
    for offset in (4, 2):
        plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        plist.set_sizes(offset, 4)
        name = f"narrow_{offset}.h5"
        files.append(name)
        fid = h5py.h5f.create(name.encode(), h5py.h5f.ACC_TRUNC, fcpl=plist)
        with h5py.File(fid) as f:
            f.create_dataset("x", data=numbers((5,)))
            f.create_dataset("y", data=numbers((50,)), chunks=(7,), maxshape=(None,))
            f.create_dataset("t", data=["a", "bb"], dtype=h5py.string_dtype())
            f.attrs["note"] = "text"
    with made("paged.h5", fs_strategy="page", fs_page_size=8192, libver="latest") as f:
        f.create_dataset("x", data=numbers((50,)), chunks=(7,), maxshape=(None,))
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    call("H5Pset_shared_mesg_nindexes", plist, 1)
    call("H5Pset_shared_mesg_index", plist, 0, 0b1100000101010 & 0x182A, 10)
    for libver in ("v108", "latest"):
        name = f"shared_{libver}.h5"
        files.append(name)
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        bound = h5py.h5f.LIBVER_V18 if libver == "v108" else h5py.h5f.LIBVER_LATEST
        access.set_libver_bounds(bound, h5py.h5f.LIBVER_LATEST)
        fid = h5py.h5f.create(name.encode(), h5py.h5f.ACC_TRUNC, fcpl=plist, fapl=access)
        with h5py.File(fid) as f:
            for i in range(6):
                d = f.create_dataset(f"d{i}", (4,), "<i4", chunks=(2,), compression="gzip", fillvalue=9)
                d[:3] = i
                d.attrs["a long name of an attribute"] = np.arange(20)
            for i in range(12):
                d.attrs[f"the same {i}"] = np.arange(20)
    with made("swmr.h5", libver="latest") as f:
        f.create_dataset("x", (5,), "<i4", chunks=(2,), maxshape=(None,))
        f.swmr_mode = True
        f["x"][...] = numbers((5,))


def groups():
    for version, libver in VERSIONS.items():
        with made(f"groups_{version}.h5", libver=libver) as f:
            for i in range(300):
                f.create_dataset(f"v{(i * 37) % 300:03}", data=np.int32(i))
            g = f.create_group("g/h/i")
            g.create_dataset("x", data=numbers((2, 2)))
            g["soft"] = h5py.SoftLink("/g/h/i/x")
            g["relative"] = h5py.SoftLink("i2/x")
            f["g/h/i/i2"] = h5py.SoftLink("/g/h/i")
            g["dangling"] = h5py.SoftLink("/nowhere")
            g["around"] = h5py.SoftLink("around")
            g["other"] = h5py.ExternalLink("other.h5", "/x")
            g["loop"] = f["/"]
            f["hard"] = g["x"]
    with made("order.h5", track_order=True) as f:
        for name in ["zeta", "alpha", "mid"] + [f"n{9 - i}" for i in range(10)]:
            d = f.create_dataset(name, data=np.int8(1), track_order=True)
            for a in ["z", "b", "a"] + [f"k{20 - i}" for i in range(12)]:
                d.attrs[a] = 1


def attributes():
    for version, libver in VERSIONS.items():
        with made(f"attributes_{version}.h5", libver=libver) as f:
            d = f.create_dataset("x", data=numbers((2,)))
            for i in range(40):
                d.attrs[f"a{i}"] = np.arange(i % 5 + 1, dtype="<f4")
            d.attrs["vlen"] = "some text"
            d.attrs["vlens"] = ["a", "", "ccc"]
            d.attrs["fixed"] = np.bytes_(b"fixed")
            d.attrs["fixeds"] = np.array([b"ab", b"c"], "S4")
            d.attrs["null"] = h5py.Empty("f4")
            d.attrs["flag"] = True
            d.attrs["big"] = np.array([1, 2], ">i8")
            d.attrs["matrix"] = np.arange(6).reshape(2, 3)
            d.attrs["compound"] = np.array((1, 2.0), [("a", "i4"), ("b", "f8")])
            f["kind"] = np.dtype("<i2")
            a = h5py.h5a.create(d.id, b"committed", f["kind"].id, h5py.h5s.create_simple((2,)))
            a.write(np.array([5, 6], "<i2"))
            d.attrs["last"] = np.int16(3)
    with made("large_attribute.h5", libver="latest") as f:
        f.attrs["large"] = np.arange(20000, dtype="<f8")
        for i in range(20):
            f.attrs[f"a{i}"] = i
        f.create_dataset("x", data=1)


def netcdf():
    def new(name, **kwargs):
        files.append(name)
        return netCDF4.Dataset(name, "w", **kwargs)

    with new("dimensions.nc") as d:
        d.title = "dimensions"
        d.setncattr_string("strings", ["a", "b"])
        d.history = ""
        d.createDimension("time", None)
        d.createDimension("x", 4)
        d.createDimension("y", 3)
        d.createDimension("alone", 7)
        d.createDimension("unused_unlimited", None)
        d.createVariable("zz", "f4", ("time", "x"), zlib=True, fill_value=-1.0)[:5] = numbers((5, 4))
        d.createVariable("x", "f8", ("x",))[:] = [1, 2, 3, 4]
        d.createVariable("aa", "i2", ("x", "x"))[:] = numbers((4, 4))
        d.createVariable("y", "i4", ("x",))[:] = 5
        d.createVariable("time", "f8", ("time",))[:] = np.arange(5)
        d["time"].units = "days since 2000-01-01"
        d.createVariable("scalar", "u8", ())[...] = 7
        d.createVariable("s", str, ("y",))[:] = np.array(["a", "bb", "ccc"], object)
        d.createVariable("c", "S1", ("y", "x"))[:] = np.array([list("abcd")] * 3, "S1")
        d.createVariable("unwritten", "i8", ("y",))
        d.createVariable("nofill", "i4", ("y",), fill_value=False)
        g = d.createGroup("g")
        g.createDimension("x", 2)
        g.note = np.array([1, 2], "i2")
        g.createVariable("of_both", "u1", ("y", "x"))[:] = 1
        g.createVariable("grown", "f4", ("time",))[:8] = 1
        h = g.createGroup("h")
        h.createVariable("deep", "i8", ("time", "y", "x"))[:2] = 4
        h.createVariable("of_unused", "i1", ("unused_unlimited",))[:3] = 4
        d.createVariable("two", "i4", ("time", "unused_unlimited"))[:2, :2] = 1
    with new("strict.nc", format="NETCDF4_CLASSIC") as d:
        d.createDimension("t", None)
        d.createVariable("v", "i2", ("t",))[:4] = [1, 2, 3, 4]
    with new("user_types.nc") as d:
        d.createDimension("x", 2)
        kind = d.createEnumType("i1", "kind", {"a": 0, "b": 1})
        d.createVariable("e", kind, ("x",), fill_value=0)[:] = [1, 0]
        compound = d.createCompoundType(np.dtype([("a", "i4"), ("b", "f4")]), "pair_t")
        d.createVariable("pair", compound, ("x",))[:] = np.array([(1, 2.5), (-3, 0.1)], [("a", "i4"), ("b", "f4")])
        d.createVariable("plain", "i4", ("x",))[:] = [1, 2]
    # Coordinate variables of several dimensions; renamed dimensions.
    with new("coordinates.nc") as d:
        d.createDimension("b", 3)
        d.createDimension("a", 2)
        d.createVariable("a", "i4", ("a", "b"))[:] = numbers((2, 3))
        d.createVariable("v", "i4", ("b", "a"))[:] = numbers((3, 2))
        d.createVariable("long", "i4", ("b", "a", "a"))[:] = numbers((3, 2, 2))
    with new("filters.nc") as d:
        d.createDimension("x", 1000)
        data = numbers((1000,))
        for name, more in [("zlib", dict(zlib=True)), ("sum", dict(fletcher32=True, zlib=True)), ("plain", {})]:
            d.createVariable(name, "i4", ("x",), chunksizes=(100,), **more)[:] = data
    with new("many.nc") as d:
        d.createDimension("x", 30)
        for i in range(100):
            v = d.createVariable(f"v{i}", "f4", ("x",), zlib=True)
            v.units = "K"
            v.long_name = f"variable number {i}"
            v[:] = i
    # Scales of h5py, without netCDF's numbers.
    with made("scales.h5") as f:
        for name, n in (("x", 3), ("y", 4)):
            f[name] = np.arange(n, dtype="<i4")
            f[name].make_scale(name)
        f["v"] = numbers((4, 3))
        f["v"].dims[0].attach_scale(f["y"])
        f["v"].dims[1].attach_scale(f["x"])
        f["partly"] = numbers((4, 5))
        f["partly"].dims[0].attach_scale(f["y"])
    with made("phony.h5") as f:
        f["a"] = numbers((3, 3, 4))
        f["b"] = numbers((4, 3))
        f["g/c"] = numbers((4, 3))
        f.create_dataset("u", (3, 4), "<i4", maxshape=(None, 4), chunks=(1, 4))[...] = 1
        f["scalar"] = 1
    files.append("h5netcdf_like.h5")
    with h5py.File("h5netcdf_like.h5", "w", track_order=True) as f:
        f.create_dataset("t", (3,), "<f8", maxshape=(None,), chunks=(2,))[...] = 1
        f["t"].make_scale("t")
        d = f.create_dataset("_nc4_non_coord_y", data=numbers((3,)))
        d.dims[0].attach_scale(f["t"])
        y = f.create_dataset("y", (4,), ">f4")
        y.make_scale("This is a netCDF dimension but not a netCDF variable.         4")


def value(v):
    if isinstance(v, h5py.Empty):
        return []
    if isinstance(v, (str, bytes)):
        return [v if isinstance(v, str) else v.decode()]
    v = np.atleast_1d(np.asarray(v))
    if v.dtype.kind in "OUS":
        return [x if isinstance(x, str) else x.decode() for x in v.ravel().tolist()]
    if v.dtype.kind == "f":
        return [repr(float(x)).replace("nan", "NaN") for x in v.ravel()]
    if v.dtype.kind == "b":
        return [str(int(x)) for x in v.ravel()]
    return [str(int(x)) for x in v.ravel()]


def data(name, found):
    """What h5py reads of every dataset."""
    with h5py.File(name, "r") as f:
        def visit(group, path, seen):
            for key in group:
                link = group.get(key, getlink=True)
                if isinstance(link, h5py.ExternalLink):
                    continue
                try:
                    item = group[key]
                except (KeyError, OSError, RuntimeError):
                    continue
                at = f"{path}/{key}"
                if isinstance(item, h5py.Group):
                    address = h5py.h5o.get_info(item.id).addr
                    if address not in seen:
                        visit(item, at, seen | {address})
                elif isinstance(item, h5py.Dataset):
                    scale = item.attrs.get("NAME", b"")
                    if scale[:32] == b"This is a netCDF dimension but n":
                        continue
                    found[at.replace("_nc4_non_coord_", "")] = one(item, key)
        visit(f, "", {h5py.h5o.get_info(f.id).addr})


def one(item, key):
    if key.startswith("unreadable"):
        return None
    if h5py.check_string_dtype(item.dtype) is not None or item.dtype.kind == "S":
        read = np.atleast_1d(np.asarray(item[()])).ravel().tolist()
        values = [x if isinstance(x, str) else x.decode() for x in read]
        return dict(shape=list(item.shape), strings=values, chars=item.dtype == np.dtype("S1"))
    if item.dtype.kind == "V" or h5py.check_vlen_dtype(item.dtype) is not None:
        return dict(shape=list(item.shape), rows=[structured(x) for x in np.atleast_1d(item[()]).ravel()])
    read = np.asarray(item[()])
    kind = read.dtype.newbyteorder("<") if read.dtype.kind != "b" else np.dtype("i1")
    return dict(shape=list(item.shape), bytes=read.astype(kind).tobytes().hex())


def structured(v):
    """A value as JSON: opaque bytes in hexadecimal, a compound as an object, rows as lists."""
    if isinstance(v, np.void) and v.dtype.names:
        return {name: structured(v[name]) for name in v.dtype.names}
    if isinstance(v, np.void):
        return v.tobytes().hex()
    if isinstance(v, np.ndarray):
        return [structured(x) for x in v.ravel()]
    if isinstance(v, bytes):
        return v.decode()
    return float(str(v)) if isinstance(v, np.floating) else v.item()


def tree(group):
    """What netCDF4 reads of a group."""
    def attributes(item):
        return [[n, value(item.getncattr(n))] for n in item.ncattrs()]

    return dict(
        dimensions=[[n, len(d), d.isunlimited()] for n, d in group.dimensions.items()],
        attributes=attributes(group),
        variables=[
            [n, str(v.dtype) if not isinstance(v.dtype, type) else "string", list(v.dimensions), attributes(v)]
            for n, v in group.variables.items()
        ],
        groups={n: tree(g) for n, g in group.groups.items()},
    )


def scattered():
    """10,000 chunks with the nodes of their index between them, as netcdf-c leaves them."""
    with made("scattered.h5", libver="v108") as f:
        d = f.create_dataset("x", (10000, 250), "<i4", chunks=(1, 250), maxshape=(None, 250), compression="gzip")
        noise = rng.integers(0, 2**31, (10000, 250), dtype="<i4")
        for i in range(0, 10000, 10):
            d[i : i + 10] = noise[i : i + 10]


if sys.argv[2] == "table":
    table()
    repacked()
    by_xarray()
    by_h5netcdf()
    by_matlab()
else:
    index_files()
    scattered()
    edges_and_masks()
    types()
    layouts()
    containers()
    groups()
    attributes()
    netcdf()
contents = {}
for name in files:
    found = {}
    data(name, found)
    entry = dict(data=found)
    try:
        with netCDF4.Dataset(name) as d:
            d.set_auto_maskandscale(False)
            entry["netcdf"] = tree(d)
    except Exception as error:
        entry["refused"] = str(error)
    contents[name] = entry
with open("contents.json", "w") as out:
    json.dump(contents, out)
