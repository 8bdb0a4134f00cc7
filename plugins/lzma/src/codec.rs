use liblzma::stream::{self, Action, Error, LzmaOptions, Status, Stream};
use ncz_codec::{CodecError, Coder, Result};

use crate::config::{Check, Format, Lzma};
use crate::filter::{self, DICTIONARY_PRESETS, PRESET};

/// Encodes and decodes lzma streams.
///
/// The library cannot reuse its tables, so each call allocates them: up to 700 MB to encode with preset 9, about the
/// size of the dictionary to decode.
#[derive(Debug, Clone)]
pub struct LzmaCoder {
    lzma: Lzma,
}

/// The first bytes of an xz stream.
const XZ: [u8; 6] = *b"\xfd7zXZ\0";
/// The last bytes of an xz stream.
const XZ_END: &[u8] = b"YZ";
/// The memory of a decoder in addition to its dictionary, with a margin.
const TABLES: u64 = 4 << 20;

impl LzmaCoder {
    pub(crate) fn new(lzma: Lzma) -> Self {
        Self { lzma }
    }

    fn encoder(&self) -> Result<Stream, Error> {
        let preset = self.lzma.preset.unwrap_or(PRESET);
        match self.lzma.format {
            Format::Xz => Stream::new_easy_encoder(preset, check(self.lzma.check)),
            Format::Alone => Stream::new_lzma_encoder(&LzmaOptions::new_preset(preset)?),
            Format::Raw => Stream::new_raw_encoder(&filter::chain(self.filters(), None)?),
        }
    }

    /// A decoder that makes up to `room` bytes.
    fn decoder(&self, room: usize) -> Result<Stream, Error> {
        // The dictionary of every preset, however small the chunk; a larger one only for data that can fill it.
        let most = (room as u64).saturating_mul(4).max(DICTIONARY_PRESETS.into()) + TABLES;
        match self.lzma.format {
            Format::Raw => Stream::new_raw_decoder(&filter::chain(self.filters(), Some(room))?),
            Format::Alone => Stream::new_lzma_decoder(most),
            Format::Xz => Stream::new_stream_decoder(most, stream::TELL_UNSUPPORTED_CHECK),
        }
    }

    fn filters(&self) -> &[filter::Filter] {
        self.lzma.filters.as_deref().unwrap_or_default()
    }
}

impl Coder for LzmaCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // LZMA2 stores pieces of 64 KiB uncompressed if they would grow. LZMA1 cannot, but its coder adapts to every
        // bit, so it cannot be wrong much more often than right. The rest is for headers and the index.
        len.checked_add(len / 4)?.checked_add(2048)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        if let Some(error) = self.lzma.unwritable() {
            return Err(error);
        }
        let mut stream = self.encoder().map_err(failure)?;
        match stream.process(input, output, Action::Finish).map_err(failure)? {
            Status::StreamEnd => Ok(stream.total_out() as usize),
            _ => Err(CodecError::output_full(self.max_encoded_len(input.len()))),
        }
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let mut rest = input;
        let mut written = 0;
        // xz streams that follow each other are one, as for numcodecs and the program xz.
        loop {
            if rest.len() < input.len() && !is_xz(rest) {
                return Err(CodecError::trailing(rest.len()));
            }
            let stream = self.decoder(output.len() - written).map_err(failure)?;
            let (read, more) = decode_stream(stream, rest, &mut output[written..])?;
            rest = &rest[read..];
            written += more;
            if rest.is_empty() {
                return Ok(written);
            }
            if self.lzma.format != Format::Xz {
                return Err(CodecError::trailing(rest.len()));
            }
        }
    }

    /// Looks at the first and the last bytes, if the format has any that are known.
    fn check<'a>(&self, input: &'a [u8], _len: Option<usize>) -> Result<Option<&'a [u8]>> {
        match self.lzma.format {
            Format::Xz if !input.starts_with(&XZ) => Err(failure(Error::Format)),
            Format::Xz if !input.ends_with(XZ_END) => Err(no_end()),
            _ => Ok(None),
        }
    }
}

/// Decodes the stream at the start of `input`; returns how many bytes were read and written.
fn decode_stream(mut stream: Stream, input: &[u8], output: &mut [u8]) -> Result<(usize, usize)> {
    let status = stream.process(input, output, Action::Run).map_err(failure)?;
    let (read, written) = (stream.total_in() as usize, stream.total_out() as usize);
    if status == Status::StreamEnd {
        return Ok((read, written));
    }
    if written < output.len() {
        return Err(no_end());
    }
    // The end of the stream may still have to be read; then the library needs no byte of room.
    let mut spare = [0];
    let status = stream.process(&input[read..], &mut spare, Action::Run).map_err(failure)?;
    match status {
        _ if stream.total_out() as usize > written => Err(CodecError::output_full(None)),
        Status::StreamEnd => Ok((stream.total_in() as usize, written)),
        _ => Err(no_end()),
    }
}

fn no_end() -> CodecError {
    CodecError::truncated("the lzma stream has no end")
}

/// Whether `bytes` can be the start of an xz stream, as far as they go.
fn is_xz(bytes: &[u8]) -> bool {
    XZ.starts_with(&bytes[..bytes.len().min(XZ.len())])
}

fn check(check: Option<Check>) -> stream::Check {
    match check {
        Some(Check::None) => stream::Check::None,
        Some(Check::Crc32) => stream::Check::Crc32,
        Some(Check::Crc64) | None => stream::Check::Crc64,
        Some(Check::Sha256) => stream::Check::Sha256,
    }
}

fn failure(error: Error) -> CodecError {
    match error {
        Error::Format => CodecError::corrupt("this is not a stream of the format in the configuration"),
        Error::Data => CodecError::corrupt("the lzma stream is damaged, or its checksum does not match"),
        Error::MemLimit => CodecError::unsupported(
            "the lzma stream requires a dictionary of more than 64 MiB and of more than four times the chunk",
        ),
        Error::Mem => CodecError::unsupported("liblzma found no memory"),
        Error::Options => CodecError::unsupported("liblzma does not know these filters or options"),
        Error::UnsupportedCheck => {
            CodecError::unsupported("the lzma stream has a checksum of a kind that liblzma does not know")
        }
        Error::Program | Error::NoCheck => {
            CodecError::unsupported(format!("liblzma says {:?}", error.to_string()))
        }
    }
}
