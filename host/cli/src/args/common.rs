//! What the options of several commands share.

use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use ncz::model::{Format, NetcdfKind};

/// Help that starts with an example, before the description.
pub(super) const TEMPLATE: &str =
    "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

/// How much is written to standard error.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Verbosity {
    /// Write more to standard error: -v datasets, plugins, retries; -vv requests, codecs; -vvv everything
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The format of a new dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// NCZarr in Zarr version 2, which Zarr readers can read too
    Nczarr,
    /// Zarr version 2 without NCZarr metadata
    #[value(alias = "zarr2")]
    Zarr,
    /// Zarr version 3
    Zarr3,
    /// The draft of NCZarr for Zarr version 3: experimental, netcdf-c does not read it
    Nczarr3,
    /// A netCDF-4 file, which is an HDF5 file
    Netcdf4,
    /// A netCDF-4 file with the classic data model
    Netcdf4Classic,
    /// A classic netCDF file (CDF-1)
    #[value(alias = "netcdf3")]
    Classic,
    /// A classic netCDF file with 64-bit offsets (CDF-2)
    #[value(name = "64bit-offset", alias = "cdf2")]
    Offset64,
    /// A classic netCDF file with 64-bit data (CDF-5)
    Cdf5,
}

impl FormatArg {
    /// The format of the model.
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Nczarr => Format::NCZARR,
            Self::Zarr => Format::Zarr2,
            Self::Zarr3 => Format::Zarr3,
            Self::Nczarr3 => Format::Nczarr3,
            Self::Netcdf4 => Format::Netcdf(NetcdfKind::Netcdf4),
            Self::Netcdf4Classic => Format::Netcdf(NetcdfKind::Netcdf4Classic),
            Self::Classic => Format::Netcdf(NetcdfKind::Classic),
            Self::Offset64 => Format::Netcdf(NetcdfKind::Offset64),
            Self::Cdf5 => Format::Netcdf(NetcdfKind::Cdf5),
        }
    }

    /// The word of the option `--format`.
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The source of the element size of the shuffle filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShuffleSize {
    Type,
    Stored,
}

/// Parses a number of bytes: `5000000`, `64M` (10^6, as netCDF's tools do), `64MiB` (2^20).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "p" | "pb" => 1e15,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return Err(format!("{text:?} is not a size; write 5000000, 64M or 64MiB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number * factor < 1e18 => Ok((number * factor) as u64),
        _ => Err(format!("{text:?} is not a size; write 5000000, 64M or 64MiB")),
    }
}

/// Parses a time in seconds: `60`, `0.5` or `20s`.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text:?} is not a time; write seconds, such as 60 or 0.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, wanted) in [("5000000", 5_000_000), ("1.5M", 1_500_000), ("2k", 2000), ("64MiB", 64 << 20)]
        {
            assert_eq!(size(text), Ok(wanted));
        }
        for text in ["", "M", "-1", "5X", "1e999", "1.2.3", "-1MB"] {
            assert!(size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("60"), Ok(Duration::from_secs(60)));
        assert_eq!(seconds("20s"), Ok(Duration::from_secs(20)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "inf", "nan", "1m", "1e-99", "s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
