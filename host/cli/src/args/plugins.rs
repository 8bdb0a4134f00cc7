//! Options of `ncz plugins`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::{TEMPLATE, Verbosity};

/// List codec plugins, and explain why a codec is or is not found.
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

/// The commands below `ncz plugins`.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginsAction {
    List(PluginsList),
    Why(PluginsWhy),
    Show(PluginsShow),
    Path(PluginsPath),
    Env(PluginsEnv),
    Avail(PluginsAvail),
    Lock(PluginsLock),
}

/// List every codec, and every file on the search path (the default).
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins list --no-load")]
pub(crate) struct PluginsList {
    /// Read only the symbol tables; load no plugin
    #[arg(long)]
    pub(crate) no_load: bool,
    /// Also list files that are not plugins
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Explain why a codec or a file is or is not used.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins why 32015\n         ncz plugins why zstd\n         ncz plugins why libh5zstd.so"
)]
pub(crate) struct PluginsWhy {
    /// An HDF5 filter number, a codec name, or a file
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Show all facts about a codec or a file.
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins show zstd")]
pub(crate) struct PluginsShow {
    /// An HDF5 filter number, a codec name, or a file
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Show the folders that are searched, in order, and where each was set.
#[derive(Debug, Clone, Args)]
#[command(help_template = TEMPLATE, before_help = "Example: ncz plugins path")]
pub(crate) struct PluginsPath {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Print the line for a shell that adds folders to HDF5_PLUGIN_PATH and keeps the plugins of Python packages reachable.
///
/// A program that finds HDF5_PLUGIN_PATH set searches nothing else: netCDF4 then misses the plugins in its own package.
/// The line names the given folders, those of HDF5_PLUGIN_PATH, the default folder, and those of netCDF4 and hdf5plugin.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins env ~/my-plugins\n         eval \"$(ncz plugins env ~/my-plugins)\""
)]
pub(crate) struct PluginsEnv {
    /// Folders to search first
    #[arg(value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Check whether a codec is available: exit code 0 if it is, 1 if not.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins avail zstd && ncz copy in.zarr out.zarr --codec zstd"
)]
pub(crate) struct PluginsAvail {
    /// An HDF5 filter number or a codec name
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Write an allow-list: the plugins that are now on the search path, with their SHA-256.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins lock --output plugins.lock\n         ncz dump in.zarr --plugin-lock plugins.lock\n         ncz plugins lock --output plugins.lock --check"
)]
pub(crate) struct PluginsLock {
    /// The allow-list [default: the one in use (--plugin-lock or NCZ_PLUGIN_LOCK), else ncz-plugins.lock]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compare the allow-list with the search path, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
