//! The command line: commands, options and their help.

mod bench;
mod cat;
mod codec;
mod common;
mod conform;
mod copy;
mod dump;
mod generate;
mod info;
mod isolate;
mod ls;
mod new_codec;
mod plugins;
#[cfg(test)]
mod reference;
mod shell;
mod verify;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ncz::registry::requirement::Requirement;

pub(crate) use self::bench::Bench;
pub(crate) use self::cat::{ByteOrderArg, Cat};
pub(crate) use self::codec::{Codec, ContainerArg};
use self::common::TEMPLATE;
pub(crate) use self::common::{FormatArg, ShuffleSize, Verbosity, size};
pub(crate) use self::conform::Conform;
pub(crate) use self::copy::{Copy, NccopyRules};
pub(crate) use self::dump::{Dump, IndexArg};
pub(crate) use self::generate::Gen;
pub(crate) use self::info::Info;
use self::isolate::IsolateOptions;
pub(crate) use self::ls::Ls;
pub(crate) use self::new_codec::NewCodec;
pub(crate) use self::plugins::{
    Plugins, PluginsAction, PluginsAvail, PluginsEnv, PluginsList, PluginsLock, PluginsPath, PluginsShow,
    PluginsWhy,
};
pub(crate) use self::shell::{Completions, Links, Man};
pub(crate) use self::verify::Verify;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Recompress, convert, verify, repair and print Zarr and NCZarr datasets, and explain their codec plugins.
#[derive(Debug, Parser)]
#[command(
    name = "ncz",
    version,
    styles = STYLES,
    help_template = TEMPLATE,
    before_help = "Example: ncz copy in.zarr out.zarr --codec '{\"id\":\"zstd\",\"level\":3}'",
    after_help = "\
Exit codes:
  0 success, 1 success with findings, 2 wrong usage, 3 failure, 70 a bug in ncz,
  130 interrupted",
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
    #[command(flatten)]
    pub(crate) plugins: PluginOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(visible_alias = "convert")]
    Copy(Box<Copy>),
    Info(Info),
    Dump(Dump),
    Gen(Gen),
    Ls(Ls),
    Cat(Cat),
    Verify(Verify),
    Codec(Codec),
    Plugins(Plugins),
    Bench(Bench),
    Conform(Conform),
    NewCodec(NewCodec),
    Links(Links),
    Completions(Completions),
    Man(Man),
}

/// Where plugins come from. Every command has these options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginOptions {
    /// Search only this folder for plugins (repeatable)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "no_plugins")]
    pub(crate) plugin_path: Vec<PathBuf>,
    /// Load plugins even if other users can write to their files or folders
    #[arg(long, global = true, conflicts_with = "no_plugins")]
    pub(crate) trust_all: bool,
    /// Load only the plugins on this allow-list, made by `ncz plugins lock`; overrides NCZ_PLUGIN_LOCK
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) plugin_lock: Option<PathBuf>,
    /// Use a codec only if its version meets this condition, such as 'blosc>=1.2' (repeatable)
    #[arg(long, global = true, value_name = "CODEC>=VERSION")]
    pub(crate) require: Vec<Requirement>,
    /// Use only the built-in codecs
    #[arg(long, global = true)]
    pub(crate) no_plugins: bool,
    /// If a codec is both built in and on HDF5_PLUGIN_PATH, use the one from "builtin" or "plugins"
    #[arg(long, global = true, value_name = "WHICH", default_value = "builtin", hide_possible_values = true)]
    pub(crate) prefer: Prefer,
    #[command(flatten)]
    pub(crate) isolate: IsolateOptions,
}

/// Which of two equal codecs is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Prefer {
    Builtin,
    Plugins,
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

    /// Examples and notes have line breaks of their own: a line that clap breaks again is hard to read.
    #[test]
    fn examples_and_notes_fit_into_80_columns() {
        fn check(command: &clap::Command, path: &str) {
            for text in [command.get_before_help(), command.get_after_help()].into_iter().flatten() {
                for line in text.to_string().lines() {
                    assert!(line.chars().count() <= 80, "{path}: {line}");
                }
            }
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        check(&Cli::command(), "ncz");
    }
}
