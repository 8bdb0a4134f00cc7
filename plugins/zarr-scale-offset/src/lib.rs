//! The scale_offset codec: numbers less an offset, times a scale, in their own type.
//!
//! # Names
//! In Zarr v3 `scale_offset` (zarr-extensions). It has no numcodecs id; fixedscaleoffset is similar there. It is not
//! HDF5's scaleoffset (6), which is another format.
//!
//! # Parameters
//! The offset and the scale, as numbers of the type that enters; without them 0 and 1. As words: three for the offset
//! and three for the scale, which are the kind (0 signed, 1 unsigned, 2 double, 16 and its bytes for bits) and 64 bits,
//! low word first; none for 0 and 1.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Coder, Container, Dialect, Dtype, Env, Kind};
//! use ncz_zarr_scale_offset::ScaleOffset;
//!
//! let json = serde_json::json!({"offset": 5, "scale": 0.1});
//! let codec = ScaleOffset::from_json(Dialect::ZarrV3, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&codec.to_json(Dialect::ZarrV3)?), json.as_object());
//!
//! let dtype = Dtype::little(Kind::Float, 8);
//! let env = Env { dtype, array_shape: vec![1], chunk_shape: vec![1], container: Container::ZarrV3 };
//! let coder = codec.bind(&env.chunk(), &env)?.coder;
//! let mut stream = [0; 8];
//! coder.encode(&mut coder.scratch(), &25_f64.to_le_bytes(), &mut stream)?;
//! assert_eq!(f64::from_le_bytes(stream), 2.0);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The values of zarr-python 3.4, for integers of 1 to 8 bytes and floating-point numbers of 2 to 8. As the
//! specification requires, a result outside the type is an error at each step; zarr-python makes floating-point results
//! infinite, and accepts integers of which only the difference is out of range. Elements that it stored in this way are
//! read, but not an array whose fill value is such a number: the fill value is computed like elements, and if that
//! fails the array is refused. The stream has no checksum.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::ScaleOffsetCoder;
pub use config::ScaleOffset;

ncz_codec::register!(ScaleOffset);
