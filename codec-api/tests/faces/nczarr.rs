//! The NCZarr face, called as netcdf-c calls it.

use std::ffi::{CStr, CString};

use ncz_codec::abi::nczarr::{Codec, error};
use ncz_codec::export::nczarr_face;

use crate::rle::Rle;

fn record() -> &'static Codec {
    unsafe { &*nczarr_face::codec_info::<Rle>().cast() }
}

fn to_hdf5(json: &str) -> Result<Vec<u32>, i32> {
    let json = CString::new(json).unwrap();
    let (mut count, mut params) = (77, std::ptr::null_mut());
    let code = unsafe { record().codec_to_hdf5.unwrap()(json.as_ptr(), &raw mut count, &raw mut params) };
    if code != 0 {
        assert!(params.is_null() && count == 77, "a failure gives nothing");
        return Err(code);
    }
    let words = unsafe { std::slice::from_raw_parts(params, count) }.to_vec();
    unsafe { libc::free(params.cast()) };
    Ok(words)
}

fn to_codec(params: &[u32]) -> Result<String, i32> {
    let mut json = std::ptr::null_mut();
    let code = unsafe { record().hdf5_to_codec.unwrap()(params.len(), params.as_ptr(), &raw mut json) };
    if code != 0 {
        assert!(json.is_null(), "a failure gives nothing");
        return Err(code);
    }
    let text = unsafe { CStr::from_ptr(json) }.to_str().unwrap().to_owned();
    unsafe { libc::free(json.cast()) };
    Ok(text)
}

#[test]
fn the_record_is_what_netcdf_checks() {
    let record = record();
    assert_eq!((record.version, record.sort, record.hdf5id), (1, 1, 40100));
    assert_eq!(unsafe { CStr::from_ptr(record.codecid) }, c"rle");
    assert!(record.initialize.is_none() && record.finalize.is_none() && record.modify_parameters.is_some());
}

#[test]
fn json_is_read_leniently_and_written_in_netcdfs_style() {
    assert_eq!(to_hdf5(r#"{"id": "rle", "mode": 1, "elementsize": 4}"#), Ok(vec![1, 4]));
    // Another name, keys that are missing, unknown, or strings of digits as netcdf-c before 4.10 wrote them.
    assert_eq!(to_hdf5(r#"{"mode":"1","x":[{}],"id":"runs"}"#), Ok(vec![1, 0]));
    assert_eq!(to_codec(&[1, 4]).unwrap(), r#"{"id": "rle", "mode": 1, "elementsize": 4}"#);
    assert_eq!(to_codec(&[]).unwrap(), r#"{"id": "rle", "mode": 0, "elementsize": 0}"#);
}

#[test]
fn failures_are_netcdf_error_numbers() {
    for (json, code) in [
        ("", error::EFILTER),
        ("[]", error::EFILTER),
        ("{\"id\": ", error::EFILTER),
        (r#"{"mode": 1}"#, error::EFILTER),
        (r#"{"id": 1}"#, error::EFILTER),
        (r#"{"id": "other"}"#, error::EINVAL),
        (r#"{"id": "rle", "mode": 9}"#, error::EINVAL),
    ] {
        assert_eq!(to_hdf5(json), Err(code), "{json}");
    }
    let deep = format!(r#"{{"id": "rle", "x": {}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(to_hdf5(&deep), Err(error::EFILTER));
    assert_eq!(to_codec(&[9]), Err(error::EINVAL));
    assert_eq!(to_codec(&[0, 0, 0]), Err(error::EINVAL));
}

#[test]
fn calls_with_null_outputs_fail() {
    let record = record();
    let (mut count, mut params) = (0, std::ptr::null_mut());
    unsafe {
        let to_hdf5 = record.codec_to_hdf5.unwrap();
        assert!(to_hdf5(std::ptr::null(), &raw mut count, &raw mut params) < 0);
        assert!(to_hdf5(c"{}".as_ptr(), std::ptr::null_mut(), &raw mut params) < 0);
        assert!(record.hdf5_to_codec.unwrap()(0, std::ptr::null(), std::ptr::null_mut()) < 0);
        assert!(record.hdf5_to_codec.unwrap()(3, std::ptr::null(), std::ptr::null_mut()) < 0);
    }
}

#[test]
fn modify_parameters_fails_when_no_libnetcdf_calls_and_changes_nothing() {
    let given = unsafe { libc::malloc(4) }.cast::<u32>();
    unsafe { *given = 1 };
    let (mut visible_count, mut visible) = (1, given);
    let (mut working_count, mut working) = (0, std::ptr::null_mut());
    let code = unsafe {
        record().modify_parameters.unwrap()(
            1,
            2,
            &raw mut visible_count,
            &raw mut visible,
            &raw mut working_count,
            &raw mut working,
        )
    };
    assert_eq!(code, error::EFILTER);
    assert_eq!((visible_count, visible, working_count), (1, given, 0));
    assert!(working.is_null());
    unsafe { libc::free(visible.cast()) };
}
