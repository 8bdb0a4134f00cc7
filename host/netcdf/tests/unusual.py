"""Makes HDF5 files that few programs write, and `contents.json` with what h5py and netCDF4 read from them."""

import ctypes
import glob
import json
import os
import sys

import h5py
import netCDF4
import numpy as np

folder = sys.argv[1]
os.chdir(folder)
os.makedirs("links/below")


def numbers(shape):
    return (np.arange(int(np.prod(shape)), dtype="<i4") * 7 % 1001 - 300).reshape(shape)


def links():
    with h5py.File("outside.h5", "w") as f:
        f["x"] = 1
    with h5py.File("links/below/third.h5", "w") as f:
        f["y"] = numbers((4, 2))
        f["text"] = ["a", "", "ccc"]
        f["to_main"] = h5py.ExternalLink("../main.h5", "/own")
    with h5py.File("links/other.h5", "w") as f:
        for i in range(20):
            f[f"before{i}"] = numbers((3,))
        f.create_dataset("g/h/x", data=numbers((5, 3)), chunks=(2, 2), compression="gzip")
        f["g/h/x"].attrs["words"] = ["of", "other"]
        f["g/t"] = np.arange(5.0)
        f["g/t"].make_scale("t")
        f["g/h/x"].dims[0].attach_scale(f["g/t"])
        f["g/soft"] = h5py.SoftLink("/g/h/x")
        f["g/back"] = h5py.ExternalLink("main.h5", "/")
        f["g/around"] = h5py.ExternalLink("main.h5", "/around")
        f["on"] = h5py.ExternalLink("below/third.h5", "/y")
    with h5py.File("links/main.h5", "w") as f:
        f["own"] = numbers((2,))
        f["own"].attrs["words"] = ["of", "main", "file"]
        f["dataset"] = h5py.ExternalLink("other.h5", "/g/h/x")
        f["again"] = h5py.ExternalLink("./other.h5", "/g/soft")
        f["group"] = h5py.ExternalLink("other.h5", "/g")
        f["through"] = h5py.ExternalLink("other.h5", "/on")
        f["text"] = h5py.ExternalLink("below/third.h5", "text")
        f["soft_to_external"] = h5py.SoftLink("/group/h/x")
        f["there_and_back"] = h5py.ExternalLink("below/third.h5", "/to_main")
        f["around"] = h5py.ExternalLink("other.h5", "/g/around")
        f["nowhere"] = h5py.ExternalLink("other.h5", "/nowhere")
        f["no_file"] = h5py.ExternalLink("no.h5", "/x")
        f["not_hdf5"] = h5py.ExternalLink("text.h5", "/x")
        f["outside"] = h5py.ExternalLink("../outside.h5", "/x")
        f["absolute"] = h5py.ExternalLink(os.path.abspath("outside.h5"), "/x")
        f["remote"] = h5py.ExternalLink("https://host/outside.h5", "/x")
    with open("links/text.h5", "w") as f:
        f.write("not a file of HDF5")
    with h5py.File("soft.h5", "w", libver="latest") as f:
        g = f.create_group("g")
        for i in range(8000):
            g[f"name {i}"] = h5py.SoftLink("/g/x")
        g["x"] = numbers((2,))
    with h5py.File("soft_group.h5", "w") as f:
        f["g/x"] = numbers((2,))
        f["a"] = h5py.SoftLink("/g")
        f["z"] = h5py.SoftLink("/g/x")


