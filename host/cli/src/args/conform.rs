//! Options of `ncz conform`.

use std::ffi::OsString;

use clap::Args;

use super::common::TEMPLATE;

/// Check codec plugins for conformance; starts the program ncz-conform with the same arguments.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    help_template = TEMPLATE,
    before_help = "Example: ncz conform libh5zstd.so --level 10\n         ncz conform --help"
)]
pub(crate) struct Conform {
    /// Plugin files, and options of ncz-conform
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}
