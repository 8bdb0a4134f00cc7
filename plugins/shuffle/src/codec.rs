use ncz_codec::{CodecError, Coder, Result};

use crate::planes;

/// Splits elements into byte planes and joins them again.
#[derive(Debug, Clone, Copy)]
pub struct ShuffleCoder {
    size: usize,
    whole_only: bool,
}

impl ShuffleCoder {
    /// `size` is at least 1; with `whole_only` nothing is encoded that has bytes after its last element.
    pub(crate) fn new(size: usize, whole_only: bool) -> Self {
        Self { size, whole_only }
    }

    fn run(
        &self,
        input: &[u8],
        output: &mut [u8],
        planes: impl FnOnce(usize, &[u8], &mut [u8]),
    ) -> Result<usize> {
        let output =
            output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))?;
        let whole = input.len() - input.len() % self.size;
        let (elements, rest) = input.split_at(whole);
        let (to, to_rest) = output.split_at_mut(whole);
        match self.size {
            1 => to.copy_from_slice(elements),
            size => planes(size, elements, to),
        }
        to_rest.copy_from_slice(rest);
        Ok(input.len())
    }
}

impl Coder for ShuffleCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        if self.whole_only && !input.len().is_multiple_of(self.size) {
            return Err(CodecError::unsupported(format!(
                "{} bytes are not a multiple of the element size {}, and Zarr's readers refuse such a shuffle",
                input.len(),
                self.size
            )));
        }
        self.run(input, output, planes::split)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.run(input, output, planes::join)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(input.len()))
    }
}
