//! Options of `ncz dump`.

use clap::{ArgAction, Args};
use ncz::nczarr::cdl::Digits;

use super::{ShuffleSize, TEMPLATE};

/// Print a dataset as CDL, as ncdump does.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    help_template = TEMPLATE,
    before_help = "Example: ncz dump -h in.zarr\n         ncz dump -v time,model/salinity in.zarr"
)]
pub(crate) struct Dump {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// The header only: no data
    #[arg(short = 'h', long)]
    pub(crate) header: bool,
    /// Show how the data are stored too: chunks, filters, byte order
    #[arg(short, long)]
    pub(crate) special: bool,
    /// As -s, and list deflate, shuffle and fletcher32 under _Filter too
    #[arg(short = 'F', long = "all-filters")]
    pub(crate) all_filters: bool,
    /// Data of these variables only (names or paths, joined by commas)
    #[arg(short, long, value_name = "VAR,VAR", conflicts_with = "header")]
    pub(crate) variables: Vec<String>,
    /// Significant digits of floats, and of doubles; as many as each number needs unless given
    #[arg(short = 'p', long, value_name = "FLOAT[,DOUBLE]", value_parser = DigitsArg::parse)]
    pub(crate) digits: Option<DigitsArg>,
    /// The name behind `netcdf` in the first line; that of the directory unless given
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
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
