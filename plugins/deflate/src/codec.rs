use std::fmt;

use ncz_codec::{CodecError, Coder, ErrorKind, Result};

use crate::ffi::{Compressor, Decompressor, Refusal};

/// Bytes before the deflate data of a zlib stream (RFC 1950, section 2.2).
const HEADER: usize = 2;
/// Bytes behind them: the Adler-32 of the content.
const TRAILER: usize = 4;

/// Encodes and decodes zlib streams.
#[derive(Debug, Clone, Copy)]
pub struct DeflateCoder {
    level: i32,
}

/// The tables of one thread, each made when it is first needed.
#[derive(Default)]
pub struct DeflateScratch {
    compressor: Option<Compressor>,
    decompressor: Option<Decompressor>,
}

impl DeflateCoder {
    /// `level` is 0 to 9.
    pub(crate) fn new(level: i32) -> Self {
        Self { level }
    }
}

impl Coder for DeflateCoder {
    type Scratch = DeflateScratch;

    fn scratch(&self) -> DeflateScratch {
        DeflateScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // Stored blocks of at least 5000 bytes (libdeflate's least) with 5 bytes each, one for the end, and the frame.
        len.div_ceil(5000).max(1).checked_mul(5)?.checked_add(len)?.checked_add(1 + HEADER + TRAILER + 8)
    }

    fn encode(&self, scratch: &mut DeflateScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        // Tables belong to a level, and a thread may pass its scratch from one configuration to another.
        let compressor = match &mut scratch.compressor {
            Some(compressor) if compressor.level() == self.level => compressor,
            other => other.insert(Compressor::new(self.level).ok_or_else(no_memory)?),
        };
        compressor
            .zlib(input, output)
            .ok_or_else(|| CodecError::output_full(self.max_encoded_len(input.len())))
    }

    fn decode(&self, scratch: &mut DeflateScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let decompressor = match &mut scratch.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().ok_or_else(no_memory)?),
        };
        let done = match decompressor.zlib(input, output) {
            Ok(done) => done,
            // A cut checksum too can look like more output: the data then seem to end with bits of it.
            Err(Refusal::OutputFull | Refusal::Bad) => return Err(why_not(decompressor, input, output)),
        };
        match input.len() - done.read {
            0 => Ok(done.written),
            extra => Err(CodecError::trailing(extra)),
        }
    }
}

impl fmt::Debug for DeflateScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeflateScratch").finish_non_exhaustive()
    }
}

/// Says what is wrong with `input`, of which libdeflate says little.
fn why_not(decompressor: &mut Decompressor, input: &[u8], output: &mut [u8]) -> CodecError {
    let Some((&[first, second], body)) = input.split_first_chunk::<HEADER>() else {
        return CodecError::truncated("a zlib stream has at least 8 bytes");
    };
    if first & 0x0f != 8 || !u16::from_be_bytes([first, second]).is_multiple_of(31) {
        return CodecError::corrupt("this is no zlib stream");
    }
    if second & 0x20 != 0 {
        return CodecError::unsupported("the zlib stream needs a preset dictionary");
    }
    match decompressor.deflate(body, output) {
        Ok(done) if body.len() - done.read < TRAILER => {
            CodecError::truncated("the checksum of the zlib stream is cut")
        }
        Ok(_) => CodecError::new(ErrorKind::Checksum, "Adler-32 of a zlib stream"),
        Err(Refusal::OutputFull) => CodecError::output_full(None),
        Err(Refusal::Bad) => CodecError::corrupt("the deflate data are damaged, or end too early"),
    }
}

fn no_memory() -> CodecError {
    CodecError::unsupported("libdeflate found no memory for its tables")
}
