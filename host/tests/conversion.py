"""`write FOLDER` makes daily files with other epochs, packing and missing values each; `read FOLDER` compares what ncz made
of them with what xarray and netCDF4 make of the files. `parts` and `joined` do so with datasets of Zarr 2."""

import pathlib
import sys

import netCDF4
import numpy as np
import xarray
import zarr

folder = pathlib.Path(sys.argv[2])
DAYS = 3
paths = [folder / f"day{day}.nc" for day in range(DAYS)]


def write():
    for day, path in enumerate(paths):
        with netCDF4.Dataset(path, "w") as f:
            f.createDimension("time", None)
            f.createDimension("x", 5)
            f.createDimension("bnds", 2)
            time = f.createVariable("time", "i8" if day else "f8", ("time",))
            time.units = f"hours since 2020-01-0{day + 1}" if day else "minutes since 2019-12-30 12:00"
            time.calendar = "proleptic_gregorian" if day == 2 else "standard"
            time.bounds = "time_bnds"
            of_day = np.arange(24)
            time[:] = of_day if day else of_day * 60 + 36 * 60
            bounds = f.createVariable("time_bnds", "f8", ("time", "bnds"))
            bounds[:] = time[:][:, None] + np.array([0, 1 if day else 60])
            numbers = (np.arange(120) * 7 % 50).reshape(24, 5)
            t = f.createVariable("t", "i2", ("time", "x"), fill_value=[-32767, -999, -1][day], zlib=True, chunksizes=(7, 5))
            t.set_auto_maskandscale(False)
            t.scale_factor = 0.5
            t.add_offset = 10.0 * day
            t[:] = numbers
            t[3, 2] = t._FillValue
            w = f.createVariable("w", "f4", ("time", "x"), fill_value=[np.nan, 1e20, -999][day])
            w.set_auto_mask(False)
            w[:] = numbers / np.float32(3)
            w[5, 1:3] = w._FillValue
            # a number on the first day, packed on the others
            p = f.createVariable("p", "i2" if day else "f8", ("time", "x"), fill_value=-1)
            if day:
                p.scale_factor = 0.1
            p[:] = numbers * 0.1
            p[0, 0] = np.ma.masked


def read():
    want = xarray.open_mfdataset(paths, combine="nested", concat_dim="time").load()
    numbers = np.ma.concatenate([netCDF4.Dataset(path)["p"][:] for path in paths])
    names = ["concat.nc", "concat.zarr", "concat.nczarr", "append.zarr", "append.zarr3", "append.nczarr"]
    for name in names:
        options = {} if name.endswith(".nc") else {"engine": "zarr", "consolidated": False}
        with xarray.open_dataset(folder / name, **options) as ours:
            ours.load()
            for variable in ["time", "time_bnds", "t", "w"]:
                xarray.testing.assert_equal(ours[variable], want[variable])
            assert np.array_equal(ours["p"].values, numbers.filled(np.nan), equal_nan=True), name
            assert ours.sizes["time"] == 24 * DAYS, name
    with netCDF4.Dataset(folder / "concat.nc") as ours:
        for variable in ["t", "w"]:
            parts = [netCDF4.Dataset(path)[variable][:] for path in paths]
            assert np.ma.allequal(ours[variable][:], np.ma.concatenate(parts)), variable
            assert np.array_equal(np.ma.getmaskarray(ours[variable][:]), np.ma.getmaskarray(np.ma.concatenate(parts)))


def parts(path):
    """Two datasets of Zarr 2: the second in the other byte order, with UTC in its times, and with a fill value 0."""
    for day, (order, fill) in enumerate([("<", float("nan")), (">", 0)]):

        def array(group, name, values, fill):
            one = group.create_array(name, shape=values.shape, chunks=values.shape, dtype=values.dtype, fill_value=fill)
            one[...] = values
            one.attrs["_ARRAY_DIMENSIONS"] = ["time", "x"][: values.ndim]
            return one

        # Without a fill value of null or NaN, which xarray writes.
        group = zarr.open_group(path / f"part{day}.zarr", mode="w", zarr_format=2)
        time = array(group, "time", np.arange(4).astype(order + "i4") + (0 if day else -4), -99)
        time.attrs["units"] = f"hours since 2020-01-0{day + 1} 00:00:00" + ["", "+00:00"][day]
        values = np.arange(8).reshape(4, 2) + 8 * day
        array(group, "same", values.astype(order + "f4"), 99)
        values[0, 0] = 0
        array(group, "zeros", values.astype(order + "f4"), fill)
        # NaT, as xarray writes it in integers.
        group = zarr.open_group(path / f"nat{day}.zarr", mode="w", zarr_format=2)
        when = array(group, "when", np.array([0, 48, np.iinfo("i8").min, 24], order + "i8"), None)
        when.attrs["units"] = f"hours since 2020-01-0{day + 1}"


