//! Options of `ncz dump`.

use clap::{ArgAction, Args, ValueEnum};
use ncz::cdl::Digits;

use super::common::{ShuffleSize, TEMPLATE};

/// Print a dataset as CDL (as ncdump does), NcML or JSON.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    help_template = TEMPLATE,
    before_help = "Example: ncz dump -h in.zarr\n         ncz dump -v time,model/salinity -t in.zarr\n         ncz dump --json in.zarr | jq '.variables[0].data'",
    after_help = "\
Variables that cannot be read:
  A comment and standard error say why, and the rest is printed. The exit code
  is then 1, or 3 if the variable was named with -v."
)]
pub(crate) struct Dump {
    /// The dataset: a directory, a zip file, or a URL such as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// Print only the header, without data
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// Print data only of coordinate variables: those with one dimension of the same name
    #[arg(short, long)]
    pub(crate) coordinates: bool,
    /// Print data only of these variables (names or paths, joined by commas)
    #[arg(short, long, value_name = "VAR,VAR", conflicts_with = "header")]
    pub(crate) variables: Vec<String>,
    /// Print data only of these groups (names or paths, joined by commas)
    #[arg(short, long, value_name = "GROUP,GROUP", conflicts_with = "header")]
    pub(crate) groups: Vec<String>,
    /// Also print how the data are stored: chunks, filters, byte order
    #[arg(short, long)]
    pub(crate) special: bool,
    /// As -s, but print all filters in _Filter instead of _DeflateLevel, _Shuffle and _Fletcher32
    #[arg(short = 'F', long = "all-filters")]
    pub(crate) all_filters: bool,
    /// Leave out _NCProperties, which -s prints
    #[arg(long)]
    pub(crate) no_properties: bool,
    /// Print the type before each _FillValue
    #[arg(long)]
    pub(crate) fill_types: bool,
    /// Print only the first N values of each variable (of text, whole rows); a comment says how many follow
    #[arg(long, value_name = "N", conflicts_with_all = ["header", "ncml", "annotate"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) head: Option<u64>,
    /// Significant digits of floats and doubles [default: as many as each number needs]
    #[arg(short = 'p', long, value_name = "FLOAT[,DOUBLE]", value_parser = DigitsArg::parse)]
    pub(crate) digits: Option<DigitsArg>,
    /// Print times as "1990-01-01 12:30"
    #[arg(short, long)]
    pub(crate) times: bool,
    /// Print times as "1990-01-01T12:30"
    #[arg(short, long)]
    pub(crate) iso_times: bool,
    /// Print the indices of each row before it, counted as in C (c) or in Fortran (f)
    #[arg(short = 'b', long, value_name = "c|f", hide_possible_values = true)]
    pub(crate) annotate_rows: Option<IndexArg>,
    /// Print the indices of each value after it, counted as in C (c) or in Fortran (f)
    #[arg(short = 'f', long, value_name = "c|f", hide_possible_values = true)]
    pub(crate) annotate: Option<IndexArg>,
    /// Maximum length of a line of data
    #[arg(short, long, value_name = "BYTES", default_value_t = 80, value_parser = clap::value_parser!(u16).range(10..))]
    pub(crate) line_length: u16,
    /// The dataset name in the first line, after `netcdf` [default: from the file name]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print NcML, which is XML without data
    #[arg(short = 'x', long, conflicts_with_all = ["json", "special"])]
    pub(crate) ncml: bool,
    /// Print JSON, with exact numbers
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the name that netCDF has for the format
    #[arg(short, long)]
    pub(crate) kind: bool,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Write more to standard error (repeatable)
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
