//! Options of `ncz plugins`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{TEMPLATE, Verbosity};

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
    Avail(PluginsAvail),
    Lock(PluginsLock),
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

/// Tell whether a codec is there: exit code 0 if it is, 1 if not.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins avail zstd && ncz copy in.zarr out.zarr --codec zstd,3"
)]
pub(crate) struct PluginsAvail {
    /// A filter number or a codec's name
    pub(crate) what: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// Make a list of the plugins that may be used, with the SHA-256 of each: what is on the search path now.
#[derive(Debug, Clone, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz plugins lock --output plugins.lock\n         ncz dump in.zarr --plugin-lock plugins.lock\n         ncz plugins lock --output plugins.lock --check"
)]
pub(crate) struct PluginsLock {
    /// The list; without it the one in use (--plugin-lock or NCZ_PLUGIN_LOCK), else ncz-plugins.lock
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Compare the list with what is on the search path, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
