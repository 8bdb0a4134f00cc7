//! The progress bar, and Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncz::progress::{Phase, Progress};

use crate::error::CliError;
use crate::exit_code::Exit;

/// A progress bar on a terminal, nothing elsewhere.
pub(crate) struct Bar {
    bar: ProgressBar,
    interrupt: Interrupt,
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
        let shown = enabled && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        const LINE: &str = "{msg} {wide_bar:.cyan/blue} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(LINE) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { bar, interrupt }
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
        self.bar.set_message(match phase {
            Phase::Copy => "copying",
            Phase::Refer => "writing references",
            Phase::Generate => "reading the text",
            Phase::Verify => "verifying",
            Phase::Repair => "searching for faults",
        });
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.inc(bytes);
        if self.interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
