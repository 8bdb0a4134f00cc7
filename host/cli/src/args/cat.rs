//! Options of `ncz cat`.

use clap::{Args, ValueEnum};

use super::common::{ShuffleSize, TEMPLATE, Verbosity};

/// Print the values of one variable: as text, as JSON, or as bytes for another program.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz cat in.zarr time\n         ncz cat in.zarr model/salinity --slab time=0:24,depth=-1\n         ncz cat in.zarr time --raw --order little | od -t f8",
    after_help = "\
Output:
  Each row of the last dimension is a line of values separated by commas (CSV).
  A variable with one dimension has one value per line."
)]
pub(crate) struct Cat {
    /// The dataset: a directory, a zip file, or a URL such as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// The variable: its name, or its path if several groups have one of that name
    pub(crate) variable: String,
    /// Print only a part: DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX, joined by commas; negative numbers count from the end (repeatable)
    #[arg(long, value_name = "SLAB")]
    pub(crate) slab: Vec<String>,
    /// Print only the first N values (of text, whole rows); standard error reports how many follow
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) head: Option<u64>,
    /// Print one value per line, whatever the dimensions are
    #[arg(short = '1', long, conflicts_with_all = ["raw", "json"])]
    pub(crate) lines: bool,
    /// Write the elements as bytes in row-major order
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Byte order of --raw
    #[arg(long, value_name = "ORDER", requires = "raw", default_value = "native")]
    pub(crate) order: ByteOrderArg,
    /// Print JSON: nested lists, one level for each dimension
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// The byte order of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteOrderArg {
    Native,
    Little,
    Big,
}
