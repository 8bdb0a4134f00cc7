use ncz_codec::{CodecError, Coder, Result};
use ncz_lz4_block as lz4;

/// Bytes before the block: the length of the data, least significant byte first.
const HEADER: usize = 4;

/// Encodes and decodes LZ4 blocks after the length of their content.
#[derive(Debug, Clone, Copy)]
pub struct Lz4Coder {
    acceleration: i32,
}

impl Lz4Coder {
    pub(crate) fn new(acceleration: i32) -> Self {
        Self { acceleration }
    }
}

impl Coder for Lz4Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        lz4::bound(len)?.checked_add(HEADER)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len()).ok_or_else(|| too_long(input.len()))?;
        let full = || CodecError::output_full(Some(need));
        let (header, block) = output.split_first_chunk_mut::<HEADER>().ok_or_else(full)?;
        // Data with a bound are shorter than 2 GiB.
        *header = (input.len() as u32).to_le_bytes();
        Ok(HEADER + lz4::compress(input, block, self.acceleration).ok_or_else(full)?)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (length, block) = split(input)?;
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        match lz4::decompress(block, output) {
            Some(decoded) if decoded == length => Ok(length),
            Some(decoded) => Err(CodecError::truncated(format!(
                "expected {length} bytes in the LZ4 block as stated, got {decoded}"
            ))),
            None => Err(CodecError::corrupt(
                "the LZ4 block is damaged, ends too early, or holds more than is stated",
            )),
        }
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        split(input).map(|(length, _)| Some(length))
    }
}

/// The stated length and the block.
fn split(input: &[u8]) -> Result<(usize, &[u8])> {
    let (header, block) =
        input.split_first_chunk::<HEADER>().filter(|(_, block)| !block.is_empty()).ok_or_else(|| {
            CodecError::truncated(format!(
                "{} bytes cannot hold a length of 4 bytes and a block",
                input.len()
            ))
        })?;
    let length = u32::from_le_bytes(*header) as usize;
    if length > block.len().saturating_mul(lz4::RATIO_MAX) {
        return Err(CodecError::corrupt(format!(
            "{length} bytes are stated, more than an LZ4 block of {} bytes can hold",
            block.len()
        )));
    }
    Ok((length, block))
}

pub(crate) fn too_long(len: usize) -> CodecError {
    CodecError::unsupported(format!(
        "{len} bytes are more than the {} that an LZ4 block holds",
        lz4::INPUT_MAX
    ))
}
