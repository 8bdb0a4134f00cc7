//! The codec: bytes after a mask that depends on one parameter, with a length and a checksum before them.
//!
//! A stream is `tiny`, the length and the CRC-32 of the content (little-endian words), and the masked bytes.

use std::ffi::CStr;

use ncz_codec::{Codec, CodecConfig, CodecError, CodecInfo, Coder, ErrorKind, Result};

/// The filter id: one that The HDF Group does not assign.
pub const ID: u32 = 40_200;
/// The name in all dialects.
pub const NAME: &CStr = c"ncz_tiny";
/// The magic bytes of a stream.
pub const MAGIC: [u8; 4] = *b"tiny";
/// The bytes before the content.
pub const HEAD: usize = 12;

/// The configuration of the codec, and its coder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, CodecConfig)]
pub struct Tiny {
    /// Makes the mask; 1 to 255.
    #[codec(range = 1..=255, default = 1)]
    pub level: u8,
}

impl Default for Tiny {
    fn default() -> Self {
        Self { level: 1 }
    }
}

impl Codec for Tiny {
    const INFO: CodecInfo = CodecInfo::new("ncz_tiny", "bytes after a mask, for tests of plugins")
        .filter_id(ID)
        .numcodecs(&["ncz_tiny"])
        .zarr_v3(&["ncz_tiny"])
        .checksum()
        .lossless();

    type Coder = Self;

    fn coder(working: &[u32]) -> Result<Self> {
        Self::from_params(working)
    }
}

impl Coder for Tiny {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(HEAD)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = u32::try_from(input.len())
            .map_err(|_| CodecError::unsupported(format!("{} bytes at once", input.len())))?;
        let need = input.len() + HEAD;
        let output = output.get_mut(..need).ok_or_else(|| CodecError::output_full(Some(need)))?;
        let (head, content) = output.split_at_mut(HEAD);
        head[..4].copy_from_slice(&MAGIC);
        head[4..8].copy_from_slice(&len.to_le_bytes());
        head[8..].copy_from_slice(&crc32fast::hash(input).to_le_bytes());
        content.copy_from_slice(input);
        self.mask(content);
        Ok(need)
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let (len, sum) = head(input)?;
        let content = &input[HEAD..];
        if content.len() < len {
            return Err(CodecError::truncated(format!("{} of {len} bytes are there", content.len())));
        }
        if content.len() > len {
            return Err(CodecError::trailing(content.len() - len));
        }
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        output.copy_from_slice(content);
        self.mask(output);
        if crc32fast::hash(output) != sum {
            return Err(CodecError::new(ErrorKind::Checksum, "of the content"));
        }
        Ok(len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        // No more than the stream can hold, so that no caller allocates memory for a false length.
        Ok(Some(head(input)?.0.min(input.len() - HEAD)))
    }
}

impl Tiny {
    /// Masks bytes, or takes the mask away.
    pub fn mask(&self, bytes: &mut [u8]) {
        let mut mask = 0_u8;
        for byte in bytes {
            mask = mask.wrapping_add(self.level);
            *byte ^= mask;
        }
    }

    /// The stream of `bytes`; empty if there is none.
    pub fn encoded(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = vec![0; bytes.len() + HEAD];
        match self.encode(&mut (), bytes, &mut stream) {
            Ok(len) => stream.truncate(len),
            Err(_) => stream.clear(),
        }
        stream
    }

    /// The content of `stream`, if it is whole.
    pub fn decoded(&self, stream: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; stream.len().checked_sub(HEAD)?];
        let len = self.decode(&mut (), stream, &mut bytes).ok()?;
        bytes.truncate(len);
        Some(bytes)
    }
}

/// The length and the checksum that a stream states.
///
/// # Errors
/// It has an incomplete header, or another magic.
pub fn head(stream: &[u8]) -> Result<(usize, u32)> {
    let Some(head) = stream.get(..HEAD) else {
        return Err(CodecError::truncated(format!("{} bytes are less than a head", stream.len())));
    };
    if head[..4] != MAGIC {
        return Err(CodecError::corrupt("this is not a stream of ncz_tiny"));
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    Ok((word(4) as usize, word(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_back_and_no_damage_passes() {
        let bytes: Vec<u8> = (0..300_u32).map(|i| (i * i) as u8).collect();
        for level in [1, 7, 255] {
            let tiny = Tiny { level };
            let stream = tiny.encoded(&bytes);
            assert_eq!(tiny.decoded(&stream).unwrap(), bytes);
            assert!(Tiny { level: level ^ 2 }.decoded(&stream).is_none());
            for at in 0..stream.len() {
                assert!(tiny.decoded(&stream[..at]).is_none());
                let mut flipped = stream.clone();
                flipped[at] ^= 1 << (at % 8);
                assert!(tiny.decoded(&flipped).is_none(), "{at}");
            }
            assert!(tiny.decoded(&[&stream[..], &[0]].concat()).is_none());
        }
        assert!(Tiny::default().decoded(&Tiny::default().encoded(&[])).unwrap().is_empty());
    }
}
