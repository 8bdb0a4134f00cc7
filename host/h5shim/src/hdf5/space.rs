//! `H5S*`: the dataspace, which is the shape of a chunk.

use super::{FAIL, put_all};
use crate::guard::{Function, guard};
use crate::session;

pub(super) fn functions() -> Vec<Function> {
    vec![
        ("H5Sget_simple_extent_dims", dims as *const ()),
        ("H5Sget_simple_extent_ndims", ndims as *const ()),
        ("H5Sget_simple_extent_npoints", npoints as *const ()),
        ("H5Sis_simple", is_simple as *const ()),
    ]
}

unsafe extern "C" fn dims(space: i64, lengths: *mut u64, most: *mut u64) -> i32 {
    guard(FAIL, || {
        session::space(space, |chunk| {
            // SAFETY: HDF5's contract: NULL, or as many elements as the space has dimensions.
            unsafe { put_all(lengths, chunk.len(), chunk) };
            // A chunk does not grow.
            // SAFETY: as above.
            unsafe { put_all(most, chunk.len(), chunk) };
            i32::try_from(chunk.len()).ok()
        })
    })
}

extern "C" fn ndims(space: i64) -> i32 {
    guard(FAIL, || session::space(space, |chunk| i32::try_from(chunk.len()).ok()))
}

extern "C" fn npoints(space: i64) -> i64 {
    guard(-1, || {
        session::space(space, |chunk| {
            let points = chunk.iter().try_fold(1u64, |points, len| points.checked_mul(*len))?;
            i64::try_from(points).ok()
        })
    })
}

extern "C" fn is_simple(space: i64) -> i32 {
    guard(FAIL, || session::space(space, |_| Some(1)))
}
