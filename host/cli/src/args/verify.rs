//! Options of `ncz verify`.

use clap::Args;
use ncz::model::ByteOrder;

use super::common::{ShuffleSize, TEMPLATE, Verbosity};

/// Check a dataset: decode every chunk, and find metadata that other programs misread.
///
/// Errors mean lost or unreadable data; warnings mean that other programs read it differently. Both give exit code 1.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz verify in.zarr\n         \
        ncz verify in.zarr --repair --dry-run\n         ncz verify in.zarr --repair-to out.zarr --shuffle-size stored",
    after_help = "\
Repairing:
  Known mistakes of other writers are repaired if the correct reading is
  certain: element size 0 of shuffle, stale .zmetadata, stale bytes at the end
  of an object that netcdf-c overwrote with a shorter one, and metadata that
  other programs reject. If only you can know the correct reading, an option is
  needed. Everything else stays as it is."
)]
pub(crate) struct Verify {
    /// The dataset: a directory, a zip file, or a URL such as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// Check only these variables (paths, or patterns such as 'temp*', joined by commas)
    #[arg(long, value_name = "VAR,VAR", value_delimiter = ',', conflicts_with_all = ["repair", "repair_to"])]
    pub(crate) variables: Vec<String>,
    /// List the chunks that were never written, whose elements read as fill; they are no fault. At most 100000 of each
    /// variable
    #[arg(long, conflicts_with_all = ["repair", "repair_to"])]
    pub(crate) missing: bool,
    /// Repair the dataset in place; each object is replaced whole
    #[arg(long, help_heading = "Repairing")]
    pub(crate) repair: bool,
    /// Write a repaired copy, and leave the dataset as it is
    #[arg(long, value_name = "TARGET", help_heading = "Repairing", conflicts_with = "repair")]
    pub(crate) repair_to: Option<String>,
    /// With --repair: only print what would be done
    #[arg(long, help_heading = "Repairing", requires = "repair")]
    pub(crate) dry_run: bool,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH", help_heading = "Repairing")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Byte order of a variable whose metadata have none or a doubtful one: little or big (repeatable)
    #[arg(long, value_name = "VAR=ORDER", help_heading = "Repairing", value_parser = ByteOrderArg::parse)]
    pub(crate) byte_order: Vec<ByteOrderArg>,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// The byte order of one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByteOrderArg {
    pub(crate) variable: String,
    pub(crate) order: ByteOrder,
}

impl ByteOrderArg {
    fn parse(text: &str) -> Result<Self, String> {
        let (variable, order) = match text.rsplit_once('=') {
            Some((variable, "little")) => (variable, ByteOrder::Little),
            Some((variable, "big")) => (variable, ByteOrder::Big),
            _ => return Err(format!("{text:?} is not VARIABLE=little or VARIABLE=big")),
        };
        Ok(Self { variable: variable.to_owned(), order })
    }
}
