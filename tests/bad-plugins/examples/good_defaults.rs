//! Breaks no rule: a list with the JSON of a filter that is in another library.
use ncz_bad_plugins::abi::nczarr::Codec;
use ncz_bad_plugins::{CODEC, entry};

const LIST: &[Option<&Codec>] = &[Some(&CODEC), None];

entry!(NCZ_codec_info_defaults -> *const Option<&'static Codec>, LIST.as_ptr());
