//! Options of `ncz dump`.

use clap::{ArgAction, Args, ValueEnum};
use ncz::nczarr::cdl::Digits;

use super::{ShuffleSize, TEMPLATE};

/// Print a dataset as CDL, as ncdump does, as NcML or as JSON.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    help_template = TEMPLATE,
    before_help = "Example: ncz dump -h in.zarr\n         ncz dump -v time,model/salinity -t in.zarr\n         ncz dump --json in.zarr | jq '.variables[0].data'",
    after_help = "A variable that cannot be read is told of in a comment and on standard error, and the rest is printed.\nThe exit code is then 1, or 3 if -v named it."
)]
pub(crate) struct Dump {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// The header only: no data
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// Data of coordinate variables only: of one dimension, and with its name
    #[arg(short, long)]
    pub(crate) coordinates: bool,
    /// Data of these variables only (names or paths, joined by commas)
    #[arg(short, long, value_name = "VAR,VAR", conflicts_with = "header")]
    pub(crate) variables: Vec<String>,
    /// Data of these groups only (names or paths, joined by commas)
    #[arg(short, long, value_name = "GROUP,GROUP", conflicts_with = "header")]
    pub(crate) groups: Vec<String>,
    /// Show how the data are stored too: chunks, filters, byte order
    #[arg(short, long)]
    pub(crate) special: bool,
    /// As -s, with all filters in _Filter and none in _DeflateLevel, _Shuffle and _Fletcher32
    #[arg(short = 'F', long = "all-filters")]
    pub(crate) all_filters: bool,
    /// Leave out _NCProperties, which -s shows
    #[arg(long)]
    pub(crate) no_properties: bool,
    /// Print the type before each _FillValue
    #[arg(long)]
    pub(crate) fill_types: bool,
    /// The first N values of each variable only, of text whole rows; a comment says how many more there are
    #[arg(long, value_name = "N", conflicts_with_all = ["header", "ncml", "annotate"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) head: Option<u64>,
    /// Significant digits of floats, and of doubles; as many as each number needs unless given
    #[arg(short = 'p', long, value_name = "FLOAT[,DOUBLE]", value_parser = DigitsArg::parse)]
    pub(crate) digits: Option<DigitsArg>,
    /// Print times as dates: "1990-01-01 12:30"
    #[arg(short, long)]
    pub(crate) times: bool,
    /// Print times as dates: "1990-01-01T12:30"
    #[arg(short, long)]
    pub(crate) iso_times: bool,
    /// Say before each row where it stands in the array, counted from 0 (c) or as Fortran does (f)
    #[arg(short = 'b', long, value_name = "c|f", hide_possible_values = true)]
    pub(crate) annotate_rows: Option<IndexArg>,
    /// Say behind each value where it stands in the array, counted from 0 (c) or as Fortran does (f)
    #[arg(short = 'f', long, value_name = "c|f", hide_possible_values = true)]
    pub(crate) annotate: Option<IndexArg>,
    /// Where lines of data are wrapped
    #[arg(short, long, value_name = "BYTES", default_value_t = 80, value_parser = clap::value_parser!(u16).range(10..))]
    pub(crate) line_length: u16,
    /// The name behind `netcdf` in the first line; that of the directory unless given
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print NcML instead, which is XML and has no data
    #[arg(short = 'x', long, conflicts_with_all = ["json", "special"])]
    pub(crate) ncml: bool,
    /// Print JSON instead, with exact numbers
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only what netCDF calls the format
    #[arg(short, long)]
    pub(crate) kind: bool,
    /// Threads to work with; all cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Say more on standard error
    #[arg(long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print this help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// How indices are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexArg {
    /// From 0, the last dimension fastest
    C,
    /// From 1, the first dimension fastest
    #[value(name = "f", alias = "fortran")]
    Fortran,
}

/// The digits of `-p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DigitsArg {
    float: usize,
    double: usize,
}

impl DigitsArg {
    fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str, most: usize| {
            let digits = text.parse().ok().filter(|digits| (1..=most).contains(digits));
            digits.ok_or_else(|| format!("{text:?} is not a number of digits from 1 to {most}"))
        };
        match text.split_once(',') {
            Some((float, double)) => Ok(Self { float: number(float, 9)?, double: number(double, 17)? }),
            None => Ok(Self { float: number(text, 9)?, double: 15 }),
        }
    }
}

impl From<DigitsArg> for Digits {
    fn from(digits: DigitsArg) -> Self {
        Self::Fixed { float: digits.float, double: digits.double }
    }
}