def joined(path):
    """What xarray reads of them and of the copies."""

    def read(name):
        with xarray.open_zarr(path / name, consolidated=False) as dataset:
            return dataset.load()

    want = xarray.concat([read("part0.zarr"), read("part1.zarr")], "time")
    for name in ["joined.zarr", "grown.zarr"]:
        ours = read(name)
        for variable in ["time", "same"]:
            assert np.array_equal(ours[variable], want[variable]), (name, variable)
        # As the note says: xarray masks it in the source, and not in the copy.
        assert np.isnan(want["zeros"][4, 0]) and ours["zeros"][4, 0] == 0, ours["zeros"]
        assert np.array_equal(ours["zeros"].fillna(0), want["zeros"].fillna(0))
    want = xarray.concat([read("nat0.zarr"), read("nat1.zarr")], "time")["when"]
    assert np.isnat(want[6]) and np.isnat(want[2])
    assert np.array_equal(read("nat.zarr")["when"], want, equal_nan=True)


# What xarray and cftime read alike, and ncz must.
ALIKE = """2000-01-01 06:00|2000-01-01T06:00|2000-01-01t6:0|2000-1-1|2000-1-1 0:0:5|2000-01-01 06:00Z|2000-01-01T06:00z
2000-01-01 06:00:00 z|2000-01-01 06:00 UTC|2000-01-01 06:00UTC|2000-01-01 06:00 GMT|2000-01-01 06:00 +00:00|2000-01-01 06:00 +0:00
2000-01-01 06:00+01:00|2000-01-01 06:00 +01:00|2000-01-01T06:00:00.25+01:00|2000-01-01 06:00 -06:00|2000-01-01 06:00 +0530
2000-01-01 06:00+0530|2000-01-01 06:00 +0000|2000-01-01 06:00 +00|2000-01-01 06:00-05|2000-01-01 06:00 -00:30
2000-01-01 12:30:15.25 -0330|2000-01-01 +01:00|2000-01-01 Z|2000-01-01Z|2000-01-01 UTC|2000-01-01 00:00:00.123456
2000-02-29|1600-02-29 12:00|1500-01-01|0001-01-01|1-1-1 00:00:0.0|1600-01-01 06:00 +01:00""".replace("\n", "|").split("|")
# What they do not read, refuse, or read differently from each other.
REFUSED = """2000-01-01 06|2000-01-01T06|2000-01-01T06Z|2000-01-01 06 +01:00|2000-01-01  06:00|2000-01-01 06:00 -6:00
2000-01-01 06:00 00:00|2000-01-01 06:00 +5|2000-01-01 06:00:00.0 +1:30|2000|2000-01|2000-02-30|1900-02-29|2000-01-01 24:00
2000-01-01 00:60|2000-01-01 00:00:60|0000-01-01|0-1-1|1582-10-10|2000-13-01|2000-01-01 06:00 UTC+1|2000-01-01+01:00
2000-01-01 06:00 +25:00|2000-01-01 06:00 +130|2000-01-01 00:00:00.1234567""".replace("\n", "|").split("|")


def when(values):
    values = values.astype("M8[us]") if values.dtype.kind == "M" else values
    return [value.isoformat() for value in values.tolist()]


def alike(epoch):
    """What xarray and cftime both read of the moment, or None."""
    import cftime

    units = "hours since " + epoch
    try:
        attributes = {"units": units, "calendar": "standard"}
        ours = xarray.decode_cf(xarray.Dataset({"t": ("t", np.array([0.0]), attributes)}))["t"].values
        theirs = cftime.num2date(0.0, units, "standard")
    except (ValueError, TypeError, OverflowError):
        return None
    ours = when(ours)[0]
    return ours if ours == theirs.isoformat() else None


def epochs():
    for number, epoch in enumerate([None, *ALIKE, *REFUSED]):
        with netCDF4.Dataset(folder / f"epoch{number}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "f8" if epoch else "i8", ("time",))
            time.units = f"hours since {epoch}" if epoch else "microseconds since 1990-01-01"
            time.calendar = "standard"
            time[:] = [0]
    (folder / "count").write_text(f"{len(ALIKE)} {len(REFUSED)}")


def moments():
    for number, epoch in enumerate([*ALIKE, *REFUSED], 1):
        path = folder / f"epochs{number}.nc"
        assert path.exists() == (epoch in ALIKE), epoch
        if epoch in ALIKE:
            with xarray.open_dataset(path) as joined:
                assert when(joined["time"].values)[1] == alike(epoch), epoch
    differ = [epoch for epoch in REFUSED if alike(epoch) is None]
    # Both read what is no offset, or more than cftime can hold.
    others = ["2000-01-01+01:00", "2000-01-01 06:00 +25:00", "2000-01-01 06:00 +130", "2000-01-01 00:00:00.1234567"]
    assert differ + others == REFUSED, set(REFUSED) - set(differ)


{"epochs": epochs, "moments": moments, "write": write, "read": read, "parts": lambda: parts(folder), "joined": lambda: joined(folder)}[sys.argv[1]]()
