//! The `ncz` command: glue between the command line and the crate `ncz`.

#![forbid(unsafe_code)]

mod args;
mod chunk_spec;
mod commands;
mod dataset;
mod error;
mod escape;
mod exit;
mod filter_spec;
mod output;
mod path;
mod progress;
mod secrets;
mod slab_spec;
mod suggest;
mod talk;
mod target;
mod tools;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use ncz::registry::Registry;
use ncz::registry::pair;
use ncz::registry::trust::Trust;

use crate::args::{Cli, Command, PluginOptions, PluginsAction, Prefer};
use crate::error::CliError;
use crate::exit::{Exit, guarded};
use crate::output::Style;
use crate::talk::Talk;
use crate::tools::Tool;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(tool) = arguments.next().as_deref().and_then(Tool::started_as) {
        return tool.run(arguments.collect());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, and are no errors.
            if error.use_stderr() {
                return refuse(&error).into();
            }
            let _ = error.print();
            return Exit::Good.into();
        }
    };
    guarded(|| run(&cli)).into()
}

/// Says what is wrong with the command line, in plain letters if it holds a secret.
fn refuse(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    let hidden = secrets::hide(&text);
    // Nobody is left to tell if this fails.
    let _ = if hidden == text { error.print() } else { io::stderr().write_all(hidden.as_bytes()) };
    Exit::Usage
}

fn run(cli: &Cli) -> Result<Exit, CliError> {
    let talk = Talk::start(cli.command.verbosity());
    let stdout = io::stdout();
    let style = Style::for_stream(stdout.is_terminal());
    let mut out = BufWriter::new(stdout.lock());
    let registry = Arc::new(registry(&cli.plugins));
    let exit = match &cli.command {
        Command::Copy(options) => commands::copy::run(options, registry, &mut out, style, talk)?,
        Command::Info(options) => commands::info::run(options, registry, &mut out, style)?,
        Command::Dump(options) => commands::dump::run(options, registry, &mut out, talk)?,
        Command::Gen(options) => commands::generate::run(options, registry, &mut out, style, talk)?,
        Command::Ls(options) => commands::ls::run(options, registry, &mut out, style, talk)?,
        Command::Cat(options) => commands::cat::run(options, registry, &mut out, talk)?,
        Command::Verify(options) => commands::verify::run(options, registry, &mut out, style, talk)?,
        Command::Codec(options) => commands::codec::run(options, &registry, &mut out, style)?,
        Command::Plugins(options) => commands::plugins::run(options, &registry, &mut out, style)?,
        Command::Bench(options) => commands::bench::run(options, registry, &mut out, style, talk)?,
        Command::Conform(options) => commands::conform::run(options)?,
        Command::Links(options) => commands::links::run(options, &mut out)?,
        Command::Completions(options) => commands::completions::run(options, &mut out)?,
        Command::Man(options) => commands::man::run(options, &mut out)?,
    };
    out.flush()?;
    Ok(exit)
}

/// The registry that the options ask for; opens nothing yet.
fn registry(options: &PluginOptions) -> Registry {
    let prefer = match options.prefer {
        Prefer::Builtin => pair::Prefer::Builtins,
        Prefer::Plugins => pair::Prefer::Plugins,
    };
    let trust = if options.trust_all { Trust::Everybody } else { Trust::Careful };
    let mut builder = Registry::builder().no_plugins(options.no_plugins).prefer(prefer).trust(trust);
    builder = builder.isolation(options.isolate.isolation());
    if let Some(list) = &options.plugin_lock {
        builder = builder.lock(list.clone());
    }
    if !options.plugin_path.is_empty() {
        builder = builder.plugin_path(options.plugin_path.clone());
    }
    builder.build()
}

impl Command {
    /// How much to say: the level of -v, and whether -q was given.
    fn verbosity(&self) -> (u8, bool) {
        let verbosity = match self {
            Self::Copy(options) => &options.verbosity,
            Self::Info(options) => &options.verbosity,
            Self::Gen(options) => &options.verbosity,
            Self::Ls(options) => &options.verbosity,
            Self::Cat(options) => &options.verbosity,
            Self::Verify(options) => &options.verbosity,
            Self::Codec(options) => &options.verbosity,
            // Its options are those of another program.
            Self::Conform(_) => return (0, false),
            Self::Completions(_) | Self::Man(_) => return (0, false),
            Self::Bench(options) => &options.verbosity,
            Self::Links(options) => &options.verbosity,
            // Its -v is that of ncdump.
            Self::Dump(options) => return (options.verbose, false),
            Self::Plugins(options) => match &options.action {
                None => &options.list.verbosity,
                Some(PluginsAction::List(options)) => &options.verbosity,
                Some(PluginsAction::Why(options)) => &options.verbosity,
                Some(PluginsAction::Show(options)) => &options.verbosity,
                Some(PluginsAction::Path(options)) => &options.verbosity,
                Some(PluginsAction::Avail(options)) => &options.verbosity,
                Some(PluginsAction::Lock(options)) => &options.verbosity,
            },
        };
        (verbosity.verbose, verbosity.quiet)
    }
}
