//! What a user sees of a long copy, and Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncz::copy::{Phase, Progress};

use crate::error::CliError;
use crate::exit::Exit;

/// A bar on a terminal, nothing elsewhere.
pub(crate) struct Bar {
    bar: ProgressBar,
    interrupt: Interrupt,
}

/// Becomes true when the user wants out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches for Ctrl-C and for a polite request to end. The first one asks the copy to stop and to tidy
    /// up; the second one ends the program where it is.
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

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Bar {
    pub(crate) fn new(wanted: bool, interrupt: Interrupt) -> Self {
        let shown = wanted && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        const LINE: &str = "{msg} {wide_bar:.cyan/blue} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(LINE) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { bar, interrupt }
    }

    /// Takes the bar off the terminal.
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
            Phase::Generate => "reading the text",
            Phase::Verify => "verifying",
            Phase::Repair => "looking for faults",
        });
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.inc(bytes);
        if self.interrupt.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
