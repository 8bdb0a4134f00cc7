//! Special attributes, which define how a variable is stored.

use ncz_model::{ByteOrder, NcType, QuantizeMode, Storage, Value};
use std::io::{Read, Seek};

use super::attributes::Constants;
use super::error::{CdlError, CdlErrorKind};
use super::input::{Input, Mark};
use super::lexer::Constant;

/// The special attributes of a variable.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Special {
    /// `_FillValue`, of the variable's type.
    pub fill: Option<Value>,
    /// The number of attributes before `_FillValue`.
    pub fill_position: usize,
    /// `_NoFill`
    pub no_fill: bool,
    /// `_Storage`
    pub storage: Option<Storage>,
    /// `_ChunkSizes`
    pub chunks: Option<Vec<u64>>,
    /// `_DeflateLevel`
    pub deflate: Option<u32>,
    /// `_Shuffle`
    pub shuffle: bool,
    /// `_Fletcher32`
    pub fletcher32: bool,
    /// `_Filter`: a chain as text
    pub filter: Option<String>,
    /// `_Codecs`: a chain as JSON
    pub codecs: Option<String>,
    /// `_Endianness`
    pub order: Option<ByteOrder>,
    /// `_Quantize...`
    pub quantize: Option<(QuantizeMode, i64)>,
}

/// Attributes of the root that describe the program that wrote a file, not the dataset.
pub(super) const OF_WRITERS: [&str; 4] = ["_NCProperties", "_IsNetcdf4", "_SuperblockVersion", "_Format"];

/// The names of the quantization algorithms in ncgen and ncdump.
const QUANTIZE: [(&str, QuantizeMode); 5] = [
    ("_QuantizeBitGroomNumberOfSignificantDigits", QuantizeMode::BitGroom),
    ("_QuantizeBitgroomNumberOfSignificantDIgits", QuantizeMode::BitGroom),
    ("_QuantizeGranularBitRoundNumberOfSignificantDigits", QuantizeMode::GranularBitRound),
    ("_QuantizeBitRoundNumberOfSignificantBits", QuantizeMode::BitRound),
    ("_QuantizeBitRoundNumberOfSignificantDigits", QuantizeMode::BitRound),
];

impl<R: Read + Seek> Input<R> {
    /// Reads an attribute of a variable if it is a special one; returns whether it is.
    pub(super) fn special(
        &mut self,
        special: &mut Special,
        (nc_type, rank): (Option<NcType>, usize),
        (name, at): (&str, Mark),
        constants: &Constants,
    ) -> Result<bool, CdlError> {
        let wrong = |reason: String| CdlErrorKind::Special { name: name.to_owned(), reason };
        match name {
            "_FillValue" => {
                let [_] = constants.as_slice() else {
                    return Err(self.error(at, wrong(format!("must be one value, got {}", constants.len()))));
                };
                let value = self.value(constants, nc_type)?;
                special.fill = Some(match value {
                    Value::Char(text) if text.len() > 1 => {
                        return Err(self.error(at, wrong("of char must be one byte".to_owned())));
                    }
                    value => value,
                });
            }
            "_NoFill" => special.no_fill = self.truth(name, at, constants)?,
            "_Shuffle" => special.shuffle = self.truth(name, at, constants)?,
            "_Fletcher32" => special.fletcher32 = self.truth(name, at, constants)?,
            "_Storage" => {
                let text = self.single_text(name, at, constants)?;
                special.storage = Some(match text.as_str() {
                    "chunked" => Storage::Chunked,
                    "contiguous" => Storage::Contiguous,
                    "compact" => Storage::Compact,
                    _ => {
                        let reason =
                            format!("must be \"chunked\", \"contiguous\" or \"compact\", got {text:?}");
                        return Err(self.error(at, wrong(reason)));
                    }
                });
            }
            "_Endianness" => {
                let text = self.single_text(name, at, constants)?;
                special.order = Some(match text.as_str() {
                    "little" => ByteOrder::Little,
                    "big" => ByteOrder::Big,
                    _ => {
                        let reason = format!("must be \"little\" or \"big\", got {text:?}");
                        return Err(self.error(at, wrong(reason)));
                    }
                });
            }
            "_ChunkSizes" => {
                let lengths = self.whole_numbers(name, at, constants)?;
                let chunks: Option<Vec<u64>> =
                    lengths.iter().map(|&len| u64::try_from(len).ok().filter(|&len| len > 0)).collect();
                let Some(chunks) = chunks.filter(|chunks| chunks.len() == rank) else {
                    let reason = format!("must be {rank} lengths of at least 1, one for each dimension");
                    return Err(self.error(at, wrong(reason)));
                };
                special.chunks = Some(chunks);
            }
            "_DeflateLevel" => {
                special.deflate = match self.whole_numbers(name, at, constants)?.as_slice() {
                    // ncgen reads a negative level as no deflate.
                    [level] if *level < 0 => None,
                    [level @ 0..=9] => u32::try_from(*level).ok(),
                    _ => return Err(self.error(at, wrong("must be a level from 0 to 9".to_owned()))),
                };
            }
            "_Filter" => special.filter = Some(self.single_text(name, at, constants)?),
            "_Codecs" => special.codecs = Some(self.single_text(name, at, constants)?),
            _ => {
                let Some((_, mode)) = QUANTIZE.into_iter().find(|(known, _)| *known == name) else {
                    return Ok(false);
                };
                let numbers = self.whole_numbers(name, at, constants)?;
                let [number] = *numbers.as_slice() else {
                    return Err(self.error(at, wrong("must be one whole number".to_owned())));
                };
                if special.quantize.is_some_and(|(other, _)| other != mode) {
                    let reason = "is given with another way to quantize; delete one of them".to_owned();
                    return Err(self.error(at, wrong(reason)));
                }
                special.quantize = Some((mode, number));
            }
        }
        Ok(true)
    }

    fn truth(&mut self, name: &str, at: Mark, constants: &Constants) -> Result<bool, CdlError> {
        let text = match constants.as_slice() {
            [(Constant::Text(text), _)] => String::from_utf8_lossy(text).into_owned(),
            [(Constant::Number(text), _)] => text.clone(),
            _ => String::new(),
        };
        match text.as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => {
                let reason = "must be \"true\" or \"false\"".to_owned();
                Err(self.error(at, CdlErrorKind::Special { name: name.to_owned(), reason }))
            }
        }
    }

    fn single_text(&mut self, name: &str, at: Mark, constants: &Constants) -> Result<String, CdlError> {
        let text = match constants.as_slice() {
            [(Constant::Text(text), _)] => String::from_utf8(text.clone()).ok(),
            _ => None,
        };
        text.ok_or_else(|| {
            let reason = "must be one text between quotes".to_owned();
            self.error(at, CdlErrorKind::Special { name: name.to_owned(), reason })
        })
    }

    fn whole_numbers(&mut self, name: &str, at: Mark, constants: &Constants) -> Result<Vec<i64>, CdlError> {
        let is_number = |(constant, _): &(Constant, Mark)| matches!(constant, Constant::Number(_));
        match self.value(constants, Some(NcType::Int64)) {
            Ok(Value::Int64(numbers)) if constants.iter().all(is_number) => Ok(numbers),
            Err(error @ CdlError::Read(_)) => Err(error),
            _ => {
                let reason = "must be whole numbers".to_owned();
                Err(self.error(at, CdlErrorKind::Special { name: name.to_owned(), reason }))
            }
        }
    }
}
