"""Writes netCDF-4 files with netCDF4 and h5py, describes files as these libraries and xarray see them, and changes them.

write.py make FOLDER       writes the files that are copied
write.py describe OUTPUT FILE...  writes a JSON object for each file, a line each
write.py append FILE       opens the file with netCDF4 to change it: a dimension, a variable, attributes and records
"""

import hashlib
import json
import sys
import warnings

import h5py
import netCDF4
import numpy as np
import xarray

warnings.simplefilter("ignore")


def make(folder):
    with netCDF4.Dataset(f"{folder}/types.nc", "w") as file:
        file.createDimension("x", 5)
        file.createDimension("t", None)
        file.title = "a title"
        for name in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "S1"]:
            variable = file.createVariable(name, name, ("x",))
            variable[:] = np.array(list(b"abcde"), "u1").view("S1") if name == "S1" else np.arange(5) + 1
        for name in ["i2", "f8"]:
            variable = file.createVariable("big_" + name, name, ("x",), endian="big")
            variable[:] = np.arange(5)
        file.createVariable("never", "i4", ("x",))
        file.createVariable("no_fill", "i4", ("x",), fill_value=False)[:] = 7
        file.createVariable("own_fill", "f4", ("x",), fill_value=-1.5)[1:3] = 2
        file.createVariable("scalar", "f8", ())[:] = 3.5
        file.createVariable("empty_scalar", "i2", ())

    with netCDF4.Dataset(f"{folder}/dimensions.nc", "w") as file:
        for name, length in [("t", None), ("y", 3), ("x", 4), ("u", None), ("never", 7), ("unused", None)]:
            file.createDimension(name, length)
        group = file.createGroup("g")
        inner = group.createGroup("inner")
        group.createDimension("x", 2)
        group.createDimension("z", 3)
        file.createVariable("t", "f8", ("t",)).units = "days since 2000-01-01"
        file.createVariable("y", "f4", ("y", "x"))[:] = np.arange(12).reshape(3, 4)
        # not coordinate variables
        file.createVariable("x", "i4", ("y",))[:] = 1
        file.createVariable("never", "i4", ())[:] = 9
        data = file.createVariable("data", "i2", ("t", "y", "x"), chunksizes=(2, 2, 3))
        data[0:5] = np.arange(60).reshape(5, 3, 4)
        two = file.createVariable("two", "i4", ("t", "x", "u"), chunksizes=(3, 3, 2))
        two[0:4, :, 0:5] = np.arange(80).reshape(4, 4, 5)
        file.createVariable("twice", "i4", ("y", "x", "x"))[:] = 1
        inner.createVariable("z", "f8", ("z",))[:] = [1, 2, 3]
        group.createVariable("x", "f8", ("x",))[:] = [1, 2]
        inner.createVariable("far", "i4", ("t", "z", "x", "y"))[0:2] = 4
        inner["far"].note = "dimensions of three groups"

    with netCDF4.Dataset(f"{folder}/filters.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 100)
        options = {
            "deflate": dict(zlib=True, complevel=5, shuffle=False),
            "shuffled": dict(zlib=True, complevel=1),
            "checked": dict(fletcher32=True),
            "all": dict(zlib=True, fletcher32=True),
        }
        for name, option in options.items():
            variable = file.createVariable(name, "i4", ("t", "x"), chunksizes=(3, 40), **option)
            variable[0:7] = np.arange(700).reshape(7, 100)
        sparse = file.createVariable("sparse", "f8", ("t", "x"), chunksizes=(1, 10), zlib=True)
        sparse[6, 95] = 1.25
        sparse[3, 50:52] = 2.5

    with netCDF4.Dataset(f"{folder}/strings.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        file.createVariable("fixed", str, ("x",))[:] = np.array(["", "a", "h\u00e9\u4e2d\U0001f600" * 3], object)
        file.createVariable("growing", str, ("t", "x"), chunksizes=(2, 2))
        for row in range(3):
            file["growing"][row] = np.array([f"{row}", "", "long" * 5000 * row], object)
        file.createVariable("one", str, ())[0] = "alone"
        file.createVariable("never", str, ("x",))
        file.createVariable("filled", str, ("t",), fill_value="none")
        file.setncattr("texts", ["a", "", "\u4e2d\u6587"])
        file.setncattr_string("text", "one")
        file.setncattr("char", "\u00fcber")
        file.setncattr("empty", "")
        file.setncattr("numbers", np.array([1.5, -2.5]))
        file.setncattr("many", [f"text {n}" * (n % 50) for n in range(2000)])

    with netCDF4.Dataset(f"{folder}/attributes.nc", "w") as file:
        file.createDimension("x", 2)
        file.createDimension("t", None)
        file.gone = "deleted later"
        variable = file.createVariable("v", "f4", ("x",))
        for name in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]:
            variable.setncattr("a_" + name, np.array([1, 2, 3], name))
            variable.setncattr("b_" + name, np.dtype(name).type(7))
        for number in range(300):
            file.setncattr(f"attribute {number:03} \u00e9", number)
        large = file.createVariable("large", "f4", ("x",))
        large.before = "b"
        large.large = "x" * 160_000
        large.numbers = np.arange(20_000, dtype="f8")
        large.after = "a"

    with netCDF4.Dataset(f"{folder}/classic_model.nc", "w", format="NETCDF4_CLASSIC") as file:
        file.createDimension("t", None)
        file.createVariable("t", "i4", ("t",))[0:3] = [1, 2, 3]

    with netCDF4.Dataset(f"{folder}/many.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        for number in range(300):
            file.createVariable(f"v{number:03}", "i2", ("t", "x"), chunksizes=(1, 3))[0:2] = number
        for number in range(20):
            file.createGroup(f"g{number}").note = f"group {number}"

    with netCDF4.Dataset(f"{folder}/empty.nc", "w") as file:
        file.createDimension("t", None)
        file.createVariable("r", "f4", ("t",))
        file.createVariable("t", "f4", ("t",), zlib=True)
    netCDF4.Dataset(f"{folder}/nothing.nc", "w").close()

    with h5py.File(f"{folder}/h5py.nc", "w", track_order=True) as file:
        data = np.arange(60, dtype="f4").reshape(5, 12)
        file.create_dataset("half", data=data.astype("f2"))
        file.create_dataset("c8", data=data * (1 + 2j), chunks=(5, 4))
        file.create_dataset("c16", data=(data * (1 - 2j)).astype("c16"))
        file.create_dataset("fixed", data=np.array([b"one", b"twotwo"], "S6"))
        file.create_dataset("compact", data=np.arange(3, dtype="i8"), dcpl=compact())
        masked = file.create_dataset("masked", (4, 4), "i4", chunks=(2, 2), shuffle=True, compression="gzip", maxshape=(None, 4))
        masked[...] = np.arange(16).reshape(4, 4)
        masked.id.write_direct_chunk((2, 0), np.array([5, 6, 7, 8], "i4").tobytes(), 0b11)


def compact():
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    return properties


def plain(value):
    """A value as JSON; that of a long array is a hash."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return plain(value[()])
        if value.size > 10_000:
            if value.dtype.kind == "O":
                return hashlib.sha256(repr(value.tolist()).encode()).hexdigest()
            return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [plain(item) for item in value]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, (complex, np.complexfloating)):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    return value


def hdf5_type(kind):
    """All that h5py knows of a type."""
    text = {"class": type(kind).__name__, "size": kind.get_size()}
    if isinstance(kind, h5py.h5t.TypeStringID):
        text |= {"variable": kind.is_variable_str(), "pad": kind.get_strpad(), "charset": kind.get_cset()}
    elif isinstance(kind, (h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID)):
        text |= {"order": kind.get_order(), "precision": kind.get_precision(), "offset": kind.get_offset()}
        if isinstance(kind, h5py.h5t.TypeIntegerID):
            text["sign"] = kind.get_sign()
        else:
            text |= {"fields": kind.get_fields(), "bias": kind.get_ebias(), "norm": kind.get_norm()}
    elif isinstance(kind, h5py.h5t.TypeCompoundID):
        members = range(kind.get_nmembers())
        text["members"] = [
            [kind.get_member_name(at).decode(), kind.get_member_offset(at), hdf5_type(kind.get_member_type(at))]
            for at in members
        ]
    elif isinstance(kind, h5py.h5t.TypeEnumID):
        members = range(kind.get_nmembers())
        text["members"] = [[kind.get_member_name(at).decode(), kind.get_member_value(at)] for at in members]
        text["base"] = hdf5_type(kind.get_super())
    elif isinstance(kind, h5py.h5t.TypeVlenID):
        text["base"] = hdf5_type(kind.get_super())
    return text


def hdf5_attributes(file, item):
    """The attributes of an object in the order of their creation."""
    names = []
    h5py.h5a.iterate(item.id, names.append, index_type=h5py.h5.INDEX_CRT_ORDER)
    found = {}
    for name in [name.decode() for name in names]:
        identifier = item.attrs.get_id(name)
        space = identifier.get_space()
        entry = {"type": hdf5_type(identifier.get_type()), "space": space.get_simple_extent_type()}
        entry["shape"] = list(identifier.shape) if entry["space"] != h5py.h5s.NULL else None
        if name == "DIMENSION_LIST":
            entry["value"] = [[file[reference].name for reference in row] for row in item.attrs[name]]
        elif name == "REFERENCE_LIST":
            entry["value"] = sorted([file[row[0]].name, int(row[1])] for row in item.attrs[name])
        elif entry["space"] != h5py.h5s.NULL:
            entry["value"] = plain(item.attrs[name])
        found[name] = entry
    return found


def hdf5(file):
    """What h5py sees, by the path of each object."""
    found = {}

    # A copy has names for types that have none in the original: _AnonymousCompound1.
    def visit(name, item):
        entry = {"attributes": hdf5_attributes(file, item)}
        properties = item.id.get_create_plist()
        entry["attribute order"] = properties.get_attr_creation_order()
        if isinstance(item, h5py.Group):
            entry["link order"] = properties.get_link_creation_order()
            entry["links"] = [link for link in item if not link.startswith("_Anonymous")]
        elif isinstance(item, h5py.Datatype):
            entry["type"] = hdf5_type(item.id)
        else:
            entry |= {"type": hdf5_type(item.id.get_type()), "shape": item.shape, "max": item.maxshape}
            entry["layout"] = properties.get_layout()
            entry["fill"] = [properties.fill_value_defined(), properties.get_fill_time(), properties.get_alloc_time()]
            entry["fill value"] = plain(item.fillvalue) if item.dtype.kind != "O" else None
            entry["filters"] = [
                [plain(part) for part in properties.get_filter(at)[:3]] for at in range(properties.get_nfilters())
            ]
            if item.chunks:
                entry["chunks"] = item.chunks
                count = item.id.get_num_chunks()
                entry["number of chunks"] = count
                if count <= 1000:
                    infos = [item.id.get_chunk_info(at) for at in range(count)]
                    entry["chunk table"] = sorted([info.chunk_offset, info.filter_mask, info.size] for info in infos)
            entry["value"] = plain(item[()])
        found[name] = entry

    visit("/", file)
    file.visititems(lambda name, item: None if name.startswith("_Anonymous") else visit("/" + name, item))
    return found


def netcdf(group):
    """What netCDF4 sees of a group."""

    def attributes(item):
        return [[name, plain(item.getncattr(name))] for name in item.ncattrs()]

    found = {"attributes": attributes(group), "variables": [], "dimensions": [], "groups": []}
    for name, dimension in group.dimensions.items():
        found["dimensions"].append([name, dimension.size, dimension.isunlimited(), dimension._dimid])
    for name, variable in group.variables.items():
        variable.set_auto_maskandscale(False)
        entry = {"name": name, "attributes": attributes(variable), "shape": variable.shape}
        entry["type"] = str(variable.dtype)
        entry["dimensions"] = [
            [dimension.group().path, dimension.name] for dimension in variable.get_dims()
        ]
        entry["chunks"] = variable.chunking()
        entry["filters"] = plain(variable.filters())
        entry["endian"] = variable.endian()
        if variable.dtype is not str:
            entry["fill"] = plain(variable.get_fill_value())
        entry["value"] = plain(np.asarray(variable[...]))
        found["variables"].append(entry)
    for name, child in group.groups.items():
        found["groups"].append([name, netcdf(child)])
    return found


def through_xarray(path, engine):
    with xarray.open_dataset(path, engine=engine, decode_cf=False) as dataset:
        return {
            name: [list(variable.dims), plain(np.asarray(variable.values)), sorted(variable.attrs)]
            for name, variable in dataset.variables.items()
        }


def describe(path):
    found = {}
    with h5py.File(path) as file:
        found["hdf5"] = hdf5(file)
        foreign = any(
            isinstance(item.id.get_type(), (h5py.h5t.TypeEnumID, h5py.h5t.TypeCompoundID))
            for item in file.values()
            if isinstance(item, h5py.Dataset)
        )
    if not foreign:
        with netCDF4.Dataset(path) as file:
            found["netcdf"] = netcdf(file)
            found["format"] = [file.data_model, file.disk_format]
        found["xarray"] = {engine: through_xarray(path, engine) for engine in ["netcdf4"]}
    return found


def append(path):
    """Changes a file of which a record dimension is `t`, and `x` is fixed."""
    with netCDF4.Dataset(path, "a") as file:
        records = file.dimensions["t"].size
        file.createDimension("new", 6)
        variable = file.createVariable("added", "f8", ("t", "new"), zlib=True, chunksizes=(1, 6))
        variable[records + 1] = np.arange(6)
        variable.units = "m"
        for name, variable in list(file.variables.items()):
            if variable.dimensions[:1] == ("t",) and name != "added":
                # HDF5 2.0 cannot read strings that fill such a record, without write access.
                if variable.dtype is not str:
                    variable[records] = np.ones(variable.shape[1:])
            variable.setncattr("changed", "yes")
        for number in range(12):
            file.setncattr(f"more_{number}", [f"text {number}", "b"])
        for name in file.ncattrs():
            if name == "gone":
                file.delncattr(name)
        file.createGroup("added_group").createVariable("w", "i4", ("x",))[:] = 3
    with netCDF4.Dataset(path, "a") as file:
        file.again = "twice"
        file["added"].units = "another unit, which is longer than the one before"


command, *arguments = sys.argv[1:]
if command == "make":
    make(*arguments)
elif command == "describe":
    with open(arguments[0], "w") as output:
        for argument in arguments[1:]:
            output.write(json.dumps(describe(argument)) + "\n")
else:
    append(*arguments)
