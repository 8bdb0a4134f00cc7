//! In its list of codecs for other filters one record has version 7.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, FILTER, entry, plugin};

const OTHER: Codec = Codec { version: 7, codecid: c"ncz_other".as_ptr(), hdf5id: 40_201, ..CODEC };
const LIST: &[Option<&Codec>] = &[Some(&OTHER), None];

plugin!(hdf5: FILTER, codec: CODEC);
entry!(NCZ_codec_info_defaults -> *const Option<&'static Codec>, LIST.as_ptr());
