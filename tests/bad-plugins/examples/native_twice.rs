//! Two codecs of its native table have one name.
use ncz_bad_plugins::{Tiny, plugin, table_of};
use ncz_codec::export::native_face::CodecList;
use ncz_codec::{CodecType, Erased};

struct TwoCodecs;

impl CodecList for TwoCodecs {
    const CODECS: &'static [&'static dyn CodecType] =
        &[const { &Erased::<Tiny>::new() }, const { &Erased::<Tiny>::new() }];
}

plugin!(native: table_of::<TwoCodecs>());
