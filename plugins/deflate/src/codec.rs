use ncz_codec::{CodecError, Coder, ErrorKind, Result};
use ncz_libdeflate::{Decompressor, Format, Refusal, Tables, bound, decompressor, encode};

/// Bytes before the deflate data of a zlib stream (RFC 1950, section 2.2).
const HEADER: usize = 2;
/// Bytes after them: the Adler-32 of the content.
const TRAILER: usize = 4;
/// Bytes of the shortest stream, which has no content.
const LEAST: usize = 8;
/// More bytes than a byte of deflate data can make: two copies of 258 bytes, with codes of one bit, take four bits.
const MOST_FROM_A_BYTE: usize = 1032;

/// Encodes and decodes zlib streams.
#[derive(Debug, Clone, Copy)]
pub struct DeflateCoder {
    level: i32,
}

impl DeflateCoder {
    /// `level` is 0 to 9.
    pub(crate) fn new(level: i32) -> Self {
        Self { level }
    }
}

impl Coder for DeflateCoder {
    type Scratch = Tables;

    fn scratch(&self) -> Tables {
        Tables::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        bound(len)
    }

    fn encode(&self, tables: &mut Tables, input: &[u8], output: &mut [u8]) -> Result<usize> {
        encode(tables, self.level, Format::Zlib, input, output)
    }

    fn decode(&self, tables: &mut Tables, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let decompressor = decompressor(tables)?;
        let done = match decompressor.decompress(Format::Zlib, input, output) {
            Ok(done) => done,
            // A cut checksum too can look like more output: the data then seem to end with bits of it.
            Err(Refusal::OutputFull | Refusal::Bad) => return Err(why_not(decompressor, input, output)),
        };
        match input.len() - done.read {
            0 => Ok(done.written),
            extra => Err(CodecError::trailing(extra)),
        }
    }

    /// Looks at the header, and whether the stream can hold that much: it does not state its length, and its checksum is
    /// that of the content.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        let body = check_header(input)?;
        match len {
            Some(len) if len > (body.len() - TRAILER).saturating_mul(MOST_FROM_A_BYTE) => Err(
                CodecError::truncated(format!("a zlib stream of {} bytes cannot hold {len}", input.len())),
            ),
            _ => Ok(None),
        }
    }
}

/// Checks the header, and returns what follows it.
fn check_header(input: &[u8]) -> Result<&[u8]> {
    let Some((&[first, second], body)) = input.split_first_chunk::<HEADER>().filter(|_| input.len() >= LEAST)
    else {
        return Err(CodecError::truncated("a zlib stream has at least 8 bytes"));
    };
    if first & 0x0f != 8 || !u16::from_be_bytes([first, second]).is_multiple_of(31) {
        return Err(CodecError::corrupt("this is not a zlib stream"));
    }
    if second & 0x20 != 0 {
        return Err(CodecError::unsupported("the zlib stream needs a preset dictionary"));
    }
    Ok(body)
}

/// Finds the error in `input`, about which libdeflate reports little.
fn why_not(decompressor: &mut Decompressor, input: &[u8], output: &mut [u8]) -> CodecError {
    let body = match check_header(input) {
        Ok(body) => body,
        Err(error) => return error,
    };
    match decompressor.decompress(Format::Raw, body, output) {
        Ok(done) if body.len() - done.read < TRAILER => {
            CodecError::truncated("the checksum of the zlib stream is cut")
        }
        Ok(_) => CodecError::new(ErrorKind::Checksum, "Adler-32 of a zlib stream"),
        Err(Refusal::OutputFull) => CodecError::output_full(None),
        Err(Refusal::Bad) => CodecError::corrupt("the deflate data are damaged, or end too early"),
    }
}
