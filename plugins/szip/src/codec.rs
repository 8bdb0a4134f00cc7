use ncz_codec::{CodecError, Coder, Result};

use crate::error::SzError;
use crate::frame::{FRAME_LEN, frame_header, split_frame};
use crate::sz::{Scratch, SzParams};

/// Encodes and decodes the frames of HDF5 filter 4.
#[derive(Debug, Clone, Copy)]
pub struct SzipCoder {
    params: SzParams,
}

impl SzipCoder {
    /// `working`: options mask, pixels per block, bits per pixel, pixels per scanline.
    pub(crate) fn new(working: &[u32]) -> Result<Self> {
        let &[mask, block, bits, scanline] = working else {
            let count = working.len();
            return Err(CodecError::config(
                "cd_values",
                format!("szip works with 4 parameters, got {count}"),
            ));
        };
        let params = SzParams::new(mask, block, bits, scanline)
            .map_err(|error| config_error(error, ["cd_values[0]", "cd_values[1]"]))?;
        Ok(Self { params })
    }
}

impl Coder for SzipCoder {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        frame_header(len).ok()?;
        self.params.max_encoded_len(len)?.checked_add(FRAME_LEN)
    }

    fn encode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let header = frame_header(input.len()).map_err(stream_error)?;
        let (frame, stream) = output
            .split_first_chunk_mut::<FRAME_LEN>()
            .ok_or_else(|| CodecError::output_full(self.max_encoded_len(input.len())))?;
        *frame = header;
        let length = self.params.encode(scratch, input, stream).map_err(stream_error)?;
        Ok(FRAME_LEN + length)
    }

    fn decode(&self, scratch: &mut Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (length, stream) = split_frame(input, output.len()).map_err(stream_error)?;
        self.params.decode(scratch, stream, &mut output[..length]).map_err(stream_error)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        split_frame(input, usize::MAX).map(|(length, _)| Some(length)).map_err(stream_error)
    }
}

/// A refused parameter; `keys` name the mask and the pixels per block.
pub(crate) fn config_error(error: SzError, keys: [&'static str; 2]) -> CodecError {
    let key = match error {
        SzError::PixelsPerBlock(_) => keys[1],
        SzError::BitsPerPixel(_) => "cd_values[2]",
        SzError::PixelsPerScanline(_) => "cd_values[3]",
        _ => keys[0],
    };
    CodecError::config(key, error.to_string())
}

fn stream_error(error: SzError) -> CodecError {
    match error {
        SzError::Truncated | SzError::Unpadded => CodecError::truncated(error.to_string()),
        SzError::Trailing { bytes } => CodecError::trailing(bytes),
        SzError::OutputFull { .. } => CodecError::output_full(None),
        SzError::OverLimit { declared, .. } => CodecError::output_full(Some(declared)),
        SzError::Corrupt(what) => CodecError::corrupt(what),
        other => CodecError::unsupported(other.to_string()),
    }
}
