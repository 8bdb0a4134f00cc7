//! The `ncz` command: translates the command line into calls of the library `ncz`.

#![forbid(unsafe_code)]

mod args;
mod chunk_request;
mod codec_notes;
mod codec_request;
mod codec_words;
mod commands;
mod dataset;
mod error;
mod escape;
mod exit_code;
mod guard;
mod left_out;
mod messages;
mod name_pattern;
mod netcdf_tools;
mod output;
mod progress;
mod reader_report;
mod remedy;
mod secrets;
mod shell;
mod slab_request;
mod suggest;
mod target;
mod tool_name;
mod variable_report;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use ncz::registry::Registry;
use ncz::registry::pair;
use ncz::registry::trust::Trust;

use crate::args::{Cli, Command, PluginOptions, PluginsAction, Prefer, Verbosity};
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::guard::guarded;
use crate::messages::Messages;
use crate::output::Style;
use crate::tool_name::ToolName;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if let Some(tool) = arguments.next().as_deref().and_then(ToolName::of_program) {
        return netcdf_tools::run(tool, arguments.collect());
    }
    let mut cli = match Cli::try_parse_from(with_help_option(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are reported as errors too.
            if error.use_stderr() {
                return refuse(&error).into();
            }
            let _ = error.print();
            return Exit::Good.into();
        }
    };
    cli.share_verbosity();
    guarded(|| run(&cli)).into()
}

/// `ncz help copy` is `ncz copy --help`.
fn with_help_option(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// Prints what is wrong with the command line, without colours if it contains a secret.
fn refuse(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    let hidden = secrets::hide(&text);
    // If this fails, nothing is left to report to.
    let _ = if hidden == text { error.print() } else { io::stderr().write_all(hidden.as_bytes()) };
    Exit::Usage
}

fn run(cli: &Cli) -> Result<Exit, CliError> {
    let messages = Messages::start((cli.verbosity.verbose, cli.verbosity.quiet));
    let stdout = io::stdout();
    let style = Style::for_stream(stdout.is_terminal());
    let mut out = BufWriter::new(stdout.lock());
    let registry = Arc::new(registry(&cli.plugins));
    let exit = match &cli.command {
        Command::Copy(options) => commands::copy::run(options, registry, &mut out, style, messages)?,
        Command::Info(options) => commands::info::run(options, registry, &mut out, style)?,
        Command::Dump(options) => commands::dump::run(options, registry, &mut out, messages)?,
        Command::Gen(options) => commands::generate::run(options, registry, &mut out, style, messages)?,
        Command::Ls(options) => commands::ls::run(options, registry, &mut out, style, messages)?,
        Command::Cat(options) => commands::cat::run(options, registry, &mut out, messages)?,
        Command::Verify(options) => commands::verify::run(options, registry, &mut out, style, messages)?,
        Command::Codec(options) => commands::codec::run(options, &registry, &mut out, style)?,
        Command::Plugins(options) => commands::plugins::run(options, &registry, &mut out, style, messages)?,
        Command::Bench(options) => commands::bench::run(options, registry, &mut out, style, messages)?,
        Command::Conform(options) => commands::conform::run(options)?,
        Command::NewCodec(options) => commands::new_codec::run(options, &mut out)?,
        Command::Links(options) => commands::links::run(options, &mut out)?,
        Command::Completions(options) => commands::completions::run(options, &mut out)?,
        Command::Man(options) => commands::man::run(options, &mut out)?,
    };
    out.flush()?;
    Ok(exit)
}

/// Makes the registry that the options select. This opens no plugin.
fn registry(options: &PluginOptions) -> Registry {
    let prefer = match options.prefer {
        Prefer::Builtin => pair::Prefer::Builtins,
        Prefer::Plugins => pair::Prefer::Plugins,
    };
    let trust = if options.trust_all { Trust::Everybody } else { Trust::Careful };
    let mut builder = Registry::builder().no_plugins(options.no_plugins).prefer(prefer).trust(trust);
    builder = builder.isolation(options.isolate.isolation());
    if let Some(list) = &options.plugin_lock {
        builder = builder.allow_list(list.clone());
    }
    for requirement in &options.require {
        builder = builder.require(requirement.clone());
    }
    if !options.plugin_path.is_empty() {
        builder = builder.plugin_path(options.plugin_path.clone());
    }
    builder.build()
}

impl Cli {
    /// Gives the command the -v and -q that stand before its name.
    fn share_verbosity(&mut self) {
        let Verbosity { verbose, quiet } = self.verbosity;
        if let Some(own) = self.command.verbosity() {
            own.verbose = own.verbose.saturating_add(verbose);
            own.quiet |= quiet;
            self.verbosity = own.clone();
        }
        // The -v of dump is that of ncdump.
        if let Command::Dump(options) = &self.command {
            self.verbosity.verbose = verbose.saturating_add(options.verbose);
        }
    }
}

impl Command {
    /// The -v and -q that stand after the name of the command, if it has them.
    fn verbosity(&mut self) -> Option<&mut Verbosity> {
        Some(match self {
            Self::Copy(options) => &mut options.verbosity,
            Self::Info(options) => &mut options.verbosity,
            Self::Gen(options) => &mut options.verbosity,
            Self::Ls(options) => &mut options.verbosity,
            Self::Cat(options) => &mut options.verbosity,
            Self::Verify(options) => &mut options.verbosity,
            Self::Codec(options) => &mut options.verbosity,
            // Its options are those of ncz-conform.
            Self::Conform(_) => return None,
            Self::Completions(_) | Self::Man(_) => return None,
            Self::Bench(options) => &mut options.verbosity,
            Self::NewCodec(options) => &mut options.verbosity,
            Self::Links(options) => &mut options.verbosity,
            // Its -v is that of ncdump.
            Self::Dump(_) => return None,
            Self::Plugins(options) => match &mut options.action {
                None => &mut options.list.verbosity,
                Some(PluginsAction::List(options)) => &mut options.verbosity,
                Some(PluginsAction::Why(options)) => &mut options.verbosity,
                Some(PluginsAction::Show(options)) => &mut options.verbosity,
                Some(PluginsAction::Path(options)) => &mut options.verbosity,
                Some(PluginsAction::Env(options)) => &mut options.verbosity,
                Some(PluginsAction::Avail(options)) => &mut options.verbosity,
                Some(PluginsAction::Lock(options)) => &mut options.verbosity,
            },
        })
    }
}
