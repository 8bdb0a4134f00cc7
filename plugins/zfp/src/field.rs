//! The input of the encoder: numbers of one type in one to four dimensions.

use ncz_codec::{ByteOrder, CodecError, Dtype, Kind, Repr, Result};
use zfp_rs::{ZfpBitStream, ZfpConfig, ZfpDimensionality, ZfpFieldMetadata, ZfpHeaderMask, ZfpScalarType};

/// The largest `min_bits` that the header of a stream holds. It is more than a block can need, but H5Z-ZFP pads blocks
/// to it; without a limit, a few numbers could require as much memory as a word can express.
pub(crate) const MIN_BITS_MOST: u32 = 0x8000;

/// Numbers of one type in one to four dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) scalar: ZfpScalarType,
    /// Whether negative numbers are none.
    pub(crate) unsigned: bool,
    pub(crate) rank: ZfpDimensionality,
    /// The lengths, the fastest first; 1 after the rank.
    pub(crate) lengths: [usize; 4],
}

/// The bit of a type's word that means unsigned.
const UNSIGNED: u32 = 4;

impl Field {
    /// The chunk that enters the stage. `squeeze`: without dimensions of length 1, as H5Z-ZFP takes it.
    pub(crate) fn of(input: &Repr, squeeze: bool) -> Result<Self> {
        let Repr::Array { dtype, shape, .. } = input else {
            return Err(CodecError::unsupported(
                "zfp takes numbers, not bytes; put it first, or after codecs that return numbers",
            ));
        };
        let (scalar, unsigned) = scalar(dtype)?;
        let lengths: Vec<u64> =
            shape.iter().rev().copied().filter(|&length| !squeeze || length != 1).collect();
        Self::new(scalar, unsigned, &lengths).ok_or_else(|| {
            let longer = if squeeze { " longer than 1" } else { "" };
            CodecError::unsupported(format!(
                "zfp takes chunks of one to four dimensions{longer}, not of shape {shape:?}"
            ))
        })
    }

    /// `lengths`: the fastest first.
    fn new(scalar: ZfpScalarType, unsigned: bool, lengths: &[u64]) -> Option<Self> {
        let rank = ZfpDimensionality::try_from(u32::try_from(lengths.len()).ok()?).ok()?;
        let mut all = [1; 4];
        for (to, &from) in all.iter_mut().zip(lengths) {
            *to = usize::try_from(from).ok().filter(|&length| length > 0)?;
        }
        let field = Self { scalar, unsigned, rank, lengths: all };
        field.checked_bytes().is_some().then_some(field)
    }

    /// From the header of a stream.
    pub(crate) fn from_header(header: ZfpFieldMetadata) -> Option<Self> {
        let lengths: Vec<u64> =
            header.dims.iter().take_while(|&&length| length > 0).map(|&length| length as u64).collect();
        Self::new(header.scalar_type, false, &lengths)
    }

    pub(crate) fn dims(&self) -> [usize; 4] {
        let rank = usize::from(self.rank);
        std::array::from_fn(|axis| if axis < rank { self.lengths[axis] } else { 0 })
    }

    /// The blocks of a stream.
    pub(crate) fn blocks(&self) -> u64 {
        self.lengths.iter().map(|length| length.div_ceil(4) as u64).product()
    }

    pub(crate) fn header(&self) -> ZfpFieldMetadata {
        ZfpFieldMetadata { scalar_type: self.scalar, dims: self.dims() }
    }

    /// The bytes of the numbers.
    pub(crate) fn bytes(&self) -> usize {
        self.checked_bytes().unwrap_or(usize::MAX)
    }

    fn checked_bytes(&self) -> Option<usize> {
        let bytes = self
            .lengths
            .iter()
            .try_fold(self.scalar.size(), |product, &length| product.checked_mul(length))?;
        (bytes <= isize::MAX as usize).then_some(bytes)
    }

