//! The bitroundh5 codec: rounds numbers to some bits of their mantissa, so that the codec after it compresses better,
//! and preserves the fill value.
//!
//! # Names
//! HDF5 filter 32032, BitRound. No name in numcodecs and Zarr v3: their `bitround` rounds ties to even and does not
//! preserve a fill value.
//!
//! # Parameters
//! One word, the bits of the mantissa to keep, at least 1. HDF5 stores five: that one, the size of a number in bytes, 1
//! if there is a fill value, and its bits in two words, low word first. Those after the first are made anew for each
//! variable.
//!
//! # Example
//! ```
//! use ncz_hdf5_bitround::BitRoundH5;
//! use ncz_codec::{Codec, CodecConfig, Coder};
//!
//! assert_eq!(BitRoundH5::from_params(&[7])?, BitRoundH5 { keepbits: 7 });
//!
//! // Seven bits of floats with -999.1 as the fill value.
//! let fill = -999.1_f32;
//! let coder = BitRoundH5::coder(&[7, 4, 1, fill.to_bits(), 0])?;
//! let mut stream = [0; 8];
//! let data = [3.14159, fill].map(f32::to_le_bytes).concat();
//! coder.encode(&mut (), &data, &mut stream)?;
//! assert_eq!(stream, [3.140625, fill].map(f32::to_le_bytes).concat()[..]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bits of the filter in The HDF Group's `hdf5_plugins` (and of netcdf-c's quantization BitRound): to nearest, ties
//! away from 0. The fill value, zeros, NaN and infinity are unchanged, and a finite number becomes infinite if that is
//! nearest. Decoding changes nothing. There are two differences: that filter corrupts big-endian numbers, which this
//! codec refuses; and it removes itself from the chain of a variable that is not floating-point, or whose numbers have
//! no more bits than are kept. This codec refuses the former and rounds nothing for the latter.

#![forbid(unsafe_code)]

mod codec;
mod config;

pub use codec::BitRoundH5Coder;
pub use config::BitRoundH5;

ncz_codec::register!(BitRoundH5);
