//! The command line: commands, options and their help.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use ncz::nczarr::ByteOrder;
use ncz::nczarr::cdl::Digits;

/// Help that starts with an example, before the description.
const TEMPLATE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Recompress, look at and explain Zarr and NCZarr datasets and the codec plugins they need.
#[derive(Debug, Parser)]
#[command(
    name = "ncz",
    version,
    styles = STYLES,
    help_template = TEMPLATE,
    before_help = "Example: ncz copy in.zarr out.zarr --codec '{\"id\":\"zstd\",\"level\":3}'",
    after_help = "Exit codes: 0 good, 1 findings, 2 usage, 3 could not be done, 70 a bug in ncz, 130 interrupted.",
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) plugins: PluginOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What ncz can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Copy(Copy),
    Info(Info),
    Dump(Dump),
    Verify(Verify),
    Codec(Codec),
    Plugins(Plugins),
    Conform(Conform),
}

/// Where plugins come from. These options go with every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginOptions {
    /// Search this folder for plugins, and no other (repeatable)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "no_plugins")]
    pub(crate) plugin_path: Vec<PathBuf>,
    /// Use the built-in codecs only
    #[arg(long, global = true)]
    pub(crate) no_plugins: bool,
    /// Where a plugin of HDF5_PLUGIN_PATH offers a built-in codec, take that of "plugins" or "builtin"
    #[arg(long, global = true, value_name = "WHICH", default_value = "builtin", hide_possible_values = true)]
    pub(crate) prefer: Prefer,
}

/// Who wins where two offer the same codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Prefer {
    Builtin,
    Plugins,
}

/// How much to say.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Verbosity {
    /// Say more on standard error: -v datasets, plugins, retries; -vv requests, codecs; -vvv everything
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Print errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Copy a dataset, with other codecs or chunks.
///
/// Reads Zarr version 2 and 3 and every generation of NCZarr, in directories, zip files, S3 and behind HTTP servers. The target appears when it is complete, or not at all.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz copy in.zarr out.zarr --codec '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz copy in.zarr out.zarr -F 't,2|1,6' -F 'u&v,none' -c time/1,lat/100\n         \
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
  Try one with: ncz codec 'shuffle|zstd,3'"
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
    /// Chunk lengths: DIM/LEN,DIM/LEN, VARIABLE:LEN,LEN, or / for one chunk (as nccopy; repeatable)
    #[arg(short, long = "chunks", value_name = "SPEC", help_heading = "Layout")]
    pub(crate) chunks: Vec<String>,
    /// Metadata of the copy; as the source unless given
    #[arg(long, value_name = "FORMAT", help_heading = "Layout")]
    pub(crate) format: Option<FormatArg>,
    /// Write consolidated metadata (.zmetadata, or in the root's zarr.json)
    #[arg(long, help_heading = "Layout")]
    pub(crate) consolidated: bool,
    /// Replace the target if it is a dataset. On this machine it changes in one step; in S3 the copy is made beside it and moved in
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Read the copy back and compare it with the source
    #[arg(long)]
    pub(crate) verify: bool,
    /// Threads to work with; all cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// How metadata are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// NCZarr over Zarr version 2, which Zarr readers read too
    Nczarr,
    /// Zarr version 2 alone
    #[value(alias = "zarr2")]
    Zarr,
    /// Zarr version 3
    Zarr3,
    /// The draft of NCZarr over Zarr version 3: an experiment, netcdf-c does not read it
    Nczarr3,
}

/// What to believe of a shuffle's element size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShuffleSize {
    Type,
    Stored,
}

