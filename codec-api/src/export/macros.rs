//! The macro that makes a library a plugin.

/// Makes the crate, a `cdylib`, a plugin for the codec: its entry symbols appear.
///
/// `export!(Zstd)` gives the codec all three faces; it needs an HDF5 filter id and a numcodecs id, and
/// does not compile without. `export!(native: Lz4, Delta)` gives any number of codecs the native face
/// only.
///
/// ```ignore
/// //! The zstd codec as a plugin for HDF5, netcdf-c and ncz.
/// ncz_codec::export!(ncz_zstd::Zstd);
/// ```
#[macro_export]
macro_rules! export {
    (native: $($codec:ty),+ $(,)?) => {
        const _: () = {
            struct Codecs;

            impl $crate::export::native_face::CodecList for Codecs {
                const CODECS: &'static [&'static dyn $crate::CodecType] =
                    &[$(const { &$crate::Erased::<$codec>::new() }),+];
            }

            #[allow(unsafe_code, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn ncz_codec_plugin() -> *const $crate::abi::native::Plugin {
                $crate::export::native_face::plugin::<Codecs>()
            }

            #[allow(unsafe_code, non_upper_case_globals, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            static _1as_0lib_1header_0root_bmodule_bloader: $crate::export::LibHeader =
                $crate::export::root_module::header::<Codecs>();
        };
    };
    ($codec:ty) => {
        $crate::export!(native: $codec);

        const _: () = {
            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5PLget_plugin_type() -> ::std::ffi::c_int {
                $crate::export::hdf5_face::plugin_type()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5PLget_plugin_info() -> *const ::std::ffi::c_void {
                $crate::export::hdf5_face::plugin_info::<$codec>()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5Z_plugin_type() -> ::std::ffi::c_int {
                $crate::export::hdf5_face::plugin_type()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5Z_get_plugin_info() -> *const ::std::ffi::c_void {
                $crate::export::hdf5_face::plugin_info::<$codec>()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn NCZ_get_codec_info() -> *const ::std::ffi::c_void {
                $crate::export::nczarr_face::codec_info::<$codec>()
            }
        };
    };
}
