//! The entry symbols, and code that runs while the library is opened.

/// Exports entry symbols: `hdf5:` a [`Class2`](crate::abi::hdf5::Class2), `codec:` a
/// [`Codec`](crate::abi::nczarr::Codec), `native:` a [`Plugin`](crate::abi::native::Plugin); one, two or three.
#[macro_export]
macro_rules! plugin {
    ($($face:ident: $record:expr),+ $(,)?) => { $($crate::face!($face, $record);)+ };
}

/// The entry symbols of one face.
#[doc(hidden)]
#[macro_export]
macro_rules! face {
    (hdf5, $record:expr) => {
        $crate::entry!(H5PLget_plugin_type -> ::std::ffi::c_int, $crate::abi::hdf5::PLUGIN_TYPE_FILTER);
        $crate::face!(hdf5_info, $record);
    };
    (hdf5_info, $record:expr) => {
        $crate::entry!(H5PLget_plugin_info -> *const $crate::abi::hdf5::Class2, const { &$record });
    };
    (codec, $record:expr) => {
        $crate::entry!(NCZ_get_codec_info -> *const $crate::abi::nczarr::Codec, const { &$record });
    };
    (native, $record:expr) => {
        $crate::entry!(ncz_codec_plugin -> *const $crate::abi::native::Plugin, {
            static TABLE: ::std::sync::LazyLock<$crate::abi::native::Plugin> =
                ::std::sync::LazyLock::new(|| $record);
            &raw const *TABLE
        });
    };
}

/// A function without arguments that the library exports.
#[macro_export]
macro_rules! entry {
    ($name:ident -> $type:ty, $value:expr) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name of the interface")]
        extern "C" fn $name() -> $type {
            $value
        }
    };
}

/// Runs a function while the library is opened.
#[macro_export]
macro_rules! on_load {
    ($function:path) => {
        const _: () = {
            extern "C" fn on_load() {
                $function();
            }

            #[used]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
            static START: extern "C" fn() = on_load;
        };
    };
}
