"""Compares copies with their original: compare.py (netcdf|zarr) ORIGINAL COPY..

netcdf: netCDF4 reads both sides, with groups, dimensions, attributes, fill values and data; zarr-python reads the copies, whose
data must be those that netCDF4 reads of the original. zarr: zarr-python reads both sides, netCDF4 the data of the copies.
Prints one line for each difference; status 1 if there are any.
"""

import json
import pathlib
import sys

import numpy as np
from values import same

DIFFERENCES = []
# what zarr-python has no codec for
NOT_IN_ZARR = {"szip"}


def differ(copy, what):
    DIFFERENCES.append(f"{pathlib.Path(copy).name}: {what}")


def open_netcdf(folder):
    import netCDF4

    dataset = netCDF4.Dataset(f"file://{pathlib.Path(folder).resolve()}#mode=nczarr,file")
    dataset.set_auto_maskandscale(False)
    return dataset


def netcdf_variables(group, path=""):
    yield from ((f"{path}/{name}", variable) for name, variable in group.variables.items())
    for name, inner in group.groups.items():
        yield from netcdf_variables(inner, f"{path}/{name}")


def netcdf_groups(group, path="/"):
    yield path, group
    for name, inner in group.groups.items():
        yield from netcdf_groups(inner, f"{path.rstrip('/')}/{name}")


def attributes(owner):
    """Name -> (type, values): everything about an attribute except its location."""
    found = {}
    for name in owner.ncattrs():
        value = owner.getncattr(name)
        array = np.asarray(value)
        kind = type(value).__name__ if isinstance(value, (str, list)) else array.dtype.str
        found[name] = (kind, array.tolist() if array.dtype.kind != "f" else array.tobytes())
    if "looks_like_a_number" in found:
        # what make_nczarr.py has given it; of what netcdf-c stores, it reads back the first digit
        found["looks_like_a_number"] = ("str", "17") if found["looks_like_a_number"][1] in ("1", "17") else "lost"
    return found


def of_type(variable):
    return str(variable.dtype) if variable.dtype is str else np.dtype(variable.dtype).str


def byte_order(variable):
    return variable.endian() if variable.dtype is not str and variable.dtype.itemsize > 1 else "none"


def data(variable):
    values = variable[...]
    return np.asarray(values, "S") if variable.dtype is str else np.asarray(values)


def with_right_fill(folder, path, values):
    """The values with one fill value instead of two: netcdf-c takes that of a big-endian variable with its bytes the wrong way
    round, where a chunk is missing and in the part of a chunk that it does not write."""
    fill = json.loads((pathlib.Path(folder) / path.strip("/") / ".zarray").read_text())["fill_value"]
    if values.dtype.byteorder != ">" or not isinstance(fill, (int, float)):
        return values
    fill = np.array(fill, values.dtype)
    bits = values.view(f">u{values.dtype.itemsize}")
    return np.where(bits == fill.byteswap().view(bits.dtype), fill, values)


def compare_netcdf(original, copy):
    with open_netcdf(original) as a, open_netcdf(copy) as b:
        groups, copied = dict(netcdf_groups(a)), dict(netcdf_groups(b))
        if list(groups) != list(copied):
            differ(copy, f"groups {list(groups)} and {list(copied)}")
        for path in groups.keys() & copied.keys():
            of_dimensions = [{n: (len(d), d.isunlimited()) for n, d in g.dimensions.items()}
                             for g in (groups[path], copied[path])]
            if of_dimensions[0] != of_dimensions[1]:
                differ(copy, f"dimensions of {path}: {of_dimensions}")
            if attributes(groups[path]) != attributes(copied[path]):
                differ(copy, f"attributes of {path}: {attributes(groups[path])} and {attributes(copied[path])}")
        variables, copied = dict(netcdf_variables(a)), dict(netcdf_variables(b))
        if variables.keys() != copied.keys():
            differ(copy, f"variables {sorted(variables)} and {sorted(copied)}")
        for path in variables.keys() & copied.keys():
            one, other = variables[path], copied[path]
            for what, of in (("type", of_type), ("dimensions", lambda v: v.dimensions), ("shape", lambda v: v.shape),
                             ("byte order", byte_order), ("attributes", attributes)):
                if of(one) != of(other):
                    differ(copy, f"{what} of {path}: {of(one)} and {of(other)}")
            try:
                if not same(data(one), data(other)):
                    differ(copy, f"data of {path}")
            except Exception as error:
                differ(copy, f"{path}: {error}")


