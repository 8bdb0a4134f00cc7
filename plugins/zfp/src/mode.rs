//! The bound of the loss or of the length.

use ncz_codec::{CodecError, Result, params};
use zfp_rs::{
    ZFP_MAX_BITS, ZFP_MAX_PREC, ZFP_MIN_BITS, ZFP_MIN_EXP, ZfpConfig, ZfpDimensionality, ZfpMode,
    ZfpStreamAlignment,
};

use crate::field::{Field, MIN_BITS_MOST};

/// The bound of the loss or of the length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode {
    /// This many bits for each number.
    Rate(f64),
    /// This many bit planes of each block of numbers are kept.
    Precision(u32),
    /// No number is off by more than this.
    Accuracy(f64),
    /// The library's own limits on each block of numbers.
    Expert {
        /// The fewest bits.
        min_bits: u32,
        /// The most bits.
        max_bits: u32,
        /// The most bit planes.
        max_prec: u32,
        /// The exponent of the lowest bit plane; less than -1074 for no loss.
        min_exp: i32,
    },
    /// Every number is restored exactly.
    Reversible,
}

impl Default for Mode {
    /// The default of H5Z-ZFP if no word is given.
    fn default() -> Self {
        Self::Expert {
            min_bits: ZFP_MIN_BITS,
            max_bits: ZFP_MAX_BITS,
            max_prec: ZFP_MAX_PREC,
            min_exp: ZFP_MIN_EXP,
        }
    }
}

impl Mode {
    /// The limits for numbers of this type in this many dimensions.
    pub(crate) fn limits(self, field: &Field) -> Result<ZfpConfig> {
        self.check(|key| key.to_owned())?;
        match self {
            Self::Rate(rate) => {
                ZfpConfig::fixed_rate(rate, field.scalar, field.rank, ZfpStreamAlignment::Unaligned).map_err(
                    |_| CodecError::config("rate", format!("zfp cannot store {rate} bits per number")),
                )
            }
            Self::Precision(planes) => Ok(ZfpConfig::fixed_precision(planes)),
            Self::Accuracy(tolerance) => Ok(ZfpConfig::fixed_accuracy(tolerance)),
            Self::Expert { min_bits, .. } if min_bits > MIN_BITS_MOST => {
                let text = format!(
                    "{min_bits} bits are more than the {MIN_BITS_MOST} that zfp can state for a block, which needs {ZFP_MAX_BITS} at most"
                );
                Err(CodecError::config("minbits", text))
            }
            Self::Expert { min_bits, max_bits, max_prec, min_exp } => ZfpConfig::expert(
                min_bits, max_bits, max_prec, min_exp,
            )
            .map_err(|_| {
                CodecError::config(
                    "minbits",
                    format!(
                        "zfp does not take the limits {min_bits} to {max_bits} bits, {max_prec} bit planes"
                    ),
                )
            }),
            Self::Reversible => Ok(ZfpConfig::reversible()),
        }
    }

    /// Returns the limits that zarrs uses for a fixed rate, if they differ: those of three dimensions.
    pub(crate) fn zarrs(self, field: &Field) -> Option<ZfpConfig> {
        let Self::Rate(rate) = self else { return None };
        let three = ZfpDimensionality::try_from(3).ok().filter(|three| *three != field.rank)?;
        ZfpConfig::fixed_rate(rate, field.scalar, three, ZfpStreamAlignment::Unaligned).ok()
    }

    /// The mode that has these limits for such numbers.
    pub(crate) fn of(limits: &ZfpConfig, field: &Field) -> Self {
        let expert = Self::Expert {
            min_bits: limits.min_bits(),
            max_bits: limits.max_bits(),
            max_prec: limits.max_prec(),
            min_exp: limits.min_exp(),
        };
        match limits.mode() {
            ZfpMode::FixedRate => limits.rate(field.rank).map_or(expert, Self::Rate),
            ZfpMode::FixedPrecision => Self::Precision(limits.max_prec()),
            ZfpMode::FixedAccuracy => limits.accuracy().map_or(expert, Self::Accuracy),
            ZfpMode::Reversible => Self::Reversible,
            _ => expert,
        }
    }

    /// From the words of H5Z-ZFP's user; there may be zeros after those that the mode needs.
    pub(crate) fn from_params(words: &[u32]) -> Result<Self> {
        let Some(&number) = words.first() else { return Ok(Self::default()) };
        let need = match number {
            1 | 3 => 4,
            2 => 3,
            4 => 6,
            5 => 1,
            other => {
                return Err(CodecError::config(
                    "cd_values[0]",
                    format!(
                        "mode {other} is none of 1 (rate), 2 (precision), 3 (accuracy), 4 (expert), 5 (reversible)"
                    ),
                ));
            }
        };
        params::check_count("zfp", words, need, WORDS)?;
        if words[need..].iter().any(|&word| word != 0) {
            return Err(CodecError::config(
                "cd_values",
                format!("mode {number} takes {need} words, and no others"),
            ));
        }
        let double = || params::words_f64([params::word_or(words, 2, 0), params::word_or(words, 3, 0)]);
        let mode = match *words {
            [1, ..] => Self::Rate(double()),
            [2, _, planes, ..] => Self::Precision(planes),
            [3, ..] => Self::Accuracy(double()),
            [4, _, min_bits, max_bits, max_prec, min_exp] => {
                Self::Expert { min_bits, max_bits, max_prec, min_exp: min_exp as i32 }
            }
            _ => Self::Reversible,
        };
        mode.check(|_| "cd_values[2]".to_owned())?;
        Ok(mode)
    }

    pub(crate) fn to_params(self) -> Vec<u32> {
        let with_double = |number, value| {
            let [low, high] = params::f64_words(value);
            vec![number, 0, low, high]
        };
        match self {
            Self::Rate(rate) => with_double(1, rate),
            Self::Precision(planes) => vec![2, 0, planes],
            Self::Accuracy(tolerance) => with_double(3, tolerance),
            Self::Expert { min_bits, max_bits, max_prec, min_exp } => {
                vec![4, 0, min_bits, max_bits, max_prec, min_exp as u32]
            }
            Self::Reversible => vec![5],
        }
    }

    /// Refuses what zfp would take for something else; `key` names a part.
    pub(crate) fn check(self, key: impl Fn(&str) -> String) -> Result<()> {
        let (name, value) = match self {
            Self::Rate(rate) => ("rate", rate),
            Self::Accuracy(tolerance) => ("tolerance", tolerance),
            _ => return Ok(()),
        };
        if value.is_finite() && value >= 0.0 {
            return Ok(());
        }
        Err(CodecError::config(key(name), format!("a {name} of {value} is not a finite number from 0")))
    }
}

/// The largest number of words that a user gives.
const WORDS: usize = 6;
