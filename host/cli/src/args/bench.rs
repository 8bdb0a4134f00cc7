//! Options of `ncz bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{ShuffleSize, TEMPLATE, Verbosity};

/// Find the codecs that suit a variable: try every lossless chain on a sample of its chunks.
///
/// Prints how small each makes the sample and how fast it is, and the commands that apply the best ratio, the fastest
/// decoding, and what lies between. Recommended is only what the usual reader of the dataset has (netcdf-c for NCZarr,
/// zarr-python for Zarr) and what makes the sample at least 1.05 times smaller. A chain that does not give back what
/// went in is named as faulty.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz bench in.zarr temperature\n         \
        ncz bench in.zarr model/salinity --html codecs.html --time 60",
    after_help = "\
What is tried:
  The chain that the variable has, none, and every codec built in or on the search path that says it loses
  nothing, at several levels, with and without a shuffle before it. Others are named as left out; --also tries
  them, and chains of your own: each has to give back what went in.

How it is timed:
  In memory, with the dataset's own chunks. Each chain is checked first; then all take turns, up to five times,
  and the best time counts. Speeds are of decoded bytes. With --threads, chunks run side by side."
)]
pub(crate) struct Bench {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) dataset: String,
    /// The variable, by name or path
    pub(crate) variable: String,
    /// Write a page with charts for a browser
    #[arg(long, value_name = "FILE", visible_alias = "page")]
    pub(crate) html: Option<PathBuf>,
    /// Try a chain besides, as 'shuffle|zstd,5' or codec JSON (repeatable)
    #[arg(long, value_name = "SPEC")]
    pub(crate) also: Vec<String>,
    /// Bytes to try chains on, such as 64MB; at least one chunk is taken
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = size)]
    pub(crate) sample: u64,
    /// Time budget in seconds; slow chains are skipped when it runs out
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    pub(crate) time: Duration,
    /// Threads to work with
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// A number of bytes with a unit: `8MiB`, `64MB`, `500k`.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size; write 64MB, 8MiB or a number of bytes");
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(wrong)
}

/// A time in seconds, with a fraction if need be.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let time = seconds.filter(|&seconds| seconds > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    // An hour a core is more than any chain needs, and far from where clocks end.
    time.filter(|time| time.as_secs() <= 86_400)
        .ok_or_else(|| format!("{text:?} is no time; write seconds, from above 0 to 86400"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units_and_limits() {
        assert_eq!(
            ["1", "2k", "8MiB", "64MB", "1g"].map(|text| size(text).unwrap()),
            [1, 2000, 8 << 20, 64_000_000, 1_000_000_000]
        );
        for text in ["", "0", "MB", "1.5MB", "-1", "1TB", "99999999999GB"] {
            assert!(size(text).is_err(), "{text:?} was accepted");
        }
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(seconds("20s").unwrap(), Duration::from_secs(20));
        for text in ["", "0", "-1", "inf", "nan", "1e9", "s"] {
            assert!(seconds(text).is_err(), "{text:?} was accepted");
        }
    }
}
