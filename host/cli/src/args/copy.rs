//! Options of `ncz copy`.

use std::path::PathBuf;

use clap::Args;
use ncz::readers::ReaderSetup;

use crate::error::CliError;

use super::common::{FormatArg, ShuffleSize, TEMPLATE, Verbosity, size};

/// Copy a dataset or a part of it, with other codecs or chunks, or in another format.
///
/// Reads Zarr versions 2 and 3, all versions of NCZarr, netCDF and HDF5 files, and references in JSON, from directories,
/// zip files, S3 and HTTP servers. The target appears when it is complete, or not at all.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    override_usage = "ncz copy [OPTIONS] <SOURCE>... <TARGET>\n       \
        ncz copy [OPTIONS] --part <K> <FILE>\n       \
        ncz copy [OPTIONS] --finish <FILE>",
    before_help = "Example: ncz copy in.zarr out.zarr --codec '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz copy in.zarr out.zarr -F 't,2|1,6' -F 'u&v,none' -c time/1,lat/100\n         \
        ncz copy in.nc out.zarr\n         \
        ncz copy in.zarr out.nc\n         \
        ncz copy in.nc out.json\n         \
        ncz copy --concat time day*.nc all.json\n         \
        ncz copy in.zarr part.zarr --variables t --slab time=0:24,lat=10:20\n         \
        ncz copy today.zarr ocean.zarr --append time\n         \
        ncz copy ocean.zarr s3://bucket/ocean.zarr\n         \
        ncz copy in.nc out.zarr --plan auto plan.json",
    after_help = "\
Locations:
  DIR, FILE.zip or s3://BUCKET/KEY; https://HOST/BUCKET/KEY#mode=s3 for other
  services that speak the protocol of S3; https://HOST/PATH for reading only.
  Credentials, region and endpoint of S3 are those of the AWS tools
  (AWS_PROFILE, AWS_ENDPOINT_URL, ~/.aws), or follow after #, joined by &:
  aws.profile=NAME (no: anonymous), aws.region=NAME, aws.endpoint=URL.
  Quote such a location in a shell.

