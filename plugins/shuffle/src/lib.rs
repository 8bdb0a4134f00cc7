//! The shuffle codec: puts the bytes of the elements into planes, which compress better.
//!
//! # Names
//! HDF5 filter 2, numcodecs id `shuffle`; in Zarr v3 `numcodecs.shuffle`, a name in use but not registered.
//!
//! # Parameters
//! One word, the size of an element in bytes. It need not be given: the size of the elements that enter the stage is
//! filled in. In numcodecs' JSON a missing `elementsize` means 4, as there, and 0 means the size of the elements, which
//! is what netcdf-c means by it. In Zarr v3 a missing one means the size of the elements, as in zarr-python, and 0 is
//! refused.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_shuffle::Shuffle;
//!
//! let json = serde_json::json!({"elementsize": 8}); // {"id": "shuffle", "elementsize": 8}
//! let shuffle = Shuffle::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(shuffle, Shuffle { elementsize: Some(8) });
//! assert_eq!(shuffle.to_params()?, [8]);
//! assert_eq!(Some(&shuffle.to_json(Dialect::ZarrV3)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of HDF5 and of numcodecs. Bytes after the last whole element are copied, as in HDF5; numcodecs refuses
//! them, so they are read, but not written to Zarr. The stream has no checksum and no length: only later codecs of the
//! chain can detect damage and truncation.

mod codec;
mod config;
mod ffi;
mod planes;

pub use codec::ShuffleCoder;
pub use config::Shuffle;

ncz_codec::register!(Shuffle);