/// Show what is in a dataset: dimensions, variables, codecs, and what is odd about it.
#[derive(Debug, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz info in.zarr --sizes")]
pub(crate) struct Info {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// Add up the stored bytes of each variable
    #[arg(long)]
    pub(crate) sizes: bool,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

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

/// Check a dataset: decode every chunk, and look for metadata that other programs misread.
///
/// Errors are lost or unreadable data, warnings are read otherwise by other programs; both end with exit code 1.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz verify in.zarr\n         \
        ncz verify in.zarr --repair --dry-run\n         ncz verify in.zarr --repair-to out.zarr --shuffle-size stored",
    after_help = "\
Repairing:
  What known writers do wrong is mended where the right reading is known: element size 0 of shuffle, stale
  .zmetadata, what netcdf-c leaves behind when it writes a shorter object in place, and metadata that other
  programs refuse. Where only you can know it, an option is asked for. Everything else stays as it is."
)]
pub(crate) struct Verify {
    /// The dataset: a directory, a zip file, or a URL as s3://BUCKET/KEY or https://HOST/PATH
    pub(crate) path: String,
    /// These variables only (names or paths, joined by commas)
    #[arg(long, value_name = "VAR,VAR", value_delimiter = ',', conflicts_with_all = ["repair", "repair_to"])]
    pub(crate) variables: Vec<String>,
    /// Mend in place what can be mended; each object is replaced whole
    #[arg(long, help_heading = "Repairing")]
    pub(crate) repair: bool,
    /// Write a mended copy, and leave the dataset as it is
    #[arg(long, value_name = "TARGET", help_heading = "Repairing", conflicts_with = "repair")]
    pub(crate) repair_to: Option<String>,
    /// With --repair: only say what would be done
    #[arg(long, help_heading = "Repairing", requires = "repair")]
    pub(crate) dry_run: bool,
    /// Shuffle's element size where readers disagree: that of the type (netcdf-c) or as stored (zarr-python)
    #[arg(long, value_name = "WHICH", help_heading = "Repairing")]
    pub(crate) shuffle_size: Option<ShuffleSize>,
    /// The byte order of a variable whose metadata tell none, or a doubtful one: little or big (repeatable)
    #[arg(long, value_name = "VAR=ORDER", help_heading = "Repairing", value_parser = ByteOrderArg::parse)]
    pub(crate) byte_order: Vec<ByteOrderArg>,
    /// Threads to work with; all cores unless given
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

/// Show codecs in all their forms: filter text, parameters, and JSON of Zarr 2 and 3.
///
/// With --dtype and --shape also what is stored and what the codec is run with for such a variable.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz codec '2|1,6' '{\"id\":\"zstd\",\"level\":3}'\n         \
        ncz codec 'blosc' --dtype f4 --shape 721,1440 --chunks 100,200"
)]
pub(crate) struct Codec {
    /// Filter text such as '2|1,6' or 'zstd,3', or codec JSON
    #[arg(required = true, value_name = "SPEC")]
    pub(crate) specs: Vec<String>,
    /// The type of a variable: i1 i2 i4 i8 u1 u2 u4 u8 f4 f8, big-endian with > before it
    #[arg(long, value_name = "TYPE", requires = "shape")]
    pub(crate) dtype: Option<String>,
    /// Its lengths, joined by commas
    #[arg(long, value_name = "LENGTHS", requires = "dtype")]
    pub(crate) shape: Option<String>,
    /// The lengths of its chunks; those of the array unless given
    #[arg(long, value_name = "LENGTHS", requires = "shape", alias = "chunk")]
    pub(crate) chunks: Option<String>,
    /// The format of the dataset, on which parameters can depend
    #[arg(long, value_name = "FORMAT", requires = "shape", default_value = "nczarr")]
    pub(crate) container: ContainerArg,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Where chunks live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContainerArg {
    Nczarr,
    Zarr,
    Hdf5,
}

/// Show which codec plugins there are, and why a codec is or is not found.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins\n         ncz plugins why zstd",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Plugins {
    #[command(subcommand)]
    pub(crate) action: Option<PluginsAction>,
    #[command(flatten)]
    pub(crate) list: PluginsList,
}

/// What to show of plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginsAction {
    List(PluginsList),
    Why(PluginsWhy),
    Show(PluginsShow),
    Path(PluginsPath),
}

/// Show every codec and every file of the search path (what `ncz plugins` does).
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins list --no-load")]
pub(crate) struct PluginsList {
    /// Read the files' symbol tables, but load none
    #[arg(long)]
    pub(crate) no_load: bool,
    /// Show also files whose name is not that of a plugin
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Tell why a codec or a file is used or not.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins why 32015\n         ncz plugins why zstd\n         ncz plugins why libh5zstd.so"
)]
pub(crate) struct PluginsWhy {
    /// A filter number, a codec's name, or a file
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Show all that is known of a codec or a file.
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins show zstd")]
pub(crate) struct PluginsShow {
    /// A filter number, a codec's name, or a file
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Show the folders that are searched, in order, and who named them.
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins path")]
pub(crate) struct PluginsPath {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Tell whether codec plugins are fit; starts the program ncz-conform, whose options these are.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    help_template = TEMPLATE,
    before_help = "Example: ncz conform libh5zstd.so --level 10\n         ncz conform --help"
)]
pub(crate) struct Conform {
    /// Plugins, and options of ncz-conform
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_page_starts_with_an_example() {
        fn check(command: &mut clap::Command, path: &str) {
            command.build();
            for (name, page) in [
                ("short", command.render_help().to_string()),
                ("long", command.render_long_help().to_string()),
            ] {
                assert!(page.starts_with("Example: ncz"), "{path} ({name}):\n{page}");
            }
            for inner in command.get_subcommands_mut() {
                let path = format!("{path} {}", inner.get_name());
                check(inner, &path);
            }
        }
        check(&mut Cli::command(), "ncz");
    }
}
