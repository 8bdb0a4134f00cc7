//! The command line: commands, options and their help.

mod bench;
mod cat;
mod codec;
mod conform;
mod copy;
mod dump;
mod generate;
mod info;
mod isolate;
mod ls;
mod plugins;
mod shell;
mod verify;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::bench::Bench;
pub(crate) use self::cat::{ByteOrderArg, Cat};
pub(crate) use self::codec::{Codec, ContainerArg};
pub(crate) use self::conform::Conform;
pub(crate) use self::copy::{Copy, NccopyRules};
pub(crate) use self::dump::{Dump, IndexArg};
pub(crate) use self::generate::Gen;
pub(crate) use self::info::Info;
pub(crate) use self::isolate::IsolateOptions;
pub(crate) use self::ls::Ls;
pub(crate) use self::plugins::{
    Plugins, PluginsAction, PluginsAvail, PluginsList, PluginsLock, PluginsPath, PluginsShow, PluginsWhy,
};
pub(crate) use self::shell::{Completions, Links, Man};
pub(crate) use self::verify::Verify;

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
    Links(Links),
    Completions(Completions),
    Man(Man),
}

/// Where plugins come from. These options go with every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub(crate) struct PluginOptions {
    /// Search this folder for plugins, and no other (repeatable)
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "no_plugins")]
    pub(crate) plugin_path: Vec<PathBuf>,
    /// Use plugins also where others may have put or changed them
    #[arg(long, global = true, conflicts_with = "no_plugins")]
    pub(crate) trust_all: bool,
    /// Use only the plugins on this list, which `ncz plugins lock` makes; overrides NCZ_PLUGIN_LOCK
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) plugin_lock: Option<PathBuf>,
    /// Use the built-in codecs only
    #[arg(long, global = true)]
    pub(crate) no_plugins: bool,
    /// Where a plugin of HDF5_PLUGIN_PATH offers a built-in codec, take that of "plugins" or "builtin"
    #[arg(long, global = true, value_name = "WHICH", default_value = "builtin", hide_possible_values = true)]
    pub(crate) prefer: Prefer,
    #[command(flatten)]
    pub(crate) isolate: IsolateOptions,
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

/// A number of bytes: `5000000`, `64M` (10^6, as netCDF's tools), `64MiB` (2^20).
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "p" | "pb" => 1e15,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return Err(format!("{text:?} is no size; write 5000000, 64M or 64MiB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number * factor < 1e18 => Ok((number * factor) as u64),
        _ => Err(format!("{text:?} is no size; write 5000000, 64M or 64MiB")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, wanted) in [("5000000", 5_000_000), ("1.5M", 1_500_000), ("2k", 2000), ("64MiB", 64 << 20)]
        {
            assert_eq!(size(text), Ok(wanted));
        }
        for text in ["", "M", "-1", "5X", "1e999", "1.2.3"] {
            assert!(size(text).is_err(), "{text:?}");
        }
    }

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
