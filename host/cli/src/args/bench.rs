//! Options of `ncz bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ncz::bench::Rank;

use super::common::{ShuffleSize, TEMPLATE, Verbosity, seconds, size};

/// Find the best codecs for a dataset or a variable: try every lossless chain on a sample of the chunks.
///
/// For a dataset, or several variables, recommends a chain for each group of similar variables, and prints one command
/// that applies all of them. For one variable, prints the compression ratio and the speed of each chain, and the commands
/// that apply the best ratio, the fastest decoding, and a balance of both. Recommends only chains that the usual reader
/// of the dataset can decode (netcdf-c for NCZarr, zarr-python for Zarr) and that make the sample at least 1.05 times
/// smaller. A chain that does not restore its input is reported as faulty.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz bench in.zarr\n         \
        ncz bench in.zarr --rank size --html codecs.html\n         \
        ncz bench in.zarr temperature\n         \
        ncz bench in.zarr model/salinity --html codecs.html --time 60",
    after_help = "\
What is tried:
  The current chain of the variable, no codecs, and every lossless codec that is
  built in or on the search path, at several levels, with and without shuffle.
  Other codecs are listed as not tried; --also tries them, or your own chains.
  Of several variables of the same type, rank and codecs, all are tried on the
  one with most data, and what did well there on the others.

How time is measured:
  In memory, on chunks of the dataset. Each chain is checked first. Then the
  chains take turns, up to five times, and the best time of each is reported.
  Speeds are in decoded bytes. --threads runs several chunks at once."
)]
pub(crate) struct Bench {
    /// The dataset: a directory, a zip file, or a URL such as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) dataset: String,
    /// Variables by name, path or pattern [default: all]; one name gives a report of all chains
    pub(crate) variables: Vec<String>,
    /// Recommend by size (fewest bytes), speed (fastest decoding) or balanced
    #[arg(long, value_name = "WHAT", default_value = "balanced")]
    pub(crate) rank: Rank,
    /// Write an HTML page with charts to this file
    #[arg(long, value_name = "FILE", visible_alias = "page")]
    pub(crate) html: Option<PathBuf>,
    /// Try this chain too: filter text such as 'shuffle|zstd,5', or codec JSON (repeatable)
    #[arg(long, value_name = "SPEC")]
    pub(crate) also: Vec<String>,
    /// Size of the sample, such as 64MB; at least one chunk
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = sample_size)]
    pub(crate) sample: u64,
    /// Time budget in seconds, for all variables together; slow chains are skipped when it runs out
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = budget)]
    pub(crate) time: Duration,
    /// Number of threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Parses the size of a sample, which cannot be empty.
fn sample_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err(format!("expected a size above 0, got {text:?}")),
        size => Ok(size),
    }
}

/// Parses a time budget, of a day at most.
fn budget(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        time if time.as_secs() <= 86_400 => Ok(time),
        _ => Err(format!("{text:?} is more than a day; write seconds, up to 86400")),
    }
}
