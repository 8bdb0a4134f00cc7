//! In its list of codecs for other filters one record has version 7.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, entry};

const OTHER: Codec = Codec { version: 7, codecid: c"ncz_other".as_ptr(), hdf5id: 40_201, ..CODEC };
const LIST: &[Option<&Codec>] = &[Some(&CODEC), Some(&OTHER), None];

entry!(NCZ_codec_info_defaults -> *const Option<&'static Codec>, LIST.as_ptr());
