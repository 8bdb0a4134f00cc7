use std::sync::Arc;

use ncz_codec::{CodecError, Coder, Result};
use ncz_packed_bits::{Reader, Writer};

use crate::tree::Tree;

/// Encodes and decodes the chunks of HDF5's nbit filter.
#[derive(Debug, Clone)]
pub struct NbitCoder {
    /// The elements of a chunk and what they are; `None` if all their bits are kept, and the data are the stream.
    elements: Option<(usize, Arc<Tree>)>,
}

/// The lengths of a chunk and its stream.
struct Lengths {
    chunk: usize,
    packed: usize,
}

impl NbitCoder {
    /// A coder that copies.
    pub(crate) fn copying() -> Self {
        Self { elements: None }
    }

    /// For chunks of `count` elements.
    ///
    /// # Errors
    /// They do not fit in memory.
    pub(crate) fn new(count: usize, element: Tree) -> Result<Self> {
        let coder = Self { elements: Some((count, Arc::new(element))) };
        coder.lengths()?;
        Ok(coder)
    }

    /// The bytes of a chunk, if they are known.
    pub(crate) fn chunk_len(&self) -> Option<usize> {
        self.lengths().ok().flatten().map(|lengths| lengths.chunk)
    }

    fn lengths(&self) -> Result<Option<Lengths>> {
        let Some((count, element)) = &self.elements else { return Ok(None) };
        let chunk = (*count as u128).checked_mul(element.size as u128);
        // One byte more than needed if the bits end with a byte. HDF5 has it so.
        let packed = (*count as u128).checked_mul(element.bits.into()).map(|bits| bits / 8 + 1);
        let fits = |len: Option<u128>| usize::try_from(len?).ok().filter(|&len| len <= isize::MAX as usize);
        match (fits(chunk), fits(packed)) {
            (Some(chunk), Some(packed)) => Ok(Some(Lengths { chunk, packed })),
            _ => Err(CodecError::unsupported(format!(
                "a chunk of {count} elements of {} bytes does not fit in memory",
                element.size
            ))),
        }
    }

    /// The length of what `input` decodes to.
    fn check(&self, input: &[u8]) -> Result<usize> {
        let Some(Lengths { chunk, packed }) = self.lengths()? else { return Ok(input.len()) };
        if input.len() < packed {
            return Err(CodecError::truncated(format!(
                "expected {packed} bytes of packed bits, got {}",
                input.len()
            )));
        }
        match input.len() - packed {
            0 => Ok(chunk),
            extra => Err(CodecError::trailing(extra)),
        }
    }
}

impl Coder for NbitCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        match self.lengths().ok()? {
            // Only the chunk itself is ever encoded; other lengths have no encoding, but the function must return a
            // value.
            Some(lengths) => Some(lengths.packed.max(len)),
            None => Some(len),
        }
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let full = || CodecError::output_full(self.max_encoded_len(input.len()));
        let (Some((_, element)), Some(lengths)) = (&self.elements, self.lengths()?) else {
            output.get_mut(..input.len()).ok_or_else(full)?.copy_from_slice(input);
            return Ok(input.len());
        };
        if input.len() != lengths.chunk {
            return Err(CodecError::size(lengths.chunk, input.len(), "of a chunk for nbit"));
        }
        let output = output.get_mut(..lengths.packed).ok_or_else(full)?;
        let mut writer = Writer::new(output);
        let packed = input.chunks_exact(element.size).try_for_each(|part| element.pack(part, &mut writer));
        let written = packed.and_then(|()| writer.finish()).ok_or_else(full)?;
        output[written..].fill(0);
        Ok(lengths.packed)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = self.check(input)?;
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        let Some((_, element)) = &self.elements else {
            output.copy_from_slice(input);
            return Ok(len);
        };
        // Bits that are not kept are zero, and so is the padding between the members of a compound.
        output.fill(0);
        let mut reader = Reader::new(input);
        for part in output.chunks_exact_mut(element.size) {
            element
                .unpack(&mut reader, part)
                .ok_or_else(|| CodecError::truncated("the packed bits end early"))?;
        }
        Ok(len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        self.check(input).map(Some)
    }
}