Codecs:
  FILTERS are joined by | in the order of encoding. Each is an HDF5 filter
  number or a codec name, with its parameters: '2|1,6', 'zstd,3',
  'shuffle|zstd,9'. A parameter can have a type tag of netCDF: 3.5f, 7ub.
  CODEC is {\"id\":\"zstd\",\"level\":3}, a list of such objects, or FILTERS.
  'none' removes all codecs, in both forms.
  Codecs for a named variable override codecs for all variables. Other
  variables keep their codecs. Try a chain with: ncz codec 'shuffle|zstd,3'

Names:
  Variables and groups are named by their paths: t, group/t. 'temp*' is every
  variable whose name starts with temp, 'group/*' every one of a group, '**/t'
  every t; ? is any character. Write a backslash before , & = \\ * ? [ in a name.

Parts:
  --slab time=0:24 copies the indices 0 to 23, time=0:24:6 every sixth of
  them, time=-1 the last one. All variables with that dimension are cut.
  Name a dimension in a group by its path: /model/depth=0:5.

Memory:
  When the layout of chunks changes a lot, each chunk is still decoded only
  once: data that exceed --memory go to a scratch file beside the target,
  as large as the variable.

Clusters:
  ncz copy in.nc out.zarr --plan 64 plan.json
  ncz copy --part K plan.json     for each K from 0 to 63, on any machine
  ncz copy --finish plan.json
  The plan has all options. The target appears when the copy is finished. Until
  then the parts are in TARGET.ncz-parts; in S3 at the target, without metadata."
)]
pub(crate) struct Copy {
    /// SOURCE is the dataset to copy: a directory, a file or a URL (see Locations); several with --concat. TARGET is the
    /// new dataset: a directory, a zip file if the name ends in .zip, a netCDF file if it ends in .nc, .nc4, .h5, .hdf5,
    /// .cdf or .nc3, references to SOURCE if it ends in .json (one file) or .parq (a folder of tables, read in parts), or
    /// an S3 URL
    #[arg(required_unless_present_any = ["part", "finish", "discard"], num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    pub(crate) paths: Vec<String>,
    /// Codecs as in nccopy: VARIABLE,FILTERS, VAR&VAR,FILTERS, *,FILTERS, or none (repeatable)
    #[arg(short = 'F', long = "filter", value_name = "SPEC", help_heading = "Codecs")]
    pub(crate) filters: Vec<String>,
    /// Codecs for all variables, or VARIABLE=CODEC for one, VAR&VAR=CODEC for several (repeatable)
    #[arg(long = "codec", value_name = "CODEC", help_heading = "Codecs")]
    pub(crate) codecs: Vec<String>,
    /// Compress all variables with codecs chosen by their type
    #[arg(long, help_heading = "Codecs", conflicts_with = "deflate")]
    pub(crate) compress: bool,
    /// Deflate all variables at this level, 0 for none (as in nccopy)
    #[arg(short, long, value_name = "LEVEL", help_heading = "Codecs", value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// With -d: shuffle before deflating (as in nccopy)
    #[arg(short, long, help_heading = "Codecs", requires = "deflate")]
    pub(crate) shuffle: bool,
    /// Chunk lengths as in nccopy: DIM/LEN,DIM/LEN or VARIABLE:LEN,LEN, or / for one chunk (repeatable). NAME:LEN is an
    /// error if NAME is also a dimension; write /NAME:LEN for the variable
    #[arg(short, long = "chunks", value_name = "SPEC", help_heading = "Layout")]
    pub(crate) chunks: Vec<String>,
    /// Group the chunks into shards of these lengths, in the notation of --chunks; in whole chunks, so rounded up; `none`
    /// for no shards (repeatable). For Zarr version 3: one object holds many chunks, which readers still read one by one
    #[arg(long, value_name = "SPEC", help_heading = "Layout")]
    pub(crate) shards: Vec<String>,
    /// Make unlimited dimensions fixed (as in nccopy)
    #[arg(short = 'u', long, help_heading = "Layout")]
    pub(crate) fixed: bool,
    /// Format of the copy [default: that of the source; NCZarr or netCDF-4 if the target needs another one]
    #[arg(long, value_name = "FORMAT", help_heading = "Layout")]
    pub(crate) format: Option<FormatArg>,
    /// Write what all of these programs read, with other codecs where needed, and refuse the rest: netcdf-c, hdf5, h5py, zarr-python, xarray, zarrs,
    /// tensorstore, gdal, matlab, joined by commas. A version can follow, as in zarr-python=3.4, and before it packages,
    /// as in zarr-python+imagecodecs or netcdf-c+plugins. Without --format, the format is one that all read
    #[arg(
        long = "for",
        alias = "readers",
        value_name = "READERS",
        help_heading = "Layout",
        value_delimiter = ',',
        conflicts_with = "append"
    )]
    pub(crate) readers: Vec<ReaderSetup>,
    /// Write consolidated metadata (.zmetadata, or in zarr.json of the root) [default: if the source has them]
    #[arg(long, help_heading = "Layout")]
    pub(crate) consolidated: bool,
    /// Write no consolidated metadata
    #[arg(long, help_heading = "Layout", conflicts_with = "consolidated")]
    pub(crate) no_consolidated: bool,
    /// Copy only these variables and their coordinates: NAME,GROUP/NAME,'NAME*' (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) variables: Vec<String>,
    /// With --variables: copy coordinates only if they are named
    #[arg(long, help_heading = "Parts", requires = "variables")]
    pub(crate) no_coordinates: bool,
    /// Copy only these groups and everything in them (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) groups: Vec<String>,
    /// Leave out these variables (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) exclude: Vec<String>,
    /// Copy only the values of these variables; the others are defined without values (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) values: Vec<String>,
    /// Copy only these indices: DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX, joined by commas (repeatable)
    #[arg(long, value_name = "SLAB", help_heading = "Parts", allow_hyphen_values = true)]
    pub(crate) slab: Vec<String>,
    /// Leave out variables that cannot be read, with a warning for each and exit code 1
    #[arg(long, help_heading = "Parts")]
    pub(crate) skip_unreadable: bool,
    /// Copy every chunk that can be read; the others become missing values, or fill, and are listed in a report in JSON.
    /// Implies --skip-unreadable. Exit code 1 if anything is lost
    #[arg(long, help_heading = "Parts", conflicts_with_all = ["append", "resume"])]
    pub(crate) salvage: bool,
    /// With --salvage: the file for the report [default: TARGET.salvage.json; for a target in S3 in the current folder]
    #[arg(long, value_name = "FILE", help_heading = "Parts", requires = "salvage")]
    pub(crate) salvage_report: Option<PathBuf>,
    /// Join all SOURCEs along this dimension, in their order. Variables without it must be equal in all of them. Other
    /// units of time, packing and missing values become those of the first SOURCE, if every value stays exact
    #[arg(long, value_name = "DIM", group = "joined", conflicts_with_all = ["append", "resume"])]
    pub(crate) concat: Option<String>,
    /// With --concat and --append: the coordinate of the dimension may have its values in any order
    #[arg(long, requires = "joined")]
    pub(crate) any_order: bool,
    /// Append the records of SOURCE to TARGET, which must exist, along this unlimited dimension. After an interruption,
    /// run the same command again: it appends the rest, and nothing twice. A coordinate of numbers or times must go on in
    /// its order, so that records which are there are refused; --any-order appends them. A coordinate of texts has no
    /// order. Other units of time, packing and missing values become those of TARGET, if every value stays exact. Texts
    /// must fit, where TARGET has texts of a fixed length
    #[arg(long, value_name = "DIM", group = "joined", conflicts_with_all = [
        "overwrite", "resume", "filters", "codecs", "compress", "deflate", "chunks", "shards", "fixed", "format", "consolidated",
        "values", "groups",
    ])]
    pub(crate) append: Option<String>,
    /// If the copy is interrupted, keep the finished part in TARGET.ncz-partial; the same command then resumes it
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace the target if it is a dataset. A local target changes in one step; in S3 the copy is made beside the target
    /// and then moved
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Read the copy back and compare it with the source. For lossy codecs, re-encode the source and require identical
    /// results; this does not detect a lossy codec that always makes the same mistake
    #[arg(long)]
    pub(crate) verify: bool,
    /// Divide the copy into N parts, or "auto" for parts of about 128 MB, and write the plan to FILE. Nothing is copied yet
    #[arg(
        long,
        num_args = 2,
        value_names = ["N", "FILE"],
        help_heading = "Clusters",
        conflicts_with_all = ["append", "concat", "resume", "overwrite", "salvage"]
    )]
    pub(crate) plan: Option<Vec<String>>,
    /// Copy part K of the plan in FILE, from 0 on, or several such as 3,7-9. Parts run on any machine that sees source and
    /// target, in any order, also at the same time or again
    #[arg(long, num_args = 2, value_names = ["K", "FILE"], help_heading = "Clusters", conflicts_with_all = PLANNED)]
    pub(crate) part: Option<Vec<String>>,
    /// When all parts are copied, make them the target. With --verify, compare everything with the source before
    #[arg(long, value_name = "FILE", help_heading = "Clusters", conflicts_with_all = PLANNED, conflicts_with = "part")]
    pub(crate) finish: Option<PathBuf>,
    /// Give up the copy of the plan in FILE: remove its parts
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Clusters",
        conflicts_with_all = PLANNED,
        conflicts_with_all = ["part", "finish", "verify"]
    )]
    pub(crate) discard: Option<PathBuf>,
    /// Number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory for data, such as 64M or 2G; at least one chunk [default: 96MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Folder for scratch files [default: that of the target if it is local, else that of the system]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Element size of shuffle if readers disagree: that of the type (as netcdf-c) or as stored (as zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Do not check that lossy codecs keep missing values missing
    #[arg(long)]
    pub(crate) no_lossy_guard: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    /// Additional rules of netCDF's tool.
    #[arg(skip)]
    pub(crate) nccopy: Option<NccopyRules>,
}

