//! The header of a gzip member (RFC 1952, section 2.3).

use ncz_codec::{CodecError, ErrorKind, Result};
use ncz_libdeflate::crc32;

/// The bytes that every header has.
pub(crate) const LEAST: usize = 10;
const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;

/// The bits of the flags; the text flag means nothing to a decoder.
const CHECKSUM: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0xe0;

/// Whether `bytes`, which are not empty, can be the start of a member, as far as they go.
pub(crate) fn is_start(bytes: &[u8]) -> bool {
    MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())])
}

/// The length of the header at the start of `bytes`.
pub(crate) fn length(bytes: &[u8]) -> Result<usize> {
    if !is_start(bytes) {
        return Err(CodecError::corrupt("this is not a gzip stream"));
    }
    let Some((&[_, _, method, flags, ..], _)) = bytes.split_first_chunk::<LEAST>() else { return Err(cut()) };
    if method != DEFLATE {
        return Err(CodecError::unsupported(format!("gzip method {method}; only 8, deflate, is defined")));
    }
    if flags & RESERVED != 0 {
        return Err(CodecError::unsupported(format!(
            "gzip flags {flags:#04x}, of which some are not defined"
        )));
    }
    let mut at = LEAST;
    if flags & EXTRA != 0 {
        let field = bytes[at..].first_chunk().ok_or_else(cut)?;
        at += 2 + usize::from(u16::from_le_bytes(*field));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            let text = bytes.get(at..).ok_or_else(cut)?;
            at += 1 + text.iter().position(|&byte| byte == 0).ok_or_else(cut)?;
        }
    }
    let (header, rest) = bytes.split_at_checked(at).ok_or_else(cut)?;
    if flags & CHECKSUM != 0 {
        let stored = u16::from_le_bytes(*rest.first_chunk().ok_or_else(cut)?);
        if stored != crc32(header) as u16 {
            return Err(CodecError::new(ErrorKind::Checksum, "CRC-16 of a gzip header"));
        }
        at += 2;
    }
    Ok(at)
}

fn cut() -> CodecError {
    CodecError::truncated("the header of a gzip member is cut")
}
