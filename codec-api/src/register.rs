//! Codecs that are linked into the program: the built-ins.

use crate::codec::Codec;
use crate::erased::{CodecType, Erased};

/// A codec that [`register!`](crate::register) adds to the image it is linked into.
///
/// Each image (the program, each shared library) has a list of its own.
#[derive(Debug, Clone, Copy)]
pub struct Builtin(&'static dyn CodecType);

inventory::collect!(Builtin);

impl Builtin {
    /// The entry for `C`; used by the macro.
    pub const fn of<C: Codec>() -> Self {
        Self(const { &Erased::<C>::new() })
    }
}

/// The codecs linked into this image, sorted by name.
pub fn builtins() -> Vec<&'static dyn CodecType> {
    let mut list: Vec<_> = inventory::iter::<Builtin>.into_iter().map(|entry| entry.0).collect();
    list.sort_by(|a, b| a.info().name.cmp(&b.info().name));
    list
}

/// Registers a codec, so that every program that links the crate has it built in.
///
/// ```ignore
/// ncz_codec::register!(Zstd);
/// ```
#[macro_export]
macro_rules! register {
    ($codec:ty) => {
        $crate::inventory::submit! { $crate::Builtin::of::<$codec>() }
    };
}
