//! The progress bar, and Ctrl-C.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncz::progress::{Phase, Progress};

use crate::error::CliError;
use crate::exit_code::Exit;

/// The variable that asks for progress as lines of JSON on standard error, for programs that start this one.
pub(crate) const LINES_VARIABLE: &str = "NCZ_PROGRESS";
/// The least time between two such lines.
const LINE: Duration = Duration::from_millis(100);

/// A progress bar on a terminal, or lines of JSON if [`LINES_VARIABLE`] is `json`; otherwise nothing.
pub(crate) struct Bar {
    bar: ProgressBar,
    interrupt: Interrupt,
    lines: Option<Mutex<Lines>>,
}

/// Progress as lines of JSON.
#[derive(Default)]
struct Lines {
    phase: &'static str,
    done: u64,
    total: u64,
    written: Option<Instant>,
}

impl Lines {
    fn write(&mut self) {
        let line = serde_json::json!({ "progress": self.phase, "done": self.done, "total": self.total });
        // Who no longer reads it is no reason to stop.
        let _ = writeln!(std::io::stderr(), "{line}");
        self.written = Some(Instant::now());
    }
}

/// Becomes true when the user presses Ctrl-C.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches for Ctrl-C and SIGTERM. The first one makes the copy stop and clean up; the second one ends the program at
    /// once.
    pub(crate) fn watch() -> Result<Self, CliError> {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(Exit::Interrupted as i32);
            }
        })?;
        Ok(interrupt)
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Bar {
    pub(crate) fn new(enabled: bool, interrupt: Interrupt) -> Self {
        let lines = std::env::var_os(LINES_VARIABLE).is_some_and(|value| value == "json");
        let shown = enabled && !lines && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        const BAR: &str = "{msg} {wide_bar:.cyan/blue} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { bar, interrupt, lines: lines.then(Mutex::default) }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, phase: Phase, total: u64) {
        self.bar.reset();
        self.bar.set_length(total);
        let phase = match phase {
            Phase::Copy => "copying",
            Phase::Refer => "writing references",
            Phase::Generate => "reading the text",
            Phase::Verify => "verifying",
            Phase::Repair => "searching for faults",
        };
        self.bar.set_message(phase);
        if let Some(lines) = &self.lines {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            *lines = Lines { phase, done: 0, total, written: None };
            lines.write();
        }
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.inc(bytes);
        if let Some(lines) = &self.lines {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.done += bytes;
            if lines.done >= lines.total || lines.written.is_none_or(|written| written.elapsed() >= LINE) {
                lines.write();
            }
        }
        if self.interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
