use std::fmt;

use ncz_codec::{CodecError, Coder, ErrorKind, Result};

use crate::ffi::{self, Compressor, Decompressor, Refusal};
use crate::header;

/// Bytes behind the deflate data of a member: the CRC-32 of the content, and its length.
const TRAILER: usize = 8;

/// Encodes and decodes gzip streams.
#[derive(Debug, Clone, Copy)]
pub struct GzipCoder {
    level: i32,
}

/// The tables of one thread, each made when it is first needed.
#[derive(Default)]
pub struct GzipScratch {
    compressor: Option<Compressor>,
    decompressor: Option<Decompressor>,
}

impl GzipCoder {
    /// `level` is 0 to 9.
    pub(crate) fn new(level: i32) -> Self {
        Self { level }
    }
}

impl Coder for GzipCoder {
    type Scratch = GzipScratch;

    fn scratch(&self) -> GzipScratch {
        GzipScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // Stored blocks of at least 5000 bytes (libdeflate's least) with 5 bytes each, one for the end, and the frame.
        len.div_ceil(5000)
            .max(1)
            .checked_mul(5)?
            .checked_add(len)?
            .checked_add(1 + header::LEAST + TRAILER + 8)
    }

    fn encode(&self, scratch: &mut GzipScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        // Tables belong to a level, and a thread may pass its scratch from one configuration to another.
        let compressor = match &mut scratch.compressor {
            Some(compressor) if compressor.level() == self.level => compressor,
            other => other.insert(Compressor::new(self.level).ok_or_else(no_memory)?),
        };
        compressor
            .gzip(input, output)
            .ok_or_else(|| CodecError::output_full(self.max_encoded_len(input.len())))
    }

    fn decode(&self, scratch: &mut GzipScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let decompressor = match &mut scratch.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().ok_or_else(no_memory)?),
        };
        if input.is_empty() {
            return Err(CodecError::truncated("there is no gzip member"));
        }
        let mut rest = input;
        let mut written = 0;
        // Members that follow each other are one stream, as for numcodecs and the gzip program.
        while !rest.is_empty() {
            if rest.len() < input.len() && !header::is_start(rest) {
                return Err(CodecError::trailing(rest.len()));
            }
            let (read, more) = decode_member(decompressor, rest, &mut output[written..])?;
            rest = &rest[read..];
            written += more;
        }
        Ok(written)
    }
}

/// Decodes the member at the start of `input`; returns how many bytes were read and written.
fn decode_member(decompressor: &mut Decompressor, input: &[u8], output: &mut [u8]) -> Result<(usize, usize)> {
    let header = header::length(input)?;
    let done = decompressor.deflate(&input[header..], output).map_err(|refusal| match refusal {
        Refusal::OutputFull => CodecError::output_full(None),
        Refusal::Bad => CodecError::corrupt("the deflate data are damaged, or end too early"),
    })?;
    let content = &output[..done.written];
    let end = header + done.read;
    let Some((&[a, b, c, d, e, f, g, h], _)) = input[end..].split_first_chunk::<TRAILER>() else {
        return Err(CodecError::truncated("the checksum of a gzip member is cut"));
    };
    let length = u32::from_le_bytes([e, f, g, h]);
    if length != content.len() as u32 {
        let text = format!("a gzip member states {length} bytes modulo 2^32, and has {}", content.len());
        return Err(CodecError::corrupt(text));
    }
    if u32::from_le_bytes([a, b, c, d]) != ffi::crc32(content) {
        return Err(CodecError::new(ErrorKind::Checksum, "CRC-32 of a gzip member"));
    }
    Ok((end + TRAILER, content.len()))
}

impl fmt::Debug for GzipScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GzipScratch").finish_non_exhaustive()
    }
}

fn no_memory() -> CodecError {
    CodecError::unsupported("libdeflate found no memory for its tables")
}
