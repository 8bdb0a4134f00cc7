use std::fmt;

use ncz_codec::{CodecError, Coder, ErrorKind, Result};
use zstd_safe::{CCtx, CParameter, DCtx};

/// Encodes and decodes zstd frames.
#[derive(Debug, Clone, Copy)]
pub struct ZstdCoder {
    level: i32,
    checksum: bool,
}

/// The contexts of one thread, each made when it is first needed.
#[derive(Default)]
pub struct ZstdScratch {
    compressor: Option<CCtx<'static>>,
    decompressor: Option<DCtx<'static>>,
}

impl ZstdCoder {
    pub(crate) fn new(level: i32, checksum: bool) -> Self {
        Self { level, checksum }
    }
}

impl Coder for ZstdCoder {
    type Scratch = ZstdScratch;

    fn scratch(&self) -> ZstdScratch {
        ZstdScratch::default()
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // The library answers 0 or an error code for lengths beyond its limit.
        let bound = zstd_safe::compress_bound(len);
        (bound > len && bound < isize::MAX as usize).then_some(bound)
    }

    fn encode(&self, scratch: &mut ZstdScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let context = match &mut scratch.compressor {
            Some(context) => context,
            none => none.insert(CCtx::try_create().ok_or_else(no_memory)?),
        };
        for parameter in [
            CParameter::CompressionLevel(self.level),
            CParameter::ChecksumFlag(self.checksum),
            CParameter::ContentSizeFlag(true),
        ] {
            context.set_parameter(parameter).map_err(failure)?;
        }
        context.compress2(output, input).map_err(failure)
    }

    fn decode(&self, scratch: &mut ZstdScratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        // The library takes no bytes for no frames; for us they are a frame that lost everything.
        if input.is_empty() {
            return Err(CodecError::truncated("there is no frame"));
        }
        let context = match &mut scratch.decompressor {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
        };
        let mut written = 0;
        let mut rest = input;
        while !rest.is_empty() {
            let frame = next_frame(input, &mut rest)?;
            written +=
                context.decompress(&mut output[written..], frame).map_err(|code| match number(code) {
                    DESTINATION_TOO_SMALL => CodecError::output_full(stated_len(input).ok().flatten()),
                    _ => failure(code),
                })?;
        }
        Ok(written)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        stated_len(input)
    }
}

impl fmt::Debug for ZstdScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZstdScratch").finish_non_exhaustive()
    }
}

/// The sum of the content sizes, if every frame states its own.
fn stated_len(input: &[u8]) -> Result<Option<usize>> {
    if input.is_empty() {
        return Err(CodecError::truncated("there is no frame"));
    }
    let mut total = 0_usize;
    let mut rest = input;
    while !rest.is_empty() {
        match zstd_safe::get_frame_content_size(next_frame(input, &mut rest)?) {
            Ok(Some(size)) => {
                let size = usize::try_from(size).ok();
                total = size
                    .and_then(|size| total.checked_add(size))
                    .ok_or_else(|| CodecError::corrupt("the stated content size is absurd"))?;
            }
            Ok(None) => return Ok(None),
            Err(_) => return Err(CodecError::corrupt("a frame header is damaged")),
        }
    }
    Ok(Some(total))
}

/// Takes the frame that `rest`, the end of `input`, begins with, and moves `rest` behind it.
fn next_frame<'a>(input: &[u8], rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let at = input.len() - rest.len();
    match frame_start(rest) {
        Start::Frame => {}
        Start::Cut => return Err(CodecError::truncated(format!("the zstd frame at byte {at} has no end"))),
        Start::Other if at > 0 => return Err(CodecError::trailing(rest.len())),
        Start::Other => return Err(CodecError::corrupt("this is no zstd frame")),
    }
    let len = zstd_safe::find_frame_compressed_size(rest).map_err(|code| match number(code) {
        SOURCE_SIZE_WRONG => CodecError::truncated(format!("the zstd frame at byte {at} has no end")),
        _ => failure(code),
    })?;
    let (frame, next) = rest
        .split_at_checked(len)
        .filter(|_| len > 0)
        .ok_or_else(|| CodecError::truncated(format!("the zstd frame at byte {at} has no end")))?;
    *rest = next;
    Ok(frame)
}

enum Start {
    Frame,
    Cut,
    Other,
}

/// Whether `bytes` start as a frame does (RFC 8878, sections 3.1.1 and 3.1.2). The formats before 0.8 of the
/// library, which it may read as well, count as something else.
fn frame_start(bytes: &[u8]) -> Start {
    let &[first, ref others @ ..] = &bytes[..bytes.len().min(4)] else { return Start::Cut };
    let magic: [u8; 3] = match first {
        0x28 => [0xb5, 0x2f, 0xfd],
        0x50..=0x5f => [0x2a, 0x4d, 0x18],
        _ => return Start::Other,
    };
    if others == magic {
        Start::Frame
    } else if magic.starts_with(others) {
        Start::Cut
    } else {
        Start::Other
    }
}

// Numbers of zstd_errors.h, stable since 1.3.1 of the library.
const CHECKSUM_WRONG: usize = 22;
const MEMORY: usize = 64;
const DESTINATION_TOO_SMALL: usize = 70;
const SOURCE_SIZE_WRONG: usize = 72;

fn number(code: zstd_safe::ErrorCode) -> usize {
    code.wrapping_neg()
}

fn failure(code: zstd_safe::ErrorCode) -> CodecError {
    let text = zstd_safe::get_error_name(code);
    match number(code) {
        CHECKSUM_WRONG => CodecError::new(ErrorKind::Checksum, "of a zstd frame"),
        DESTINATION_TOO_SMALL => CodecError::output_full(None),
        MEMORY => no_memory(),
        _ => CodecError::corrupt(format!("zstd says {text:?}")),
    }
}

fn no_memory() -> CodecError {
    CodecError::unsupported("zstd found no memory for its context")
}
