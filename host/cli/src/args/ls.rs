//! Options of `ncz ls`.

use clap::Args;

use super::common::{TEMPLATE, Verbosity};

/// List the contents of a dataset, or the datasets in a folder.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz ls in.zarr\n         ncz ls -lR in.zarr\n         ncz ls in.zarr --group model\n         ncz ls folder/"
)]
pub(crate) struct Ls {
    /// A dataset, or a folder or S3 prefix with datasets in it
    pub(crate) path: String,
    /// The group to list, instead of the root
    #[arg(short, long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Also print chunk shapes, codecs, and sizes of the data and as stored
    #[arg(short, long)]
    pub(crate) long: bool,
    /// Also list all groups inside, or all folders inside a folder
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
