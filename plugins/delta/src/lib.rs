//! The delta codec: the difference of each number from the one before, for data that change slowly.
//!
//! # Names
//! numcodecs id `delta`; in Zarr v3 `numcodecs.delta`, a name in use but not registered. It has no HDF5 filter.
//!
//! # Parameters
//! The type of the data, and the type of the differences, which defaults to the same. As words: the
//! letters of each type's text, the first in the lowest byte; `<i4` is 0x34693c.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Coder, Dialect};
//! use ncz_delta::Delta;
//!
//! let json = serde_json::json!({"dtype": "<i2", "astype": "|i1"}); // {"id": "delta", "dtype": "<i2", "astype": "|i1"}
//! let delta = Delta::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&delta.to_json(Dialect::Numcodecs)?), json.as_object());
//!
//! let coder = Delta::coder(&delta.to_params()?)?;
//! let mut stream = [0; 3];
//! coder.encode(&mut coder.scratch(), &[100, 0, 102, 0, 97, 0], &mut stream)?;
//! assert_eq!(stream, [100, 2, 251]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python: integers wrap around, floating-point numbers are rounded (so such data
//! change), and sums are computed in the type to which numpy promotes both types. A difference that wraps around or
//! overflows its type is refused; numcodecs stores a result that depends on the machine. A sum that is not a number of
//! the type is an error; in numpy the result depends on the machine. The stream has no checksum and no length.
//!
//! Floating-point numbers lose precision after a large fill value, and all that follows NaN or an infinity is NaN: use
//! integers or another codec for such data.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::DeltaCoder;
pub use config::Delta;

ncz_codec::register!(Delta);
