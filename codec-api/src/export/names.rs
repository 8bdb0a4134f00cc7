//! The names and numbers of a codec as constants for C.
#![expect(clippy::panic, clippy::ptr_arg, reason = "run by the compiler: a panic is an error of the build")]

use std::borrow::Cow;

use crate::info::CodecInfo;

/// The size of a name with its terminating zero.
pub(super) const LEN: usize = 64;

/// Returns the text of a name that is a constant.
pub(super) const fn text<'a>(name: &'a Cow<'static, str>) -> &'a str {
    match name {
        Cow::Borrowed(text) => text,
        Cow::Owned(_) => panic!("a name in `CodecInfo` of a plugin is a literal"),
    }
}

/// A C string.
pub(super) const fn c_string(text: &str) -> [u8; LEN] {
    let bytes = text.as_bytes();
    assert!(!bytes.is_empty() && bytes.len() < LEN, "a name has 1 to 63 bytes");
    let mut out = [0; LEN];
    let mut i = 0;
    while i < bytes.len() {
        assert!(bytes[i] != 0, "a name holds no zero byte");
        out[i] = bytes[i];
        i += 1;
    }
    out
}

/// The HDF5 filter id.
pub(super) const fn filter_id(info: &CodecInfo) -> u32 {
    match info.filter_id {
        // 65535 is legal in HDF5; netcdf-c fails on it.
        Some(id) if id >= 1 && id <= 65534 => id,
        Some(_) => panic!("an HDF5 filter id of a plugin is 1 to 65534"),
        None => panic!("this codec has no HDF5 filter id: give it one, or write `export!(native: ..)`"),
    }
}

/// Returns the numcodecs id to write.
pub(super) const fn numcodecs_id(info: &CodecInfo) -> &str {
    match info.numcodecs.literals() {
        Some([id, ..]) => id,
        Some([]) => panic!(
            "this codec has no numcodecs id: give it one, or write `export!(hdf5: ..)` or `export!(native: ..)`"
        ),
        None => panic!("names in `CodecInfo` of a plugin are literals"),
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_codec_without_an_id_that_others_can_use_gets_no_face_for_them() {
        let info = |id, ids| CodecInfo { filter_id: id, ..CodecInfo::new("a", "").numcodecs(ids) };
        // An entry symbol that returns no record crashes netcdf-c, so it must not exist.
        for id in [None, Some(0), Some(65_535), Some(70_000)] {
            assert!(catch_unwind(|| filter_id(&info(id, &["a"]))).is_err(), "{id:?}");
        }
        assert!(catch_unwind(|| numcodecs_id(&info(Some(1), &[])).len()).is_err());
        assert_eq!(
            (filter_id(&info(Some(65_534), &["a"])), numcodecs_id(&info(None, &["a"]))),
            (65_534, "a")
        );
    }
}
