//! The codec plugin API of ncz: one codec, three faces (HDF5, NCZarr, native).
//!
//! A plugin author writes one struct, the codec's typed configuration, and implements [`Codec`] and
//! [`Coder`] for it. `register!` makes it a built-in of every program that links the crate;
//! `export!` in a two-line `cdylib` package makes it a shared library that HDF5, netcdf-c and ncz load.

pub mod abi;
pub mod buffer;
pub mod config;
pub mod export;
pub mod number;
pub mod params;
pub mod repr;
pub mod wire;

mod codec;
mod dialect;
mod erased;
mod error;
mod info;
mod register;

pub use codec::{Bound, Codec, CodecConfig, Coder, copy_bytes};
pub use config::ConfigReader;
pub use dialect::Dialect;
pub use erased::{AnyCoder, AnyConfig, BoundStage, CodecType, Erased, Scratch};
pub use error::{CodecError, ErrorKind, Result};
pub use info::{CodecInfo, Names};
pub use ncz_codec_derive::{CodecConfig, ConfigEnum};
pub use number::{Number, Scalar};
pub use register::{Builtin, builtins};
pub use repr::{ByteOrder, Container, Dtype, Env, Kind, Repr, Size};

#[doc(hidden)]
pub use {inventory, serde_json};
