//! Options of the commands that tell the system about ncz: `ncz completions`, `ncz man`, `ncz links`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::{TEMPLATE, Verbosity};

/// Print the completions of a shell: what Tab offers behind `ncz`.
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

/// Print the manual page of ncz, or write those of all commands into a folder.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz man | man -l -\n         ncz man ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// The folder to write ncz.1, ncz-copy.1 and so on into; it is made if need be
    pub(crate) folder: Option<PathBuf>,
}

/// Make links named ncdump, ncgen, nccopy and so on that start ncz as these tools of netCDF.
///
/// Each takes the options of its tool, prints what that prints, and ends with its exit codes.
#[derive(Debug, Args)]
#[command(
    help_template = TEMPLATE,
    before_help = "Example: ncz links ~/ncz-tools\n         export PATH=~/ncz-tools:$PATH\n         ncdump -h in.zarr"
)]
pub(crate) struct Links {
    /// The folder to make the links in; it is made if need be
    pub(crate) folder: PathBuf,
    /// Replace files and other links of these names, too
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}
