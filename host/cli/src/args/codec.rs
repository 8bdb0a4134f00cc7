//! Options of `ncz codec`.

use clap::{Args, ValueEnum};

use super::{TEMPLATE, Verbosity};

/// Show codecs in all their forms: filter text, parameters, and JSON of Zarr 2 and 3.
///
/// With --dtype and --shape also what is stored and what the codec is run with for such a variable.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz codec '2|1,6' '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz codec 'blosc' --dtype f4 --shape 721,1440 --chunks 100,200"
)]
pub(crate) struct Codec {
    /// Filter text such as '2|1,6' or 'zstd,3', or codec JSON
    #[arg(required = true, value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    /// The type of a variable: i1 i2 i4 i8 u1 u2 u4 u8 f4 f8, big-endian with > before it
    #[arg(long, value_name = "TYPE", requires = "shape")]
    pub(crate) dtype: Option<String>,
    /// Its lengths, joined by commas
    #[arg(long, value_name = "LENGTHS", requires = "dtype")]
    pub(crate) shape: Option<String>,
    /// The lengths of its chunks; those of the array unless given
    #[arg(long, value_name = "LENGTHS", requires = "shape", alias = "chunk")]
    pub(crate) chunks: Option<String>,
    /// The format of the dataset, on which parameters can depend
    #[arg(long, value_name = "FORMAT", requires = "shape", default_value = "nczarr")]
    pub(crate) container: ContainerArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Where chunks live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContainerArg {
    Nczarr,
    Zarr,
    Hdf5,
}
