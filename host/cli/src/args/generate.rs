//! Options of `ncz gen`.

use clap::Args;

use super::common::{FormatArg, TEMPLATE, Verbosity};

/// Make a dataset from CDL, the text that ncz dump and ncdump print.
///
/// The new dataset appears when it is complete, or not at all. A value that does not fit its type is an error that names
/// the line; values are never truncated or wrapped. Memory use is bounded, however long the text is.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz gen ocean.cdl\n         \
        ncz gen ocean.cdl ocean.zip\n         \
        ncz gen ocean.cdl ocean.nc\n         \
        ncz dump -s in.zarr | sed s/degC/K/ | ncz gen - out.zarr",
    after_help = "\
CDL:
  netcdf ocean {
  dimensions: time = UNLIMITED ; x = 3 ;
  variables:
    float t(time, x) ;
      t:units = \"K\" ; t:_ChunkSizes = 1, 3 ; t:_Filter = \"2|32015,3\" ;
  data: t = 280, 281.5, _ ;
  }
  Attributes that begin with _ describe how a variable is stored: _FillValue,
  _NoFill, _Storage, _ChunkSizes, _Shuffle, _DeflateLevel, _Fletcher32, _Filter,
  _Codecs, _Endianness, _Quantize... `ncz dump -s` prints all of them."
)]
pub(crate) struct Gen {
    /// The CDL text: a file, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) source: String,
    /// The new dataset: a directory, a zip file if the name ends in .zip, a netCDF file if it ends in .nc, .nc4, .h5,
    /// .hdf5, .cdf or .nc3, or an S3 URL [default: NAME.zarr, where NAME is the name in the text]
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// The same as TARGET, as ncgen has it
    #[arg(short = 'o', long, value_name = "TARGET", conflicts_with = "target")]
    pub(crate) output: Option<String>,
    /// Format of the dataset [default: nczarr; for the name of a netCDF file netcdf4, for .cdf and .nc3 classic]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FormatArg>,
    /// For a netCDF file: the kind is chosen by what the text declares, as ncgen does.
    #[arg(skip)]
    pub(crate) kind_by_text: bool,
    /// Write consolidated metadata (.zmetadata, or in zarr.json of the root)
    #[arg(long)]
    pub(crate) consolidated: bool,
    /// Leave out the values
    #[arg(short = 'H', long)]
    pub(crate) header: bool,
    /// Check the text without making a dataset
    #[arg(long, conflicts_with_all = ["target", "output", "overwrite"])]
    pub(crate) check: bool,
    /// Replace the target if it is a dataset, in one step
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Do not check that lossy codecs keep missing values missing
    #[arg(long)]
    pub(crate) no_lossy_guard: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
