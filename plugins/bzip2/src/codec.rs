use bzip2::{Action, Compress, Compression, Decompress, Error, Status};
use ncz_codec::{CodecError, Coder, Result};

/// Encodes and decodes bzip2 streams.
///
/// The library cannot reuse its tables, so each call allocates them, up to 8 MB.
#[derive(Debug, Clone, Copy)]
pub struct Bzip2Coder {
    level: u32,
}

/// The library counts what it is handed in 32 bits.
const PIECE: usize = 1 << 30;
/// The first bytes of a stream.
const START: &[u8] = b"BZh";
/// The 48 bits before the checksum at the end of a stream, which need not begin with a byte.
const END: u128 = 0x1772_4538_5090;
/// The bits of the checksum.
const CHECKSUM_BITS: u32 = 32;
/// Bytes in which the end of a stream is: 80 bits and up to 7 to fill the last byte.
const TRAILER: usize = 11;
/// The work factor of the sort before it falls back to another method; 0 is the library's default.
const WORK_FACTOR: u32 = 0;

impl Bzip2Coder {
    /// `level` is 1 to 9.
    pub(crate) fn new(level: u32) -> Self {
        Self { level }
    }
}

impl Coder for Bzip2Coder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // The library's promise (bzip2 manual, "BZ2_bzBuffToBuffCompress").
        len.checked_add(len.div_ceil(100))?.checked_add(600)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let mut stream = Compress::new(Compression::new(self.level), WORK_FACTOR);
        let mut pieces = input.chunks(PIECE);
        let mut rest = pieces.next().unwrap_or_default();
        let mut written = 0;
        loop {
            let action = if rest.is_empty() { Action::Finish } else { Action::Run };
            let (read_before, written_before) = (stream.total_in(), stream.total_out());
            let status = stream.compress(rest, &mut output[written..], action).map_err(failure)?;
            let read = (stream.total_in() - read_before) as usize;
            written += (stream.total_out() - written_before) as usize;
            rest = &rest[read..];
            if status == Status::StreamEnd {
                return Ok(written);
            }
            if read == 0 && written == output.len() {
                return Err(CodecError::output_full(self.max_encoded_len(input.len())));
            }
            if rest.is_empty() {
                rest = pieces.next().unwrap_or_default();
            }
        }
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let mut rest = input;
        let mut written = 0;
        // Streams that follow each other are one, as for numcodecs and the bzip2 program.
        loop {
            let at = input.len() - rest.len();
            if at > 0 && !START.starts_with(&rest[..rest.len().min(START.len())]) {
                return Err(CodecError::trailing(rest.len()));
            }
            let (read, more) = decode_stream(rest, &mut output[written..])?;
            rest = &rest[read..];
            written += more;
            if rest.is_empty() {
                return Ok(written);
            }
        }
    }

    /// Looks at the start and at the end.
    fn check<'a>(&self, input: &'a [u8], _len: Option<usize>) -> Result<Option<&'a [u8]>> {
        if !input.starts_with(START) {
            return Err(failure(Error::DataMagic));
        }
        if has_end(input) { Ok(None) } else { Err(no_end()) }
    }
}

/// Whether a stream ends where `input` does.
fn has_end(input: &[u8]) -> bool {
    let last = &input[input.len().saturating_sub(TRAILER)..];
    let bits = last.iter().fold(0, |bits: u128, &byte| bits << 8 | u128::from(byte));
    (0..8).any(|filled| bits >> filled >> CHECKSUM_BITS & 0xffff_ffff_ffff == END)
}

fn no_end() -> CodecError {
    CodecError::truncated("the bzip2 stream has no end")
}

/// Decodes the stream at the start of `input`; returns how many bytes were read and written.
fn decode_stream(input: &[u8], output: &mut [u8]) -> Result<(usize, usize)> {
    let mut stream = Decompress::new(false);
    let (mut read, mut written) = (0, 0);
    loop {
        // With an empty output buffer the library does not look for the end of the stream, so it gets a byte that
        // it must not use.
        let mut spare = [0];
        let full = written == output.len();
        let room = if full { &mut spare[..] } else { &mut output[written..] };
        let status = stream.decompress(&input[read..], room).map_err(failure)?;
        let progress = (stream.total_in() as usize, stream.total_out() as usize);
        if full && progress.1 > written {
            return Err(CodecError::output_full(None));
        }
        match status {
            Status::StreamEnd => return Ok(progress),
            Status::MemNeeded => {
                return Err(CodecError::unsupported("bzip2 found no memory for its tables"));
            }
            _ if progress == (read, written) => {
                return Err(no_end());
            }
            _ => (read, written) = progress,
        }
    }
}

fn failure(error: Error) -> CodecError {
    match error {
        Error::DataMagic => CodecError::corrupt("this is not a bzip2 stream"),
        Error::Data => CodecError::corrupt("a bzip2 block is damaged, or its checksum does not match"),
        Error::Sequence | Error::Param => CodecError::corrupt(format!("bzip2 says {:?}", error.to_string())),
    }
}
