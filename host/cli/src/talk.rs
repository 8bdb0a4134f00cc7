//! What is said on standard error besides errors: notes, warnings, and the trace.

mod level;

use std::io::{self, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fmt};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;

use self::level::Wanted;
use crate::output::Style;
use crate::secrets;

/// Whose events are shown: those of our crates. Other crates' may hold signatures and tokens.
const OURS: &str = "ncz";

/// Says things on standard error, unless `-q`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    quiet: bool,
    /// Whether lines of the trace may come at any time.
    traces: bool,
    style: Style,
}

impl Talk {
    /// Starts the trace, as the options and the environment ask for it.
    pub(crate) fn start((verbose, quiet): (u8, bool)) -> Self {
        let variable = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let wanted =
            Wanted::of(verbose, quiet, variable("NCTRACING").as_deref(), variable("NCLOGGING").as_deref());
        let style = Style::for_stream(io::stderr().is_terminal());
        let talk = Self { quiet, traces: wanted.level >= LevelFilter::INFO, style };
        talk.trace(wanted.level, wanted.timed);
        wanted.warnings.iter().for_each(|warning| talk.warn(warning));
        talk
    }

    /// Something that is as it should be, but may surprise.
    pub(crate) fn note(self, text: &str) {
        self.say(&self.style.dim("note:"), text);
    }

    /// Something that somebody should look at.
    pub(crate) fn warn(self, text: &str) {
        self.say(&self.style.warn("warning:"), text);
    }

    /// Whether a progress bar may be drawn: it and the lines of a trace would spoil one another.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && !self.traces
    }

    fn say(self, kind: &str, text: &str) {
        if !self.quiet {
            // A reader that went away is no reason to stop.
            let _ = writeln!(io::stderr(), "{kind} {}", secrets::hide(text));
        }
    }

    fn trace(self, level: LevelFilter, timed: bool) {
        if level == LevelFilter::OFF {
            return;
        }
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(|| Hiding)
            .with_ansi(self.style.is_coloured())
            .with_target(level >= LevelFilter::DEBUG)
            // It would be told on standard error, which is where the line could not be written.
            .log_internal_errors(false);
        let lines = if timed { lines.with_timer(Clock).boxed() } else { lines.without_time().boxed() };
        let filter = Targets::new().with_target(OURS, level);
        let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
        // It can only fail if there is one already, which then serves as well.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}

/// Standard error, without secrets. A line of the trace comes in one piece.
struct Hiding;

impl Write for Hiding {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(secrets::hide(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The time of day, in UTC.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = now.as_secs() % 86_400;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(w, "{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, now.subsec_millis())
    }
}
