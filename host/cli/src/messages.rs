//! Messages on standard error other than errors: notes, warnings, and the trace.

mod trace_level;

use std::io::{self, IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fmt};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;

use self::trace_level::TraceSettings;
use crate::output::{Style, one_line};
use crate::secrets;

/// The prefix of the crates whose events are shown. Events of other crates can contain signatures and tokens.
const OURS: &str = "ncz";

/// Writes notes and warnings to standard error, unless `-q` was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    quiet: bool,
    /// Whether lines of the trace can appear at any time.
    traces: bool,
    style: Style,
}

impl Messages {
    /// Starts the trace that the options and the environment request.
    pub(crate) fn start((verbose, quiet): (u8, bool)) -> Self {
        let variable = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let wanted = TraceSettings::of(
            verbose,
            quiet,
            variable("NCTRACING").as_deref(),
            variable("NCLOGGING").as_deref(),
        );
        let style = Style::for_stream(io::stderr().is_terminal());
        let messages = Self { quiet, traces: wanted.level >= LevelFilter::INFO, style };
        messages.trace(wanted.level, wanted.timed);
        wanted.warnings.iter().for_each(|warning| messages.warn(warning));
        messages
    }

    /// Prints something that is correct, but can surprise.
    pub(crate) fn note(self, text: &str) {
        self.print(&self.style.dim("note:"), text);
    }

    /// Prints something that needs attention.
    pub(crate) fn warn(self, text: &str) {
        self.print(&self.style.warn("warning:"), text);
    }

    /// Whether a progress bar can be drawn: lines of a trace would break it.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && !self.traces
    }

    fn print(self, kind: &str, text: &str) {
        if !self.quiet {
            // A closed standard error is not a reason to stop.
            let _ = writeln!(io::stderr(), "{kind} {}", secrets::hide(&one_line(text)));
        }
    }

    fn trace(self, level: LevelFilter, timed: bool) {
        if level == LevelFilter::OFF {
            return;
        }
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(|| RedactedStderr)
            .with_ansi(self.style.is_coloured())
            .with_target(level >= LevelFilter::DEBUG)
            // Such an error would go to standard error, where the line could not be written.
            .log_internal_errors(false);
        let lines = if timed { lines.with_timer(Clock).boxed() } else { lines.without_time().boxed() };
        let filter = Targets::new().with_target(OURS, level);
        let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
        // This fails only if there is a subscriber already, which is then used.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}

/// Standard error without secrets. Each line of the trace is one write.
struct RedactedStderr;

impl Write for RedactedStderr {
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
