//! The jenkins_lookup3 codec: a checksum after the data, to see damage.
//!
//! # Names
//! numcodecs id `jenkins_lookup3`; in Zarr v3 `numcodecs.jenkins_lookup3`, a name in use but not registered. It has no
//! HDF5 filter, but HDF5 uses the same checksum for its own metadata.
//!
//! # Parameters
//! The initial value of the hash, default 0; as a word the same. numcodecs also has a prefix that is hashed before
//! the data, but has no JSON for it.
//!
//! # Example
//! ```
//! use ncz_codec::{Codec, Coder};
//! use ncz_jenkins_lookup3::JenkinsLookup3;
//!
//! let coder = JenkinsLookup3::coder(&[])?;
//! let mut stream = [0; 34];
//! coder.encode(&mut coder.scratch(), b"Four score and seven years ago", &mut stream)?;
//! assert_eq!(stream[30..], 0x1777_0551_u32.to_le_bytes());
//! # Ok::<(), ncz_codec::CodecError>(())
//! ```
//!
//! # Compatible implementations
//! The bytes of numcodecs and zarr-python: the data, and Bob Jenkins' hash lookup3 of them (`hashlittle`) in four
//! bytes, least significant byte first.

#![forbid(unsafe_code)]

mod codec;
mod lookup3;

pub use codec::{JenkinsLookup3, JenkinsLookup3Coder, Lookup3};

ncz_codec::register!(JenkinsLookup3);