    /// The header of a stream as words, as H5Z-ZFP stores it.
    pub(crate) fn header_words(&self, limits: &ZfpConfig) -> Result<Vec<u32>> {
        let mut stream = ZfpBitStream::new(32).map_err(|error| CodecError::unsupported(error.to_string()))?;
        let bits = stream
            .write_header(limits, &self.header(), ZfpHeaderMask::FULL)
            .map_err(|error| CodecError::unsupported(format!("{error}, of a chunk of {:?}", self.dims())))?;
        stream.flush();
        let words = stream.into_words();
        Ok(words
            .iter()
            .flat_map(|&word| [word as u32, (word >> 32) as u32])
            .take(bits.div_ceil(32))
            .collect())
    }

    /// Reads the result of [`header_words`](Self::header_words).
    pub(crate) fn from_header_words(words: &[u32]) -> Result<(Self, ZfpConfig)> {
        let words = words.chunks(2).map(|pair| {
            let [low, high] = [pair[0], pair.get(1).copied().unwrap_or(0)];
            u64::from(low) | u64::from(high) << 32
        });
        let mut stream = ZfpBitStream::from_words(words.chain([0, 0]).collect());
        let header = stream
            .read_header(ZfpHeaderMask::FULL)
            .map_err(|error| CodecError::config("cd_values", error.to_string()))?;
        match (header.metadata.and_then(Self::from_header), header.config) {
            (Some(field), Some(limits)) => Ok((field, limits)),
            _ => {
                Err(CodecError::config("cd_values", "the header of zfp states no chunk that fits in memory"))
            }
        }
    }

    /// Words from which [`from_words`](Self::from_words) makes the same again.
    pub(crate) fn words(&self, limits: &ZfpConfig) -> Result<Vec<u32>> {
        let scalar = match self.scalar {
            ZfpScalarType::I32 => 0,
            ZfpScalarType::I64 => 1,
            ZfpScalarType::F32 => 2,
            ZfpScalarType::F64 => 3,
        };
        let mut words = vec![0, scalar + if self.unsigned { UNSIGNED } else { 0 }];
        for &length in &self.lengths[..self.rank.into()] {
            words.push(u32::try_from(length).map_err(|_| {
                CodecError::unsupported(format!("a chunk of length {length} is longer than zfp takes here"))
            })?);
        }
        words.extend([limits.min_bits(), limits.max_bits(), limits.max_prec(), limits.min_exp() as u32]);
        Ok(words)
    }

    /// Reads the result of [`words`](Self::words).
    pub(crate) fn from_words(words: &[u32]) -> Result<(Self, ZfpConfig)> {
        let wrong = || CodecError::config("cd_values", "these are not working words of zfp");
        let [0, number, lengths @ .., min_bits, max_bits, max_prec, min_exp] = words else {
            return Err(wrong());
        };
        let scalar = match number & !UNSIGNED {
            0 => ZfpScalarType::I32,
            1 => ZfpScalarType::I64,
            2 => ZfpScalarType::F32,
            3 => ZfpScalarType::F64,
            _ => return Err(wrong()),
        };
        let lengths: Vec<u64> = lengths.iter().map(|&length| length.into()).collect();
        let field = Self::new(scalar, number & UNSIGNED != 0, &lengths).ok_or_else(wrong)?;
        let limits = ZfpConfig::expert(*min_bits, *max_bits, *max_prec, *min_exp as i32);
        let limits = limits.ok().filter(|_| *min_bits <= MIN_BITS_MOST).ok_or_else(wrong)?;
        Ok((field, limits))
    }
}

/// zfp's name of the type, and whether it is unsigned.
fn scalar(dtype: &Dtype) -> Result<(ZfpScalarType, bool)> {
    let scalar = match (dtype.kind, dtype.size) {
        (Kind::Int | Kind::UInt, 4) => ZfpScalarType::I32,
        (Kind::Int | Kind::UInt, 8) => ZfpScalarType::I64,
        (Kind::Float, 4) => ZfpScalarType::F32,
        (Kind::Float, 8) => ZfpScalarType::F64,
        (kind, size) => {
            return Err(CodecError::unsupported(format!(
                "zfp takes integers and floating-point numbers of 4 or 8 bytes, not {kind:?} of {size}"
            )));
        }
    };
    if dtype.order == ByteOrder::Big {
        return Err(CodecError::unsupported(
            "zfp takes little-endian numbers only, also in HDF5 and numcodecs; let the variable be little-endian",
        ));
    }
    Ok((scalar, dtype.kind == Kind::UInt))
}
