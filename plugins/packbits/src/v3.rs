//! `packbits` of Zarr v3 (zarr-extensions): the bits that count of any numbers, one after the other.

mod bits;
mod codec;

use std::borrow::Cow;

use ncz_codec::{
    Bound, ByteOrder, Codec, CodecError, CodecInfo, ConfigReader, Dialect, Dtype, Env, Kind, Repr, Result,
    params,
};
use serde_json::{Map, Value, json};

use self::bits::Bits;
pub use self::codec::PackBitsV3Coder;

const ZARR_V3: &[Cow<'static, str>] = &[Cow::Borrowed("packbits")];
const PADDINGS: [(&str, Padding); 3] =
    [("none", Padding::None), ("first_byte", Padding::FirstByte), ("last_byte", Padding::LastByte)];
/// The word for a bit that is not given.
const NONE: u32 = u32::MAX;
/// The words that a user gives.
const WORDS: usize = 3;

/// Configuration of the `packbits` of Zarr v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PackBitsV3 {
    /// Where the number of bits that fill the last byte up is written.
    pub padding: Padding,
    /// The lowest bit that is stored, counted from the lowest of a number; `None`: 0.
    pub first_bit: Option<u32>,
    /// The highest bit that is stored; `None`: the highest of a number.
    pub last_bit: Option<u32>,
}

/// Where the number of bits that fill the last byte up is written. The numbers are those of the parameter words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Padding {
    /// Nowhere.
    #[default]
    None = 0,
    /// In a byte before the others.
    FirstByte = 1,
    /// In a byte behind the others.
    LastByte = 2,
}

impl Codec for PackBitsV3 {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("packbits_v3"),
        summary: Cow::Borrowed("the bits that count of numbers or truth values, one after the other"),
        filter_id: None,
        numcodecs: Cow::Borrowed(&[]),
        zarr_v3: Cow::Borrowed(ZARR_V3),
        has_working_params: true,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = PackBitsV3Coder;

    fn from_json(dialect: Dialect, config: &Map<String, Value>, notes: &mut Vec<String>) -> Result<Self> {
        known_in(dialect)?;
        let mut reader = ConfigReader::new(dialect, config);
        let text = reader.text("padding_encoding", PADDINGS[0].0)?;
        let padding = PADDINGS.iter().find(|(name, _)| *name == text).ok_or_else(|| {
            let text = format!("{text:?} is none of none, first_byte, last_byte");
            CodecError::config("padding_encoding", text)
        })?;
        let mut bit = |key| match reader.raw(key) {
            None => Ok(None),
            Some(_) => reader.integer(key, 0, 0..=63).map(|bit| Some(bit as u32)),
        };
        let parsed = Self { padding: padding.1, first_bit: bit("first_bit")?, last_bit: bit("last_bit")? };
        reader.finish(notes)?;
        parsed.checked("last_bit")
    }

    fn to_json(&self, dialect: Dialect) -> Result<Map<String, Value>> {
        known_in(dialect)?;
        let mut map = Map::new();
        let (padding, _) = PADDINGS[self.padding as usize];
        map.insert("padding_encoding".to_owned(), json!(padding));
        for (key, bit) in [("first_bit", self.first_bit), ("last_bit", self.last_bit)] {
            map.extend(bit.map(|bit| (key.to_owned(), json!(bit))));
        }
        Ok(map)
    }

    fn from_params(words: &[u32]) -> Result<Self> {
        params::check_count("packbits_v3", words, 0, WORDS)?;
        let wrong = |at: usize| CodecError::config(format!("cd_values[{at}]"), "it is out of range");
        let padding = PADDINGS.get(params::word_or(words, 0, 0) as usize).ok_or_else(|| wrong(0))?.1;
        let bit = |at| match params::word_or(words, at, NONE) {
            NONE => Ok(None),
            bit if bit < 64 => Ok(Some(bit)),
            _ => Err(wrong(at)),
        };
        Self { padding, first_bit: bit(1)?, last_bit: bit(2)? }.checked("cd_values[2]")
    }

    fn to_params(&self) -> Result<Vec<u32>> {
        Ok(vec![self.padding as u32, self.first_bit.unwrap_or(NONE), self.last_bit.unwrap_or(NONE)])
    }

    fn bind(&self, input: &Repr, _env: &Env) -> Result<Bound<Self>> {
        let Repr::Array { dtype, .. } = input else {
            return Err(CodecError::unsupported(
                "packbits takes numbers or truth values, not bytes; let it stand before codecs that give bytes",
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
        let mut working = Codec::to_params(self)?;
        working.push(bits.word());
        working.extend(params::u64_words(count as u64));
        let output = Repr::Bytes { size: coder.size() };
        Ok(Bound { stored: *self, working, output, coder })
    }

    fn coder(working: &[u32]) -> Result<PackBitsV3Coder> {
        let wrong = || CodecError::config("cd_values", "these are no working words of packbits_v3");
        let [given @ .., word, low, high] = working else { return Err(wrong()) };
        let count = usize::try_from(params::words_u64([*low, *high])).map_err(|_| wrong())?;
        let codec = Self::from_params(given).map_err(|_| wrong())?;
        let bits = Bits::from_word(*word).filter(|bits| bits.fits(count)).ok_or_else(wrong)?;
        Ok(PackBitsV3Coder::new(codec.padding, bits, count))
    }
}

impl PackBitsV3 {
    /// Refuses a last bit before the first; `key` names it.
    fn checked(self, key: &str) -> Result<Self> {
        match (self.first_bit.unwrap_or(0), self.last_bit) {
            (first, Some(last)) if last < first => {
                Err(CodecError::config(key, format!("{last} is less than the first bit, {first}")))
            }
            _ => Ok(self),
        }
    }

    /// Which bits of such elements are stored.
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
                    format!("{bit} is no bit of numbers of {width} bits, which have 0 to {}", width - 1);
                return Err(CodecError::config(key, text));
            }
        }
        Ok(Bits { width, components, first, last, signed: dtype.kind == Kind::Int })
    }
}

fn known_in(dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::ZarrV3 => Ok(()),
        Dialect::Numcodecs => Err(CodecError::unsupported(
            "this packbits has no name in numcodecs, the packbits of which is another, for truth values",
        )),
    }
}
