//! The fixedscaleoffset codec: numbers less an offset, times a scale, rounded to whole numbers of a smaller type.
//!
//! # Names
//! numcodecs id `fixedscaleoffset`; in Zarr v3 `numcodecs.fixedscaleoffset`, a name in use but not registered (its
//! successors there are `scale_offset` and `cast_value`). It has no HDF5 filter: scaleoffset (6) is another
//! format.
//!
//! # Parameters
//! The offset, the scale, the type of the data and the stored type, which defaults to the same. In Zarr v3 the type of
//! the data may be missing, as in zarr-python. For integer data it matters whether a factor is an integer. As words: 1
//! if the offset is a double, plus 2 if the scale is one; the offset and the scale, 64 bits each, low word first; the
//! letters of each type's text, the first in the lowest byte.
//!
//! # Example JSON
//! ```
//! use ncz_codec::{Codec, CodecConfig, Coder, Dialect};
//! use ncz_fixedscaleoffset::FixedScaleOffset;
//!
//! let json = serde_json::json!({"scale": 10, "offset": 270, "dtype": "<f4", "astype": "|u1"});
//! let codec = FixedScaleOffset::from_json(Dialect::Numcodecs, json.as_object().unwrap(), &mut Vec::new())?;
//! assert_eq!(Some(&codec.to_json(Dialect::Numcodecs)?), json.as_object());
//!
//! let coder = FixedScaleOffset::coder(&codec.to_params()?)?;
//! let mut stream = [0; 1];
//! coder.encode(&mut coder.scratch(), &287.34_f32.to_le_bytes(), &mut stream)?;
//! assert_eq!(stream, [173]);
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs with numpy 2: computed in the type of the data if that is a floating-point type, in integers
//! as long as all operands are integers, else in doubles; rounded to nearest, ties to even; decoded in the stored type,
//! or in doubles if that is an integer type, and truncated to an integer if the data are integers. A number that wraps
//! around or overflows is refused: the stored type cannot hold it (NaN in integers, too), or it is decoded to a number
//! that the type of the data cannot hold. A stream of such numbers is an error; in numpy the result depends on the
//! machine.

#![forbid(unsafe_code)]

mod codec;
mod config;
mod factor;

pub use codec::FixedScaleOffsetCoder;
pub use config::FixedScaleOffset;
pub use factor::Factor;

ncz_codec::register!(FixedScaleOffset);
