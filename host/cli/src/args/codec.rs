//! Options of `ncz codec`.

use clap::{Args, ValueEnum};

use super::common::{TEMPLATE, Verbosity};

/// Show codecs in all their forms: filter text, HDF5 parameters, and JSON for Zarr 2 and 3.
///
/// With --dtype and --shape, also shows what is stored for such a variable and with which parameters the codec runs.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz codec '2|1,6' '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz codec blosc --dtype f4 --shape 721,1440 --chunks 100,200"
)]
pub(crate) struct Codec {
    /// Filter text such as '2|1,6' or 'zstd,3', or codec JSON
    #[arg(required = true, value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    /// Type of the variable: i1 i2 i4 i8 u1 u2 u4 u8 f4 f8; a leading > means big-endian
    #[arg(long, value_name = "TYPE", requires = "shape")]
    pub(crate) dtype: Option<String>,
    /// Shape of the variable, as lengths joined by commas
    #[arg(long, value_name = "LENGTHS", requires = "dtype")]
    pub(crate) shape: Option<String>,
    /// Shape of its chunks [default: the whole variable]
    #[arg(long, value_name = "LENGTHS", requires = "shape", alias = "chunk")]
    pub(crate) chunks: Option<String>,
    /// Format of the dataset; parameters can depend on it
    #[arg(long, value_name = "FORMAT", requires = "shape", default_value = "nczarr")]
    pub(crate) container: ContainerArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// The format of the dataset that holds the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContainerArg {
    Nczarr,
    Zarr,
    Hdf5,
}
