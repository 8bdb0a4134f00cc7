//! What is said on standard error besides errors: notes, warnings, and the trace of `-v`.

use std::io::{self, IsTerminal, Write};

use tracing::level_filters::LevelFilter;

use crate::output::Style;

/// Says things on standard error, unless `-q`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    quiet: bool,
    style: Style,
}

impl Talk {
    /// Starts the trace: the libraries' steps at `-v`, more at `-vv` and `-vvv`.
    pub(crate) fn start((verbose, quiet): (u8, bool)) -> Self {
        let level = match verbose {
            _ if quiet => LevelFilter::ERROR,
            0 => LevelFilter::WARN,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        let style = Style::for_stream(io::stderr().is_terminal());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(io::stderr)
            .with_ansi(style.is_coloured())
            .with_target(verbose > 1)
            .without_time()
            .finish();
        // It can only fail if there is one already, which then serves as well.
        let _ = tracing::subscriber::set_global_default(subscriber);
        Self { quiet, style }
    }

    /// Something that is as it should be, but may surprise.
    pub(crate) fn note(self, text: &str) {
        self.say(&self.style.dim("note:"), text);
    }

    /// Something that somebody should look at.
    pub(crate) fn warn(self, text: &str) {
        self.say(&self.style.warn("warning:"), text);
    }

    fn say(self, kind: &str, text: &str) {
        if !self.quiet {
            // A reader that went away is no reason to stop.
            let _ = writeln!(io::stderr(), "{kind} {text}");
        }
    }
}
