//! The scaleoffset codec: keeps of each number what it is above the least of its chunk, in as few bits as needed.
//!
//! # Names
//! HDF5 filter 6. No name in numcodecs or Zarr v3; numcodecs' `fixedscaleoffset` is another format.
//!
//! # Parameters
//! Two words, both required. 2 and a number of bits, for integers: 0 keeps what the chunk needs and loses nothing, a
//! greater number keeps that many bits. 0 and a number of decimal digits, for floating-point numbers: 2 keeps
//! hundredths, -1 (in two's complement) tens; further digits are lost. There are 20 working words, which also hold
//! the elements of a chunk, their type and the fill value. Words that HDF5 stored are used unchanged.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, CodecConfig, Coder, Container, Dtype, Env, Kind};
//! use ncz_hdf5_scaleoffset::{Scale, ScaleOffset};
//!
//! let codec = ScaleOffset::from_params(&[0, 2])?; // two digits
//! assert_eq!(codec.scale, Scale::Digits(2));
//! let dtype = Dtype::little(Kind::Float, 4);
//! let env = Env { dtype, array_shape: vec![2], chunk_shape: vec![2], container: Container::Hdf5 };
//! let coder = codec.bind(&env.chunk(), &env)?.coder;
//! let mut stream = [0; 30];
//! let length = coder.encode(&mut (), &[280.25_f32, 281.5].map(f32::to_le_bytes).concat(), &mut stream)?;
//! let mut numbers = [0; 8];
//! coder.decode(&mut (), &stream[..length], &mut numbers)?;
//! assert_eq!(numbers, *[280.25_f32, 281.5].map(f32::to_le_bytes).concat());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The stream is that of HDF5's own filter, byte by byte, if HDF5 can read it. For floating-point numbers with an
//! infinity or a NaN HDF5 writes a stream that it cannot read; this codec keeps all bits of such a chunk, which HDF5
//! reads. The stream has no checksum: truncation is always detected, other damage not always.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod number;
mod params;

pub use codec::ScaleOffsetCoder;
pub use config::ScaleOffset;
pub use params::Scale;

ncz_codec::register!(ScaleOffset);
