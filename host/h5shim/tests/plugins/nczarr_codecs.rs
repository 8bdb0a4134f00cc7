//! `NCZ_modify_parameters` of netCDF4's NCZarr codecs, without libnetcdf and libhdf5.

use std::ffi::{c_char, c_int, c_uint, c_void};

use ncz_h5shim::{Endian, Symbols, Variable, with_variable};

use crate::copies::Wheel;
use crate::plugin::{address, is_mapped};

/// `NCZ_codec_t`.
#[repr(C)]
struct Record {
    version: c_int,
    sort: c_int,
    name: *const c_char,
    id: c_uint,
    initialize: *const c_void,
    finalize: *const c_void,
    to_params: *const c_void,
    to_json: *const c_void,
    modify_parameters: Option<
        unsafe extern "C" fn(
            c_int,
            c_int,
            *mut usize,
            *mut *mut c_uint,
            *mut usize,
            *mut *mut c_uint,
        ) -> c_int,
    >,
}

fn records(handle: *mut c_void) -> Vec<&'static Record> {
    let all = address(handle, c"NCZ_codec_info_defaults").unwrap();
    // SAFETY: the type that netcdf-c gives to this function.
    let all: unsafe extern "C" fn() -> *const *const Record = unsafe { std::mem::transmute(all) };
    // SAFETY: it returns a list that ends with NULL, of records that live as long as the library.
    unsafe {
        let list = all();
        (0..).map(|at| *list.add(at)).take_while(|record| !record.is_null()).map(|record| &*record).collect()
    }
}

/// The working parameters, or the error.
fn modify(record: &Record, variable: &Variable, visible: &[u32]) -> Result<Vec<u32>, i32> {
    let call = record.modify_parameters.unwrap();
    with_variable(variable, |ncid, varid| {
        // SAFETY: any size is good.
        let given = unsafe { libc::malloc(4 * visible.len().max(1)) }.cast::<c_uint>();
        // SAFETY: the block has this length.
        unsafe { std::ptr::copy_nonoverlapping(visible.as_ptr(), given, visible.len()) };
        let (mut count, mut given) = (visible.len(), given);
        let (mut working_count, mut working) = (0, std::ptr::null_mut());
        // SAFETY: netcdf-c's contract: all four go in and out; the lists are blocks of malloc or NULL.
        let status = unsafe { call(ncid, varid, &mut count, &mut given, &mut working_count, &mut working) };
        let result = (status == 0).then(|| {
            // SAFETY: the function returns their number.
            unsafe { std::slice::from_raw_parts(working, working_count) }.to_vec()
        });
        result.ok_or(status)
    })
}

fn f4() -> Variable {
    Variable {
        name: "t".into(),
        nc_type: 5,
        type_size: 4,
        endian: Endian::Little,
        dims: vec![64, 48],
        chunk: vec![64, 48],
    }
}

#[test]
fn codec_halves_set_their_parameters_without_libnetcdf() {
    let Some(wheel) = Wheel::find() else { return };
    let standard = wheel.copy("lib__nczstdfilters.so", Symbols::Both);
    let hdf5 = wheel.copy("lib__nczhdf5filters.so", Symbols::Both);
    let all: Vec<&Record> = [records(standard), records(hdf5)].concat();
    let find = |id: u32| *all.iter().find(|record| record.id == id).unwrap();

    assert_eq!(modify(find(32_001), &f4(), &[0, 0, 0, 0, 5, 1, 1]), Ok(vec![2, 2, 4, 12_288, 5, 1, 1]));
    assert_eq!(modify(find(2), &f4(), &[]), Ok(vec![4]));
    assert_eq!(modify(find(4), &f4(), &[32, 8]), Ok(vec![169, 8, 32, 48]));
    let big = Variable {
        nc_type: 6,
        type_size: 8,
        endian: Endian::Big,
        dims: vec![100, 1000, 3],
        chunk: vec![10, 100, 3],
        ..f4()
    };
    assert_eq!(modify(find(4), &big, &[32, 8]), Ok(vec![177, 8, 64, 1024]));
    let short = Variable { nc_type: 3, type_size: 2, dims: vec![5], chunk: vec![5], ..f4() };
    assert_eq!(modify(find(4), &short, &[32, 8]), Err(-1));
    assert!(!is_mapped("libhdf5") && !is_mapped("libnetcdf"));
}

#[test]
fn an_nczarr_codec_outside_of_a_session_gets_no_answer() {
    let Some(wheel) = Wheel::find() else { return };
    let standard = wheel.copy("lib__nczstdfilters.so", Symbols::Both);
    let blosc = *records(standard).iter().find(|record| record.id == 32_001).unwrap();
    let call = blosc.modify_parameters.unwrap();
    let mut values = [0, 0, 0, 0, 5, 1, 1];
    let (mut count, mut given) = (values.len(), values.as_mut_ptr());
    let (mut working_count, mut working) = (0, std::ptr::null_mut());
    // SAFETY: as in `modify`; it fails before it would free what was given.
    let status = unsafe { call(65_536, 0, &mut count, &mut given, &mut working_count, &mut working) };
    assert_eq!((status, working_count, working.is_null()), (-33, 0, true));
}
