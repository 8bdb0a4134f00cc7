use half::f16;
use ncz_codec::{CodecError, Coder, Result};
use pco::data_types::Number;
use pco::errors::{ErrorKind, PcoError};
use pco::standalone::{ChunkDecompressor, DecompressorItem, FileCompressor, FileDecompressor, guarantee};

use crate::config::Pcodec;
use crate::guard;
use crate::numbers::Numbers;

/// Encodes and decodes standalone streams of Pco.
#[derive(Debug, Clone, Copy)]
pub struct PcodecCoder {
    pcodec: Pcodec,
    /// The input of the encoder; decoding needs only the stream.
    numbers: Option<Numbers>,
}

/// Numbers that are decoded at a time; a multiple of Pco's 256.
const BATCH: usize = 4096;
/// The byte after the last chunk.
const END: u8 = 0;
/// The bytes of a chunk before its metadata: the type, and the count less one.
const PREAMBLE: usize = 4;

impl PcodecCoder {
    pub(crate) fn new(pcodec: Pcodec, numbers: Option<Numbers>) -> Self {
        Self { pcodec, numbers }
    }

    fn encode_as<T: Number, const SIZE: usize>(
        &self,
        input: &[u8],
        output: &mut [u8],
        read: fn([u8; SIZE]) -> T,
    ) -> Result<usize> {
        let (numbers, rest) = input.as_chunks::<SIZE>();
        if !rest.is_empty() {
            return Err(CodecError::unsupported(format!(
                "{} bytes are not whole numbers of {SIZE} bytes",
                input.len()
            )));
        }
        let numbers: Vec<T> = numbers.iter().map(|bytes| read(*bytes)).collect();
        let room = output.len();
        let file = FileCompressor::default().with_n_hint(numbers.len());
        let failed = |error| failure(error, self.max_encoded_len(input.len()));
        let mut output = file.write_header(output).map_err(failed)?;
        let mut rest = &numbers[..];
        for page in self.pcodec.pages(numbers.len()) {
            let (page, after) = rest.split_at(page);
            let config = self.pcodec.chunk_config(page.len());
            let mut chunk = file.chunk_compressor(page, &config).map_err(failed)?;
            output = chunk.write(output).map_err(failed)?;
            rest = after;
        }
        let left = file.write_footer(output).map_err(failed)?.len();
        Ok(room - left)
    }
}

impl Coder for PcodecCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        let numbers = self.numbers.unwrap_or(Numbers::U16);
        let count = len / numbers.size();
        let longest = self.pcodec.pages(count).next().unwrap_or(0);
        let chunk = match numbers.size() {
            2 => guarantee::chunk_size::<u16>,
            4 => guarantee::chunk_size::<u32>,
            _ => guarantee::chunk_size::<u64>,
        };
        // Lengths that Pco could not add up.
        if longest > usize::MAX / 256 {
            return None;
        }
        let pages = self.pcodec.pages(count).len();
        pages.checked_mul(chunk(longest))?.checked_add(guarantee::header_size() + 1)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let numbers = self.numbers.ok_or_else(|| {
            CodecError::config(
                "cd_values",
                "pcodec needs the type of the numbers in the sixth word to encode",
            )
        })?;
        match numbers {
            Numbers::U16 => self.encode_as(input, output, u16::from_le_bytes),
            Numbers::U32 => self.encode_as(input, output, u32::from_le_bytes),
            Numbers::U64 => self.encode_as(input, output, u64::from_le_bytes),
            Numbers::I16 => self.encode_as(input, output, i16::from_le_bytes),
            Numbers::I32 => self.encode_as(input, output, i32::from_le_bytes),
            Numbers::I64 => self.encode_as(input, output, i64::from_le_bytes),
            Numbers::F16 => self.encode_as(input, output, f16::from_le_bytes),
            Numbers::F32 => self.encode_as(input, output, f32::from_le_bytes),
            Numbers::F64 => self.encode_as(input, output, f64::from_le_bytes),
        }
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (file, mut rest) = FileDecompressor::new(input).map_err(|error| failure(error, None))?;
        let mut written = 0;
        loop {
            let room = &mut output[written..];
            let numbers = match rest {
                [] => return Err(CodecError::truncated("the stream of pcodec has no end")),
                [END] => return Ok(written),
                [END, more @ ..] => return Err(CodecError::trailing(more.len())),
                [number, ..] => Numbers::numbered((*number).into()).ok_or_else(|| {
                    CodecError::corrupt(format!("a chunk of pcodec has numbers of the unknown type {number}"))
                })?,
            };
            let count = count(rest)?;
            let Some(room) = room.get_mut(..count * numbers.size()) else {
                return Err(CodecError::output_full(None));
            };
            guard::check(rest, file.format_version().major, numbers, count)?;
            rest = match numbers {
                Numbers::U16 => decode_chunk(&file, rest, room, u16::to_le_bytes),
                Numbers::U32 => decode_chunk(&file, rest, room, u32::to_le_bytes),
                Numbers::U64 => decode_chunk(&file, rest, room, u64::to_le_bytes),
                Numbers::I16 => decode_chunk(&file, rest, room, i16::to_le_bytes),
                Numbers::I32 => decode_chunk(&file, rest, room, i32::to_le_bytes),
                Numbers::I64 => decode_chunk(&file, rest, room, i64::to_le_bytes),
                Numbers::F16 => decode_chunk(&file, rest, room, f16::to_le_bytes),
                Numbers::F32 => decode_chunk(&file, rest, room, f32::to_le_bytes),
                Numbers::F64 => decode_chunk(&file, rest, room, f64::to_le_bytes),
            }?;
            written += room.len();
        }
    }
}

/// The count that the chunk at the start of `input` states.
fn count(input: &[u8]) -> Result<usize> {
    match input {
        [_, a, b, c, ..] => Ok(u32::from_le_bytes([*a, *b, *c, 0]) as usize + 1),
        _ => Err(CodecError::truncated(format!(
            "{} bytes of a chunk of pcodec, which begins with {PREAMBLE}",
            input.len()
        ))),
    }
}

/// Decodes the chunk at the start of `input` to `output`, which has room for it and for no more; returns what follows.
fn decode_chunk<'a, T: Number, const SIZE: usize>(
    file: &FileDecompressor,
    input: &'a [u8],
    output: &mut [u8],
    write: fn(T) -> [u8; SIZE],
) -> Result<&'a [u8]> {
    let failed = |error| failure(error, None);
    let mut chunk: ChunkDecompressor<T, &[u8]> = match file.chunk_decompressor(input).map_err(failed)? {
        DecompressorItem::Chunk(chunk) => chunk,
        DecompressorItem::EndOfData(rest) => return Ok(rest),
    };
    let mut batch = vec![T::default(); BATCH];
    for output in output.as_chunks_mut::<SIZE>().0.chunks_mut(BATCH) {
        let progress = chunk.read(&mut batch).map_err(failed)?;
        if progress.n_processed != output.len() {
            return Err(CodecError::truncated("a chunk of pcodec holds fewer numbers than it states"));
        }
        output.iter_mut().zip(&batch).for_each(|(bytes, number)| *bytes = write(*number));
    }
    Ok(chunk.into_src())
}

fn failure(error: PcoError, need: Option<usize>) -> CodecError {
    match error.kind {
        ErrorKind::InsufficientData => CodecError::truncated(error.message),
        ErrorKind::Corruption => CodecError::corrupt(error.message),
        ErrorKind::Io(_) => CodecError::output_full(need),
        _ => CodecError::unsupported(error.message),
    }
}
