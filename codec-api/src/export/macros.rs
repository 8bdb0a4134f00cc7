//! The macro that makes a library a plugin.

/// Makes the crate, a `cdylib`, a plugin for a codec: defines the entry symbols of the requested faces
/// only.
///
/// | form | for | symbols |
/// | --- | --- | --- |
/// | `export!(Zstd)` | HDF5, netcdf-c and ncz | all below |
/// | `export!(hdf5: Zstd)` | HDF5: a filter without a numcodecs id, or whose NCZarr codec is in another library | `H5PLget_plugin_type`, `H5PLget_plugin_info`, `H5Z_plugin_type`, `H5Z_get_plugin_info` |
/// | `export!(nczarr: Zstd)` | netcdf-c: the NCZarr codec of a filter that is in another library | `NCZ_get_codec_info` |
/// | `export!(native: Lz4, Delta)` | ncz only: codecs without an HDF5 id, any number of them | `ncz_codec_plugin`, `abi_stable`'s root module |
///
/// The first three need an HDF5 filter id, the first and the third a numcodecs id; without them they do not compile.
/// With `nczarr:`, the codec's `encode` and `decode` are never called. The native face states the version of the
/// package that calls the macro. Without the feature `abi_stable` the native face is the plain symbol alone, which the
/// host uses as well; the plugin then needs half of the crates to build.
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
                const VERSION: &'static ::std::ffi::CStr =
                    $crate::export::native_face::version(concat!(env!("CARGO_PKG_VERSION"), "\0"));
            }

            #[allow(unsafe_code, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn ncz_codec_plugin() -> *const $crate::abi::native::Plugin {
                $crate::export::native_face::plugin::<Codecs>()
            }

            $crate::__export_root_module!(Codecs);
        };
    };
    (hdf5: $codec:ty) => {
        const _: () = {
            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5PLget_plugin_type() -> ::std::ffi::c_int {
                $crate::export::hdf5_face::plugin_type::<$codec>()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5PLget_plugin_info() -> *const ::std::ffi::c_void {
                $crate::export::hdf5_face::plugin_info::<$codec>()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5Z_plugin_type() -> ::std::ffi::c_int {
                $crate::export::hdf5_face::plugin_type::<$codec>()
            }

            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn H5Z_get_plugin_info() -> *const ::std::ffi::c_void {
                $crate::export::hdf5_face::plugin_info::<$codec>()
            }
        };
    };
    (nczarr: $codec:ty) => {
        const _: () = {
            #[allow(unsafe_code, non_snake_case, reason = "an entry symbol")]
            #[unsafe(no_mangle)]
            extern "C" fn NCZ_get_codec_info() -> *const ::std::ffi::c_void {
                $crate::export::nczarr_face::codec_info::<$codec>()
            }
        };
    };
    ($codec:ty $(,)?) => {
        $crate::export!(native: $codec);
        $crate::export!(hdf5: $codec);
        $crate::export!(nczarr: $codec);
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected one of
  export!(Codec)             HDF5, netcdf-c and ncz
  export!(hdf5: Codec)       HDF5 only
  export!(nczarr: Codec)     netcdf-c only, for a filter that is in another library
  export!(native: A, B, ..)  ncz only; codecs without an HDF5 id, any number of them"
        );
    };
}

/// The root module of abi_stable, for hosts in Rust.
#[cfg(feature = "abi_stable")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_root_module {
    ($codecs:ty) => {
        #[allow(unsafe_code, non_upper_case_globals, reason = "an entry symbol")]
        #[unsafe(no_mangle)]
        static _1as_0lib_1header_0root_bmodule_bloader: $crate::export::LibHeader =
            $crate::export::root_module::header::<$codecs>();
    };
}

/// Without the feature `abi_stable` there is no root module.
#[cfg(not(feature = "abi_stable"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_root_module {
    ($codecs:ty) => {};
}