def raw_strings(f, name, padding, values, **kwargs):
    """Writes bytes as they are: libhdf5 converts nothing between equal types."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(5)
    kind.set_strpad(padding)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    for set_to in kwargs.values():
        set_to(plist)
    space = h5py.h5s.create_simple((len(values),))
    d = h5py.h5d.create(f.id, name.encode(), kind, space, plist)
    if values:
        data = np.array(values, "V5")
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, data, kind)
    a = h5py.h5a.create(f[name].id, b"same", kind, space)
    a.write(np.array(values, "V5"), kind)


def strings():
    values = [b"ab\0cd", b"abcde", b"\0\0\0\0\0", b"a\0\0\0\0", b"a b  ", b"     "]
    with h5py.File("strings.h5", "w") as f:
        for name, padding in [("nullterm", h5py.h5t.STR_NULLTERM), ("nullpad", h5py.h5t.STR_NULLPAD), ("spacepad", h5py.h5t.STR_SPACEPAD)]:
            raw_strings(f, name, padding, values)
            raw_strings(f, name + "_chunks", padding, values, chunk=lambda p: p.set_chunk((4,)), gzip=lambda p: p.set_deflate(1))


def fills():
    with h5py.File("fills.h5", "w") as f:
        for code in ["<c8", ">c16"]:
            d = f.create_dataset(code[1:], (4,), code, chunks=(2,), fillvalue=np.array(1.5 - 2j, code)[()])
            d[:1] = 3 + 4j


def filters():
    with h5py.File("filters.h5", "w") as f:
        for name, code, chunk, order in [
            ("after_deflate", "<f8", 5, "zs"), ("between", "<f8", 5, "szs"), ("after_sum_8", "<f8", 5, "fsz"),
            ("after_sum_4", "<f4", 5, "fsz"), ("usual", "<f8", 5, "szf"),
        ]:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((chunk,))
            for letter in order:
                dict(z=lambda: plist.set_deflate(4), s=plist.set_shuffle, f=plist.set_fletcher32)[letter]()
            kind = h5py.h5t.py_create(np.dtype(code))
            h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple((12,)), plist)
            f[name][...] = np.arange(12) * 1.5


def names():
    # The name of the link is changed in the file, since no library writes it.
    with h5py.File("slash.h5", "w") as f:
        f["one_two"] = 1
        f["x"] = 2
        f.create_dataset("aXb", data=np.int8(3)).attrs["a/b"] = 1
    data = open("slash.h5", "rb").read().replace(b"one_two", b"one/two")
    open("slash.h5", "wb").write(data)
    # A user block with the text of JSON before the superblock.
    with h5py.File("block.h5", "w", userblock_size=512) as f:
        f["x"] = numbers((3,))
    with open("block.h5", "r+b") as f:
        f.write(b'{"zarr_format": 2}')


def scales():
    with h5py.File("scales.h5", "w") as f:
        f["x"] = np.arange(3.0)
        f["x"].make_scale("x")
        f["longer"] = numbers((5,))
        f["longer"].dims[0].attach_scale(f["x"])
        f["equal"] = numbers((3,))
        f["equal"].dims[0].attach_scale(f["x"])


def one(item):
    if h5py.check_string_dtype(item.dtype) is not None or item.dtype.kind == "S":
        read = np.atleast_1d(np.asarray(item[()])).ravel().tolist()
        return dict(strings=[x if isinstance(x, str) else x.decode() for x in read])
    read = np.asarray(item[()])
    return dict(shape=list(item.shape), bytes=read.astype(read.dtype.newbyteorder("<")).tobytes().hex())


links()
strings()
fills()
filters()
names()
scales()
contents = {}
for name in ["links/main.h5", "soft_group.h5", "strings.h5", "fills.h5", "filters.h5", "block.h5", "scales.h5"]:
    found = contents[name] = {}
    with h5py.File(name, "r") as f:
        def visit(group, path, depth):
            for key in group:
                try:
                    item = group[key]
                except (KeyError, OSError, RuntimeError):
                    continue
                if isinstance(item, h5py.Dataset):
                    found[f"{path}/{key}"] = one(item)
                elif depth < 2 and key != "back":
                    visit(item, f"{path}/{key}", depth + 1)
        visit(f, "", 0)
netcdf = {}
with netCDF4.Dataset("strings.h5") as d:
    netcdf = {name: v[:].tolist() for name, v in d.variables.items()}
with open("contents.json", "w") as out:
    json.dump(dict(h5py=contents, netcdf=netcdf), out)
