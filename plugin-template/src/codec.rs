use ncz_codec::{CodecError, Coder, Result};

/// A stream begins with the length of the data, in 8 bytes, so that a truncated or extended stream is detected.
const HEAD: usize = 8;

/// Encodes to differences of bytes, and decodes by summing them.
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
    /// The working memory that a thread reuses between calls, such as a library's context: nothing here.
    type Scratch = ();

    /// Every encoding has exactly the length that `max_encoded_len` returns.
    const HAS_FIXED_LEN: bool = true;

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(HEAD)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let output = first(output, HEAD + input.len())?;
        output[..HEAD].copy_from_slice(&(input.len() as u64).to_le_bytes());
        output[HEAD..].copy_from_slice(input);
        for (byte, before) in output[HEAD..].iter_mut().skip(self.distance).zip(input) {
            *byte = byte.wrapping_sub(*before);
        }
        Ok(output.len())
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let differences = body(input)?;
        let output = first(output, differences.len())?;
        output.copy_from_slice(differences);
        for at in self.distance..output.len() {
            output[at] = output[at].wrapping_add(output[at - self.distance]);
        }
        Ok(output.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Ok(Some(body(input)?.len()))
    }
}

/// Returns the data after the header, if it has the length that the header states. Streams come from files: nothing in
/// them is trusted.
fn body(stream: &[u8]) -> Result<&[u8]> {
    let cut = || CodecError::truncated(format!("{} bytes", stream.len()));
    let (head, body) = stream.split_first_chunk::<HEAD>().ok_or_else(cut)?;
    match usize::try_from(u64::from_le_bytes(*head)) {
        Ok(len) if len == body.len() => Ok(body),
        Ok(len) if len < body.len() => Err(CodecError::trailing(body.len() - len)),
        _ => Err(cut()),
    }
}

/// Returns the first `len` bytes of `output`; an error if it is shorter.
fn first(output: &mut [u8], len: usize) -> Result<&mut [u8]> {
    output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))
}
