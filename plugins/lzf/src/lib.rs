//! The lzf codec: fast compression of bytes, the one that every h5py has.
//!
//! # Names
//! HDF5 filter 32000, numcodecs id `imagecodecs_lzf` (of the Python package imagecodecs; numcodecs itself has no such
//! codec). No name in Zarr v3.
//!
//! # Parameters
//! None. At work in HDF5 three words: the revision of h5py's filter, the version of liblzf, and the bytes of a chunk,
//! which are the least that a stream has to decode to. JSON has `header`, which must be `false`: imagecodecs can also
//! write streams as the program lzf does, and HDF5 does not.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Dialect};
//! use ncz_lzf::Lzf;
//!
//! let json = serde_json::json!({"header": false}); // {"id": "imagecodecs_lzf", "header": false}
//! let lzf = Lzf::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(lzf, Lzf);
//! assert_eq!(Some(&lzf.to_json(Dialect::Numcodecs)?), json.as_object());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is exactly that of liblzf as h5py builds it. If it would be longer than the data, h5py gives up and HDF5
//! stores the chunk unfiltered; this codec writes it anyway, and h5py reads it. The stream has neither a length nor a
//! checksum. It is refused as truncated if it ends within a token, or decodes to less than the chunk, if the size of
//! the chunk is known; other damage can go undetected.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod stream;

pub use codec::{LzfCoder, LzfScratch};
pub use config::Lzf;

ncz_codec::register!(Lzf);
