use ncz_codec::{CodecError, Coder, Result};

/// Takes differences of bytes, and sums them up again.
#[derive(Debug, Clone, Copy)]
pub struct Delta8Coder {
    distance: usize,
}

impl Delta8Coder {
    pub(crate) fn new(distance: u8) -> Self {
        Self { distance: distance.into() }
    }
}

impl Coder for Delta8Coder {
    /// What a thread reuses from call to call, such as a library's context: nothing here.
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output = exactly(input, output)?;
        output.copy_from_slice(input);
        for (byte, before) in output.iter_mut().skip(self.distance).zip(input) {
            *byte = byte.wrapping_sub(*before);
        }
        Ok(input.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output = exactly(input, output)?;
        output.copy_from_slice(input);
        for at in self.distance..output.len() {
            output[at] = output[at].wrapping_add(output[at - self.distance]);
        }
        Ok(input.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(input.len()))
    }
}

/// The part of `output` that is as long as `input`. Never more than `output`: what comes from files is not trusted.
fn exactly<'a>(input: &[u8], output: &'a mut [u8]) -> Result<&'a mut [u8]> {
    output.get_mut(..input.len()).ok_or_else(|| CodecError::output_full(Some(input.len())))
}
