//! Options of `ncz info`.

use clap::Args;

use super::common::{ShuffleSize, TEMPLATE, Verbosity};

/// Show the dimensions, variables and codecs of a dataset, and its problems.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz info in.zarr --sizes\n         ncz info in.zarr time 'temp*'")]
pub(crate) struct Info {
    /// The dataset: a directory, a zip file, or a URL such as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// Show only these variables, with their attributes: names, or patterns such as 'temp*' or 'group/*'
    #[arg(value_name = "VARIABLE")]
    pub(crate) variables: Vec<String>,
    /// Add up the stored bytes of each variable
    #[arg(long)]
    pub(crate) sizes: bool,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
