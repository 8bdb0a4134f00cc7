//! Options of `ncz ls`.

use clap::Args;

use super::{TEMPLATE, Verbosity};

/// List what is in a dataset, or which datasets are in a folder.
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
    /// Chunks, codecs and sizes too, also those stored
    #[arg(short, long)]
    pub(crate) long: bool,
    /// The groups inside too, and theirs; of a folder the folders inside
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
