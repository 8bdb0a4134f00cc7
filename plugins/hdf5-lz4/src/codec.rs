use ncz_codec::{CodecError, Coder, Result};
use ncz_lz4_block as lz4;

/// Bytes before the blocks: the length of the data in 8, that of a block in 4, most significant byte first.
const HEADER: usize = 12;
/// Bytes before each block: its stored length.
const BLOCK_HEADER: usize = 4;

/// Encodes and decodes the LZ4 chunks of HDF5.
#[derive(Debug, Clone, Copy)]
pub struct Lz4H5Coder {
    block: usize,
}

impl Lz4H5Coder {
    /// `block` is the length of a block, 1 to [`lz4::INPUT_MAX`].
    pub(crate) fn new(block: usize) -> Self {
        Self { block }
    }

    /// Returns the block length for `len` bytes: shorter data are one block of their own length.
    fn block_of(&self, len: usize) -> usize {
        self.block.min(len).max(1)
    }
}

impl Coder for Lz4H5Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        let block = self.block_of(len);
        // Data that do not shrink are stored, but the compressor needs a larger buffer to try.
        let room = lz4::bound(block)? - block;
        len.div_ceil(block).checked_mul(BLOCK_HEADER)?.checked_add(len)?.checked_add(HEADER + room)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let full = || CodecError::output_full(self.max_encoded_len(input.len()));
        let block = self.block_of(input.len());
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&(input.len() as u64).to_be_bytes());
        header[8..].copy_from_slice(&(block as u32).to_be_bytes());
        output.get_mut(..HEADER).ok_or_else(full)?.copy_from_slice(&header);
        let mut at = HEADER;
        for data in input.chunks(block) {
            let (length, stored) = output
                .get_mut(at..)
                .and_then(|rest| rest.split_first_chunk_mut::<BLOCK_HEADER>())
                .ok_or_else(full)?;
            let mut written = lz4::compress(data, stored, 1).ok_or_else(full)?;
            if written >= data.len() {
                written = data.len();
                stored.get_mut(..written).ok_or_else(full)?.copy_from_slice(data);
            }
            *length = (written as u32).to_be_bytes();
            at += BLOCK_HEADER + written;
        }
        Ok(at)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (length, block, mut rest) = split(input)?;
        let output = output.get_mut(..length).ok_or_else(|| CodecError::output_full(Some(length)))?;
        for (number, data) in output.chunks_mut(block).enumerate() {
            let (stored, next) = split_block(rest).ok_or_else(|| cut(number))?;
            rest = next;
            if stored.len() == data.len() {
                data.copy_from_slice(stored);
            } else if lz4::decompress(stored, data) != Some(data.len()) {
                return Err(CodecError::corrupt(format!(
                    "LZ4 block {number} does not decode to {} bytes",
                    data.len()
                )));
            }
        }
        match rest.len() {
            0 => Ok(length),
            extra => Err(CodecError::trailing(extra)),
        }
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        split(input).map(|(length, ..)| Some(length))
    }

    /// Goes from head to head of the blocks.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        let (length, block, mut rest) = split(input)?;
        if let Some(len) = len.filter(|&len| len != length) {
            return Err(CodecError::size(len, length, "the decoded length that the stream states"));
        }
        for number in 0..length.div_ceil(block) {
            (_, rest) = split_block(rest).ok_or_else(|| cut(number))?;
        }
        match rest.len() {
            0 => Ok(None),
            extra => Err(CodecError::trailing(extra)),
        }
    }
}

fn cut(number: usize) -> CodecError {
    CodecError::truncated(format!("LZ4 block {number} of the chunk is cut"))
}

/// The length of the data, that of a block, and the blocks.
fn split(input: &[u8]) -> Result<(usize, usize, &[u8])> {
    let header = input.split_first_chunk().and_then(|(length, rest)| {
        let (block, rest) = rest.split_first_chunk()?;
        Some((u64::from_be_bytes(*length), u32::from_be_bytes(*block), rest))
    });
    let (length, block, rest) = header.ok_or_else(|| {
        CodecError::truncated(format!("the header of {HEADER} bytes is cut to {}", input.len()))
    })?;
    let too_long = || {
        CodecError::corrupt(format!(
            "{length} bytes are stated, more than {} bytes of LZ4 blocks can hold",
            rest.len()
        ))
    };
    let length = usize::try_from(length)
        .ok()
        .filter(|&length| length <= rest.len().saturating_mul(lz4::RATIO_MAX))
        .ok_or_else(too_long)?;
    if block == 0 && length > 0 {
        return Err(CodecError::corrupt("its LZ4 blocks have no length"));
    }
    Ok((length, (block as usize).max(1), rest))
}

/// The stored form of a block, and the rest of the stream.
fn split_block(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first_chunk::<BLOCK_HEADER>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}
