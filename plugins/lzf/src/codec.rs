use std::fmt;

use ncz_codec::{CodecError, Coder, Result};

use crate::stream::{self, Fault, Memory};

/// Encodes and decodes LZF streams.
#[derive(Debug, Clone, Copy)]
pub struct LzfCoder {
    length: Length,
}

/// What is known about the decoded length of a stream, which does not state it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// Exactly this many.
    Exact(usize),
    /// This many or more.
    AtLeast(usize),
    /// Nothing is known.
    Unknown,
}

/// The table of one thread, made when it is first needed.
#[derive(Default)]
pub struct LzfScratch {
    memory: Option<Memory>,
}

impl LzfCoder {
    pub(crate) fn new(length: Length) -> Self {
        Self { length }
    }
}

impl Coder for LzfCoder {
    type Scratch = LzfScratch;

    fn scratch(&self) -> LzfScratch {
        LzfScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        u32::try_from(len).ok()?;
        stream::bound(len)
    }

    fn encode(&self, scratch: &mut LzfScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len()).ok_or_else(|| too_long(input.len()))?;
        match self.length {
            Length::Exact(length) if input.len() != length => {
                return Err(CodecError::size(
                    length,
                    input.len(),
                    "of a chunk for LZF, whose streams do not state it",
                ));
            }
            // It would not be read again.
            Length::AtLeast(length) if input.len() < length => {
                return Err(CodecError::size(
                    length,
                    input.len(),
                    "of a chunk that a filter before LZF made shorter",
                ));
            }
            _ => {}
        }
        let memory = scratch.memory.get_or_insert_default();
        memory.encode(input, output).ok_or_else(|| CodecError::output_full(Some(need)))
    }

    fn decode(&self, _scratch: &mut LzfScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let decoded = stream::decode(input, output)
            .map_err(|fault| error(fault, || stream::decoded_len(input).ok()))?;
        match self.length {
            Length::Exact(length) | Length::AtLeast(length) if decoded < length => {
                Err(CodecError::truncated(format!("the LZF stream ends after {decoded} of {length} bytes")))
            }
            Length::Exact(length) if decoded > length => {
                Err(CodecError::size(length, decoded, "of what an LZF stream holds"))
            }
            _ => Ok(decoded),
        }
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        stream::decoded_len(input).map(Some).map_err(|fault| error(fault, || None))
    }
}

impl fmt::Debug for LzfScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LzfScratch").finish_non_exhaustive()
    }
}

fn error(fault: Fault, need: impl FnOnce() -> Option<usize>) -> CodecError {
    match fault {
        Fault::Cut => CodecError::truncated("the last piece of the LZF stream is cut"),
        Fault::Reference => CodecError::corrupt("the LZF stream refers to what is before its first byte"),
        Fault::OutputFull => CodecError::output_full(need()),
    }
}

pub(crate) fn too_long(len: usize) -> CodecError {
    CodecError::unsupported(format!("{len} bytes are more than LZF takes at once"))
}
