//! Third-party plugins with the shim in place of a libhdf5 or libnetcdf. Each test needs its own process,
//! which cargo-nextest provides.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![expect(unsafe_code, reason = "calls plugins as libhdf5 does")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

mod copies; // plugins whose libhdf5 is absent
mod damaged; // files that are not plugins any more
mod nczarr_codecs; // NCZ_modify_parameters, and its queries of libnetcdf
mod parameters; // the working parameters that set_local makes
mod plugin; // a plugin, called as libhdf5 calls it
mod threads; // many at once
