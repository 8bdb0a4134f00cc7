use ncz_codec::{CodecError, Coder, ErrorKind, Result};
use ncz_libdeflate::{Decompressor, Format, Refusal, Tables, bound, crc32, decompressor, encode};

use crate::header;

/// Bytes after the deflate data of a member: the CRC-32 of the content, and its length.
const TRAILER: usize = 8;

/// Encodes and decodes gzip streams.
#[derive(Debug, Clone, Copy)]
pub struct GzipCoder {
    level: i32,
}

impl GzipCoder {
    /// `level` is 0 to 9.
    pub(crate) fn new(level: i32) -> Self {
        Self { level }
    }
}

impl Coder for GzipCoder {
    type Scratch = Tables;

    fn scratch(&self) -> Tables {
        Tables::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        bound(len)
    }

    fn encode(&self, tables: &mut Tables, input: &[u8], output: &mut [u8]) -> Result<usize> {
        encode(tables, self.level, Format::Gzip, input, output)
    }

    fn decode(&self, tables: &mut Tables, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let decompressor = decompressor(tables)?;
        if input.is_empty() {
            return Err(CodecError::truncated("the input has no gzip member"));
        }
        let mut rest = input;
        let mut written = 0;
        // Members that follow each other are one stream, as for numcodecs and the gzip program.
        while !rest.is_empty() {
            if rest.len() < input.len() && !header::is_start(rest) {
                return Err(CodecError::trailing(rest.len()));
            }
            let (read, more) = decode_member(decompressor, rest, &mut output[written..])?;
            rest = &rest[read..];
            written += more;
        }
        Ok(written)
    }

    /// Looks at the header and at the length in the last bytes. Of several members, or of a damaged stream, that is not
    /// the length of all: then it decodes.
    fn check<'a>(&self, input: &'a [u8], len: Option<usize>) -> Result<Option<&'a [u8]>> {
        header::length(input)?;
        let stated = input.last_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if let Some(len) = len
            && stated != Some(len as u32)
        {
            let mut output = Vec::new();
            let memory = |_| CodecError::unsupported(format!("no memory for a buffer of {len} bytes"));
            output.try_reserve_exact(len).map_err(memory)?;
            output.resize(len, 0);
            let got = self.decode(&mut self.scratch(), input, &mut output)?;
            if got != len {
                return Err(CodecError::size(len, got, "the decoded length"));
            }
        }
        Ok(None)
    }
}

/// Decodes the member at the start of `input`; returns how many bytes were read and written.
fn decode_member(decompressor: &mut Decompressor, input: &[u8], output: &mut [u8]) -> Result<(usize, usize)> {
    let header = header::length(input)?;
    let done =
        decompressor.decompress(Format::Raw, &input[header..], output).map_err(|refusal| match refusal {
            Refusal::OutputFull => CodecError::output_full(None),
            Refusal::Bad => CodecError::corrupt("the deflate data are damaged, or end too early"),
        })?;
    let content = &output[..done.written];
    let end = header + done.read;
    let Some((&[a, b, c, d, e, f, g, h], _)) = input[end..].split_first_chunk::<TRAILER>() else {
        return Err(CodecError::truncated("the checksum of a gzip member is cut"));
    };
    let length = u32::from_le_bytes([e, f, g, h]);
    if length != content.len() as u32 {
        let text = format!("a gzip member states {length} bytes modulo 2^32, and has {}", content.len());
        return Err(CodecError::corrupt(text));
    }
    if u32::from_le_bytes([a, b, c, d]) != crc32(content) {
        return Err(CodecError::new(ErrorKind::Checksum, "CRC-32 of a gzip member"));
    }
    Ok((end + TRAILER, content.len()))
}