/// What a plan says, so that it cannot be given again.
const PLANNED: [&str; 28] = [
    "plan",
    "paths",
    "filters",
    "codecs",
    "compress",
    "deflate",
    "shuffle",
    "chunks",
    "shards",
    "fixed",
    "format",
    "readers",
    "consolidated",
    "no_consolidated",
    "variables",
    "no_coordinates",
    "groups",
    "exclude",
    "values",
    "slab",
    "skip_unreadable",
    "salvage",
    "concat",
    "append",
    "resume",
    "overwrite",
    "shuffle_size",
    "no_lossy_guard",
];

impl Copy {
    /// The datasets to copy.
    pub(crate) fn sources(&self) -> &[String] {
        self.paths.split_last().map_or(&[], |(_, sources)| sources)
    }

    /// The new dataset.
    pub(crate) fn target(&self) -> Result<&str, CliError> {
        match self.paths.as_slice() {
            [_, .., target] => Ok(target),
            _ => Err(CliError::Usage("<TARGET> is missing: ncz copy SOURCE TARGET".to_owned())),
        }
    }
}

/// How `nccopy` differs from `ncz copy`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NccopyRules {
    /// A variable without unlimited dimensions whose chunks have fewer bytes becomes one chunk (`-M`).
    pub(crate) least_chunk: u64,
    /// Only variables of these groups have values (`-g`); `None`: all.
    pub(crate) values_of_groups: Option<Vec<String>>,
    /// Only these groups are copied (`-G`), without the groups inside; `None`: all.
    pub(crate) groups: Option<Vec<String>>,
}
