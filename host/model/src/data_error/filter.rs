//! The errors of filters, and the netCDF error number of each.

use ncz_codec::CodecError;
use ncz_registry::NotFound;
use ncz_registry::spec::SpecError;

use super::DataError;
use crate::error::MetadataError;
use crate::quantize::QuantizeError;

/// Why the filters of a variable could not be changed or inquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// There is no such variable, or it cannot be read.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// The definition of the dataset has ended.
    #[error(
        "variable {variable:?}: filters can be set only while a dataset is being defined, and that has ended"
    )]
    NotInDefinition {
        /// The path of the variable.
        variable: String,
    },
    /// The variable is written.
    #[error(
        "variable {variable:?} is already written, so its filters cannot change; copy it to a new dataset to change \
         them"
    )]
    Late {
        /// The path of the variable.
        variable: String,
    },
    /// The variable has no dimensions.
    #[error("variable {variable:?} is a scalar, and netCDF has no filters for scalars")]
    Scalar {
        /// The path of the variable.
        variable: String,
    },
    /// The number is not a valid filter number.
    #[error("variable {variable:?}: {id} is not a filter's number, those are 1 to 65534")]
    Id {
        /// The path of the variable; empty if no variable is concerned.
        variable: String,
        /// The number.
        id: u32,
    },
    /// The number of parameters is not the one that the filter takes.
    #[error("variable {variable:?}: {filter} takes {want} parameters, got {got}")]
    Count {
        /// The path of the variable.
        variable: String,
        /// The filter.
        filter: &'static str,
        /// How many it takes.
        want: usize,
        /// How many there are.
        got: usize,
    },
    /// A parameter out of range.
    #[error("variable {variable:?}: {filter} {reason}")]
    Value {
        /// The path of the variable.
        variable: String,
        /// The filter.
        filter: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Two filters that netCDF does not combine.
    #[error(
        "variable {variable:?} already has {other}, and netCDF does not combine {filter} with it; remove {other} first"
    )]
    Conflict {
        /// The path of the variable.
        variable: String,
        /// The requested filter.
        filter: &'static str,
        /// The existing filter.
        other: &'static str,
    },
    /// The filter is not found.
    #[error("variable {variable:?}")]
    NotFound {
        /// The path of the variable; empty if no variable is concerned.
        variable: String,
        /// What was searched for, where, and the remedy.
        source: Box<NotFound>,
    },
    /// The variable does not have the filter.
    #[error("variable {variable:?} does not have the filter {filter}")]
    NotInChain {
        /// The path of the variable.
        variable: String,
        /// The number or name of the filter.
        filter: String,
    },
    /// The filter has a configuration that parameter words cannot express.
    #[error("variable {variable:?}: the parameters of {filter}")]
    NoParams {
        /// The path of the variable.
        variable: String,
        /// The filter.
        filter: String,
        /// The error of the codec.
        source: CodecError,
    },
    /// A text that names no codec, or several.
    #[error("variable {variable:?}: expected one codec, got {got} in {text:?}")]
    Several {
        /// The path of the variable.
        variable: String,
        /// The text.
        text: String,
        /// How many codecs it names.
        got: usize,
    },
    /// The text or JSON of a codec is malformed.
    #[error("variable {variable:?}")]
    Spec {
        /// The path of the variable.
        variable: String,
        /// What is wrong with it.
        source: Box<SpecError>,
    },
    /// A codec refuses its configuration or the variable.
    #[error(transparent)]
    Codec(#[from] DataError),
    /// The values cannot be quantized as requested.
    #[error("variable {variable:?}")]
    Quantize {
        /// The path of the variable.
        variable: String,
        /// What is wrong.
        source: QuantizeError,
    },
}

impl FilterError {
    /// Returns the netCDF error number (`netcdf.h`) that netcdf-c returns, or the nearest one.
    #[must_use]
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Self::Metadata(source) => source.netcdf_code(),
            Self::NotInDefinition { .. } => -39,
            Self::Late { .. } => -123,
            Self::Scalar { .. }
            | Self::Id { .. }
            | Self::Value { .. }
            | Self::Conflict { .. }
            | Self::Quantize { .. } => -36,
            Self::Count { .. } | Self::NoParams { .. } | Self::Several { .. } | Self::Spec { .. } => -132,
            Self::NotFound { .. } | Self::NotInChain { .. } => -136,
            Self::Codec(source) => source.netcdf_code(),
        }
    }
}
