//! Options of the commands that install parts of ncz in the system: `ncz completions`, `ncz man`, `ncz links`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::common::{TEMPLATE, Verbosity};

/// Print the completion script of a shell, for Tab after `ncz`.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz completions bash > ~/.local/share/bash-completion/completions/ncz\n         \
        ncz completions zsh > ~/.zfunc/_ncz\n         \
        ncz completions fish > ~/.config/fish/completions/ncz.fish"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Print the manual page of ncz, or write the pages of all commands into a folder.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz man | man -l -\n         ncz man ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// Folder for ncz.1, ncz-copy.1 and so on; created if it does not exist
    pub(crate) folder: Option<PathBuf>,
}

/// Make links named ncdump, ncgen and nccopy that start ncz as these tools of netCDF.
///
/// Each takes the options of its tool, prints the same output, and ends with the same exit codes.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz links ~/ncz-tools\n         export PATH=~/ncz-tools:$PATH\n         ncdump -h in.zarr"
)]
pub(crate) struct Links {
    /// Folder for the links; created if it does not exist
    pub(crate) folder: PathBuf,
    /// Replace other files and links of these names
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
