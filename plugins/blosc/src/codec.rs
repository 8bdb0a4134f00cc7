use std::ffi::CStr;
use std::fmt;

use ncz_codec::{CodecError, Coder, Result};

use crate::compressor::Compressor;
use crate::ffi::{self, Settings};
use crate::header::Header;
use crate::snappy;

/// Encodes and decodes Blosc 1 frames.
#[derive(Debug, Clone)]
pub struct BloscCoder {
    /// The encoder, or the reason why encoding is not possible; decoding needs only the frame.
    encoding: Result<(Compressor, Settings)>,
}

/// Buffers of one thread.
#[derive(Default)]
pub struct BloscScratch(snappy::Buffers);

impl BloscCoder {
    pub(crate) fn new(encoding: Result<(Compressor, Settings)>) -> Self {
        Self { encoding }
    }
}

impl Coder for BloscCoder {
    type Scratch = BloscScratch;

    fn scratch(&self) -> BloscScratch {
        BloscScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        (len <= Header::MAX_DECODED).then(|| len + Header::LEN)
    }

    fn encode(&self, scratch: &mut BloscScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (compressor, settings) = self.encoding.clone()?;
        let most = self.max_encoded_len(input.len()).ok_or_else(|| too_long(input.len()))?;
        // With more room the library would keep streams that are longer than a copy.
        let output = output.get_mut(..most).ok_or_else(|| CodecError::output_full(Some(most)))?;
        let Some(name) = c_name(compressor) else {
            return snappy::encode(&mut scratch.0, settings, input, output);
        };
        ffi::check_memory(settings.blocksize.min(input.len()), settings.typesize)?;
        match usize::try_from(ffi::compress(name, settings, input, output)) {
            Ok(length) if length > 0 => Ok(length),
            _ => Err(CodecError::unsupported(format!("c-blosc does not encode with {settings:?}"))),
        }
    }

    fn decode(&self, scratch: &mut BloscScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let header = Header::parse(input)?;
        let output =
            output.get_mut(..header.decoded).ok_or_else(|| CodecError::output_full(Some(header.decoded)))?;
        if header.is_copy() {
            output.copy_from_slice(&input[Header::LEN..]);
        } else if header.decoded == 0 {
            // The library takes an empty content for a failure.
        } else if header.compressor() == snappy::FORMAT {
            snappy::decode(&mut scratch.0, &header, input, output)?;
        } else {
            ffi::check_memory(header.blocksize.min(header.decoded), header.typesize.into())?;
            if usize::try_from(ffi::decompress(input, output)) != Ok(header.decoded) {
                return Err(CodecError::corrupt("a block of the blosc frame is damaged"));
            }
        }
        Ok(header.decoded)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        Header::parse(input).map(|header| Some(header.decoded))
    }
}

impl fmt::Debug for BloscScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BloscScratch").finish_non_exhaustive()
    }
}

/// Returns c-blosc's name of the compressor; c-blosc is built without snappy.
fn c_name(compressor: Compressor) -> Option<&'static CStr> {
    match compressor {
        Compressor::BloscLz => Some(c"blosclz"),
        Compressor::Lz4 => Some(c"lz4"),
        Compressor::Lz4Hc => Some(c"lz4hc"),
        Compressor::Snappy => None,
        Compressor::Zlib => Some(c"zlib"),
        Compressor::Zstd => Some(c"zstd"),
    }
}

pub(crate) fn too_long(len: usize) -> CodecError {
    CodecError::unsupported(format!(
        "{len} bytes are more than a blosc frame holds ({}); take smaller chunks",
        Header::MAX_DECODED
    ))
}
