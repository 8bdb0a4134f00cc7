//! Options of `ncz copy`.

use std::path::PathBuf;

use clap::Args;

use super::{FormatArg, ShuffleSize, TEMPLATE, Verbosity};

/// Copy a dataset or a part of it, with other codecs or chunks.
///
/// Reads Zarr version 2 and 3 and every generation of NCZarr, in directories, zip files, S3 and behind HTTP servers. The target appears when it is complete, or not at all.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz copy in.zarr out.zarr --codec '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz copy in.zarr out.zarr -F 't,2|1,6' -F 'u&v,none' -c time/1,lat/100\n         \
        ncz copy ocean.zarr part.zarr --variables t,model/salinity --slab time=0:24,lat=10:20\n         \
        ncz copy today.zarr ocean.zarr --append time\n         \
        ncz copy ocean.zarr s3://bucket/ocean.zarr",
    after_help = "\
Places:
  DIR, FILE.zip, s3://BUCKET/KEY, https://HOST/BUCKET/KEY#mode=s3 for other services than Amazon's, and
  https://HOST/PATH for reading. Who asks S3, and where, say the variables and files of the AWS tools
  (AWS_PROFILE, AWS_ENDPOINT_URL, ~/.aws) or what stands behind #: aws.profile=NAME (no: anonymously),
  aws.region=NAME, aws.endpoint=URL, joined by &. In a shell such a place needs quotes.

Codecs:
  FILTERS are joined by | in the order of encoding, each an HDF5 number or a name with its parameters:
  '2|1,6', 'zstd,3', 'shuffle|zstd,9'; the type tags of netCDF (3.5f, 7ub) may stand behind a parameter.
  CODEC is {\"id\":\"zstd\",\"level\":3}, a list of such, or FILTERS. In both, 'none' drops all codecs.
  A codec for a variable that is named wins over one for all; a variable that nobody speaks of keeps
  its own. Names are paths ('t', 'group/t'); a backslash keeps the meaning of , & = and \\ away.
  Try one with: ncz codec 'shuffle|zstd,3'

Parts:
  --slab time=0:24 takes the indices 0 to 23, time=0:24:6 every sixth of them, time=-1 the last one. Every
  variable of the dimension is cut. A dimension of a group is named by its path: /model/depth=0:5.

Memory:
  Where rows become columns, each chunk is still decoded once: what does not fit into the memory goes
  through a scratch file, as large as the variable, beside the target."
)]
pub(crate) struct Copy {
    /// The dataset to copy: a directory, a zip file, or a URL (see Places)
    pub(crate) source: String,
    /// The new dataset: a directory, a zip file if its name ends in .zip, or a URL of S3
    pub(crate) target: String,
    /// Codecs for some variables: VARIABLE,FILTERS, VAR&VAR,FILTERS, *,FILTERS, or none (as nccopy; repeatable)
    #[arg(short = 'F', long = "filter", value_name = "SPEC", help_heading = "Codecs")]
    pub(crate) filters: Vec<String>,
    /// Codecs as JSON for all variables, or VARIABLE=CODEC for one, VAR&VAR=CODEC for some (repeatable)
    #[arg(long = "codec", value_name = "CODEC", help_heading = "Codecs")]
    pub(crate) codecs: Vec<String>,
    /// Compress all variables with what suits their type
    #[arg(long, help_heading = "Codecs", conflicts_with = "deflate")]
    pub(crate) compress: bool,
    /// Deflate all variables at this level, 0 for none (as nccopy)
    #[arg(short, long, value_name = "LEVEL", help_heading = "Codecs", value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// Shuffle before deflating (as nccopy, with -d)
    #[arg(short, long, help_heading = "Codecs", requires = "deflate")]
    pub(crate) shuffle: bool,
    /// Chunk lengths: DIM/LEN,DIM/LEN, VARIABLE:LEN,LEN, or / for one chunk (as nccopy; repeatable). NAME:LEN is refused
    /// if NAME is also a dimension; write /NAME:LEN for the variable
    #[arg(short, long = "chunks", value_name = "SPEC", help_heading = "Layout")]
    pub(crate) chunks: Vec<String>,
    /// Make unlimited dimensions fixed (as nccopy)
    #[arg(short = 'u', long, help_heading = "Layout")]
    pub(crate) fixed: bool,
    /// Metadata of the copy; as the source unless given
    #[arg(long, value_name = "FORMAT", help_heading = "Layout")]
    pub(crate) format: Option<FormatArg>,
    /// Write consolidated metadata (.zmetadata, or in the root's zarr.json)
    #[arg(long, help_heading = "Layout")]
    pub(crate) consolidated: bool,
    /// Copy these variables only, NAME,GROUP/NAME, and their coordinates (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) variables: Vec<String>,
    /// With --variables: no coordinates but those that are named
    #[arg(long, help_heading = "Parts", requires = "variables")]
    pub(crate) no_coordinates: bool,
    /// Copy these groups only, with what is inside them (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) groups: Vec<String>,
    /// Leave these variables out (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) exclude: Vec<String>,
    /// Copy the values of these variables only; the others are defined, without values (repeatable)
    #[arg(long, value_name = "NAMES", help_heading = "Parts")]
    pub(crate) values: Vec<String>,
    /// Copy these indices of dimensions only: DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX, joined by commas
    #[arg(long, value_name = "SLAB", help_heading = "Parts", allow_hyphen_values = true)]
    pub(crate) slab: Option<String>,
    /// Leave out the variables that cannot be read, say which, and end with code 1
    #[arg(long, help_heading = "Parts")]
    pub(crate) skip_unreadable: bool,
    /// Append the records of SOURCE along this unlimited dimension to those of TARGET, which must exist. After an
    /// interruption run the same command again: it appends what is missing, and nothing twice
    #[arg(long, value_name = "DIM", conflicts_with_all = [
        "overwrite", "resume", "filters", "codecs", "compress", "deflate", "chunks", "fixed", "format", "consolidated",
        "values", "groups",
    ])]
    pub(crate) append: Option<String>,
    /// Keep what is done in TARGET.ncz-partial if the copy is interrupted, and go on from there
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace the target if it is a dataset. On this machine it changes in one step; in S3 the copy is made beside it and moved in
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Read the copy back and compare it with the source. For lossy codecs, re-encode the source and require identical
    /// results; a fault that such a codec repeats is not found
    #[arg(long)]
    pub(crate) verify: bool,
    /// Threads to work with; all cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Bytes of data to hold at most, such as 64M or 2G; 96 MiB unless given, one chunk at least
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    pub(crate) memory: Option<u64>,
    /// The folder for scratch files; that of the target, or else the system's
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    /// Rules that netCDF's tool has besides.
    #[arg(skip)]
    pub(crate) nccopy: Option<NccopyRules>,
}

/// What `nccopy` does otherwise than `ncz copy`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NccopyRules {
    /// A variable without unlimited dimensions whose chunks have fewer bytes becomes one chunk (`-M`).
    pub(crate) least_chunk: u64,
    /// Only variables of these groups have values (`-g`); `None`: all.
    pub(crate) values_of_groups: Option<Vec<String>>,
    /// Only these groups are copied (`-G`), without the groups inside; `None`: all.
    pub(crate) groups: Option<Vec<String>>,
}
