//! A codec with its parameters, through one of its faces.

mod find;

use std::sync::Arc;

use ncz_codec::{AnyCoder, CodecError, ErrorKind, Scratch};
use ncz_registry::load::Hdf5Filter;
use ncz_registry::load::probe::{FilterAnswer, FilterCall, Host, ParamsEnd};

use crate::profile::Fidelity;

/// The largest accepted result.
const RESULT_MAX: usize = 4 << 30;

/// A codec with its parameters, ready to encode and decode chunks of one type and shape.
#[derive(Debug, Clone)]
pub struct Coding {
    /// The face through which it is called.
    pub face: Face,
    /// Its parameters for a message, such as `cd_values 4 9`.
    pub name: String,
    /// The precision of restored values.
    pub fidelity: Fidelity,
    /// Whether calls of several threads may run at a time; filters wait for each other otherwise.
    pub concurrent: bool,
    /// The host that calls the filter.
    pub host: Host,
}

/// One of the two faces that encode and decode.
#[derive(Debug, Clone)]
pub enum Face {
    /// The filter function with these `cd_values`.
    Filter(Hdf5Filter, Vec<u32>),
    /// A coder of the native table.
    Native(Arc<dyn AnyCoder>),
}

/// A chunk or stream that a codec does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The filter function failed, with its answer.
    #[error("the filter function returned {returned}{}", if *.lost { " and left no buffer" } else { "" })]
    Filter {
        /// What it returned.
        returned: usize,
        /// Whether `*buf` was null.
        lost: bool,
    },
    /// The native codec says why.
    #[error(transparent)]
    Native(#[from] CodecError),
    /// Memory for the call cannot be allocated.
    #[error("no memory for the call: {0}")]
    Memory(String),
}

impl Refused {
    /// Tests whether a native codec reports that it accepts such chunks, but not these values.
    pub fn is_of_values(&self) -> bool {
        matches!(self, Self::Native(error) if *error.kind() == ErrorKind::Values)
    }
}

impl Coding {
    /// Encodes a chunk.
    ///
    /// # Errors
    /// The codec does not take it.
    pub fn encode(&self, chunk: &[u8]) -> Result<Vec<u8>, Refused> {
        match &self.face {
            Face::Filter(half, working) => self.filter(half, FilterCall::encode(working, chunk)),
            Face::Native(coder) => {
                let room = coder.max_encoded_len(chunk.len()).ok_or_else(|| too_long(chunk.len()))?;
                let mut stream = zeroed(room)?;
                let len = coder.encode(&mut coder.scratch(), chunk, &mut stream)?;
                stream.truncate(len);
                Ok(stream)
            }
        }
    }

    /// Decodes a stream of a chunk of `len` bytes. What comes may be longer or shorter.
    ///
    /// # Errors
    /// The codec does not take it.
    pub fn decode(&self, stream: &[u8], len: usize) -> Result<Vec<u8>, Refused> {
        match &self.face {
            Face::Filter(half, working) => self.filter(half, FilterCall::decode(working, stream)),
            Face::Native(coder) => {
                let mut chunk = zeroed(len)?;
                let len = decode_into(&**coder, &mut coder.scratch(), stream, &mut chunk)?;
                chunk.truncate(len);
                Ok(chunk)
            }
        }
    }

    fn filter(&self, half: &Hdf5Filter, call: FilterCall<'_>) -> Result<Vec<u8>, Refused> {
        // One check tests whether a filter reads words beyond the end; this must not affect the others.
        let params_end = ParamsEnd::Words(0);
        let call = FilterCall { concurrent: self.concurrent, host: self.host, params_end, ..call };
        let answer = half.probe(&call).map_err(|error| Refused::Memory(error.to_string()))?;
        taken(&answer).map(<[u8]>::to_vec)
    }
}

/// The result of a filter, as a careful host takes it.
///
/// # Errors
/// The call failed.
pub fn taken(answer: &FilterAnswer) -> Result<&[u8], Refused> {
    match answer.failed() || answer.returned > RESULT_MAX {
        true => Err(Refused::Filter { returned: answer.returned, lost: answer.lost() }),
        false => Ok(answer.bytes()),
    }
}

/// Decodes, with a claim to have written more than there is room for taken as the failure that it is.
fn decode_into(
    coder: &dyn AnyCoder,
    scratch: &mut Scratch,
    stream: &[u8],
    chunk: &mut [u8],
) -> Result<usize, CodecError> {
    let room = chunk.len();
    let len = coder.decode(scratch, stream, chunk)?;
    if len > room { Err(CodecError::output_full(Some(len))) } else { Ok(len) }
}

/// Allocates zeros, or returns a refusal if memory cannot be allocated.
fn zeroed(len: usize) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|error| Refused::Memory(error.to_string()))?;
    bytes.resize(len, 0);
    Ok(bytes)
}

fn too_long(len: usize) -> Refused {
    Refused::Native(CodecError::unsupported(format!("{len} bytes are too long to encode")))
}
