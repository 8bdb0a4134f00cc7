//! The functions of libnetcdf that NCZarr codecs call (`netcdf.h`; `nc_type` and ids are `int`).
#![expect(unsafe_code, reason = "functions that C calls with pointers")]

use std::ffi::c_char;

use crate::guard::{Function, guard};
use crate::session;
use crate::variable::Variable;

/// All functions by name.
pub(crate) fn functions() -> Vec<Function> {
    vec![
        ("nc_inq_dimlen", inq_dimlen as *const ()),
        ("nc_inq_type", inq_type as *const ()),
        ("nc_inq_var", inq_var as *const ()),
        ("nc_inq_var_chunking", inq_var_chunking as *const ()),
        ("nc_inq_var_endian", inq_var_endian as *const ()),
    ]
}

const NOERR: i32 = 0;
/// No such file.
const EBADID: i32 = -33;
const EBADTYPE: i32 = -45;
const EBADDIM: i32 = -46;
const ENOTVAR: i32 = -49;
/// `NC_MAX_NAME`: a buffer for a name has one byte more.
const LONGEST_NAME: usize = 256;
const CHUNKED: i32 = 0;
const CONTIGUOUS: i32 = 1;
/// Names and sizes of the types from `NC_BYTE`, which is 1, to `NC_STRING`.
const TYPES: [(&str, usize); 12] = [
    ("byte", 1),
    ("char", 1),
    ("short", 2),
    ("int", 4),
    ("float", 4),
    ("double", 8),
    ("ubyte", 1),
    ("ushort", 2),
    ("uint", 4),
    ("int64", 8),
    ("uint64", 8),
    ("string", size_of::<*const c_char>()),
];

unsafe extern "C" fn inq_var(
    ncid: i32,
    varid: i32,
    name: *mut c_char,
    nc_type: *mut i32,
    ndims: *mut i32,
    dimids: *mut i32,
    natts: *mut i32,
) -> i32 {
    with_variable(ncid, varid, |variable| {
        let rank = i32::try_from(variable.dims.len()).unwrap_or(i32::MAX);
        let ids: Vec<i32> = (0..rank).collect();
        // SAFETY: netCDF's contract: each is NULL, or has room: a name for 257 bytes, the ids for as many
        // as there are dimensions.
        unsafe {
            put_name(name, &variable.name);
            put_all(nc_type, &[variable.nc_type]);
            put_all(ndims, &[rank]);
            put_all(dimids, &ids);
            put_all(natts, &[0]);
        }
        NOERR
    })
}

unsafe extern "C" fn inq_type(ncid: i32, nc_type: i32, name: *mut c_char, size: *mut usize) -> i32 {
    with_file(ncid, |variable| {
        let known = usize::try_from(nc_type).ok().and_then(|at| TYPES.get(at.checked_sub(1)?));
        let (type_name, type_size) = match known {
            Some((type_name, _)) if nc_type == variable.nc_type => (*type_name, variable.type_size),
            Some(known) => *known,
            None if nc_type == variable.nc_type => ("", variable.type_size),
            None => return EBADTYPE,
        };
        // SAFETY: netCDF's contract: each is NULL, or has room, a name for 257 bytes.
        unsafe {
            put_name(name, type_name);
            put_all(size, &[type_size]);
        }
        NOERR
    })
}

unsafe extern "C" fn inq_var_chunking(ncid: i32, varid: i32, storage: *mut i32, lengths: *mut usize) -> i32 {
    with_variable(ncid, varid, |variable| {
        let is_chunked = !variable.chunk.is_empty();
        // No more than there are dimensions, which is what the caller has room for.
        let chunk = variable.chunk.iter().take(variable.dims.len());
        let chunk: Vec<usize> = chunk.map(|len| usize::try_from(*len).unwrap_or(usize::MAX)).collect();
        // SAFETY: netCDF's contract: each is NULL, or has room, the lengths for as many as there are
        // dimensions.
        unsafe {
            put_all(storage, &[if is_chunked { CHUNKED } else { CONTIGUOUS }]);
            put_all(lengths, &chunk);
        }
        NOERR
    })
}

unsafe extern "C" fn inq_dimlen(ncid: i32, dimid: i32, len: *mut usize) -> i32 {
    with_file(ncid, |variable| {
        let found = usize::try_from(dimid).ok().and_then(|at| variable.dims.get(at));
        let Some(found) = found else { return EBADDIM };
        // SAFETY: netCDF's contract: NULL, or room for one.
        unsafe { put_all(len, &[usize::try_from(*found).unwrap_or(usize::MAX)]) };
        NOERR
    })
}

unsafe extern "C" fn inq_var_endian(ncid: i32, varid: i32, endian: *mut i32) -> i32 {
    with_variable(ncid, varid, |variable| {
        // SAFETY: netCDF's contract: NULL, or room for one.
        unsafe { put_all(endian, &[variable.endian as i32]) };
        NOERR
    })
}

fn with_file(ncid: i32, body: impl FnOnce(&Variable) -> i32) -> i32 {
    guard(EBADID, || session::variable(ncid, body))
}

fn with_variable(ncid: i32, varid: i32, body: impl FnOnce(&Variable) -> i32) -> i32 {
    with_file(ncid, |variable| if session::is_variable(varid) { body(variable) } else { ENOTVAR })
}

/// # Safety
/// `to` is NULL, or as many elements as `values` has may be written there.
unsafe fn put_all<T: Copy>(to: *mut T, values: &[T]) {
    if !to.is_null() {
        // SAFETY: by the contract, and `values` is ours, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len()) };
    }
}

/// # Safety
/// `to` is NULL, or 257 bytes may be written there.
unsafe fn put_name(to: *mut c_char, name: &str) {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes: Vec<c_char> = name[..end].bytes().map(|byte| byte as c_char).collect();
    bytes.push(0);
    // SAFETY: by the contract: at most 257 bytes.
    unsafe { put_all(to, &bytes) };
}
