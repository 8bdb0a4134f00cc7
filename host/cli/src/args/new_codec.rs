//! Options of `ncz new-codec`.

use std::path::PathBuf;

use clap::Args;

use super::common::{TEMPLATE, Verbosity};

/// Make a project for a codec plugin: a small working codec to change into your own.
///
/// The plugin works in HDF5, netcdf-c and ncz. The project builds and passes `ncz conform`. The folder NAME is created
/// in the current folder.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz new-codec acme-fpz --id 32900 --codec-api ../ncz/codec-api\n         \
        ncz new-codec acme-fpz --id 32900 --c"
)]
pub(crate) struct NewCodec {
    /// Name of the codec: small letters, digits and hyphens
    pub(crate) name: String,
    /// HDF5 filter id; 32768 to 65534 are for tests, The HDF Group registers smaller ones
    #[arg(long, value_name = "N")]
    pub(crate) id: u16,
    /// Write the codec in C: one file and the headers of ncz, without Rust
    #[arg(long, conflicts_with = "codec_api")]
    pub(crate) c: bool,
    /// The folder codec-api of a clone of ncz [default: that of the clone around the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) codec_api: Option<PathBuf>,
    /// Folder to create [default: NAME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