def zarr_arrays(folder):
    """Path -> array. One that zarr-python refuses is an error of that array; listing a group's members would fail for all."""
    import zarr

    arrays = {}
    for document in pathlib.Path(folder).rglob(".zarray"):
        path = document.parent.relative_to(folder)
        try:
            arrays[f"/{path}"] = zarr.open_array(str(folder), path=str(path), mode="r", zarr_format=2)
        except ValueError as error:
            arrays[f"/{path}"] = error
    return arrays


def attributes_of_zarr(array):
    """Except for those that NCZarr adds."""
    return repr({name: value for name, value in array.attrs.items() if not name.startswith(("_nczarr", "_ARRAY_DIM"))})


def zarray(folder, path):
    return json.loads((pathlib.Path(folder) / path.strip("/") / ".zarray").read_text())


def codecs(folder, path):
    array = zarray(folder, path)
    return [codec["id"] for codec in (array["filters"] or []) + ([array["compressor"]] if array["compressor"] else [])]


def compare_values(copy, wanted, read, paths):
    """What `read` gives for each path against `wanted`."""
    for path in paths:
        try:
            if not same(wanted[path], read(path)):
                differ(copy, f"{read.__name__} reads other data of {path}")
        except Exception as error:
            differ(copy, f"{read.__name__}: {path}: {type(error).__name__}: {error}")


def main(kind, original, copies):
    if kind == "netcdf":
        with open_netcdf(original) as dataset:
            wanted = {path: with_right_fill(original, path, data(variable))
                      for path, variable in netcdf_variables(dataset)}
        for copy in copies:
            compare_netcdf(original, copy)
            arrays = zarr_arrays(copy)

            def zarr_python(path):
                if isinstance(arrays[path], Exception):
                    raise arrays[path]
                # netCDF's scalars may be arrays of one element in Zarr
                values = with_right_fill(copy, path, arrays[path][...])
                return values if wanted[path].shape else np.reshape(values, ())

            readable = [path for path in wanted if not NOT_IN_ZARR & set(codecs(copy, path))]
            # netcdf-c distinguishes text from strings by a byte order that zarr-python refuses; strings have a length in Zarr
            compare_values(copy, wanted, zarr_python, [path for path in readable if wanted[path].dtype.kind != "S"])
        return
    arrays = zarr_arrays(original)
    wanted = {path: array[...] for path, array in arrays.items()}
    for copy in copies:
        copied = zarr_arrays(copy)
        if arrays.keys() != copied.keys():
            differ(copy, f"arrays {sorted(arrays)} and {sorted(copied)}")
        readable = [path for path in wanted if path in copied and not NOT_IN_ZARR & set(codecs(copy, path))]
        for path in readable:
            for what, of in (("type", lambda a: a.dtype.str), ("shape", lambda a: a.shape or (1,)),
                             ("attributes", attributes_of_zarr), ("fill value", lambda a: repr(a.fill_value))):
                if what == "fill value" and not arrays[path].fill_value and copied[path].fill_value is None:
                    continue  # the 0 that zarr-python always writes: the copy says that nothing is masked
                if what == "type" and "_be_" in path and "--format nczarr" in str(copy):
                    # Without it netcdf-c would give what was not written with its bytes the wrong way round.
                    if copied[path].dtype != arrays[path].dtype.newbyteorder("<"):
                        differ(copy, f"{path} is not little-endian: {of(copied[path])}")
                    continue
                if of(arrays[path]) != of(copied[path]):
                    differ(copy, f"{what} of {path}: {of(arrays[path])} and {of(copied[path])}")

        def zarr_python(path):
            return copied[path][...]

        compare_values(copy, wanted, zarr_python, readable)
        with open_netcdf(copy) as dataset:
            variables = {path.strip("/"): variable for path, variable in netcdf_variables(dataset)}

            # netCDF takes no scalars in pure Zarr, knows C order only, and reads the other as if it were that; what was not written it gives
            # with its bytes the wrong way round if the variable is big-endian
            in_c = [path for path in wanted if zarray(copy, path)["order"] == "C" and wanted[path].shape]
            swapped = [path for path in in_c if zarray(copy, path)["dtype"].startswith(">")]
            written = {path: wanted[path][:8] if path in swapped else wanted[path] for path in in_c}

            def netcdf4(path):
                got = data(variables[path.strip("/")])
                return got[:8] if path in swapped else got

            compare_values(copy, written, netcdf4, in_c)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
    print("\n".join(DIFFERENCES))
    sys.exit(bool(DIFFERENCES))
