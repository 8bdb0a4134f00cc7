use ncz_codec::{CodecError, Coder, ErrorKind, Result};

use crate::lookup3;

/// Bytes of the checksum.
const SUM: usize = 4;

/// Puts the checksum behind the data, and checks it.
#[derive(Debug, Clone, Copy)]
pub struct JenkinsLookup3Coder {
    initval: u32,
}

impl JenkinsLookup3Coder {
    pub(crate) fn new(initval: u32) -> Self {
        Self { initval }
    }
}

impl Coder for JenkinsLookup3Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(SUM)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let need = self.max_encoded_len(input.len());
        let (data, sum) = need
            .and_then(|need| output.get_mut(..need)?.split_last_chunk_mut::<SUM>())
            .ok_or_else(|| CodecError::output_full(need))?;
        data.copy_from_slice(input);
        *sum = lookup3::hash(input, self.initval).to_le_bytes();
        Ok(input.len() + SUM)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (data, sum) = input.split_last_chunk::<SUM>().ok_or_else(|| cut(input.len()))?;
        let output = output.get_mut(..data.len()).ok_or_else(|| CodecError::output_full(Some(data.len())))?;
        let (stored, computed) = (u32::from_le_bytes(*sum), lookup3::hash(data, self.initval));
        if stored != computed {
            let text = format!("the lookup3 hash is {computed:#010x}, {stored:#010x} is stored");
            return Err(CodecError::new(ErrorKind::Checksum, text));
        }
        output.copy_from_slice(data);
        Ok(data.len())
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        input.len().checked_sub(SUM).map(Some).ok_or_else(|| cut(input.len()))
    }
}

fn cut(len: usize) -> CodecError {
    CodecError::truncated(format!("{len} bytes cannot hold the checksum of 4 bytes"))
}
