//! Options of `ncz cat`.

use clap::{Args, ValueEnum};

use super::{ShuffleSize, TEMPLATE, Verbosity};

/// Print the values of one variable: as text, as JSON, or as bytes for another program.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz cat in.zarr time\n         ncz cat in.zarr model/salinity --slab time=0:24,depth=-1\n         ncz cat in.zarr time --raw --order little | od -t f8",
    after_help = "A row of the last dimension is a line, its values parted by commas (CSV); a variable of one dimension has a value a line."
)]
pub(crate) struct Cat {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// The variable: its name, or its path if several groups have one of that name
    pub(crate) variable: String,
    /// A part of it: DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX, joined by commas; negative numbers count from the end
    #[arg(long, value_name = "SLAB")]
    pub(crate) slab: Option<String>,
    /// The first N values only, of text whole rows; standard error says how many more there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) head: Option<u64>,
    /// One value a line, whatever the dimensions
    #[arg(short = '1', long, conflicts_with_all = ["raw", "json"])]
    pub(crate) lines: bool,
    /// Write the elements as bytes, row-major
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Order of the bytes of --raw
    #[arg(long, value_name = "ORDER", requires = "raw", default_value = "native")]
    pub(crate) order: ByteOrderArg,
    /// Print JSON: lists in lists, one level a dimension
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads to work with; all cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Order of the bytes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByteOrderArg {
    Native,
    Little,
    Big,
}
