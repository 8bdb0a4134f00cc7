//! The built-ins: codecs that are linked into the program.

use crate::codec::Codec;
use crate::erased::{CodecType, Erased};

/// A codec that [`register!`](crate::register) adds to the image it is linked into.
///
/// Each image (the program, each shared library) has a list of its own.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    codec: &'static dyn CodecType,
    version: &'static str,
}

inventory::collect!(Builtin);

impl Builtin {
    /// Makes the entry for `C`, whose package has this version; used by the macro.
    pub const fn of<C: Codec>(version: &'static str) -> Self {
        Self::new(const { &Erased::<C>::new() }, version)
    }

    /// Makes the entry for a type-erased codec.
    pub const fn new(codec: &'static dyn CodecType, version: &'static str) -> Self {
        Self { codec, version }
    }

    /// The codec.
    pub const fn codec(self) -> &'static dyn CodecType {
        self.codec
    }

    /// The version of the package that registers it.
    pub const fn version(self) -> &'static str {
        self.version
    }
}

/// Returns the codecs linked into this image, sorted by name.
pub fn builtins() -> Vec<Builtin> {
    let mut list: Vec<_> = inventory::iter::<Builtin>.into_iter().copied().collect();
    list.sort_by(|a, b| a.codec.info().name.cmp(&b.codec.info().name));
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
        $crate::inventory::submit! { $crate::Builtin::of::<$codec>(env!("CARGO_PKG_VERSION")) }
    };
}
