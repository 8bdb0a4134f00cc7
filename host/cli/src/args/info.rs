//! Options of `ncz info`.

use clap::Args;

use super::{ShuffleSize, TEMPLATE, Verbosity};

/// Show what is in a dataset: dimensions, variables, codecs, and what is odd about it.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz info in.zarr --sizes")]
pub(crate) struct Info {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// Add up the stored bytes of each variable
    #[arg(long)]
    pub(crate) sizes: bool,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
