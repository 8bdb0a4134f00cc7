//! `packbits` of Zarr v3 (zarr-extensions): the bits that count of any numbers, one after the other.

mod bits;
mod codec;

use ncz_codec::config::Source;
use ncz_codec::{
    Bound, ByteOrder, Codec, CodecConfig, CodecError, CodecInfo, ConfigEnum, Dtype, Env, Kind, Repr, Result,
    params,
};

use self::bits::Bits;
pub use self::codec::PackBitsV3Coder;

/// The word for a bit that is not given.
const NONE: u32 = u32::MAX;

/// Configuration of the `packbits` of Zarr v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, CodecConfig)]
#[codec(check = Self::check)]
#[codec(unnamed = "this packbits has no name in numcodecs, whose packbits is another codec, for booleans")]
pub struct PackBitsV3 {
    /// The location of the count of padding bits in the last byte.
    #[codec(key = "padding_encoding", default)]
    pub padding: Padding,
    /// The lowest bit that is stored, counted from the lowest of a number; `None`: 0.
    #[codec(range = 0..=63, none = NONE)]
    pub first_bit: Option<u32>,
    /// The highest bit that is stored; `None`: the highest of a number.
    #[codec(range = 0..=63, none = NONE)]
    pub last_bit: Option<u32>,
}

/// The location of the count of padding bits in the last byte. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ConfigEnum)]
pub enum Padding {
    /// Nowhere.
    #[default]
    None = 0,
    /// In a byte before the others.
    FirstByte = 1,
    /// In a byte after the others.
    LastByte = 2,
}

impl Codec for PackBitsV3 {
    const INFO: CodecInfo =
        CodecInfo::new("packbits_v3", "the bits that count of numbers or truth values, one after the other")
            .zarr_v3(&["packbits"])
            .working_params()
            .lossless();

    type Coder = PackBitsV3Coder;

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, .. } = input else {
            return Err(CodecError::unsupported(
                "packbits takes numbers or booleans, not bytes; put it before codecs that return bytes",
            ));
        };
        let bits = self.bits(dtype)?;
        let count = input.size()?.bound().unwrap_or_default() / dtype.size;
        if !bits.fits(count) {
            let text = format!(
                "packbits counts bits, and those of {count} elements of {} bytes are too many",
                dtype.size
            );
            return Err(CodecError::unsupported(text));
        }
        let coder = PackBitsV3Coder::new(self.padding, bits, count);
        let mut working = CodecConfig::to_params(self)?;
        working.push(bits.word());
        working.extend(params::u64_words(count as u64));
        let output = Repr::Bytes { size: coder.size() };
        Ok(Bound { stored: *self, working, output, coder })
    }

    fn coder(working: &[u32]) -> Result<PackBitsV3Coder> {
        let wrong = || CodecError::config("cd_values", "these are not working words of packbits_v3");
        let [given @ .., word, low, high] = working else { return Err(wrong()) };
        let count = usize::try_from(params::words_u64([*low, *high])).map_err(|_| wrong())?;
        let codec = Self::from_params(given).map_err(|_| wrong())?;
        let bits = Bits::from_word(*word).filter(|bits| bits.fits(count)).ok_or_else(wrong)?;
        Ok(PackBitsV3Coder::new(codec.padding, bits, count))
    }
}

impl PackBitsV3 {
    /// Refuses a last bit before the first.
    fn check(&self, source: Source) -> Result<()> {
        match (self.first_bit.unwrap_or(0), self.last_bit) {
            (first, Some(last)) if last < first => {
                let text = format!("{last} is less than the first bit, {first}");
                Err(CodecError::config(source.key("last_bit"), text))
            }
            _ => Ok(()),
        }
    }

    /// Returns which bits of such elements are stored.
    fn bits(&self, dtype: &Dtype) -> Result<Bits> {
        let (width, components) = match (dtype.kind, dtype.size) {
            (Kind::Bool, 1) => (1, 1),
            (Kind::Int | Kind::UInt, size @ (1 | 2 | 4 | 8)) | (Kind::Float, size @ (2 | 4 | 8)) => {
                (8 * size, 1)
            }
            (Kind::Complex, size @ (8 | 16)) => (4 * size, 2),
            (kind, size) => {
                return Err(CodecError::unsupported(format!(
                    "packbits takes truth values of 1 byte and numbers of up to 8 bytes or pairs of them, not {kind:?} of {size}"
                )));
            }
        };
        if dtype.order == ByteOrder::Big && dtype.size > 1 {
            return Err(CodecError::unsupported(
                "packbits takes little-endian numbers only; let the variable be little-endian",
            ));
        }
        let width = width as u32;
        let (first, last) = (self.first_bit.unwrap_or(0), self.last_bit.unwrap_or(width - 1));
        for (key, bit) in [("first_bit", first), ("last_bit", last)] {
            if bit >= width {
                let text =
                    format!("{bit} is not a bit of numbers of {width} bits, which have 0 to {}", width - 1);
                return Err(CodecError::config(key, text));
            }
        }
        Ok(Bits { width, components, first, last, signed: dtype.kind == Kind::Int })
    }
}
