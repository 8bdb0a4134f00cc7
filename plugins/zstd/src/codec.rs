use ncz_codec::{CodecError, Coder, ErrorKind, Result};
use zstd_safe::{CCtx, CParameter, DCtx};

/// Encodes and decodes zstd frames.
#[derive(Debug, Clone, Copy)]
pub struct ZstdCoder {
    level: i32,
    checksum: bool,
}

impl ZstdCoder {
    pub(crate) fn new(level: i32, checksum: bool) -> Self {
        Self { level, checksum }
    }
}

impl Coder for ZstdCoder {
    /// The contexts of one thread, each made when it is first needed.
    type Scratch = (Option<CCtx<'static>>, Option<DCtx<'static>>);

    fn scratch(&self) -> Self::Scratch {
        (None, None)
    }

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        // The library answers 0 or an error code for lengths beyond its limit.
        let bound = zstd_safe::compress_bound(len);
        (bound > len && bound < isize::MAX as usize).then_some(bound)
    }

    fn encode(&self, (context, _): &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let context = match context {
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

    fn decode(&self, (_, context): &mut Self::Scratch, input: &[u8], output: &mut [u8]) -> Result<usize> {
        let context = match context {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
        };
        let mut written = 0;
        each_frame(input, |frame| {
            let more = context.decompress(&mut output[written..], frame);
            written += more.map_err(|code| match number(code) {
                DESTINATION_TOO_SMALL => CodecError::output_full(self.decoded_len(input).ok().flatten()),
                _ => failure(code),
            })?;
            Ok(())
        })?;
        Ok(written)
    }

    /// The sum of the content sizes, if every frame states its own.
    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        let mut total = Some(0_usize);
        each_frame(input, |frame| {
            let size = zstd_safe::get_frame_content_size(frame);
            let size = size.map_err(|_| CodecError::corrupt("a frame header is damaged"))?;
            if let (Some(sum), Some(size)) = (total, size) {
                total = usize::try_from(size).ok().and_then(|size| sum.checked_add(size));
                return total
                    .map(drop)
                    .ok_or_else(|| CodecError::corrupt("the stated content size is absurd"));
            }
            total = None;
            Ok(())
        })?;
        Ok(total)
    }
}

/// Calls `read` with each frame of `input` (RFC 8878, section 3.1). The formats before 0.8 of the library, which it may
/// read as well, are refused.
fn each_frame<'a>(input: &'a [u8], mut read: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
    // The library takes no bytes for no frames; for us they are a frame that lost everything.
    if input.is_empty() {
        return Err(CodecError::truncated("the input has no frame"));
    }
    let mut rest = input;
    while let Some(&first) = rest.first() {
        let at = input.len() - rest.len();
        let magic = if first >> 4 == 5 { [first, 0x2a, 0x4d, 0x18] } else { [0x28, 0xb5, 0x2f, 0xfd] };
        if !rest.iter().zip(magic).all(|(byte, magic)| *byte == magic) {
            return Err(match at {
                0 => CodecError::corrupt("this is not a zstd frame"),
                _ => CodecError::trailing(rest.len()),
            });
        }
        let cut = || CodecError::truncated(format!("the zstd frame at byte {at} has no end"));
        let len = zstd_safe::find_frame_compressed_size(rest).map_err(|code| match number(code) {
            SOURCE_SIZE_WRONG => cut(),
            _ => failure(code),
        })?;
        let (frame, next) = rest.split_at_checked(len).filter(|_| len > 0).ok_or_else(cut)?;
        read(frame)?;
        rest = next;
    }
    Ok(())
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
    match number(code) {
        CHECKSUM_WRONG => CodecError::new(ErrorKind::Checksum, "of a zstd frame"),
        DESTINATION_TOO_SMALL => CodecError::output_full(None),
        MEMORY => no_memory(),
        _ => CodecError::corrupt(format!("zstd reports {:?}", zstd_safe::get_error_name(code))),
    }
}

fn no_memory() -> CodecError {
    CodecError::unsupported("zstd found no memory for its context")
}
