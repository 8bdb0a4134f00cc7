"""Makes netCDF and HDF5 files, and compares what their readers show with what they show of copies."""

import sys

import h5py
import hdf5plugin
import netCDF4
import numpy as np
import zarr

KINDS = {
    "classic": "NETCDF3_CLASSIC",
    "offset64": "NETCDF3_64BIT_OFFSET",
    "cdf5": "NETCDF3_64BIT_DATA",
    "netcdf4-classic": "NETCDF4_CLASSIC",
    "netcdf4": "NETCDF4",
}


def make(folder):
    for name, kind in KINDS.items():
        with netCDF4.Dataset(f"{folder}/{name}.nc", "w", format=kind) as file:
            fill(file, kind)
    with netCDF4.Dataset(f"{folder}/short.nc", "w") as file:
        file.createDimension("time", None)
        file.createVariable("long", "i4", ("time",), chunksizes=(2,))[:] = np.arange(6)
        file.createVariable("short", "i4", ("time",), chunksizes=(2,))[:2] = [7, 8]
    with h5py.File(f"{folder}/plain.h5", "w") as file:
        file.attrs["title"] = "text"
        file["a"] = np.arange(20.0).reshape(4, 5)
        noise = file.create_dataset(
            "noise", shape=(64,), dtype="u1", chunks=(16,), compression="gzip", shuffle=True, maxshape=(None,)
        )
        noise[:] = np.random.default_rng(1).integers(0, 256, 64)
        noise.id.write_direct_chunk((16,), bytes(range(16)), filter_mask=3)
        missing = file.create_dataset("missing", shape=(10,), dtype="f4", chunks=(5,))
        missing[0:3] = [1, 0, 2]
        file.create_dataset("scaled", data=np.arange(100), chunks=(10,), scaleoffset=0)
        foreign = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        foreign.set_chunk((4,))
        # Nothing has this number.
        foreign.set_filter(40000, h5py.h5z.FLAG_OPTIONAL, (7, 8))
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"foreign", h5py.h5t.STD_I32LE, space, dcpl=foreign)
    with h5py.File(f"{folder}/plugins.h5", "w") as file:
        data = np.arange(1000, dtype="i4").reshape(20, 50) % 37
        file["plain"] = data
        filters = {
            "blosc": hdf5plugin.Blosc(),
            "blosc2": hdf5plugin.Blosc2(),
            "lz4": hdf5plugin.LZ4(),
            "zstd": hdf5plugin.Zstd(),
            "bzip2": hdf5plugin.BZip2(),
            "bitshuffle": hdf5plugin.Bitshuffle(),
            "zfp": hdf5plugin.Zfp(reversible=True),
        }
        for name, options in filters.items():
            file.create_dataset(name, data=data, chunks=(7, 50), compression=options)
        file["nothing"] = h5py.Empty("f4")
        file["plain"].attrs["nothing"] = h5py.Empty("f4")


def fill(file, kind):
    numbers = np.random.default_rng(1)
    file.createDimension("time", None)
    file.createDimension("lat", 7)
    file.createDimension("lon", 11)
    file.createDimension("letters", 6)
    file.title = "A file"
    file.setncattr("numbers", np.array([1.5, 2.5]))
    time = file.createVariable("time", "f8", ("time",))
    time.units = "days since 2000-01-01"
    time[:] = np.arange(5)
    chunked = {}
    if kind.startswith("NETCDF4"):
        chunked = {"zlib": True, "shuffle": True, "complevel": 5, "chunksizes": (2, 7, 11)}
    values = file.createVariable("values", "f4", ("time", "lat", "lon"), fill_value=-999.0, **chunked)
    data = numbers.normal(size=(5, 7, 11)).astype("f4")
    values[:] = np.ma.masked_less(data, -1)
    values.setncattr("short", np.int16(3))
    part = file.createVariable("part", "i2", ("lat", "lon"))
    part[0:3] = numbers.integers(-9, 9, (3, 11))
    file.createVariable("bytes", "i1", ("lat",))[:] = np.arange(7) - 3
    text = netCDF4.stringtochar(np.array([f"ab{i}" for i in range(7)], "S6"))
    file.createVariable("text", "S1", ("lat", "letters"))[:] = text
    file.createVariable("scalar", "f8", ())[...] = 3.25
    file.createVariable("no_fill", "i4", ("lat",), fill_value=False)[:] = np.arange(7)
    if chunked:
        checked = file.createVariable("checked", "i4", ("lat", "lon"), zlib=True, complevel=1, fletcher32=True)
        checked[:] = np.arange(77).reshape(7, 11)
    if kind == "NETCDF4":
        file.createVariable("big", "i4", ("lon",), endian="big")[:] = np.arange(11)
        file.createVariable("unsigned", "u8", ("lon",))[:] = np.arange(11)
        strings = np.array([f"h{i}" * i for i in range(7)], object)
        file.createVariable("strings", str, ("lat",))[:] = strings
        group = file.createGroup("group")
        group.note = "inside"
        group.setncattr_string("several", ["a", "bc"])
        group.createDimension("q", 3)
        inner = group.createVariable("inner", "i8", ("q", "lon"))
        inner[:] = np.arange(33).reshape(3, 11)
        inner.setncattr_string("units", "m")


def equal(one, other, what):
    assert np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other)), f"{what}: other values are masked"
    is_number = one.dtype.kind in "iuf"
    if is_number:
        one, other = np.ma.filled(one, 0), np.ma.filled(other, 0)
    assert np.array_equal(one, other), f"{what}: {one} is not {other}"


def same_group(one, other):
    assert list(one.dimensions) == list(other.dimensions)
    for name, dimension in one.dimensions.items():
        copy = other.dimensions[name]
        assert (len(dimension), dimension.isunlimited()) == (len(copy), copy.isunlimited()), name
    assert list(one.variables) == list(other.variables)
    for name, variable in one.variables.items():
        copy = other.variables[name]
        assert variable.dimensions == copy.dimensions, name
        equal(variable[...], copy[...], name)
        for key in variable.ncattrs():
            assert np.array_equal(variable.getncattr(key), copy.getncattr(key)), f"{name}:{key}"
    for key in one.ncattrs():
        assert np.array_equal(one.getncattr(key), other.getncattr(key)), key
    for name in one.groups:
        same_group(one.groups[name], other.groups[name])


def nczarr(file, copy):
    with netCDF4.Dataset(file) as one, netCDF4.Dataset(f"file://{copy}#mode=nczarr,file") as other:
        same_group(one, other)


def plain(file, copy):
    """Without masks, scale factors and dimension names: what zarr-python reads."""
    with netCDF4.Dataset(file) as one:
        one.set_auto_maskandscale(False)
        other = zarr.open_group(copy, mode="r")
        plain_group(one, other)


def plain_group(one, other):
    for name, variable in one.variables.items():
        copy = other[name][...]
        values = np.asarray(variable[...])
        if values.dtype == object or copy.dtype.kind in "OT":
            values, copy = [list(map(str, array.ravel())) for array in (values, copy)]
        assert np.array_equal(values, copy), f"{name}: {values} is not {copy}"
        # In version 3 the fill value is written as xarray writes it, in Base64.
        for key in set(variable.ncattrs()) - {"_FillValue"}:
            assert np.array_equal(variable.getncattr(key), other[name].attrs[key]), f"{name}:{key}"
    for key in one.ncattrs():
        assert np.array_equal(one.getncattr(key), other.attrs[key]), key
    for name in one.groups:
        plain_group(one.groups[name], other[name])


{"make": make, "nczarr": nczarr, "plain": plain}[sys.argv[1]](*sys.argv[2:])
